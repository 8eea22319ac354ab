package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A table is a result. A cell is a string, a number, or nil where there is nothing to
// tell.
type table struct {
	title   string
	columns []string
	rows    [][]any
}

func newTable(title string, columns ...string) *table {
	return &table{title: title, columns: columns}
}

func (t *table) add(cells ...any) { t.rows = append(t.rows, cells) }

// cell prints a cell: numbers with a fraction to one place, more below ten.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case float64:
		if v != 0 && v < 10 && v > -10 {
			return fmt.Sprintf("%.2f", v)
		}
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprint(v)
}

// writeText aligns the columns: words to the left, numbers to the right.
func (t *table) writeText(w io.Writer) error {
	widths := make([]int, len(t.columns))
	left := make([]bool, len(t.columns))
	for i, name := range t.columns {
		widths[i] = utf8.RuneCountInString(name)
	}
	for _, row := range t.rows {
		for i, v := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell(v)))
			if _, word := v.(string); word {
				left[i] = true
			}
		}
	}
	var out strings.Builder
	if t.title != "" {
		out.WriteString(t.title + "\n")
	}
	line := func(cells func(int) string) {
		var b strings.Builder
		for i := range t.columns {
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
	line(func(i int) string { return t.columns[i] })
	for _, row := range t.rows {
		line(func(i int) string { return cell(row[i]) })
	}
	out.WriteString("\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// writeCSV writes the title in the first column of every line, so that several tables
// can follow each other.
func (t *table) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(append([]string{"table"}, t.columns...)); err != nil {
		return err
	}
	for _, row := range t.rows {
		record := []string{t.title}
		for _, v := range row {
			if v == nil {
				record = append(record, "")
				continue
			}
			record = append(record, fmt.Sprint(v))
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// writeJSON writes the table as an object on a line of its own.
func (t *table) writeJSON(w io.Writer) error {
	rows := t.rows
	if rows == nil {
		rows = [][]any{}
	}
	return json.NewEncoder(w).Encode(struct {
		Title   string   `json:"title"`
		Columns []string `json:"columns"`
		Rows    [][]any  `json:"rows"`
	}{t.title, t.columns, rows})
}
