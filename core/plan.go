package core

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
)

// The plan says when and where something that waits will fit, from the ends that are
// expected of what runs: nothing else comes, nothing ends early or late.

// maxPlan bounds how many replicas a plan imagines ended.
const maxPlan = 65_536

// An ending is when a replica that holds something is expected to hold it no longer.
type ending struct {
	at  berth.Time
	rep *replica
}

// less orders endings by instant, then job and replica; the zero value is before all.
func (e ending) less(f ending) bool {
	if e.rep == nil || f.rep == nil {
		return e.rep == nil && f.rep != nil
	}
	return cmp.Or(cmp.Compare(e.at, f.at), compareReplicas(e.rep, f.rep)) < 0
}

// runtime is how long a replica is expected to run. False: for ever, as services do.
func (c *Core) runtime(j *job) (berth.Duration, bool) {
	return cmp.Or(j.spec.ExpectedRuntime, c.config.Policy.AssumedRuntime), j.spec.Service == nil
}

// endIfPlaced is when a replica would be expected to end if something were placed for
// it now.
func (c *Core) endIfPlaced(rep *replica) berth.Time {
	if length, ends := c.runtime(rep.job); ends && rep.State == berth.Running {
		return c.notYet(rep.Started.Add(length))
	}
	return c.endIfStarted(rep, c.now)
}

// endIfStarted is when a replica would be expected to end that were started, from the
// beginning, at an instant.
func (c *Core) endIfStarted(rep *replica, at berth.Time) berth.Time {
	length, ends := c.runtime(rep.job)
	if !ends {
		return never
	}
	return at.Add(length)
}

// notYet is an end that was expected or, if that is past, as long again from now as it is
// late.
func (c *Core) notYet(end berth.Time) berth.Time {
	if end > c.now {
		return end
	}
	return c.now.Add(max(c.now.Sub(end), berth.Minute))
}

// setEnd enters the end expected of a replica; never: none.
func (c *Core) setEnd(rep *replica, at berth.Time) {
	if rep.endsAt != 0 {
		c.endings.Delete(ending{rep.endsAt, rep})
	}
	rep.endsAt = 0
	if at != never {
		rep.endsAt = max(at, 1) // 0 is none
		c.endings.ReplaceOrInsert(ending{rep.endsAt, rep})
	}
}

// expectedEnd is when a replica that holds something is expected to end: of one that
// should have ended already, in as long again as it is late.
func (c *Core) expectedEnd(rep *replica) berth.Time {
	if rep.endsAt == 0 {
		return never
	}
	return c.notYet(rep.endsAt)
}

// plan finds the first instant at which a request is expected to fit, and where. It
// imagines the end of one replica after the other on the fleet itself and leaves it as
// it was. O(replicas imagined ended x members + searches x log of that).
func (c *Core) plan(request *gang.Request) (at berth.Time, where []gang.Member, ok bool) {
	p := planner{core: c, request: request}
	if !p.gallop() {
		p.moveTo(0)
		return 0, nil, false
	}
	if !c.find(request) { // it did a moment ago
		panic("berth: broken invariant: equal fleets, different answers")
	}
	where = append(where, c.placement.Members...)
	must(c.fleet.ReleaseAll(&c.placement))
	at = p.end()
	p.moveTo(0)
	return at, where, true
}

// estimate is when a gang's reservation is expected to start, as things stand: the plan
// with its own nodes alone. O(replicas there x members).
func (c *Core) estimate(w *window) berth.Time {
	s := w.rep.job.shape
	c.compile(s)
	p := planner{core: c, looked: maxPlan, request: c.widen(s.spec.Groups, &s.minimum, func(other *window) bool {
		return other == w || c.admits(other, w.rep, never)
	})}
	for _, n := range w.nodes {
		for _, m := range n.members {
			if m.rep.endsAt != 0 {
				p.list = append(p.list, m.rep)
			}
		}
	}
	slices.SortFunc(p.list, func(a, b *replica) int { return cmp.Or(cmp.Compare(a.endsAt, b.endsAt), compareReplicas(a, b)) })
	p.list = slices.Compact(p.list)
	at := never
	if p.gallop() {
		at = p.end()
	}
	p.moveTo(0)
	return at
}

// A planner is a plan in the making.
type planner struct {
	core    *Core
	request *gang.Request
	// list has the first of the replicas that may have to end, in order, as far as they
	// were needed; the first so many of them are imagined ended.
	list  []*replica
	ended int
	// next is where the list goes on; looked counts those that were looked at.
	next   ending
	looked int
}

// extend makes the list so long, or as long as it gets.
func (p *planner) extend(n int) {
	if len(p.list) >= n || p.looked >= maxPlan {
		return
	}
	from := p.next
	p.core.endings.AscendGreaterOrEqual(from, func(e ending) bool {
		if e == from && p.looked > 0 {
			return true
		}
		p.next = e
		p.looked++
		if p.matters(e.rep) {
			p.list = append(p.list, e.rep)
		}
		return len(p.list) < n && p.looked < maxPlan
	})
}

// matters reports whether a replica holds something where the request may go.
func (p *planner) matters(rep *replica) bool {
	if rep.imagined { // ended already
		return false
	}
	for flat := range rep.members {
		m := &rep.members[flat]
		if !m.state.holds() {
			continue
		}
		for i := range p.request.Groups {
			for _, class := range p.request.Groups[i].Classes {
				if int(class) == m.node.class {
					return true
				}
			}
		}
	}
	return false
}

// gallop imagines as few ends as needed for the request to fit: twice as many each
// time, and then by bisection. It reports whether any number will do.
func (p *planner) gallop() bool {
	short := -1 // so many are too few
	for step := 1; !p.fits(); step *= 2 {
		p.extend(p.ended + step)
		if p.ended == len(p.list) {
			return false
		}
		short = p.ended
		p.moveTo(min(p.ended+step, len(p.list)))
	}
	enough := p.ended
	for enough-short > 1 {
		p.moveTo(short + (enough-short)/2)
		if p.fits() {
			enough = p.ended
		} else {
			short = p.ended
		}
	}
	p.moveTo(enough)
	return true
}

func (p *planner) fits() bool {
	if !p.core.find(p.request) {
		return false
	}
	must(p.core.fleet.ReleaseAll(&p.core.placement))
	return true
}

// moveTo imagines the first so many ended, and no others.
func (p *planner) moveTo(n int) {
	for ; p.ended < n; p.ended++ {
		p.core.vanish(piece{rep: p.list[p.ended]})
	}
	for ; p.ended > n; p.ended-- {
		p.core.reappear(piece{rep: p.list[p.ended-1]})
	}
}

// end is when all that is imagined ended is expected to have: what is overdue ends late,
// and comes first in the list.
func (p *planner) end() berth.Time {
	at := p.core.now
	for _, rep := range p.list[:p.ended] {
		at = max(at, p.core.expectedEnd(rep))
	}
	return at
}
