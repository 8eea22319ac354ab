package record

import (
	"github.com/google/btree"

	"github.com/berth-sched/berth"
)

// A growers has what gangs grow by that wait in one bucket and are of one kind, by when the gangs
// are expected to end. A gang that is past its end is taken to run as long again as it is late
// (state.EndIfPlaced), so that the clock alone changes which of them ends first: in time that is
// the first by its end, and among the late the last. Nil is empty.
type growers struct {
	tree *btree.BTreeG[grower]
}

// A grower is an entry at the end of its gang; without an entry it comes before all of that end.
type grower struct {
	end   berth.Time
	entry *Entry
}

func lessGrower(a, b grower) bool {
	if a.end != b.end {
		return a.end < b.end
	}
	if a.entry == nil || b.entry == nil {
		return a.entry == nil && b.entry != nil
	}
	return CompareEntries(a.entry, b.entry) < 0
}

// endsWithGang reports whether an entry is what a gang grows by that ends.
func (e *Entry) endsWithGang() bool { return e.Grows && e.Rep.Job.Spec.Service == nil }

// grower is an entry at the end of its gang as the job states it. A job that states none has its
// start in that place: all of that kind end as much later.
func (e *Entry) grower() grower {
	return grower{end: e.Rep.Started.Add(e.Rep.Job.Spec.ExpectedRuntime), entry: e}
}

func (g *growers) add(e *Entry) *growers {
	if g == nil {
		g = &growers{tree: btree.NewG(16, lessGrower)}
	}
	g.tree.ReplaceOrInsert(e.grower())
	return g
}

func (g *growers) remove(e *Entry) { g.tree.Delete(e.grower()) }

func (g *growers) has(e *Entry) bool {
	if g == nil {
		return false
	}
	found, some := g.tree.Get(e.grower())
	return some && found.entry == e
}

func (g *growers) len() int {
	if g == nil {
		return 0
	}
	return g.tree.Len()
}

// eachSoonest calls a function with the first that ends after an instant, and with the first that
// is the least late by then.
func (g *growers) eachSoonest(now berth.Time, f func(*Entry)) {
	if g.len() == 0 {
		return
	}
	var found []*Entry
	first := func(at grower) bool {
		found = append(found, at.entry)
		return false
	}
	after := grower{end: now.Add(1)}
	g.tree.AscendGreaterOrEqual(after, first)
	g.tree.DescendLessOrEqual(after, func(late grower) bool {
		g.tree.AscendGreaterOrEqual(grower{end: late.end}, first)
		return false
	})
	for _, e := range found {
		f(e)
	}
}
