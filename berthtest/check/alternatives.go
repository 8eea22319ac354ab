package check

import (
	"slices"

	"github.com/berth-sched/berth"
)

// This file is about jobs that may run as several gangs, as the comment of berth.Alternative states
// it: what one of them is, and that it starts as the first that fits.
//
// A job is one of its alternatives at a time, of which the groups and the topology of its
// description are. What holds anything is what its Bind said; what waits is what the latest report
// keeps a place for, and else what it was last.

// become makes a job one of its alternatives; 0: its own gang.
func (j *job) become(at int) {
	j.at = at
	j.spec.Groups, j.spec.Topology = j.groups, j.topology
	if at > 0 {
		as := &j.spec.Alternatives[at-1]
		j.spec.Groups, j.spec.Topology = as.Groups, as.Topology
	}
	j.offsets = j.offsets[:0]
	total := 0
	for i := range j.spec.Groups {
		j.offsets = append(j.offsets, total)
		total += j.spec.Groups[i].Members
	}
	j.offsets = append(j.offsets, total)
}

// has reports whether a job has an alternative of that number; 0: it is its own gang.
func (j *job) has(at int) bool { return at >= 0 && at <= len(j.spec.Alternatives) }

// any reports whether something holds of a gang: of one that waits for a place, as one of what its
// job may run as at the least. The first of those is what it is meanwhile.
func (rep *replica) any(holds func() bool) bool {
	if rep.state != berth.ReplicaPending || len(rep.job.spec.Alternatives) == 0 {
		return holds()
	}
	was := rep.job.at
	defer rep.job.become(was)
	for at := 0; rep.job.has(at); at++ {
		if rep.job.become(at); holds() {
			return true
		}
	}
	return false
}

// mayHaveAlternatives: neither services, nor what may start short, nor borrowers have alternatives.
func mayHaveAlternatives(j *berth.Job) error {
	if len(j.Alternatives) == 0 {
		return nil
	}
	all := slices.Clone(j.Groups)
	for i := range j.Alternatives {
		all = append(all, j.Alternatives[i].Groups...)
	}
	odd := slices.ContainsFunc(all, func(g berth.Group) bool { return g.Members < 1 || minimum(&g) < g.Members || g.Claim.Borrow != nil })
	if odd || j.Service != nil {
		return broken(PromiseEvents, "job %s was accepted with alternatives, and is a service, elastic or a borrower", j.ID)
	}
	return nil
}

// startsAs: a Bind says as what a gang starts that waits, and that of one that holds something says
// what it is. A gang that was to have a place is what the place is for.
func (c *Checker) startsAs(rep *replica, b *berth.Bind) error {
	j := rep.job
	switch {
	case !j.has(b.Alternative):
		return broken(PromiseAlternatives, "order %d starts %s as alternative %d of %d", b.ID, rep, b.Alternative, len(j.spec.Alternatives))
	case b.Alternative == j.at:
	case rep.state != berth.ReplicaPending:
		return broken(PromiseAlternatives, "order %d is for alternative %d of %s, which is %s as %d", b.ID, b.Alternative, rep, rep.state, j.at)
	case c.passed && b.Cause.Code != berth.CauseFits:
		return broken(PromiseAlternatives, "order %d starts %s as alternative %d because of %q; its place was kept for %d", b.ID, rep, b.Alternative, b.Cause.Code, j.at)
	default:
		if rep.incarnation > 0 {
			c.saw("resumed as another alternative")
		}
		j.become(b.Alternative)
		rep.stood = nil // as what it was before
	}
	if len(j.spec.Alternatives) > 0 && rep.state == berth.ReplicaPending {
		return c.firstThatFits(rep, b)
	}
	return nil
}

// firstThatFits: a gang that is started as the pass goes through the queues certainly has no place
// as an alternative before the one that it is started as, on nodes that are set aside for nobody.
func (c *Checker) firstThatFits(rep *replica, b *berth.Bind) error {
	if b.Alternative == 0 {
		c.saw("started as its own gang, and has alternatives")
		return nil
	}
	c.saw("started as an alternative")
	if !c.surelyInTurn(rep, b) || len(rep.avoided) > 0 {
		return nil
	}
	defer rep.job.become(b.Alternative)
	for at := range b.Alternative {
		if rep.job.become(at); c.couldStartOn(rep, func(n *node) bool { return !c.inReservation(n) }) {
			return broken(PromiseAlternatives, "order %d starts %s as alternative %d, and it would fit as %d", b.ID, rep, b.Alternative, at)
		}
	}
	c.saw("started as an alternative, and those before it do not fit")
	return nil
}

// becomeReserved makes the jobs that wait with a place what that is for, and holds those that hold
// something against what a report says of them.
func (c *Checker) becomeReserved(gangs map[gangKey]berth.ReservationReport) error {
	for key, r := range gangs {
		rep := c.find(key)
		switch {
		case rep == nil: // which is judged elsewhere
		case !rep.job.has(r.Alternative):
			return broken(PromiseAlternatives, "%s has a place for alternative %d of %d", key, r.Alternative, len(rep.job.spec.Alternatives))
		case r.Alternative == rep.job.at:
		case rep.state != berth.ReplicaPending || rep.readyAt != 0:
			return broken(PromiseAlternatives, "%s has a place for alternative %d, and is %s as %d", key, r.Alternative, rep.state, rep.job.at)
		default:
			rep.job.become(r.Alternative)
			rep.stood = nil
			c.saw("a place is kept for another alternative than before")
		}
	}
	return nil
}
