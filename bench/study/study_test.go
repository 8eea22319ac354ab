package study

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/flagline"
)

func TestTables(t *testing.T) {
	table := NewTable("title", "name", "n", "x")
	table.Add("a", 1, 2.5)
	table.Add("bcd", nil, 12.25)
	var text, csv, lines bytes.Buffer
	require.NoError(t, table.writeText(&text))
	require.Equal(t, "title\n  name  n     x\n  a     1  2.50\n  bcd   -  12.2\n\n", text.String())
	require.NoError(t, table.writeCSV(&csv))
	require.Equal(t, "table,name,n,x\ntitle,a,1,2.5\ntitle,bcd,,12.25\n", csv.String())
	require.NoError(t, table.writeJSON(&lines))
	require.JSONEq(t, `{"title":"title","columns":["name","n","x"],"rows":[["a",1,2.5],["bcd",null,12.25]]}`, lines.String())
}

func TestEstimate(t *testing.T) {
	e := EstimateOf([]float64{1, 2, 3, 4})
	require.InDelta(t, 2.5, e.Mean, 1e-12)
	require.InDelta(t, 3.1824*1.2910/2, e.Half, 1e-3, "Student's t for three degrees of freedom")
	require.Equal(t, "2.50 ±2.05", e.String())
	require.Equal(t, "1.50", EstimateOf([]float64{1, 2}).String(), "no interval of two is told")
	require.Equal(t, "1.50", EstimateOf([]float64{1, 2}).Short())
}

func TestJain(t *testing.T) {
	require.InDelta(t, 1, Jain([]float64{2, 2, 2}), 1e-12)
	require.InDelta(t, 1.0/3, Jain([]float64{0, 5, 0}), 1e-12)
	require.InDelta(t, 36.0/42, Jain([]float64{1, 2, 3}), 1e-12)
	require.InDelta(t, 1, Jain([]float64{0, 0}), 1e-12)
}

// Every seed is played on every line, unless the context is cancelled before.
func TestPlayAll(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	runs, err := PlayAll(ctx, 2, 3, func(line, seed int) (int, error) { return 10*line + seed, nil })
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1, 2}, {10, 11, 12}}, runs)
	_, err = PlayAll(ctx, 2, 3, func(line, seed int) (int, error) { return 0, fmt.Errorf("%d of %d", seed, line) })
	require.ErrorContains(t, err, "2 of 1")
	cancel()
	_, err = PlayAll(ctx, 2, 3, func(int, int) (int, error) { panic("it was cancelled") })
	require.ErrorIs(t, err, context.Canceled)
}

// Only what refuses options is misuse, whatever it says.
func TestMisused(t *testing.T) {
	err := fmt.Errorf("philly: %w", flagline.Misused("%d GPUs", 7))
	require.ErrorIs(t, err, flagline.ErrMisuse)
	require.EqualError(t, err, "philly: 7 GPUs")
	require.NotErrorIs(t, context.Canceled, flagline.ErrMisuse)
}
