package journal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/preempt"
)

// fresh is a core as the one of record was when its journal was begun.
func fresh(t *testing.T) *core.Core {
	t.Helper()
	sched, err := core.New(berth.Config{Levels: []string{"leaf"}})
	require.NoError(t, err)
	return sched
}

func TestRecoverGoesOnFromASnapshot(t *testing.T) {
	text, counts, sched := record(t)
	want, err := sched.Snapshot()
	require.NoError(t, err)
	lines := strings.SplitAfter(journal.Bare(text), "\n")

	first, err := journal.Recover(fresh(t), strings.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, counts, first.Counts)
	require.False(t, first.Truncated)
	require.Len(t, first.Orders, counts.Orders)

	// The first half into a core, and the second into what is restored of it.
	half := fresh(t)
	_, err = journal.Recover(half, strings.NewReader(journal.Seal(strings.Join(lines[:6], ""))))
	require.NoError(t, err)
	snapshot, err := half.Snapshot()
	require.NoError(t, err)
	restored, err := core.Restore(snapshot)
	require.NoError(t, err)
	_, err = journal.Recover(restored, strings.NewReader(journal.Seal(lines[0]+strings.Join(lines[6:], ""))))
	require.NoError(t, err)
	got, err := restored.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// TestRecoverTakesATornEnd cuts a journal after each byte of its last pass.
func TestRecoverTakesATornEnd(t *testing.T) {
	text, _, sched := record(t)
	want, err := sched.Snapshot()
	require.NoError(t, err)
	begin := strings.LastIndex(text[:strings.LastIndex(text, `"now":200000,"pass"`)], "{")
	passed := begin + strings.IndexByte(text[begin:], '\n') + 1
	require.Less(t, passed, len(text), "the pass gave orders")
	for cut := begin; cut < len(text); cut++ {
		got := fresh(t)
		found, err := journal.Recover(got, strings.NewReader(text[:cut]))
		require.NoError(t, err)
		require.Equal(t, cut != begin, found.Truncated, "cut at %d", cut)
		state, err := got.Snapshot()
		require.NoError(t, err)
		require.Equal(t, cut >= passed, string(want) == string(state), "cut at %d", cut)
	}
}

func TestRecoverRefusesWhatIsNoTornEnd(t *testing.T) {
	text, _, _ := record(t)
	lines := strings.SplitAfter(journal.Bare(text), "\n")
	without := func(i int) string { return journal.Seal(strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")) }
	at := 0
	for i, line := range lines {
		if strings.HasPrefix(line, `{"order":`) {
			at = i
			break
		}
	}
	_, err := journal.Recover(fresh(t), strings.NewReader(without(at)))
	require.ErrorIs(t, err, journal.ErrOrdersDiffer)
	_, err = journal.Recover(fresh(t), strings.NewReader(journal.Seal(lines[0]+"{\n"+strings.Join(lines[1:], ""))))
	require.ErrorIs(t, err, journal.ErrMalformed)

	other, err := core.New(berth.Config{})
	require.NoError(t, err)
	_, err = journal.Recover(other, strings.NewReader(text))
	require.ErrorIs(t, err, journal.ErrMalformed)
	require.ErrorContains(t, err, "config")
}

// TestAScorerAndAGainAreNamed: a journal of a core with them is replayed with them, and with no
// others.
func TestAScorerAndAGainAreNamed(t *testing.T) {
	gain := func(preempt.Beneficiary) preempt.GPUMilliseconds { return 1 }
	sched, err := core.New(berth.Config{Levels: []string{"leaf"}, Scorer: byName("spread"), Gain: gain})
	require.NoError(t, err)
	var out bytes.Buffer
	w, err := journal.NewWriter(&out, sched.Config())
	require.NoError(t, err)
	for _, e := range []berth.Event{nodeOf("n1", 2), queueOf("q"), jobOf("a")} {
		w.Applied(0, e, sched.Apply(0, e))
	}
	orders, err := sched.Schedule(0)
	require.NoError(t, err)
	w.Scheduled(0, orders)
	require.NoError(t, w.Flush())
	replay := func(complete ...func(*berth.Config)) error {
		_, err := journal.Replay(bytes.NewReader(out.Bytes()), complete...)
		return err
	}
	both := func(name string) func(*berth.Config) {
		return func(c *berth.Config) { c.Scorer, c.Gain = byName(name), gain }
	}
	require.NoError(t, replay(both("spread")))
	for field, complete := range map[string][]func(*berth.Config){
		"scorer":  {both("pack")},
		"ownGain": {both("spread"), func(c *berth.Config) { c.Gain = nil }},
	} {
		var e *journal.Error
		require.ErrorAs(t, replay(complete...), &e)
		require.ErrorIs(t, e, journal.ErrConfigDiffers)
		require.Equal(t, field, e.Field)
	}
	require.ErrorIs(t, replay(), journal.ErrConfigDiffers)
	_, err = journal.Recover(fresh(t), bytes.NewReader(out.Bytes()))
	require.ErrorIs(t, err, journal.ErrConfigDiffers)
	text, _, _ := record(t)
	_, err = journal.Replay(strings.NewReader(text), both("spread"))
	require.ErrorIs(t, err, journal.ErrConfigDiffers, "one too many")
}
