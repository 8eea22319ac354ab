package backlog

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// A Rota goes through entries of many queues in policy order: the queues in the order in
// which they would be served, each entry charged when its turn has come as if it had
// started, and those of one queue in the order of service there. It is used while no
// queue is active in the quota tree; end leaves no trace.
type Rota struct {
	core *Backlog
	// waiting has the entries by queue: the first in the order of service comes first.
	waiting [][]*record.Entry
	charged []*record.Entry
}

// NewRota begins a rota of entries whose shapes are compiled. There is one at a time.
func (bl *Backlog) NewRota(list []*record.Entry) *Rota {
	for len(bl.waiting) < len(bl.books.Queues) {
		bl.waiting = append(bl.waiting, nil)
	}
	r := &Rota{core: bl, waiting: bl.waiting}
	var queues []quota.QueueIndex
	for _, e := range list {
		q := e.Rep.Job.Queue
		if len(r.waiting[q]) == 0 {
			queues = append(queues, q)
		}
		r.waiting[q] = append(r.waiting[q], e)
	}
	for _, q := range queues {
		r.tell(q)
	}
	return r
}

// tell finds the first entry of a queue, and has the queue stand where that puts it.
func (r *Rota) tell(q quota.QueueIndex) {
	list := r.waiting[q]
	if len(list) == 0 {
		r.core.books.Deactivate(q)
		return
	}
	for i, e := range list {
		if record.CompareEntries(e, list[0]) < 0 {
			list[0], list[i] = e, list[0]
		}
	}
	r.core.books.SetNext(q, list[0].Bucket.Shape.Least)
}

// Next is the next entry in turn; nil: there is none left.
func (r *Rota) Next() *record.Entry {
	q, some := r.core.state.Quota.Next()
	if !some {
		return nil
	}
	return r.waiting[q][0]
}

// Add has one more entry of a queue wait for its turn.
func (r *Rota) Add(e *record.Entry) {
	q := e.Rep.Job.Queue
	r.waiting[q] = append(r.waiting[q], e)
	r.tell(q)
}

// Charge imagines an entry to have started.
func (r *Rota) Charge(e *record.Entry) {
	r.core.books.Charge(e.Rep.Job.Queue, e.Bucket.Shape.Least)
	r.charged = append(r.charged, e)
}

// Drop takes entries of a queue off.
func (r *Rota) Drop(q quota.QueueIndex, which func(*record.Entry) bool) {
	r.waiting[q] = slices.DeleteFunc(r.waiting[q], which)
	r.tell(q)
}

// End takes everything back.
func (r *Rota) End() {
	for _, e := range r.charged {
		r.core.books.Discharge(e.Rep.Job.Queue, e.Bucket.Shape.Least)
	}
	for q, some := r.core.state.Quota.Next(); some; q, some = r.core.state.Quota.Next() {
		clear(r.waiting[q])
		r.waiting[q] = r.waiting[q][:0]
		r.core.books.Deactivate(q)
	}
}
