// Package losses remembers the nodes that were lost, and when.
package losses

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/google/btree"

	"github.com/berth-sched/berth"
)

// Check checks that what is remembered is in order, and in both indexes.
func (m *Losses) Check() error {
	if len(m.ByID) != m.fading.Len() {
		return fmt.Errorf("%d nodes that were lost are remembered, %d of them to be forgotten", len(m.ByID), m.fading.Len())
	}
	var err error
	m.fading.Ascend(func(r *Record) bool {
		if m.ByID[r.Node] != r || len(r.Losses) == 0 || !slices.IsSorted(r.Losses) {
			err = fmt.Errorf("what is remembered of node %s is not where it says, or out of order", r.Node)
		}
		return err == nil
	})
	return err
}

// A Record is what is remembered of a node that was lost, and how that is saved.
type Record struct {
	Node berth.NodeID `json:"node"`
	// Losses are the latest instants, the oldest first.
	Losses []berth.Time `json:"losses"`
	// Quarantines counts those that it had, up to limits.MaxDoublings.
	Quarantines int `json:"quarantines,omitempty"`
	// Until is when it is forgotten.
	Until berth.Time `json:"until"`
}

// lessLoss orders records by when they are forgotten, then by node.
func lessLoss(a, b *Record) bool {
	return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Node, b.Node)) < 0
}

// A Losses remembers the nodes that were lost, by name and in the order in which they
// are forgotten.
type Losses struct {
	ByID   map[berth.NodeID]*Record
	fading *btree.BTreeG[*Record]
}

// New returns a memory of nothing.
func New() *Losses {
	return &Losses{ByID: map[berth.NodeID]*Record{}, fading: btree.NewG(16, lessLoss)}
}

// Clear forgets all losses.
func (m *Losses) Clear() { *m = *New() }

// Add remembers a node that is not remembered yet.
func (m *Losses) Add(r *Record) {
	m.ByID[r.Node] = r
	m.fading.ReplaceOrInsert(r)
}

// Remove forgets one that is, before anything in its record changes.
func (m *Losses) Remove(r *Record) {
	delete(m.ByID, r.Node)
	m.fading.Delete(r)
}

// Forget drops what is over at an instant, and the oldest of what is more than so many.
func (m *Losses) Forget(now berth.Time, most int) {
	for {
		oldest, some := m.fading.Min()
		if !some || oldest.Until > now && m.fading.Len() <= most {
			return
		}
		m.Remove(oldest)
	}
}

// Save lists what is remembered, in order of name.
func (m *Losses) Save() []Record {
	var list []Record
	for _, id := range slices.Sorted(maps.Keys(m.ByID)) {
		r := *m.ByID[id]
		r.Losses = slices.Clone(r.Losses)
		list = append(list, r)
	}
	return list
}
