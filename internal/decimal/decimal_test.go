package decimal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMilli(t *testing.T) {
	for v, want := range map[int64]string{
		0: "0", 1: "0.001", 50: "0.05", 100: "0.1", 500: "0.5", 999: "0.999",
		1000: "1", 7500: "7.5", 10_000: "10", 10_010: "10.01", 12_345: "12.345",
	} {
		require.Equal(t, want, Milli(v), "%d", v)
	}
}
