package books

import (
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// A Bill is what queues are charged for many pieces, in one sum for each queue and product, so that
// the quota tree is changed as often as there are sums.
type Bill struct {
	pieces []record.Piece
	// closed are those of the pieces that have something on nodes that take no more work.
	closed []record.Piece
	sums   []billed
	// at has the positions of sums, by a key without amounts; looked up, never ranged over. last is
	// that of the last one.
	at   map[billed]int
	last int
}

type billed struct {
	queue  quota.QueueIndex
	charge quota.Charge
}

// Add adds a piece to a bill.
func (b *Bill) Add(p record.Piece) {
	if b.at == nil {
		b.at = map[billed]int{}
	}
	b.pieces = append(b.pieces, p)
	q, closed := p.Rep.Job.Queue, false
	p.EachHold(func(h *gang.Hold, n *record.Node) {
		closed = closed || n.Closed()
		c := record.ChargeOf(h, n)
		if at := b.last; at >= len(b.sums) || b.sums[at].queue != q || b.sums[at].charge.Product != c.Product {
			b.last = b.sumOf(q, c.Product)
		}
		b.sums[b.last].charge = b.sums[b.last].charge.Plus(c)
	})
	if closed {
		b.closed = append(b.closed, p)
	}
}

// Clear makes a bill empty. It keeps its space.
func (b *Bill) Clear() {
	clear(b.pieces)
	clear(b.closed)
	clear(b.at)
	b.pieces, b.closed, b.sums, b.last = b.pieces[:0], b.closed[:0], b.sums[:0], 0
}

// sumOf is the position of the sum of a queue and a product.
func (b *Bill) sumOf(q quota.QueueIndex, product quota.ProductIndex) int {
	key := billed{q, quota.Charge{Product: product}}
	i, known := b.at[key]
	if !known {
		i = len(b.sums)
		b.at[key], b.sums = i, append(b.sums, key)
	}
	return i
}

// Pieces are those of a bill, in the order in which they came.
func (b *Bill) Pieces() []record.Piece { return b.pieces }

// DischargeBill is DischargeAll for all pieces of a bill.
func (bk *Books) DischargeBill(b *Bill) {
	for i := range b.sums {
		bk.Discharge(b.sums[i].queue, b.sums[i].charge)
	}
	for _, p := range b.closed {
		bk.shiftClosed(p, -1)
	}
}

// ChargeBill undoes DischargeBill.
func (bk *Books) ChargeBill(b *Bill) {
	for _, p := range b.closed {
		bk.shiftClosed(p, 1)
	}
	for i := range b.sums {
		bk.Charge(b.sums[i].queue, b.sums[i].charge)
	}
}
