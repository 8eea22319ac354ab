package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/decimal"
)

// A painter draws a Status as text, with colours or without.
type painter struct {
	width int
	color bool
	// shades are the colours of jobs, in the order in which they were first drawn, so
	// that a job keeps its colour.
	shades map[string]int
}

func newPainter(width int, color bool) *painter {
	return &painter{width: width, color: color, shades: map[string]int{}}
}

// The colours of a terminal with 256 of them.
const (
	dim    = 244
	green  = 78
	yellow = 221
	red    = 203
	white  = 255
)

// palette has colours that are told apart side by side, also by readers that see no red or
// green (after Okabe and Ito, "Color Universal Design", 2008).
func palette() []int { return []int{75, 214, 36, 228, 32, 208, 175, 152} }

// paint colours a text.
func (p *painter) paint(color int, text string) string {
	if !p.color || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[38;5;%dm%s\x1b[0m", color, text)
}

// shade is the colour of a job, and letter what stands for it without colours.
func (p *painter) shade(job string) (color int, letter string) {
	n, known := p.shades[job]
	if !known {
		n = len(p.shades)
		p.shades[job] = n
	}
	colors := palette()
	return colors[n%len(colors)], string(rune('A' + n%26))
}

// frame draws everything.
func (p *painter) frame(s *Status) string {
	gap := []string{""}
	lines := slices.Concat([]string{p.title(s)}, gap, p.gpus(s), gap, p.jobs(s), gap, p.queues(s))
	if len(s.Decisions) > 0 {
		lines = append(lines, "", p.heading("latest"))
		for _, d := range s.Decisions {
			lines = append(lines, p.paint(dim, d.At.Format("15:04:05"))+" "+p.cut(d.Text, p.width-9))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// title says what machine it is.
func (p *painter) title(s *Status) string {
	name := "livenode  " + s.Node
	if s.Pretend != "" {
		name += " (fake)"
	}
	var about []string
	if len(s.GPUs) > 0 {
		about = append(about, fmt.Sprintf("%d x %s", len(s.GPUs), s.GPUs[0].Product))
	}
	if s.Driver != "" {
		about = append(about, "driver "+s.Driver)
	}
	right := s.Now.Format("15:04:05")
	left := p.cut(name+"  "+strings.Join(about, ", "), p.width-len(right)-2)
	return p.paint(white, pad(left, p.width-len(right))) + p.paint(dim, right)
}

func (p *painter) heading(text string) string {
	return p.paint(dim, text+" "+strings.Repeat("─", max(0, p.width-len(text)-1)))
}

// gpus draws the map: a bar for each GPU, divided among the jobs that hold it.
func (p *painter) gpus(s *Status) []string {
	lines := []string{p.heading("GPUs")}
	cells := max(16, min(32, p.width/4))
	for i := range s.GPUs {
		g := &s.GPUs[i]
		reading := p.reading(g)
		text := p.holders(g)
		room := p.width - 8 - cells - utf8.RuneCountInString(reading)
		lines = append(lines, fmt.Sprintf("%5d %s %s%s", g.Index, p.bar(g, cells), pad(p.cut(text, room-1), room), p.paint(dim, reading)))
	}
	return lines
}

// bar draws how much of a GPU each job holds.
func (p *painter) bar(g *GPUStatus, cells int) string {
	if g.Failure != "" {
		return p.paint(red, strings.Repeat("x", cells))
	}
	if len(g.Holders) == 2 && g.Holders[1].Borrowed {
		return p.layers(&g.Holders[0], g.Holders[1].Job, cells)
	}
	var b strings.Builder
	used := 0
	for _, h := range g.Holders {
		color, letter := p.shade(h.Job)
		switch {
		case p.color && h.Idle:
			letter = "░"
		case p.color:
			letter = "█"
		case h.Idle:
			letter = strings.ToLower(letter)
		}
		n := min(max(1, h.Milli*cells/1000), cells-used)
		b.WriteString(p.paint(color, strings.Repeat(letter, n)))
		used += n
	}
	b.WriteString(p.paint(dim, strings.Repeat("·", cells-used)))
	return b.String()
}

// layers draws a GPU that is lent: above the borrower, and below the job that holds it. A letter is
// small if that one is idle.
func (p *painter) layers(lender *Holder, borrower string, cells int) string {
	below, b := p.shade(lender.Job)
	above, a := p.shade(borrower)
	switch {
	case p.color:
		return fmt.Sprintf("\x1b[38;5;%d;48;5;%dm%s\x1b[0m", above, below, strings.Repeat("▀", cells))
	case lender.Idle:
		b = strings.ToLower(b)
	}
	return strings.Repeat(b+a, cells)[:cells]
}

// holders names the jobs that hold a GPU, or says why it takes none.
func (p *painter) holders(g *GPUStatus) string {
	if g.Failure != "" {
		return "out of service: " + g.Failure
	}
	var names []string
	for i, h := range g.Holders {
		switch {
		case h.Borrowed && i > 0 && g.Holders[i-1].Idle:
			names = append(names, "lent to "+h.Job)
		case h.Borrowed:
			names = append(names, "to be given back by "+h.Job)
		case h.Instance != "":
			names = append(names, h.Job+" "+h.Instance)
		case h.Milli < 1000:
			names = append(names, fmt.Sprintf("%s %d%%", h.Job, h.Milli/10))
		case h.Idle && len(g.Holders) == 1:
			names = append(names, h.Job+", idle, to be lent")
		default:
			names = append(names, h.Job)
		}
	}
	if len(names) > 0 {
		return strings.Join(names, ", ")
	}
	switch {
	case len(g.Instances) > 0:
		return "free: " + inventory(g.Instances)
	case g.Mode == berth.GPUModeMIG:
		return "in MIG mode, without instances"
	}
	return "free"
}

// inventory counts instances by profile, as in "3 x 1g.10gb, 1 x 4g.40gb".
func inventory(instances []string) string {
	counts := map[string]int{}
	for _, instance := range instances {
		profile, _, _ := strings.Cut(instance, "@")
		counts[profile]++
	}
	var list []string
	for _, profile := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%d x %s", counts[profile], profile))
	}
	return strings.Join(list, ", ")
}

// reading says what was measured of a GPU.
func (p *painter) reading(g *GPUStatus) string {
	r := g.Reading
	if r == nil {
		return fmt.Sprintf("%4d GiB", (g.MemoryMiB+512)/1024)
	}
	text := fmt.Sprintf("%4d/%d GiB", (r.MemoryMiB+512)/1024, (g.MemoryMiB+512)/1024)
	if r.ActiveMilli != nil {
		text = fmt.Sprintf("%3d%% busy", *r.ActiveMilli/10) + text
	}
	if r.TemperatureC != 0 {
		text += fmt.Sprintf(" %3d°C", r.TemperatureC)
	}
	if r.PowerMilliwatts != 0 {
		text += fmt.Sprintf(" %4d W", r.PowerMilliwatts/1000)
	}
	return text
}

// keptOver is how long a job that is over is still drawn.
const keptOver = time.Minute

// jobs draws the jobs and, below each that waits, why.
func (p *painter) jobs(s *Status) []string {
	lines := []string{p.heading("jobs")}
	shown := slices.DeleteFunc(slices.Clone(s.Jobs), func(j JobStatus) bool {
		return j.over() && s.Now.Sub(j.Since) > keptOver
	})
	gap := strings.Repeat(" ", 1+p.width/100) // more, where there is room
	widths := make([]int, 6)
	for i := range shown {
		for c, cell := range p.cells(s, &shown[i]) {
			widths[c] = max(widths[c], utf8.RuneCountInString(cell))
		}
	}
	for i := range shown {
		j := &shown[i]
		text := ""
		for c, cell := range p.cells(s, j) {
			text += pad(cell, widths[c]) + gap
		}
		mark, color := p.mark(j)
		lines = append(lines, p.paint(color, mark)+" "+p.cut(text+detail(j), p.width-2))
		if j.Why != "" && !j.over() {
			lines = append(lines, p.paint(dim, "    "+p.cut(j.Why, p.width-4)))
		}
	}
	if len(lines) == 1 {
		lines = append(lines, p.paint(dim, "none; livenode run -gpus 1 -- COMMAND submits one"))
	}
	return lines
}

// cells are what is said of each job in a column of its own.
func (p *painter) cells(s *Status, j *JobStatus) []string {
	return []string{p.cut(j.Name, 20), j.Wants, j.Class.String(), p.cut(j.Queue, 12), j.State, age(s.Now, j.Since)}
}

// detail is what is said of a job behind the columns.
func detail(j *JobStatus) string {
	switch {
	case j.over():
		return j.Why
	case j.Incarnation > 1 && j.Place != "":
		return fmt.Sprintf("%s (start %d)", j.Place, j.Incarnation)
	}
	return j.Place
}

// mark is a sign for the state of a job.
func (p *painter) mark(j *JobStatus) (string, int) {
	switch j.State {
	case berth.ReplicaRunning.String():
		color, letter := p.shade(j.Name)
		if p.color {
			letter = "●"
		}
		return letter, color
	case berth.ReplicaPending.String():
		return "○", yellow
	case stateEnded:
		return "✓", green
	case stateFailed:
		return "✗", red
	}
	return "◐", yellow
}

// queues draws how much each queue uses.
func (p *painter) queues(s *Status) []string {
	lines := []string{p.heading("queues")}
	all := int64(1000 * len(s.GPUs))
	const cells = 24
	for i := range s.Queues {
		q := &s.Queues[i]
		used := int(min(cells, q.UsedMilli*cells/max(1, all)))
		text := fmt.Sprintf("%s of %d GPUs", decimal.Milli(q.UsedMilli), len(s.GPUs))
		if q.GuaranteeMilli > 0 {
			text += ", guaranteed " + decimal.Milli(q.GuaranteeMilli)
		}
		if q.LimitMilli != nil {
			text += ", at most " + decimal.Milli(*q.LimitMilli)
		}
		if q.GPUHours >= 0.1 {
			text += fmt.Sprintf(", %.1f GPU-hours", q.GPUHours)
		}
		if q.Waiting > 0 {
			text += fmt.Sprintf(", %d waiting", q.Waiting)
		}
		bar := strings.Repeat("#", used) + strings.Repeat("·", cells-used)
		if p.color {
			bar = p.paint(green, strings.Repeat("█", used)) + p.paint(dim, strings.Repeat("·", cells-used))
		}
		lines = append(lines, pad(p.cut(q.Name, 14), 14)+" "+bar+" "+p.cut(text, p.width-cells-16))
	}
	return lines
}

// cut shortens a text to so many characters.
func (p *painter) cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(slices.Concat(runes[:max(0, most-1)], []rune("…")))
}

// pad fills a text up with spaces.
func pad(text string, to int) string {
	return text + strings.Repeat(" ", max(0, to-utf8.RuneCountInString(text)))
}
