package core

import (
	"slices"

	"github.com/berth-sched/berth/quota"
)

// A rota goes through entries of many queues in policy order: the queues in the order in
// which they would be served, each entry charged when its turn has come as if it had
// started, and those of one queue in the order of service there. It is used while no
// queue is active in the quota tree; end leaves no trace.
type rota struct {
	core *Core
	// waiting has the entries by queue: the first in the order of service comes first.
	waiting [][]*entry
	charged []*entry
}

// newRota begins a rota of entries whose shapes are compiled. There is one at a time.
func (c *Core) newRota(list []*entry) *rota {
	for len(c.waiting) < len(c.queues) {
		c.waiting = append(c.waiting, nil)
	}
	r := &rota{core: c, waiting: c.waiting}
	var queues []quota.Index
	for _, e := range list {
		q := e.rep.job.queue
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
func (r *rota) tell(q quota.Index) {
	list := r.waiting[q]
	if len(list) == 0 {
		r.core.quota.Deactivate(q)
		return
	}
	for i, e := range list {
		if compareEntries(e, list[0]) < 0 {
			list[0], list[i] = e, list[0]
		}
	}
	must(r.core.quota.SetNext(q, list[0].bucket.shape.least))
}

// next is the entry whose turn it is; nil: there is none left.
func (r *rota) next() *entry {
	q, some := r.core.quota.Next()
	if !some {
		return nil
	}
	return r.waiting[q][0]
}

// add has one more entry of a queue wait for its turn.
func (r *rota) add(e *entry) {
	q := e.rep.job.queue
	r.waiting[q] = append(r.waiting[q], e)
	r.tell(q)
}

// charge imagines an entry to have started.
func (r *rota) charge(e *entry) {
	must(r.core.quota.Charge(e.rep.job.queue, e.bucket.shape.least))
	r.charged = append(r.charged, e)
}

// drop takes entries of a queue off.
func (r *rota) drop(q quota.Index, which func(*entry) bool) {
	r.waiting[q] = slices.DeleteFunc(r.waiting[q], which)
	r.tell(q)
}

// end takes everything back.
func (r *rota) end() {
	for _, e := range r.charged {
		must(r.core.quota.Discharge(e.rep.job.queue, e.bucket.shape.least))
	}
	for q, some := r.core.quota.Next(); some; q, some = r.core.quota.Next() {
		clear(r.waiting[q])
		r.waiting[q] = r.waiting[q][:0]
		r.core.quota.Deactivate(q)
	}
}
