package record

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/roster"
)

// Before counts the entries of a queue that are served before one: each of them once, whatever is
// in the batch behind it, and of a job with alternatives the one of its own gang alone. A queue of
// which nobody asks pays nothing for that. The first time O(entries x log entries), then as
// Ranking.
func (q *Queue) Before(e *Entry) int {
	if q.ranking == nil {
		var all []*Entry
		for _, b := range q.List {
			all = append(all, b.Entries.Items()...)
		}
		all = slices.DeleteFunc(all, (*Entry).IsAlternative)
		slices.SortFunc(all, CompareEntries)
		q.ranking = roster.NewRanking(all, CompareEntries)
	}
	return q.ranking.Before(e)
}

// note has the ranking of a queue follow a change, if there is one, and the bound of its ranks.
func (q *Queue) note(e *Entry, comes bool) {
	if r := rankOf(e.Rep); comes && r.compare(q.top) > 0 {
		q.top = r
	}
	if q.ranking != nil && !e.IsAlternative() && !q.ranking.Note(e, comes) {
		q.ranking = nil
	}
}

// Ranked lists what is ranked; false: nothing is.
func (q *Queue) Ranked() ([]*Entry, bool) {
	if q.ranking == nil {
		return nil, false
	}
	return q.ranking.Items(), true
}
