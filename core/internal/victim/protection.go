package victim

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// maxProtected bounds the jobs that are named as what a queue keeps.
const maxProtected = 16

// Protections lists what other queues keep of their guarantees on nodes that an entry could use, if
// it is within the guarantee of its own queue; in order of their names.
func (v *Victims) Protections(e *record.Entry) []berth.Protection {
	t := v.NewSearch(e, nil)
	if t.askLenders(); !t.withinGuarantee {
		return nil
	}
	var list []berth.Protection
	for _, name := range v.state.Quota.Queues() {
		q, _ := v.state.Quota.Lookup(name)
		if p := t.protection(q); p != nil {
			list = append(list, *p)
		}
	}
	return list
}

// protection is what a leaf keeps of its guarantee; nil: nothing, or not where the entry could be.
func (t *Search) protection(q quota.QueueIndex) *berth.Protection {
	c := t.victims
	if q == t.Queue || !c.state.Quota.Leaf(q) {
		return nil
	}
	used := c.state.Quota.Used(q, quota.GPUMilli)
	p := berth.Protection{Queue: c.state.Quota.Name(q), GuaranteeMilli: c.books.Shares.Guaranteed(q), UsedMilli: used, KeptMilli: used}
	if at := t.entitlementOf[q]; at > 0 {
		p.UsedMilli, p.KeptMilli = t.entitlements[at-1].keptOf(used)
	}
	c.books.Queues[q].Running.Ascend(func(rep *record.Replica) bool {
		switch {
		case rep.Imagined || !slices.ContainsFunc(rep.Members, t.inTheWay):
		case len(p.Jobs) == maxProtected:
			p.More++
		default:
			p.Jobs = append(p.Jobs, rep.Ref())
		}
		return true
	})
	if p.KeptMilli == 0 || len(p.Jobs) == 0 {
		return nil
	}
	return &p
}

// keptOf is what a queue keeps of what it uses, and what that is: of so much with what is planned,
// or of what runs where that leaves less to take.
func (k *entitlement) keptOf(planned int64) (used, kept int64) {
	give, r := k.used-max(k.fills, k.kept), &k.running
	if r.used-r.fills < give {
		return r.used, r.fills
	}
	return planned, planned - give
}

// inTheWay reports whether a member holds something where the beneficiary could be.
func (t *Search) inTheWay(m record.Member) bool {
	return m.State.Holds() && slices.ContainsFunc(t.Request.Groups, func(g gang.Group) bool { return m.Node.Suits(&g) })
}
