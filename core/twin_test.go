package core_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/script"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// eachStep runs scripts, all of them or some, and calls a function after each command.
func eachStep(t *testing.T, step func(t *testing.T, command int, s *script.Session)) {
	names, err := filepath.Glob("../berthtest/script/testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for i, name := range names {
		if i%8 != 0 && !drawn.Many() {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		t.Run(filepath.Base(name), func(t *testing.T) {
			s := script.NewUnwatched()
			for command, line := range strings.Split(string(text), "\n") {
				if line == "" || line[0] == '#' || line[0] == ' ' {
					continue
				}
				_, err := s.Do(line)
				require.NoError(t, err, line)
				step(t, command, s)
			}
		})
	}
}

// scripted makes a core of the text of a snapshot.
func scripted(t *testing.T, of *core.Core, text []byte) *core.Core {
	c := of.Config()
	back, err := core.Restore(text, core.WithGain(c.Gain), core.WithScorer(c.Scorer))
	require.NoError(t, err)
	return back
}

func textOf(t *testing.T, c *core.Core) string {
	b, err := c.Snapshot()
	require.NoError(t, err)
	return string(b)
}

// A twin is made without the text of a snapshot. It is what Restore makes of that, and goes on as
// that does; what it does changes nothing of its origin.
func TestD4_ATwinIsWhatASnapshotRestores(t *testing.T) {
	t.Parallel()
	eachStep(t, func(t *testing.T, command int, s *script.Session) {
		sched := s.Core()
		before := textOf(t, sched)
		twin, err := core.Twin(sched)
		require.NoError(t, err)
		require.Empty(t, core.NotAsRead(sched))
		back := scripted(t, sched, []byte(before))
		require.Equal(t, before, textOf(t, twin))
		require.NoError(t, twin.Check())
		require.Equal(t, core.AgendaOf(back), core.AgendaOf(twin))
		for _, later := range []berth.Duration{0, berth.Minute, berth.Hour} {
			now := max(s.Now(), sched.Now()).Add(later)
			a, err := twin.Schedule(now)
			require.NoError(t, err)
			b, err := back.Schedule(now)
			require.NoError(t, err)
			require.Equal(t, b, a)
			require.Equal(t, textOf(t, back), textOf(t, twin))
		}
		require.Equal(t, before, textOf(t, sched))
		require.NoError(t, sched.Check())
	})
}

// What was cut is written as it was, however far the core has gone on, and in whatever parts.
func TestACutStaysAsItWas(t *testing.T) {
	t.Parallel()
	eachStep(t, func() func(t *testing.T, command int, s *script.Session) {
		type cut struct {
			of   *core.Cut
			text []byte
			want string
		}
		var cuts []*cut
		return func(t *testing.T, command int, s *script.Session) {
			cuts = append(cuts, &cut{of: s.Core().Cut(), want: textOf(t, s.Core())})
			// Each goes on a little at every command, and the oldest ends.
			for i, c := range cuts {
				had, size := len(c.text), 1+(command+i)%200
				var more bool
				var err error
				c.text, more, err = c.of.Next(c.text, size)
				require.NoError(t, err)
				require.True(t, !more || len(c.text)-had >= size)
			}
			if len(cuts) < 10 {
				return
			}
			c := cuts[0]
			for more := true; more; {
				var err error
				c.text, more, err = c.of.Next(c.text, 1<<12)
				require.NoError(t, err)
			}
			require.True(t, bytes.Equal(c.text, []byte(c.want)), "%s\n%s", c.text, c.want)
			cuts = cuts[1:]
		}
	}())
}

// What counts records, and is in no text, is counted anew in a twin.
func TestD4_ATwinCountsAnew(t *testing.T) {
	t.Parallel()
	twin, err := core.Twin(newSurgingCore(t))
	require.NoError(t, err)
	require.NoError(t, twin.Check())
}
