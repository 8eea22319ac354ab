package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/berth-sched/berth/bench/cases"
)

// runCases replays a file of scenarios; see package bench/cases.
func runCases(s *session, args []string) error {
	file := s.String("file", "", "the file with the scenarios; its format is recognised")
	verbose := s.Bool("v", false, "print the difference of every scenario that differs, and names")
	if err := s.parse(args); err != nil {
		return err
	}
	if *file == "" {
		return s.misused("-file is missing")
	}
	list, err := judge(*file)
	if err != nil {
		if errors.Is(err, cases.ErrMalformed) || errors.Is(err, cases.ErrUnknown) {
			return s.misused("%v", err)
		}
		return err
	}
	if err := s.print(caseTable(list, *verbose)); err != nil {
		return err
	}
	totals, failed := caseTotals(list)
	if err := s.print(totals); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d scenarios differ without a reason, or agree against one", failed, len(list))
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
	differences, err := cases.DifferencesOf(set.Format)
	if err != nil {
		return nil, err
	}
	return cases.Judge(set.Run(), differences), nil
}

// caseTable has a line for each scenario.
func caseTable(list []cases.Judgement, verbose bool) *table {
	columns := []string{"id", "verdict", "kind", "why"}
	if verbose {
		columns = append(columns, "difference", "name")
	}
	t := newTable("", columns...)
	for _, j := range list {
		why := j.Reason
		if j.Verdict == cases.Unexplained {
			why = j.Detail
		}
		row := []any{j.ID, string(j.Verdict), j.Kind, why}
		if verbose {
			row = append(row, j.Detail, j.Name)
		}
		t.add(row...)
	}
	return t
}

// caseTotals counts verdicts by kind, in the order in which kinds come.
func caseTotals(list []cases.Judgement) (t *table, failed int) {
	verdicts := []cases.Verdict{cases.Agrees, cases.Differs, cases.NotYet, cases.Unexplained, cases.Stale}
	t = newTable("totals", "kind", "all", "agree", "differ", "not yet", "unexplained", "stale")
	row := map[string]int{}
	sum := []any{"all", 0, 0, 0, 0, 0, 0}
	count := func(row []any, v cases.Verdict) {
		row[1] = row[1].(int) + 1
		for i := range verdicts {
			if verdicts[i] == v {
				row[2+i] = row[2+i].(int) + 1
			}
		}
	}
	for _, j := range list {
		at, known := row[j.Kind]
		if !known {
			at = len(t.rows)
			row[j.Kind] = at
			t.add(j.Kind, 0, 0, 0, 0, 0, 0)
		}
		count(t.rows[at], j.Verdict)
		count(sum, j.Verdict)
		if j.Verdict.Failed() {
			failed++
		}
	}
	t.add(sum...)
	return t, failed
}
