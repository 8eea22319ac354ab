package invariant_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
)

// What the core catches, and hands to the embedder, is a BrokenInvariant that says what is wrong.
func TestABrokenInvariantStopsTheProgram(t *testing.T) {
	invariant.Must(nil)
	invariant.Hold(true, "unsaid")
	why := errors.New("why")
	for _, c := range []struct {
		broken func()
		text   string
	}{{func() { invariant.Must(why) }, "why"}, {func() { invariant.Hold(false, "what") }, "what"}} {
		func() {
			defer func() {
				broken, ok := recover().(*berth.BrokenInvariant)
				require.True(t, ok)
				require.EqualError(t, broken.Err, c.text)
			}()
			c.broken()
		}()
	}
}
