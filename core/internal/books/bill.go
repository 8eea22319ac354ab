package books

import (
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// A Bill is many pieces that are imagined gone together: what queues are charged for them, in one
// sum for each queue and product, and how many of each size are among the sizes of a queue. So the
// quota tree and the sizes are changed as often as there are sums, and a record is looked at once.
type Bill struct {
	pieces []record.Piece
	// holds are those of the pieces.
	holds []gang.Hold
	// closed are those of the pieces that have something on nodes that take no more work.
	closed []record.Piece
	sums   []billed
	sizes  []billedSizes
	// at has the positions of sums, by a key without amounts; looked up, never ranged over. last is
	// that of the last one.
	at   map[billed]int
	last int
}

type billed struct {
	queue  quota.QueueIndex
	charge quota.Charge
}

// billedSizes are so many gangs of one size, of a queue, that follow each other.
type billedSizes struct {
	queue       quota.QueueIndex
	size, count int64
}

// Add adds a piece to a bill.
func (b *Bill) Add(p record.Piece) {
	if b.at == nil {
		b.at = map[billed]int{}
	}
	b.pieces = append(b.pieces, p)
	q, closed := p.Rep.Job.Queue, false
	if p.IsSized() {
		b.addLot(q, p.Rep.RunsMilli)
	}
	p.EachHold(func(h *gang.Hold, n *record.Node) {
		b.holds = append(b.holds, *h)
		closed = closed || n.Closed()
		c := p.Rep.ChargeOf(h, n)
		key := billed{q, quota.Charge{Product: c.Product, NonPreemptible: c.NonPreemptible}}
		if at := b.last; at >= len(b.sums) || b.sums[at].key() != key {
			b.last = b.sumOf(key)
		}
		b.sums[b.last].charge = b.sums[b.last].charge.Plus(c)
	})
	if closed {
		b.closed = append(b.closed, p)
	}
}

func (b *Bill) addLot(q quota.QueueIndex, size int64) {
	if last := len(b.sizes) - 1; last >= 0 && b.sizes[last].queue == q && b.sizes[last].size == size {
		b.sizes[last].count++
		return
	}
	b.sizes = append(b.sizes, billedSizes{q, size, 1})
}

// Len is the number of pieces.
func (b *Bill) Len() int { return len(b.pieces) }

// Clear makes a bill empty. It keeps its space.
func (b *Bill) Clear() {
	clear(b.pieces)
	clear(b.closed)
	clear(b.at)
	b.pieces, b.holds, b.closed = b.pieces[:0], b.holds[:0], b.closed[:0]
	b.sums, b.sizes, b.last = b.sums[:0], b.sizes[:0], 0
}

// key is a sum without its amounts.
func (s *billed) key() billed {
	return billed{s.queue, quota.Charge{Product: s.charge.Product, NonPreemptible: s.charge.NonPreemptible}}
}

// sumOf is the position of the sum of a key.
func (b *Bill) sumOf(key billed) int {
	i, known := b.at[key]
	if !known {
		i = len(b.sums)
		b.at[key], b.sums = i, append(b.sums, key)
	}
	return i
}

// VanishAll is Vanish and DischargeAll for all pieces of a bill, and takes them out of the sizes.
func (bk *Books) VanishAll(b *Bill) {
	for _, p := range b.pieces {
		p.Imagine(true)
	}
	for i := range b.holds {
		bk.Release(b.holds[i])
	}
	for _, p := range b.pieces {
		bk.vacate(p, true)
	}
	for i := range b.sums {
		bk.Discharge(b.sums[i].queue, b.sums[i].charge)
	}
	for _, p := range b.closed {
		bk.shiftClosed(p, -1)
	}
	bk.countLots(b, -1)
}

// ReappearAll undoes VanishAll.
func (bk *Books) ReappearAll(b *Bill) {
	bk.countLots(b, 1)
	for _, p := range b.closed {
		bk.shiftClosed(p, 1)
	}
	for i := range b.sums {
		bk.Charge(b.sums[i].queue, b.sums[i].charge)
	}
	for _, p := range b.pieces {
		bk.vacate(p, false)
	}
	for i := range b.holds {
		invariant.Must(bk.Adopt(b.holds[i]))
	}
	for _, p := range b.pieces {
		p.Imagine(false)
	}
}

func (bk *Books) countLots(b *Bill, sign int64) {
	for _, l := range b.sizes {
		q := bk.Queues[l.queue]
		q.Sizes = AddSize(q.Sizes, l.size, sign*l.count)
	}
}
