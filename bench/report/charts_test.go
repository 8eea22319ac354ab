package report_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/report"
)

// A chart has an area and a line of as many steps, on the scale of its section, and
// what people wrote is escaped.
func TestWriteCharts(t *testing.T) {
	chart := func(values ...float64) report.Chart {
		return report.Chart{Title: "a & b", Area: values, Line: values, Colour: report.Batch}
	}
	page := &report.Charts{
		Title: "<title>", AreaName: "had", LineName: "entitled to", Unit: "GPUs", Step: 12 * berth.Hour, Days: []string{"Mon"},
		Sections: []report.ChartSection{
			{Title: "both", Note: "of one scale", Charts: []report.Chart{chart(1, 2), chart(100, 60)}},
			{Title: "uneven", Charts: []report.Chart{{Area: []float64{1}, Line: nil}, {}}},
		},
	}
	var b strings.Builder
	require.NoError(t, report.WriteCharts(&b, page))
	text := b.String()
	require.Equal(t, 2, strings.Count(text, "<svg"))
	require.Equal(t, 2, strings.Count(text, ">100</text>"), "both axes end at the same amount")
	require.Contains(t, text, "&lt;title&gt;")
	require.Contains(t, text, "a &amp; b")
	require.Contains(t, text, ">Mon</text>")
	require.Contains(t, text, "12:00\nhad: 60 GPUs\nentitled to: 60 GPUs")
	require.ErrorIs(t, report.WriteCharts(failing{}, page), errNoRoom)
}

var errNoRoom = errors.New("no room")

type failing struct{ io.Writer }

func (failing) Write([]byte) (int, error) { return 0, errNoRoom }
