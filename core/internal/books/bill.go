package books

import (
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// A Bill is what queues are charged for many pieces, in one sum for each queue and product, so that
// the quota tree is changed as often as there are sums.
type Bill struct {
	pieces []record.Piece
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
	chargesOf(p, func(c quota.Charge) {
		if at := b.last; at >= len(b.sums) || b.sums[at].queue != p.Rep.Job.Queue || b.sums[at].charge.Product != c.Product {
			b.last = b.sumOf(p.Rep.Job.Queue, c.Product)
		}
		b.sums[b.last].charge = b.sums[b.last].charge.Plus(c)
	})
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
	for _, p := range b.pieces {
		bk.shiftClosed(p, -1)
	}
}

// ChargeBill undoes DischargeBill.
func (bk *Books) ChargeBill(b *Bill) {
	for _, p := range b.pieces {
		bk.shiftClosed(p, 1)
	}
	for i := range b.sums {
		bk.Charge(b.sums[i].queue, b.sums[i].charge)
	}
}
