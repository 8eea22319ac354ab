// Package cases is the experiment that replays scenarios of other schedulers and compares the
// outcomes.
package cases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/berth-sched/berth/bench/cases"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study"
)

// Options say what to replay.
type Options struct {
	study.Output
	File              string
	Verbose, Markdown bool
}

// Defaults are options that name no file yet.
func Defaults() Options { return Options{} }

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.File(&o.File, "file", "the scenarios, in a format that is recognised", "kai.json, kueue_tas.json and kueue_preemption.json in bench/cases/testdata are some")
	f.Yes(&o.Verbose, "v", "print the names of scenarios, and the difference of each one that differs")
	f.Yes(&o.Markdown, "markdown", "print the scenarios that differ alone, as a table in Markdown")
}

// Run replays the scenarios of a file, which package bench/cases does, and writes to w how they
// compare. The error says so if some differ without a reason.
func Run(_ context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	list, err := judge(o.File)
	if err != nil {
		if errors.Is(err, cases.ErrMalformed) || errors.Is(err, cases.ErrUnknown) {
			return flagline.Misused("%v", err)
		}
		return err
	}
	if o.Markdown {
		_, err := io.WriteString(w, document(list))
		return err
	}
	out := o.To(w)
	if err := out.Print(verdicts(list, o.Verbose)); err != nil {
		return err
	}
	sums, failed := totals(list)
	if err := out.Print(sums); err != nil {
		return err
	}
	if failed > 0 {
		return study.Found(fmt.Errorf("%d of %d scenarios differ without a reason", failed, len(list)))
	}
	return nil
}

func judge(name string) ([]cases.Judgement, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	set, err := cases.Read(name, file)
	if err != nil {
		return nil, err
	}
	differences, err := cases.Differences()
	if err != nil {
		return nil, err
	}
	return cases.Judge(set.Run(), differences), nil
}

// verdicts has a line for each scenario.
func verdicts(list []cases.Judgement, verbose bool) *study.Table {
	columns := []string{"id", "verdict", "kind", "why"}
	if verbose {
		columns = append(columns, "difference", "sums", "name")
	}
	t := study.NewTable("Scenarios: does berth decide as the other scheduler does", columns...)
	for _, j := range list {
		why := reason(&j)
		if j.Verdict == cases.Unexplained {
			why = j.Detail
		}
		row := []any{j.ID, string(j.Verdict), j.Kind, why}
		if verbose {
			row = append(row, j.Detail, j.Sums, j.Name)
		}
		t.Add(row...)
	}
	return t
}

// reason is what the list of differences says of a scenario, with the figures that tell.
func reason(j *cases.Judgement) string {
	text := j.Why
	switch j.Better {
	case "":
		return text
	case "neither":
		text = "As good. " + text
	default:
		text = strings.ToUpper(j.Better[:1]) + j.Better[1:] + " is better. " + text
	}
	if j.Awaits != "" {
		text += " To come: " + j.Awaits + "."
	}
	return text
}

// document is a table of the scenarios that differ, in Markdown.
func document(list []cases.Judgement) string {
	text := "| kind | scenario | theirs | ours | verdict | why |\n|---|---|---|---|---|---|\n"
	for _, j := range list {
		if j.Agree {
			continue
		}
		ours, theirs, told := strings.Cut(j.Detail, "; ")
		if _, outcome, named := strings.Cut(theirs, ": "); told && named {
			theirs = outcome // the heading names the scheduler
		}
		if subject, _, named := strings.Cut(ours, ": "); told && named {
			theirs = subject + ": " + theirs
		}
		why := reason(&j)
		if j.Sums != "" {
			why += " (" + j.Sums + ")"
		}
		cells := []string{j.Kind, strings.Join(strings.Fields(j.Name), " "), theirs, ours, string(j.Verdict), why}
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "|", "\\|")
		}
		text += "| " + strings.Join(cells, " | ") + " |\n"
	}
	return text
}

// totals counts verdicts by kind, in the order in which kinds come.
func totals(list []cases.Judgement) (t *study.Table, failed int) {
	known := []cases.Verdict{cases.Agrees, cases.Differs, cases.NotYet, cases.Unexplained}
	t = study.NewTable("Scenarios by kind: how many agree with the other scheduler", "kind", "all", "agree", "differ", "not yet", "unexplained")
	row := map[string]int{}
	sum := []any{"all", 0, 0, 0, 0, 0}
	count := func(row []any, v cases.Verdict) {
		row[1] = row[1].(int) + 1
		for i := range known {
			if known[i] == v {
				row[2+i] = row[2+i].(int) + 1
			}
		}
	}
	for _, j := range list {
		at, known := row[j.Kind]
		if !known {
			at = len(t.Rows)
			row[j.Kind] = at
			t.Add(j.Kind, 0, 0, 0, 0, 0)
		}
		count(t.Rows[at], j.Verdict)
		count(sum, j.Verdict)
		if j.Verdict == cases.Unexplained {
			failed++
		}
	}
	t.Add(sum...)
	return t, failed
}
