package grid

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study/studytest"
)

// Of the jobs of a few cells about half start by the middle instant that was told, and most by the
// late one, but not all: an instant by which all do says nothing.
func TestLateInstantsHold(t *testing.T) {
	o := ExpectedOptions{Cells: 24, Jobs: 300, Most: 4, Seed: 1}
	answers, err := o.ask(context.Background())
	require.NoError(t, err)
	require.Greater(t, len(answers), 1000)
	row := errorsOf(answers)
	require.InDelta(t, 50, row[2], 10, "by middle, %v", row)
	require.InDelta(t, 90, row[3], 5, "by late, %v", row)
}

// An answer counts by the instant at which the job gets its place, by what is known, and by how far
// ahead the earliest instant was.
func TestAnswersAreCounted(t *testing.T) {
	h := berth.Time(berth.Hour)
	told := func(known int, earliest, came berth.Time) answer {
		return answer{known: known, asked: h, told: berth.Forecast{Earliest: earliest, Middle: 4 * h, Late: 9 * h}, came: came}
	}
	answers := []answer{told(0, 3*h, 3*h), told(0, 3*h, 4*h), told(4, 3*h, 9*h), told(4, 3*h, 14*h), told(4, 6*h, 9*h)}
	require.Equal(t, []any{4, 25.0, 50.0, 75.0, 1.0, 11.0, 0.0, 10.0, 8.0}, errorsOf(answers[:4]))
	require.Equal(t, []any{0, nil, nil, nil, nil, nil, nil, nil, nil}, errorsOf(nil))

	rows := byKnown(answers).Rows
	require.Equal(t, []any{"exact", 2, 50.0, 100.0, 100.0}, rows[0][:5])
	require.Equal(t, []any{"none", 2, 0.0, 0.0, 50.0}, rows[4][:5])
	require.Equal(t, []any{"all", 4}, rows[5][:2])
	rows = byAhead(answers).Rows
	require.Equal(t, []any{"to an hour", 0}, rows[1][:2])
	require.Equal(t, []any{"to 4 hours", 4}, rows[2][:2])
	require.Equal(t, []any{"to 12 hours", 1}, rows[3][:2])
	require.Equal(t, []any{"all", 5}, rows[5][:2])
}

func TestExpected(t *testing.T) {
	o := ExpectedOptions{Cells: 3, Jobs: 60, Most: 2, Seed: 1}
	out, err := studytest.Tell(RunExpected, o)
	require.NoError(t, err)
	require.Contains(t, out, "asked 1 to 4 hours ahead")
	studytest.Repeats(t, RunExpected, o, out)
	studytest.Refuses(t, RunExpected, o, func(o *ExpectedOptions) { o.Cells = 0 })
}
