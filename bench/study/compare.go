package study

import "github.com/berth-sched/berth/bench/report"

// A Figure is about a run.
type Figure[R any] struct {
	Name string
	Of   func(R) float64
}

// ByLine sets some lines below each other: the means of their figures over the seeds.
func ByLine[R any](title, head string, lines []string, figures []Figure[R], runs [][]R) *Table {
	t := NewTable(title, head)
	for _, f := range figures {
		t.Columns = append(t.Columns, f.Name)
	}
	for at, line := range lines {
		row := []any{line}
		for _, f := range figures {
			row = append(row, EstimateOf(Each(runs[at], f.Of)))
		}
		t.Add(row...)
	}
	return t
}

// SideBySide sets single runs beside each other: a row for each figure, a column for each line.
func SideBySide[R any](title string, lines []string, figures []Figure[R], runs []R) *Table {
	t := NewTable(title, append([]string{"figure"}, lines...)...)
	for _, f := range figures {
		row := []any{f.Name}
		for _, r := range runs {
			row = append(row, f.Of(r))
		}
		t.Add(row...)
	}
	return t
}

// DrawHours draws a level in GPUs through the days of a run that begins on a Monday, the means of
// hours: a line for each of those given, with what is of it by hour.
func DrawHours(title, note string, days int, lines []report.Line, of func(line int) []float64) report.LineSection {
	s := report.LineSection{Title: title, Note: note, Y: "GPUs", To: float64(days), Days: weekdays(days)}
	for at, line := range lines {
		for hour, gpus := range of(at) {
			line.AddHour(hour, gpus)
		}
		s.Lines = append(s.Lines, line)
	}
	return s
}

// weekdays names the first days of a simulation that begins on a Monday.
func weekdays(count int) []string {
	names := [...]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	list := make([]string, count)
	for day := range list {
		list[day] = names[day%len(names)]
	}
	return list
}
