package report_test

import (
	"errors"
	"io"
	"regexp"
	"strconv"
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
				{Name: "x & y", X: []float64{0, 10, 20, 30}, Y: []float64{9, 1, 2, 9}},
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
	require.Equal(t, 1, strings.Count(text, `class="line"`))
	require.Contains(t, text, "x &amp; y</title>")
	require.Contains(t, text, "a &lt; b")
	require.Contains(t, text, "&lt;best&gt;")
	require.Contains(t, text, `d="M74.0 173.0L990.5 14.0"`, "from edge to edge, and the largest at the top")
	require.ErrorIs(t, report.WriteLines(failing{}, page), errNoRoom)
}

var errNoRoom = errors.New("no room")

type failing struct{ io.Writer }

func (failing) Write([]byte) (int, error) { return 0, errNoRoom }

// A name has one style on the whole page: our own the strongest, what is compared with a broken
// line in the colour of letters. Names at the ends of lines leave each other room.
func TestLinesAreNamedAndTold(t *testing.T) {
	flat := func(name string, y float64) report.Line {
		return report.Line{Name: name, Own: name == "berth", Mark: name == "as it was", X: []float64{0, 1}, Y: []float64{y, y}}
	}
	page := &report.Lines{Sections: []report.LineSection{
		{To: 1, Lines: []report.Line{flat("FIFO", 3), flat("EASY", 3), flat("berth", 3)}, Head: []string{"", "FIFO", "berth"}, Rows: [][]string{{"wait", "2", "1"}}},
		{To: 1, Lines: []report.Line{flat("as it was", 1), flat("EASY", -1), flat("berth", 2)}},
		{To: 1, Title: "nothing", Lines: []report.Line{flat("EASY", 0), flat("berth", 0)}},
	}}
	var b strings.Builder
	require.NoError(t, report.WriteLines(&b, page))
	text := b.String()
	require.Equal(t, 2, strings.Count(text, "<svg"), "there is no axis for nothing")
	require.Equal(t, 2, strings.Count(text, `class="line own" style="stroke:var(--own)"`))
	require.Equal(t, 2, strings.Count(text, `class="line" style="stroke:var(--l1)"><title>EASY`))
	require.Equal(t, 1, strings.Count(text, `class="line mark" style="stroke:var(--ink)"`))
	require.Contains(t, text, `<th class="own">berth</th>`)
	require.Contains(t, text, `<td class="own">1</td>`)
	require.Contains(t, text, ">-1</text>", "the axis goes below zero")
	names := regexp.MustCompile(`<text x="[\d.]+" y="([\d.]+)" class="name`).FindAllStringSubmatch(text, -1)
	require.Len(t, names, 6)
	above := -20.0
	for _, n := range names[:3] {
		y, err := strconv.ParseFloat(n[1], 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, y, above+20)
		above = y
	}
}

// By powers of ten, what is less than the first is drawn at the edge; dots tell what they are.
func TestWriteLinesByPowers(t *testing.T) {
	page := &report.Lines{Sections: []report.LineSection{{
		X: "minutes", From: 1, To: 1000, LogX: true,
		Lines: []report.Line{
			{Name: "line", X: []float64{0, 1000}, Y: []float64{0, 100}},
			{Name: "dots", Dots: true, Labels: []string{"a", "b"}, X: []float64{10, 100}, Y: []float64{0, 50}},
		},
	}}}
	var b strings.Builder
	require.NoError(t, report.WriteLines(&b, page))
	text := b.String()
	require.Contains(t, text, `d="M74.0 332.0L1002.0 14.0"`, "from corner to corner")
	require.Contains(t, text, `<circle cx="383.3" cy="332.0"`, "a third of the way, at the bottom")
	require.Contains(t, text, `<circle cx="692.7" cy="173.0"`)
	require.Contains(t, text, "dots\nb</title>")
	for _, tick := range []string{"1", "10", "100", "1,000"} {
		require.Contains(t, text, ">"+tick+"</text>")
	}
}

// The line of each list of values goes up to 100 percent, and reaches to the greatest of all.
func TestPartsOfValues(t *testing.T) {
	s := report.LineSection{To: 10}
	s.AddParts([]report.Line{{Name: "two"}, {Name: "one"}, {Name: "none"}}, [][]float64{{3, 1}, {20}, nil})
	require.EqualValues(t, 20, s.To)
	two := s.Lines[0]
	require.EqualValues(t, []float64{1, 50}, []float64{two.X[0], two.Y[0]})
	require.Contains(t, two.X, 3.0)
	for _, l := range s.Lines[:2] {
		last := len(l.X) - 1
		require.EqualValues(t, []float64{20, 100}, []float64{l.X[last], l.Y[last]})
	}
	require.Empty(t, s.Lines[2].X)
}
