package books

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/quota"
)

// A PolicyOrder goes through entries of many queues in policy order: the queues in the order in
// which they would be served, each entry charged when its turn has come as if it had
// started, and those of one queue in the order of service there. It is used while no
// queue is active in the quota tree; End leaves no trace.
type PolicyOrder struct {
	books   *Books
	waiting []pq.Heap[*record.Entry] // by queue
	charged []*record.Entry
	// queues are those that were active in it, in the order in which they became so.
	queues []quota.QueueIndex
	// heads come in queue by queue, as these have their turns; nil: all are here.
	heads Heads
}

// NewPolicyOrder begins the policy order of entries with compiled shapes. There is one at a time.
// O(entries x log entries of a queue).
func (bk *Books) NewPolicyOrder(list []*record.Entry) *PolicyOrder {
	for len(bk.waiting) < len(bk.Queues) {
		bk.waiting = append(bk.waiting, pq.New(lessEntry, nil))
	}
	r := &PolicyOrder{books: bk, waiting: bk.waiting, queues: bk.active[:0]}
	for _, e := range list {
		r.push(e)
	}
	for _, q := range r.queues {
		r.activate(q)
	}
	return r
}

// Heads are entries that may have their turn: EachQueue calls a function with each queue of them
// and its first, EachHead with all of one queue.
type Heads interface {
	EachQueue(f func(q *record.Queue, first *record.Entry) bool)
	EachHead(q quota.QueueIndex, f func(*record.Entry) bool)
}

// NewPolicyOrderOfHeads is NewPolicyOrder for heads. Those of a queue are looked at when it has its
// turn. O(queues x log queues).
func (bk *Books) NewPolicyOrderOfHeads(heads Heads) *PolicyOrder {
	r := bk.NewPolicyOrder(nil)
	r.heads = heads
	heads.EachQueue(func(q *record.Queue, first *record.Entry) bool {
		bk.state.Compile(first.Bucket.Shape)
		bk.SetNext(q.Index, first.Bucket.Shape.Least)
		r.queues = append(r.queues, q.Index)
		return true
	})
	return r
}

// activate has a queue stand where its first entry puts it.
func (r *PolicyOrder) activate(q quota.QueueIndex) {
	if r.waiting[q].Len() == 0 {
		r.books.Deactivate(q)
	} else {
		r.books.SetNext(q, r.waiting[q].Min().Bucket.Shape.Least)
	}
}

// Next is the next entry in turn; nil: there is none left.
func (r *PolicyOrder) Next() *record.Entry {
	q, some := r.books.state.Quota.Next()
	if !some {
		return nil
	}
	if r.heads != nil && r.waiting[q].Len() == 0 {
		r.heads.EachHead(q, func(e *record.Entry) bool {
			r.books.state.Compile(e.Bucket.Shape)
			r.waiting[q].Push(e)
			return true
		})
	}
	return r.waiting[q].Min()
}

// Add has one more entry of a queue wait for its turn. O(log entries).
func (r *PolicyOrder) Add(e *record.Entry) {
	r.push(e)
	r.activate(e.Rep.Job.Queue)
}

// push puts an entry into its queue, and notes the queue if it is the first.
func (r *PolicyOrder) push(e *record.Entry) {
	q := e.Rep.Job.Queue
	if r.waiting[q].Len() == 0 {
		r.queues = append(r.queues, q)
	}
	r.waiting[q].Push(e)
}

// Charge imagines an entry to have started.
func (r *PolicyOrder) Charge(e *record.Entry) {
	r.books.Turns++
	r.books.Charge(e.Rep.Job.Queue, e.Bucket.Shape.Least)
	r.charged = append(r.charged, e)
}

// Pop takes the entry off that is next in turn. O(log entries).
func (r *PolicyOrder) Pop(e *record.Entry) {
	q := e.Rep.Job.Queue
	r.waiting[q].Pop()
	r.activate(q)
}

// RemoveAll takes entries of a queue off. O(entries of the queue).
func (r *PolicyOrder) RemoveAll(q quota.QueueIndex, which func(*record.Entry) bool) {
	r.waiting[q] = pq.Of(slices.DeleteFunc(slices.Clone(r.waiting[q].Items()), which), lessEntry)
	r.activate(q)
}

// End takes everything back.
func (r *PolicyOrder) End() {
	r.books.DeactivateAll()
	for _, e := range r.charged {
		r.books.Discharge(e.Rep.Job.Queue, e.Bucket.Shape.Least)
	}
	for _, q := range r.queues {
		r.waiting[q].Clear()
	}
	r.books.active = r.queues
}

func lessEntry(a, b *record.Entry) bool { return record.CompareEntries(a, b) < 0 }
