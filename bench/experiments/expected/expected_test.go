package expected

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study/studytest"
)

// A busy small fleet for a day: answers come in several buckets, and the same seed gives the
// same figures.
func TestExpected(t *testing.T) {
	o := Options{Nodes: 40, Days: 1, Load: 130, Every: time.Hour, Most: 8, Seed: 1}
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	require.Contains(t, out, "to an hour")
	studytest.Repeats(t, Run, o, out)
	studytest.Refuses(t, Run, o, func(o *Options) { *o = Options{} })
}

// Errors are counted from five minutes on, and percentiles are in minutes.
func TestFigures(t *testing.T) {
	m := berth.Minute
	require.Equal(t, []any{4, 25.0, 50.0, 25.0, -10.0, 5.0, 60.0}, figures([]berth.Duration{60 * m, -10 * m, 0, 5 * m}))
	require.Equal(t, []any{0, nil, nil, nil, nil, nil, nil}, figures(nil))
}
