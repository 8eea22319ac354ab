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
	by map[ask][]*Search // looked up, never ranged over
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
	t := &Search{victims: v, Rep: e.Rep, Queue: e.Rep.Job.Queue, Asked: s.Least}
	open, key := t.open(&s.Spec, v.state.EndIfStarted(e.Rep, v.state.Now)), opening{shape: s}
	for i, res := range aside {
		if open(res) {
			key.open |= 1 << i
		}
	}
	if key.open == 0 {
		t.Request = &s.Minimum
	} else if t.Request = r.requests[key]; t.Request == nil {
		t.Request = v.state.Widen(&s.Spec, &s.Minimum, open)
		if r.requests == nil {
			r.requests = map[opening]*gang.Request{}
		}
		r.requests[key] = t.Request
	}
	return t
}

// An ask is what a search among other queues depends on, but for its request and the nodes that are
// set aside: of two queues below the same one, neither of which has more than its share or keeps
// anything for itself, neither is asked for the other, and all others are asked for both.
type ask struct {
	milli    int64
	product  quota.ProductIndex
	above    quota.QueueIndex
	grade    quota.ReclaimReason
	queueing berth.Duration
	parts    bool
	class    berth.Class
	// collects: at any cost.
	collects bool
}

// Forget forgets all replies.
func (r *Replies) Forget() { clear(r.by) }

// asks is what a search asks; false: it is one of its kind.
func (t *Search) asks() (ask, bool) {
	c, rep := t.victims, t.Rep
	own := c.state.Quota.Config(t.Queue)
	if t.grows || rep.Reserved != nil || len(rep.Retry.Get().Avoid) > 0 || len(own.Limit)+len(own.LimitShare)+len(own.BorrowingLimit)+len(own.LendingLimit) > 0 {
		return ask{}, false
	}
	q := ask{
		milli: t.Asked.GPUMilli, product: t.Asked.Product, above: c.state.Quota.Parent(t.Queue), queueing: c.QueueingFor(rep), parts: t.PartsOnly,
		grade: quota.ReclaimOverShare, class: rep.Job.Spec.Class,
	}
	switch with := c.state.Quota.Used(t.Queue, quota.GPUMilli) + t.Asked.GPUMilli; {
	case with <= c.books.Shares.Guaranteed(t.Queue):
		q.grade, q.collects = quota.ReclaimForGuarantee, t.victims.collectsFrom(rep) <= c.state.Now
	case with <= c.books.Shares.Of(t.Queue):
		q.grade = quota.ReclaimForShare
	}
	return q, true
}

// Recall has a search that has gathered nothing yet end as an earlier one that asked the same, or
// no more of each host. Where nothing sufficed for that one, nothing does for this one. Where
// victims were chosen for that one, they are the choice for this one too if they suffice. It
// reports false if there is no such search, or if the victims of that one pay for this one.
func (r *Replies) Recall(t *Search) bool {
	if r == nil {
		return false
	}
	q, some := t.asks()
	if !some {
		return false
	}
	tries := triesToRecall
	for _, same := range [...]bool{true, false} {
		for _, u := range r.by[q] {
			if u.asksTheSame(t) != same || !u.asksNoMore(t) {
				continue
			}
			v := *u
			v.Rep, v.Queue, v.Asked, v.Request = t.Rep, t.Queue, t.Asked, t.Request
			if u.Weighing != nil {
				if tries == 0 {
					return false
				}
				if tries--; !same && !v.suffices() {
					continue
				}
				if v.Weighing = v.weigh(v.chosen); v.Weighing == nil {
					return false
				}
			}
			*t = v
			r.Given++
			return true
		}
	}
	return false
}

// triesToRecall is for how many earlier searches it is tried whether what they chose suffices.
const triesToRecall = 4

// asksTheSame reports whether two searches are for one request, but for what they may use of what
// is set aside.
func (t *Search) asksTheSame(u *Search) bool { return t.shape() == u.shape() }

func (t *Search) shape() *record.Shape { return t.Rep.Job.Shape() }

// asksNoMore reports whether a search asks the same as another, on the same nodes, but for as much
// or less of each host.
func (t *Search) asksNoMore(u *Search) bool {
	same := t.asksTheSame(u)
	a, b := t.Request, u.Request
	if !same && (a.Variant != nil || b.Variant != nil || a.Within != b.Within || a.Required != b.Required || a.Preferred != b.Preferred || a.Locality != b.Locality ||
		a.Apart != b.Apart || !slices.Equal(a.Parts, b.Parts)) {
		return false
	}
	return slices.EqualFunc(a.Groups, b.Groups, func(a, b gang.Group) bool {
		return slices.Equal(a.Classes, b.Classes) && (same || needsNoMore(&a, &b))
	})
}

// needsNoMore is asksNoMore of one group, for nodes of the same classes.
func needsNoMore(a, b *gang.Group) bool {
	for r := range a.Claim.Host {
		if a.Claim.Host[r] > b.Claim.Host[r] {
			return false
		}
	}
	return a.Claim.Declared.Within(b.Claim.Declared) && a.Match == nil && b.Match == nil && len(a.Claim.Instances)+len(b.Claim.Instances) == 0 && slices.Equal(a.Kinds, b.Kinds) && slices.Equal(a.Segments, b.Segments) &&
		a.Members == b.Members && a.MinMembers == b.MinMembers && a.Part == b.Part && a.Claim.GPUs == b.Claim.GPUs && a.Claim.Share == b.Claim.Share &&
		a.Required == b.Required && a.Preferred == b.Preferred && a.Balance == b.Balance && a.Spread == b.Spread && a.MaxSkew == b.MaxSkew && a.RailLevel == b.RailLevel
}

// suffices reports whether a search would choose what was chosen for another that asks no more.
func (t *Search) suffices() bool {
	ok := t.fits(t.chosen)
	t.SetBack()
	return ok
}

// Note keeps a search that was in vain, unless it was cut short.
func (r *Replies) Note(t *Search) {
	if r == nil || t.Cut {
		return
	}
	if q, some := t.asks(); some {
		if r.by == nil {
			r.by = map[ask][]*Search{}
		}
		r.by[q] = append(slices.DeleteFunc(r.by[q], t.asksTheSame), t)
	}
}

// OutranksAny reports whether a replica ranks above anything that runs in its queue.
func (v *Victims) OutranksAny(rep *record.Replica) bool {
	t := Search{victims: v, Rep: rep, Queue: rep.Job.Queue}
	least, some := v.books.Queues[rep.Job.Queue].Running.Min()
	return some && t.mayTake(least)
}
