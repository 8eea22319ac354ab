package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"github.com/berth-sched/berth"
)

//go:embed film.js
var filmScript string

// markKinds are the rows of marks, and the colours of them.
var markKinds = [...]struct{ kind, many, colour string }{
	{"failure", "failures", "--failed"}, {"eviction", "evictions, moves", "--c4"}, {"drain", "drains", "--c0"},
}

// filmPart is the map of the fleet with a slider over time, marks of what happened above it, and
// the jobs that wait below.
func filmPart(r *Run) string {
	if len(r.Film.Frames) == 0 || len(r.Film.Islands) == 0 {
		return `<p>The fleet has no GPUs.</p>`
	}
	var b strings.Builder
	b.WriteString(marksPlot(r))
	fmt.Fprintf(&b, `<div class="film"><button type="button" id="film-play">Play</button>
<input type="range" id="film-slider" min="0" max="%d" value="%d" aria-label="Time of the picture of the fleet"></div>
<p class="note"><output id="film-clock"></output> <span id="film-told" aria-live="polite"></span></p>
<canvas id="film" role="img" aria-label="Map of the fleet: a block is an island, a box a node, a cell a GPU"></canvas><div id="film-tip" hidden></div>
<p class="film-waiting" id="film-waiting"></p>
<noscript>The picture of the fleet needs JavaScript.</noscript>
`, len(r.Film.Frames)-1, r.Film.fullest())
	fmt.Fprintf(&b, "<script type=\"application/json\" id=\"film-data\">%s</script>\n<script>%s</script>\n", r.Film.encoded(), filmScript)
	return b.String()
}

// fullest is the frame with the most GPUs held.
func (f *Film) fullest() (best int) {
	for i := range f.Frames {
		if f.Frames[i].Held > f.Frames[best].Held {
			best = i
		}
	}
	return best
}

// encoded is the film for the script: of each frame the runs of GPUs whose contents are others than
// in the frame before, as first, how many, and the number of the content.
func (f *Film) encoded() []byte {
	type content struct {
		Flags string   `json:",omitempty"`
		Names []string `json:",omitempty"`
		Kinds []int    `json:",omitempty"`
		Milli []int64  `json:",omitempty"`
	}
	type waiting struct{ Job, About string }
	type frame struct {
		At      berth.Time
		Clock   string
		Held    int64
		Runs    []int
		Waiting []waiting `json:",omitempty"`
	}
	type film struct {
		Islands    []Island
		Categories []string
		Contents   []content
		Frames     []frame
	}
	out := film{Islands: f.Islands}
	for c := range categories {
		out.Categories = append(out.Categories, c.String())
	}
	for i := range f.Contents {
		from := &f.Contents[i]
		var c content
		switch {
		case from.Lost:
			c.Flags = "lost"
		case from.Failed:
			c.Flags = "failed"
		case from.Cordoned:
			c.Flags = "cordoned"
		}
		for _, h := range from.Holders {
			c.Names, c.Kinds, c.Milli = append(c.Names, fmt.Sprintf("%s/%d", h.Job, h.Replica)), append(c.Kinds, int(h.Category)), append(c.Milli, h.Milli)
		}
		out.Contents = append(out.Contents, c)
	}
	var before []int
	for i := range f.Frames {
		from := &f.Frames[i]
		to := frame{At: from.At, Clock: clock(from.At), Held: from.Held / 1000}
		for _, w := range from.Waiting {
			to.Waiting = append(to.Waiting, waiting{string(w.Job), fmt.Sprintf("%s, for %s", w.Category, Span(w.For))})
		}
		to.Runs = runs(before, from.Cells)
		before = from.Cells
		out.Frames = append(out.Frames, to)
	}
	text, err := json.Marshal(&out) // which writes no "<", so that a name ends no script
	if err != nil {
		panic("report: a film of numbers and names: " + err.Error())
	}
	return text
}

// runs lists where now differs from before.
func runs(before, now []int) []int {
	list := []int{} // not null, if nothing has changed
	for i := 0; i < len(now); {
		if i < len(before) && before[i] == now[i] {
			i++
			continue
		}
		end := i
		for end < len(now) && now[end] == now[i] && !(end < len(before) && before[end] == now[end]) {
			end++
		}
		list = append(list, i, end-i, now[i])
		i = end
	}
	return list
}

// marksPlot has a row of ticks for each kind of thing that happened.
func marksPlot(r *Run) string {
	const rowTall = 22.0
	p := newPlot(1080, 8+rowTall*float64(len(markKinds)), "when hardware failed, jobs were evicted, and nodes were drained")
	p.left, p.right = 210, 8
	p.x = linear(float64(r.Start), float64(r.End), p.left, p.width-p.right)
	for i, k := range markKinds {
		y := 4 + rowTall*float64(i)
		n := 0
		p.line(p.left, y+rowTall/2, p.width-p.right, y+rowTall/2, "grid")
		for m := range r.Film.Marks {
			mark := &r.Film.Marks[m]
			if mark.Kind != k.kind {
				continue
			}
			n++
			p.put(`<rect x="%.1f" y="%.1f" width="3" height="%.1f" class="happened" data-at="%d" style="fill:var(%s)"><title>%s</title></rect>`,
				p.x(float64(mark.At))-1.5, y+2, rowTall-4, mark.At, k.colour, html.EscapeString(clock(mark.At)+"\n"+mark.Text))
		}
		p.text(0, y+rowTall/2+4, "island", count(n)+" "+k.many)
	}
	return p.end()
}
