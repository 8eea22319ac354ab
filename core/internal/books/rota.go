package books

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/quota"
)

// A Rota goes through entries of many queues in policy order: the queues in the order in
// which they would be served, each entry charged when its turn has come as if it had
// started, and those of one queue in the order of service there. It is used while no
// queue is active in the quota tree; end leaves no trace.
type Rota struct {
	core    *Books
	waiting []pq.Heap[*record.Entry] // by queue
	charged []*record.Entry
	// queues are those that were active in it, in the order in which they became so.
	queues []quota.QueueIndex
	// heads come in queue by queue, as these have their turns; nil: all are here.
	heads Heads
}

// NewRota begins a rota of entries with compiled shapes. There is one at a time.
// O(entries x log entries of a queue).
func (bk *Books) NewRota(list []*record.Entry) *Rota {
	for len(bk.waiting) < len(bk.Queues) {
		bk.waiting = append(bk.waiting, pq.New(lessEntry, nil))
	}
	r := &Rota{core: bk, waiting: bk.waiting, queues: bk.active[:0]}
	for _, e := range list {
		r.push(e)
	}
	for _, q := range r.queues {
		r.tell(q)
	}
	return r
}

// Heads are entries that may have their turn: EachQueue calls a function with each queue of them
// and its first, EachHead with all of one queue.
type Heads interface {
	EachQueue(f func(q *record.Queue, first *record.Entry) bool)
	EachHead(q quota.QueueIndex, f func(*record.Entry) bool)
}

// NewRotaOfHeads is NewRota for heads. Those of a queue are looked at when it has its turn.
// O(queues x log queues).
func (bk *Books) NewRotaOfHeads(heads Heads) *Rota {
	r := bk.NewRota(nil)
	r.heads = heads
	heads.EachQueue(func(q *record.Queue, first *record.Entry) bool {
		bk.state.Compile(first.Bucket.Shape)
		bk.SetNext(q.Index, first.Bucket.Shape.Least)
		r.queues = append(r.queues, q.Index)
		return true
	})
	return r
}

// tell has a queue stand where its first entry puts it.
func (r *Rota) tell(q quota.QueueIndex) {
	if r.waiting[q].Len() == 0 {
		r.core.Deactivate(q)
	} else {
		r.core.SetNext(q, r.waiting[q].Min().Bucket.Shape.Least)
	}
}

// Next is the next entry in turn; nil: there is none left.
func (r *Rota) Next() *record.Entry {
	q, some := r.core.state.Quota.Next()
	if !some {
		return nil
	}
	if r.heads != nil && r.waiting[q].Len() == 0 {
		r.heads.EachHead(q, func(e *record.Entry) bool {
			r.core.state.Compile(e.Bucket.Shape)
			r.waiting[q].Push(e)
			return true
		})
	}
	return r.waiting[q].Min()
}

// Add has one more entry of a queue wait for its turn. O(log entries).
func (r *Rota) Add(e *record.Entry) {
	r.push(e)
	r.tell(e.Rep.Job.Queue)
}

// push puts an entry into its queue, and notes the queue if it is the first.
func (r *Rota) push(e *record.Entry) {
	q := e.Rep.Job.Queue
	if r.waiting[q].Len() == 0 {
		r.queues = append(r.queues, q)
	}
	r.waiting[q].Push(e)
}

// Charge imagines an entry to have started.
func (r *Rota) Charge(e *record.Entry) {
	r.core.Turns++
	r.core.Charge(e.Rep.Job.Queue, e.Bucket.Shape.Least)
	r.charged = append(r.charged, e)
}

// Drop takes the entry off that is next in turn. O(log entries).
func (r *Rota) Drop(e *record.Entry) {
	q := e.Rep.Job.Queue
	r.waiting[q].Pop()
	r.tell(q)
}

// DropAll takes entries of a queue off. O(entries of the queue).
func (r *Rota) DropAll(q quota.QueueIndex, which func(*record.Entry) bool) {
	r.waiting[q] = pq.Of(slices.DeleteFunc(slices.Clone(r.waiting[q].Items()), which), lessEntry)
	r.tell(q)
}

// End takes everything back.
func (r *Rota) End() {
	r.core.DeactivateAll()
	for _, e := range r.charged {
		r.core.Discharge(e.Rep.Job.Queue, e.Bucket.Shape.Least)
	}
	for _, q := range r.queues {
		r.waiting[q].Clear()
	}
	r.core.active = r.queues
}

func lessEntry(a, b *record.Entry) bool { return record.CompareEntries(a, b) < 0 }
