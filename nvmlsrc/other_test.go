//go:build !linux || !cgo

package nvmlsrc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnsupportedPlatform(t *testing.T) {
	_, err := Open()
	require.ErrorIs(t, err, ErrUnsupportedPlatform)
	require.ErrorIs(t, err, ErrNoDriver)
	var typed *Error
	require.ErrorAs(t, err, &typed)
	require.Equal(t, NoGPU, typed.GPU)
}
