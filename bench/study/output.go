package study

import (
	"fmt"
	"io"
)

// Output says how an experiment tells its results. The zero value: in text, without progress.
type Output struct {
	// JSON is for programs: an object for each table, one to a line. Else columns are aligned, for
	// people.
	JSON bool
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

// Print writes a table. People are not shown one without rows, nor columns without values.
func (p *Printer) Print(t *Table) error {
	switch {
	case p.JSON:
		return t.forPrograms().writeJSON(p.out)
	case len(t.Rows) == 0:
		return nil
	}
	return t.Filled().writeText(p.out)
}

// Note writes a line between tables, which only readers of text need.
func (p *Printer) Note(format string, args ...any) {
	if !p.JSON {
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// Say tells of something that is no result.
func (p *Printer) Say(format string, args ...any) {
	fmt.Fprintf(p.Progress, format+"\n", args...)
}
