package preempt

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
)

// Report prints the figures of all weeks, a table for each group of them.
func (b *experiment) Report(out *study.Printer, runs [][]*run) error {
	if out.ForPrograms() {
		if err := out.Print(b.series(runs)); err != nil {
			return err
		}
		return out.Print(b.long(runs))
	}
	out.Note("%d GPUs; means of %d runs of each policy, of %d days from seed %d on%s\n", b.gpus(), b.Seeds, b.Days, b.Seed, study.Intervals(b.Seeds))
	for i := range tables {
		if err := out.Print(b.table(&tables[i], runs)); err != nil {
			return err
		}
	}
	return nil
}

func (b *experiment) table(of *table, runs [][]*run) *study.Table {
	columns := []string{"policy"}
	for _, f := range of.figures {
		columns = append(columns, f.name)
	}
	t := study.NewTable(of.title, columns...)
	for p, policy := range b.policies {
		row := []any{policy.name}
		for _, f := range of.figures {
			row = append(row, study.EstimateOf(study.Each(runs[p], f.of)).Short())
		}
		t.Add(row...)
	}
	return t
}

// long has all figures, one to a line, where programs read.
func (b *experiment) long(runs [][]*run) *study.Table {
	t := study.NewTable("figures", "policy", "about", "figure", "mean", "mean±")
	for p, policy := range b.policies {
		for _, group := range tables {
			for _, f := range group.figures {
				e := study.EstimateOf(study.Each(runs[p], f.of))
				t.Add(policy.name, group.title, f.name, e.Mean, e.Half)
			}
		}
	}
	return t
}

// series is the first week over time, where programs read.
func (b *experiment) series(runs [][]*run) *study.Table {
	t := study.NewTable("series", "policy", "hour", "asked", "served", "training")
	for p, policy := range b.policies {
		book := &runs[p][0].book
		asked, served, training := study.SlotMeans(book.slots[asked]), study.SlotMeans(book.slots[served]), study.SlotMeans(book.slots[atWork])
		for slot := range asked {
			t.Add(policy.name, fmt.Sprintf("%.2f", float64(slot)*float64(study.Slot)/float64(berth.Hour)), asked[slot], served[slot], training[slot])
		}
	}
	return t
}
