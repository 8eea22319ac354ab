package study

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/berth-sched/berth/bench/report"
)

// A Table is a result. A cell is a string, a number, an Estimate, or nil where there is nothing to
// tell.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]any
}

// NewTable makes a table without rows.
func NewTable(title string, columns ...string) *Table {
	return &Table{Title: title, Columns: columns}
}

// Add adds a row.
func (t *Table) Add(cells ...any) { t.Rows = append(t.Rows, cells) }

// Filled leaves out the columns that have nothing to tell.
func (t *Table) Filled() *Table {
	filled := NewTable(t.Title)
	filled.Rows = make([][]any, len(t.Rows))
	for i, column := range t.Columns {
		if len(t.Rows) > 0 && !slices.ContainsFunc(t.Rows, func(row []any) bool { return row[i] != nil }) {
			continue
		}
		filled.Columns = append(filled.Columns, column)
		for r, row := range t.Rows {
			filled.Rows[r] = append(filled.Rows[r], row[i])
		}
	}
	return filled
}

// Section is the table on a page.
func (t *Table) Section(title, note string) report.LineSection {
	filled := t.Filled()
	return report.LineSection{Title: title, Note: note, Head: filled.Columns, Rows: filled.Cells()}
}

// Cell prints a cell: numbers with a fraction to one place, more below ten.
func Cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case Estimate:
		return v.Short()
	case float64:
		if v != 0 && v < 10 && v > -10 {
			return fmt.Sprintf("%.2f", v)
		}
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprint(v)
}

// writeText aligns the columns: words to the left, numbers to the right.
func (t *Table) writeText(w io.Writer) error {
	widths := make([]int, len(t.Columns))
	left := make([]bool, len(t.Columns))
	for i, name := range t.Columns {
		widths[i] = utf8.RuneCountInString(name)
	}
	for _, row := range t.Rows {
		for i, v := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(Cell(v)))
			switch v.(type) {
			case string, Estimate:
				left[i] = true
			}
		}
	}
	var out strings.Builder
	if t.Title != "" {
		out.WriteString(t.Title + "\n")
	}
	line := func(cells func(int) string) {
		var b strings.Builder
		for i := range t.Columns {
			text := cells(i)
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			b.WriteString("  ")
			if left[i] {
				b.WriteString(text + gap)
			} else {
				b.WriteString(gap + text)
			}
		}
		out.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
	line(func(i int) string { return t.Columns[i] })
	for _, row := range t.Rows {
		line(func(i int) string { return Cell(row[i]) })
	}
	out.WriteString("\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// forPrograms is the table with a column of its own for half of each interval.
func (t *Table) forPrograms() *Table {
	plain := NewTable(t.Title)
	plain.Rows = make([][]any, len(t.Rows))
	for i, column := range t.Columns {
		estimates := slices.ContainsFunc(t.Rows, func(row []any) bool { _, is := row[i].(Estimate); return is })
		if plain.Columns = append(plain.Columns, column); estimates {
			plain.Columns = append(plain.Columns, column+" ±")
		}
		for r, row := range t.Rows {
			e, is := row[i].(Estimate)
			switch {
			case is && e.Values < Fewest:
				plain.Rows[r] = append(plain.Rows[r], e.Mean, nil)
			case is:
				plain.Rows[r] = append(plain.Rows[r], e.Mean, e.Half)
			case estimates:
				plain.Rows[r] = append(plain.Rows[r], row[i], nil)
			default:
				plain.Rows[r] = append(plain.Rows[r], row[i])
			}
		}
	}
	return plain
}

// writeJSON writes the table as an object on a line of its own.
func (t *Table) writeJSON(w io.Writer) error {
	rows := t.Rows
	if rows == nil {
		rows = [][]any{}
	}
	return json.NewEncoder(w).Encode(struct {
		Title   string   `json:"title"`
		Columns []string `json:"columns"`
		Rows    [][]any  `json:"rows"`
	}{t.Title, t.Columns, rows})
}

// Cells are the rows as they are printed.
func (t *Table) Cells() (rows [][]string) {
	for _, row := range t.Rows {
		var cells []string
		for _, v := range row {
			cells = append(cells, Cell(v))
		}
		rows = append(rows, cells)
	}
	return rows
}
