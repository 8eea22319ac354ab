package statetable

import (
	"fmt"
	"slices"
	"strings"
)

// width is how many columns a printed table takes at most.
const width = 98

// Lines prints a machine: what it is about, its table state by state, and what its states and
// events are.
func (m *Machine) Lines() []string {
	lines := wrap(m.Name+": "+m.Doc, width)
	lines = append(lines, m.table()...)
	for _, part := range []struct {
		title string
		words []Word
	}{{"states", m.States}, {"events", m.Events}} {
		lines = append(lines, part.title)
		rows := make([][]string, len(part.words))
		for i, w := range part.words {
			rows[i] = []string{"  " + w.Name, w.Doc}
		}
		lines = append(lines, align(rows)...)
	}
	return lines
}

// table has a line for each state and row.
func (m *Machine) table() []string {
	rows := [][]string{{"state", "event", "next", "when: what comes of it"}}
	for _, from := range m.States {
		name := from.Name
		for i := range m.Rows {
			r := &m.Rows[i]
			if !slices.Contains(strings.Split(r.From, "|"), from.Name) {
				continue
			}
			to := r.To
			switch {
			case r.Refused != "":
				to = "refused, " + r.Refused
			case to == "":
				to = from.Name
			}
			rows = append(rows, []string{name, r.Event, to, r.Effect})
			name = "" // only once
		}
	}
	return align(rows)
}

// cellWidth is how wide a column may be that is not the last.
const cellWidth = 22

// align sets rows in columns. Cells that are too wide go on in the next line.
func align(rows [][]string) []string {
	columns := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			for _, line := range wrap(cell, cellWidth) {
				columns[i] = max(columns[i], len(line))
			}
		}
	}
	last, rest := len(columns)-1, width
	for _, c := range columns[:last] {
		rest -= c + 2
	}
	columns[last] = rest
	var lines []string
	for _, row := range rows {
		var cells [][]string
		height := 0
		for i, cell := range row {
			cells = append(cells, wrap(cell, columns[i]))
			height = max(height, len(cells[i]))
		}
		for k := range height {
			var b strings.Builder
			for i, cell := range cells {
				text := ""
				if k < len(cell) {
					text = cell[k]
				}
				fmt.Fprintf(&b, "%-*s", columns[i]+2, text)
			}
			lines = append(lines, strings.TrimRight(b.String(), " "))
		}
	}
	return lines
}

// wrap breaks a text into lines of at most so many columns: after "|", where it has any, else at
// spaces. What has neither stays whole.
func wrap(text string, columns int) []string {
	var lines []string
	for len(text) > columns {
		at := strings.LastIndexByte(text[:columns], '|')
		if at < 0 {
			at = strings.LastIndexByte(text[:columns+1], ' ')
		}
		if at <= 0 || strings.TrimSpace(text[:at]) == "" {
			break
		}
		lines = append(lines, strings.TrimRight(text[:at+1], " "))
		text = text[at+1:]
	}
	return append(lines, text)
}
