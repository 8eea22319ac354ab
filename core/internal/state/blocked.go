package state

import (
	"iter"
	"math"
	"math/bits"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/unordered"
)

// Blocked are the shapes that fit nowhere. They stand in lists by the number of binary digits of
// the GPUs that they start with at the least. The zero value has none.
type Blocked struct {
	lists [32][]*record.Shape
	many  int
}

func (b *Blocked) listOf(s *record.Shape) *[]*record.Shape {
	return &b.lists[min(bits.Len(uint(s.GPUs)), len(b.lists)-1)]
}

// Add notes that a shape fits nowhere.
func (b *Blocked) Add(s *record.Shape) {
	list := b.listOf(s)
	s.BlockedAt = len(*list)
	*list = append(*list, s)
	b.many++
}

// Remove notes that one is tried again.
func (b *Blocked) Remove(s *record.Shape) {
	list := b.listOf(s)
	*list = unordered.Remove(*list, s.BlockedAt, func(s *record.Shape, at int) { s.BlockedAt = at })
	s.BlockedAt = -1
	b.many--
}

// Has reports whether a shape is where it says.
func (b *Blocked) Has(s *record.Shape) bool {
	list := *b.listOf(s)
	return s.BlockedAt >= 0 && s.BlockedAt < len(list) && list[s.BlockedAt] == s
}

// Len counts them.
func (b *Blocked) Len() int { return b.many }

// All lists them in no useful order.
func (b *Blocked) All() iter.Seq[*record.Shape] { return b.Within(math.MaxInt) }

// Within lists those that can start with so many GPUs, in no useful order. The one at hand may be
// unblocked. O(shapes with no more than twice as many).
func (b *Blocked) Within(gpus int) iter.Seq[*record.Shape] {
	return func(yield func(*record.Shape) bool) {
		for _, list := range b.lists[:1+min(bits.Len(uint(gpus)), len(b.lists)-1)] {
			for i := len(list) - 1; i >= 0; i-- {
				if s := list[i]; s.GPUs <= gpus && !yield(s) {
					return
				}
			}
		}
	}
}
