package roster

import (
	"github.com/google/btree"

	"github.com/berth-sched/berth"
)

// Ends has items by when they are expected to end. What is past its end is taken to go on for as
// long again as it is late (state.EndIfPlaced), so that the clock alone changes which of them ends
// first: in time that is the first by its end, and among the late the last. Nil is empty.
type Ends[T comparable] struct {
	tree *btree.BTreeG[end[T]]
}

// An end is an item at its end; none: it comes before all of that end.
type end[T comparable] struct {
	at   berth.Time
	item T
	none bool
}

// NewEnds returns an empty one of items that are compared where they end at once.
func NewEnds[T comparable](compare func(a, b T) int) *Ends[T] {
	return &Ends[T]{btree.NewG(16, func(a, b end[T]) bool {
		if a.at != b.at {
			return a.at < b.at
		}
		if a.none || b.none {
			return a.none && !b.none
		}
		return compare(a.item, b.item) < 0
	})}
}

// Add has an item end at an instant. O(log items), as the others are.
func (e *Ends[T]) Add(at berth.Time, item T) { e.tree.ReplaceOrInsert(end[T]{at: at, item: item}) }

// Remove takes out an item that ends at an instant.
func (e *Ends[T]) Remove(at berth.Time, item T) { e.tree.Delete(end[T]{at: at, item: item}) }

// Has reports whether an item is there, and ends at an instant.
func (e *Ends[T]) Has(at berth.Time, item T) bool {
	if e == nil {
		return false
	}
	found, some := e.tree.Get(end[T]{at: at, item: item})
	return some && found.item == item
}

// Len is the number of items.
func (e *Ends[T]) Len() int {
	if e == nil {
		return 0
	}
	return e.tree.Len()
}

// EachSoonest calls a function with the first that ends after an instant, and with the first that
// is the least late by then.
func (e *Ends[T]) EachSoonest(now berth.Time, f func(T)) {
	if e.Len() == 0 {
		return
	}
	var found []T
	first := func(at end[T]) bool {
		found = append(found, at.item)
		return false
	}
	after := end[T]{at: now.Add(1), none: true}
	e.tree.AscendGreaterOrEqual(after, first)
	e.tree.DescendLessOrEqual(after, func(late end[T]) bool {
		e.tree.AscendGreaterOrEqual(end[T]{at: late.at, none: true}, first)
		return false
	})
	for _, item := range found {
		f(item)
	}
}
