package expected

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
)

// A busy small fleet for a day: answers come in several buckets, and the same seed gives the
// same figures.
func TestExpected(t *testing.T) {
	o := Options{Nodes: 40, Days: 1, Load: 130, Every: berth.Hour, Most: 8, Seed: 1}
	var first, second bytes.Buffer
	require.NoError(t, Run(context.Background(), o, &first))
	require.NoError(t, Run(context.Background(), o, &second))
	require.Equal(t, first.String(), second.String())
	require.Contains(t, first.String(), "to an hour")
	require.ErrorIs(t, Run(context.Background(), Options{}, &first), study.ErrOptions)
}

// Errors are counted from five minutes on, and percentiles are in minutes.
func TestFigures(t *testing.T) {
	m := berth.Minute
	require.Equal(t, []any{4, 25.0, 50.0, 25.0, -10.0, 5.0, 60.0}, figures([]berth.Duration{60 * m, -10 * m, 0, 5 * m}))
	require.Equal(t, []any{0, nil, nil, nil, nil, nil, nil}, figures(nil))
}
