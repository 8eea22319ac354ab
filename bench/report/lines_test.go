package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/report"
)

// A line has its points that are in the plot, what people wrote is escaped, and what cannot be
// drawn is left out.
func TestWriteLines(t *testing.T) {
	page := &report.Lines{Title: "a < b", Sections: []report.LineSection{
		{
			Title: "drawn", X: "load", Y: "%", From: 10, To: 20,
			Lines: []report.Line{
				{Name: "x & y", About: "mean 3", X: []float64{0, 10, 20, 30}, Y: []float64{9, 1, 2, 9}},
				{Name: "uneven", X: []float64{12}},
			},
			Head: []string{"policy", "left"}, Rows: [][]string{{"<best>", "1.00"}},
		},
		{Title: "nothing", Note: "no lines, no table"},
	}}
	var b strings.Builder
	require.NoError(t, report.WriteLines(&b, page))
	text := b.String()
	require.Equal(t, 1, strings.Count(text, "<svg"))
	require.Equal(t, 1, strings.Count(text, `class="wait"`))
	require.Contains(t, text, "x &amp; y\nmean 3</title>")
	require.Contains(t, text, "a &lt; b")
	require.Contains(t, text, "&lt;best&gt;")
	require.Contains(t, text, `d="M62.0 177.0L1064.0 14.0"`, "from edge to edge, and the largest at the top")
	require.ErrorIs(t, report.WriteLines(failing{}, page), errNoRoom)
}

// By powers of ten, what is less than the first is drawn at the edge; dots tell what they are.
func TestWriteLinesByPowers(t *testing.T) {
	page := &report.Lines{Sections: []report.LineSection{{
		X: "minutes", From: 1, To: 1000, LogX: true, LogY: true,
		Lines: []report.Line{
			{Name: "line", X: []float64{0, 1000}, Y: []float64{0, 100}},
			{Name: "dots", Dots: true, Labels: []string{"a", "b"}, X: []float64{10, 100}, Y: []float64{1, 10}},
		},
	}}}
	var b strings.Builder
	require.NoError(t, report.WriteLines(&b, page))
	text := b.String()
	require.Contains(t, text, `d="M62.0 340.0L1064.0 14.0"`, "from corner to corner")
	require.Contains(t, text, `<circle cx="396.0" cy="340.0"`, "a third of the way, at the bottom")
	require.Contains(t, text, `<circle cx="730.0" cy="177.0"`)
	require.Contains(t, text, "dots\nb</title>")
	for _, tick := range []string{"1", "10", "100", "1000"} {
		require.Contains(t, text, ">"+tick+"</text>")
	}
}
