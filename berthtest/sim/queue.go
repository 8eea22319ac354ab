package sim

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/pq"
)

// An occurrence is something that will happen.
type occurrence struct {
	at berth.Time
	// seq orders what happens at one instant.
	seq  uint64
	what happening
	// action and gang, for what happens to orders and gangs.
	action berth.Order
	gang   *gang
	// event, for what is told as it is.
	event berth.Event
	// node and gpu, for what is looked at.
	node berth.NodeID
	gpu  int
	// do, for what Simulation.At was asked for.
	do func() error
}

type happening uint8

const (
	// executed: an order is carried out.
	executed happening = iota
	// finished: a job ends by itself.
	finished
	// told: an event is told as it is: a late or doubled report, a repair.
	told
	// overdue: the core gives up an order about a GPU if it has not heard of it.
	overdue
	// looked: somebody looks how a GPU is, and tells.
	looked
	// called: somebody else does something.
	called
)

// A queue has what will happen by instant, and of one instant in the order in which it came.
type queue struct {
	pq.Heap[*occurrence]
	seq uint64
}

func newQueue() queue {
	return queue{Heap: pq.New(func(a, b *occurrence) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }, nil)}
}

func (q *queue) push(o occurrence) {
	q.seq++
	o.seq = q.seq
	q.Push(&o)
}

// due reports whether something happens up to an instant.
func (q *queue) due(at berth.Time) bool { return q.Len() > 0 && q.Min().at <= at }
