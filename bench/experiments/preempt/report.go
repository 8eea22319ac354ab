package preempt

import (
	"io"

	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// Report prints the figures of all weeks, a table for each group of them, and the frontier.
func (b *experiment) Report(out *study.Printer, runs [][]*run) error {
	out.Note("%d GPUs; means of %d runs of each policy, of %d days from seed %d on%s\n", b.gpus(), b.Seeds, b.Days, b.Seed, study.Intervals(b.Seeds))
	for i := range tables {
		if err := out.Print(b.table(i, runs)); err != nil {
			return err
		}
	}
	if err := out.Print(b.frontier(runs)); err != nil {
		return err
	}
	return study.WritePage(b.HTML, func(w io.Writer) error { return report.WriteLines(w, b.page(runs)) })
}

func (b *experiment) table(i int, runs [][]*run) *study.Table {
	return study.ByLine(tables[i].title, "policy", b.names(), tables[i].figures, runs[:compared])
}
