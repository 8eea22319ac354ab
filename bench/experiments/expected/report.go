package expected

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
)

// buckets of how far ahead was asked: up to so long.
var buckets = [...]struct {
	upTo berth.Duration
	name string
}{
	{0, "at once"},
	{10 * berth.Minute, "to 10 minutes"},
	{berth.Hour, "to an hour"},
	{4 * berth.Hour, "to 4 hours"},
	{12 * berth.Hour, "to 12 hours"},
	{1 << 62, "longer"},
}

// report prints the errors, by how far ahead was asked: of all, and of those that stood first in
// their queue.
func (r *run) report(out *study.Printer) error {
	for _, of := range []struct {
		title string
		keep  func(answer) bool
	}{
		{"expected starts against real ones, all that wait", func(answer) bool { return true }},
		{"the same, those that stood first in their queue", func(a answer) bool { return a.first }},
	} {
		t := study.NewTable(of.title, "asked ahead", "answers", "earlier, %", "within 5 min, %", "later, %", "p10, min", "median, min", "p90, min")
		from := berth.Duration(-1)
		for _, b := range buckets {
			var list []berth.Duration
			for _, a := range r.closed {
				if ahead := a.told.Sub(a.asked); of.keep(a) && ahead > from && ahead <= b.upTo {
					list = append(list, a.came.Sub(a.told))
				}
			}
			t.Add(append([]any{b.name}, figures(list)...)...)
			from = b.upTo
		}
		if err := out.Print(t); err != nil {
			return err
		}
	}
	left := 0
	for _, list := range r.open {
		left += len(list)
	}
	out.Note("%d answers told no instant; %d are about what has not started: it waits at the end, or was cancelled", r.unknown, left)
	return nil
}

// figures of errors: how many, what part of them is earlier than five minutes, within, and later,
// and, in minutes, the tenth percentile, the median and the ninetieth.
func figures(errs []berth.Duration) []any {
	n := len(errs)
	if n == 0 {
		return []any{0, nil, nil, nil, nil, nil, nil}
	}
	slices.SortFunc(errs, cmp.Compare)
	const near = 5 * berth.Minute
	before, after := 0, 0
	for _, e := range errs {
		switch {
		case e < -near:
			before++
		case e > near:
			after++
		}
	}
	percent := func(k int) float64 { return 100 * float64(k) / float64(n) }
	at := func(tenths int) float64 { return float64(errs[min(n-1, n*tenths/10)]) / float64(berth.Minute) }
	return []any{n, percent(before), percent(n - before - after), percent(after), at(1), at(5), at(9)}
}
