package main

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// A table prints rows with aligned columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) *table {
	return &table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
}

func (t *table) row(cells ...string) {
	_, _ = io.WriteString(t.w, strings.Join(cells, "\t")+"\n") // flush has the error
}

func (t *table) flush() error { return t.w.Flush() }

// number prints a number, and nothing for none.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// age prints how long ago something was, to the second.
func age(now, then time.Time) string {
	return max(0, now.Sub(then)).Truncate(time.Second).String()
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}
