package victim

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// Replies are the searches among other queues that were in vain, by what they asked. Many queues
// that are each a little below their share ask the same, and one search answers all of them: what
// can be taken from others is the same, and only the gain is their own. They hold as long as
// nothing has changed in what is imagined, in the shares or in the rate limits. The zero value has
// none.
type Replies struct {
	by map[ask]*Search // looked up, never ranged over
	// requests are those of the searches that asked for a reply, by what is open to them: no
	// reservation comes or goes meanwhile. Looked up, never ranged over.
	requests map[opening]*gang.Request
	// Given counts those that were given.
	Given int
}

// An opening is which of the reservations are open to a request, one bit each.
type opening struct {
	shape *record.Shape
	open  uint64
}

// NewSearch is that of Victims, for entries of which many ask the same.
func (r *Replies) NewSearch(v *Victims, e *record.Entry) *Search {
	aside, s := v.backlog.Reservations, e.Bucket.Shape
	if len(aside) == 0 || len(aside) > 64 {
		return v.NewSearch(e, nil)
	}
	v.state.Compile(s)
	t := &Search{core: v, Rep: e.Rep, Queue: e.Rep.Job.Queue, Asked: s.Least}
	open, key := t.open(&s.Spec, v.state.EndIfStarted(e.Rep, v.state.Now)), opening{shape: s}
	for i, w := range aside {
		if open(w) {
			key.open |= 1 << i
		}
	}
	if t.Request = r.requests[key]; t.Request == nil {
		t.Request = v.state.Widen(s.Spec.Groups, &s.Minimum, open)
		if r.requests == nil {
			r.requests = map[opening]*gang.Request{}
		}
		r.requests[key] = t.Request
	}
	return t
}

// An ask is what a search among other queues depends on, but for the nodes that are set aside:
// of two queues below the same one, neither of which has more than its share or keeps anything for
// itself, neither is asked for the other, and all others are asked for both.
type ask struct {
	shape    *record.Shape
	above    quota.QueueIndex
	grade    quota.ReclaimReason
	queueing berth.Duration
	parts    bool
}

// Forget forgets all replies.
func (r *Replies) Forget() { clear(r.by) }

// asks is what a search asks; false: it is one of its kind.
func (t *Search) asks() (ask, bool) {
	c, rep := t.core, t.Rep
	own := c.state.Quota.Config(t.Queue)
	if t.grows || rep.Reserved != nil || len(rep.Retry.Get().Avoid) > 0 || len(own.Limit)+len(own.BorrowingLimit)+len(own.LendingLimit) > 0 {
		return ask{}, false
	}
	q := ask{
		shape: rep.Entries[0].Bucket.Shape, above: c.state.Quota.Parent(t.Queue), queueing: c.QueueingFor(rep), parts: t.PartsOnly,
		grade: quota.ReclaimOverShare,
	}
	switch with := c.state.Quota.Used(t.Queue, quota.GPUMilli) + t.Asked.GPUMilli; {
	case with <= c.books.Shares.Guaranteed(t.Queue):
		q.grade = quota.ReclaimForGuarantee
	case with <= c.books.Shares.Of(t.Queue):
		q.grade = quota.ReclaimForShare
	}
	return q, true
}

// Recall has a search that has gathered nothing yet end as one before it did that asked the same.
// It reports false if there was none, or if what that one found pays for this one.
func (r *Replies) Recall(t *Search) bool {
	if r == nil {
		return false
	}
	q, some := t.asks()
	u := r.by[q]
	if !some || u == nil || !slices.EqualFunc(u.Request.Groups, t.Request.Groups, func(a, b gang.Group) bool { return slices.Equal(a.Classes, b.Classes) }) {
		return false
	}
	v := *u
	v.Rep, v.Queue, v.Request = t.Rep, t.Queue, t.Request
	if u.Weighing != nil {
		if v.Weighing = v.weigh(v.chosen); v.Weighing == nil {
			return false
		}
	}
	*t = v
	r.Given++
	return true
}

// Note keeps a search that was in vain, unless it was cut short.
func (r *Replies) Note(t *Search) {
	if r == nil || t.Cut {
		return
	}
	if q, some := t.asks(); some {
		if r.by == nil {
			r.by = map[ask]*Search{}
		}
		r.by[q] = t
	}
}

// OutranksAny reports whether a replica ranks above anything that runs in its queue.
func (v *Victims) OutranksAny(rep *record.Replica) bool {
	t := Search{core: v, Rep: rep, Queue: rep.Job.Queue}
	least, some := v.books.Queues[rep.Job.Queue].Running.Min()
	return some && t.mayTake(least)
}
