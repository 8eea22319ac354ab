package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseMiB(t *testing.T) {
	for text, want := range map[string]int64{"512MiB": 512, "80GiB": 81_920, "2TiB": 2 << 20, "-1GiB": -1024, "0MiB": 0} {
		got, err := ParseMiB(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "80", "80GB", "GiB", "8.5GiB", "9223372036854775807TiB", "-9223372036854775807GiB"} {
		_, err := ParseMiB(text)
		require.Error(t, err, text)
	}
}
