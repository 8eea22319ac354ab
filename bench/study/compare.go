package study

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
