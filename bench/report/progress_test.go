package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Where there is no terminal a line comes after some seconds, and others not soon after it.
func TestProgressWithoutATerminal(t *testing.T) {
	var out strings.Builder
	p := NewCount(&out, 10, "runs")
	p.Count()
	require.Empty(t, out.String(), "it may be over soon")
	p.began = p.began.Add(-time.Minute)
	p.Count()
	require.Equal(t, "2 of 10 runs, about 4m0s to go\n", out.String())
	p.Count()
	p.Clear()
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
}
