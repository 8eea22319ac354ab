package main

import (
	"strings"
	"unicode/utf8"
)

// A grid is a table in the making. A heading that begins with > is of a column of
// numbers, which are aligned to the right.
type grid struct {
	headings []string
	rows     [][]string
}

func newGrid(headings ...string) *grid { return &grid{headings: headings} }

func (g *grid) row(cells ...string) { g.rows = append(g.rows, cells) }

// String draws the grid, its columns two blanks apart. Columns in which no row has
// anything are left out.
func (g *grid) String() string {
	headings := make([]string, len(g.headings))
	widths, used := make([]int, len(headings)), make([]bool, len(headings))
	for i, heading := range g.headings {
		headings[i] = strings.TrimPrefix(heading, ">")
		widths[i] = utf8.RuneCountInString(headings[i])
		for _, row := range g.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
			used[i] = used[i] || row[i] != ""
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{headings}, g.rows...) {
		var line strings.Builder
		for i, cell := range row {
			if !used[i] {
				continue
			}
			if line.Len() > 0 {
				line.WriteString("  ")
			}
			fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if strings.HasPrefix(g.headings[i], ">") {
				line.WriteString(fill + cell)
			} else {
				line.WriteString(cell + fill)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
