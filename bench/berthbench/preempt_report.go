package main

import (
	"fmt"

	"github.com/berth-sched/berth"
)

// report prints the figures of all weeks, a table for each group of them.
func (b *yieldBench) report(s *session, runs [][]*yieldRun) error {
	if s.csv || s.json {
		if err := s.print(b.series(runs)); err != nil {
			return err
		}
		return s.print(b.long(runs))
	}
	s.note("%d GPUs; %d runs of each policy, of %d days from seed %d on; means with 95 %% confidence intervals\n", b.gpus(), b.seeds, b.days, b.seed)
	for i := range yieldTables {
		if err := s.print(b.table(&yieldTables[i], runs)); err != nil {
			return err
		}
	}
	return nil
}

func (b *yieldBench) table(of *yieldTable, runs [][]*yieldRun) *table {
	columns := []string{"policy"}
	for _, f := range of.figures {
		columns = append(columns, f.name)
	}
	t := newTable(of.title, columns...)
	for p, policy := range b.policies {
		row := []any{policy.name}
		for _, f := range of.figures {
			row = append(row, estimateOf(each(runs[p], f.of)).short())
		}
		t.add(row...)
	}
	return t
}

// short is an estimate without the interval where that is nothing, and with as many places
// as its size asks for.
func (e estimate) short() string {
	if e.half == 0 {
		return cell(e.mean)
	}
	return cell(e.mean) + " ±" + cell(e.half)
}

// long has all figures, one to a line, where programs read.
func (b *yieldBench) long(runs [][]*yieldRun) *table {
	t := newTable("figures", "policy", "about", "figure", "mean", "mean±")
	for p, policy := range b.policies {
		for _, group := range yieldTables {
			for _, f := range group.figures {
				e := estimateOf(each(runs[p], f.of))
				t.add(policy.name, group.title, f.name, e.mean, e.half)
			}
		}
	}
	return t
}

// series is the first week over time, where programs read.
func (b *yieldBench) series(runs [][]*yieldRun) *table {
	t := newTable("series", "policy", "hour", "asked", "served", "training")
	for p, policy := range b.policies {
		book := &runs[p][0].book
		asked, served, training := slotMeans(book.slots[yieldAsked]), slotMeans(book.slots[yieldServed]), slotMeans(book.slots[yieldAtWork])
		for slot := range asked {
			t.add(policy.name, fmt.Sprintf("%.2f", float64(slot)*float64(fairSlot)/float64(berth.Hour)), asked[slot], served[slot], training[slot])
		}
	}
	return t
}
