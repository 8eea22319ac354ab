package sim

import "github.com/berth-sched/berth"

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

// A queue is a binary heap of occurrences by instant, then sequence. They are kept
// by value: a day of a fleet puts hundreds of thousands through it.
type queue struct {
	heap []occurrence
	seq  uint64
}

func (q *queue) len() int         { return len(q.heap) }
func (q *queue) min() *occurrence { return &q.heap[0] }

func (a *occurrence) before(b *occurrence) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

func (q *queue) push(o occurrence) {
	q.seq++
	o.seq = q.seq
	q.heap = append(q.heap, o)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !o.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = o
}

func (q *queue) pop() occurrence {
	top := q.heap[0]
	last := len(q.heap) - 1
	o := q.heap[last]
	q.heap[last] = occurrence{}
	q.heap = q.heap[:last]
	if last == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && q.heap[child+1].before(&q.heap[child]) {
			child++
		}
		if !q.heap[child].before(&o) {
			break
		}
		q.heap[i] = q.heap[child]
		i = child
	}
	q.heap[i] = o
	return top
}
