package study

import (
	"fmt"
	"io"
)

// A Format is how tables are written.
type Format uint8

const (
	// Text aligns the columns, for people.
	Text Format = iota
	// CSV writes comma-separated values, the title in the first column.
	CSV
	// JSON writes an object for each table, one to a line.
	JSON
)

// Output says how an experiment tells its results. The zero value: in text, without progress.
type Output struct {
	Format Format
	// Progress takes what is no result: bars, and what is under way. Nil: nobody is told.
	Progress io.Writer
}

// SetOutput sets how the results of options that embed it are told.
func (o *Output) SetOutput(out Output) { *o = out }

// A Printer writes the results of one experiment.
type Printer struct {
	Output
	out io.Writer
}

// To makes a printer that writes results to w.
func (o Output) To(w io.Writer) *Printer {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return &Printer{Output: o, out: w}
}

// ForPrograms reports whether programs read the results, and people do not.
func (p *Printer) ForPrograms() bool { return p.Format != Text }

// Print writes a table. People are not shown one without rows, nor columns without values.
func (p *Printer) Print(t *Table) error {
	if len(t.Rows) == 0 && !p.ForPrograms() {
		return nil
	}
	switch p.Format {
	case CSV:
		return t.forPrograms().writeCSV(p.out)
	case JSON:
		return t.forPrograms().writeJSON(p.out)
	}
	return t.Filled().writeText(p.out)
}

// Note writes a line between tables, which only readers of text need.
func (p *Printer) Note(format string, args ...any) {
	if !p.ForPrograms() {
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// Say tells of something that is no result.
func (p *Printer) Say(format string, args ...any) {
	fmt.Fprintf(p.Progress, format+"\n", args...)
}
