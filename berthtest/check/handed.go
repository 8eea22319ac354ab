package check

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/berth-sched/berth"
)

// This file is what orders and answers hand over so that an orchestrator needs no books of its
// own: the claims in a Bind, the members in a RequestCheckpoint, and what hardware took.

// handsClaims: a Bind has what each group of its job asks for, in the order of the groups.
func handsClaims(rep *replica, b *berth.Bind) error {
	groups := rep.job.spec.Groups
	if len(b.Claims) != len(groups) {
		return broken(PromiseClaims, "order %d binds members of %s with the claims of %d groups; the job has %d", b.ID, rep, len(b.Claims), len(groups))
	}
	for i := range groups {
		if c := &b.Claims[i]; c.Group != groups[i].Name || !reflect.DeepEqual(c.Claim, groups[i].Claim) {
			return broken(PromiseClaims, "order %d says that group %q of %s claims %+v; group %q claims %+v",
				b.ID, c.Group, rep, c.Claim, groups[i].Name, groups[i].Claim)
		}
	}
	return nil
}

// namesAll: an order about a replica names the members that are in a state, where they are, and no
// others: the last is a promise of its own.
func namesAll(rep *replica, order berth.OrderID, members []berth.MemberPlacement, in memberState, noOthers Promise) error {
	want := rep.in(in)
	for _, m := range want {
		if !slices.Contains(members, m.at) {
			return broken(PromiseOrders, "order %d for %s leaves out %s on node %s", order, rep, m, m.at.Node)
		}
	}
	if len(members) != len(want) {
		return broken(noOthers, "order %d names %d members of %s; it is for %d", order, len(members), rep, len(want))
	}
	return nil
}

// noteTaken notes what hardware takes from replicas, before it is gone: by replica, and by member.
// Of members that had died there is nothing to take.
func (c *Checker) noteTaken(hit []*member) {
	all := len(hit)
	hit = slices.DeleteFunc(slices.Clone(hit), func(m *member) bool { return !m.mayRun() })
	if len(hit) < all {
		c.saw("hardware lost under a member that had died")
	}
	slices.SortFunc(hit, func(a, b *member) int {
		return cmp.Or(byName(a.rep, b.rep), cmp.Compare(a.flat, b.flat))
	})
	for i, m := range hit {
		if i == 0 || hit[i-1].rep != m.rep {
			c.losses = append(c.losses, berth.Loss{Job: m.rep.job.spec.ID, Replica: m.rep.number, Incarnation: m.rep.incarnation, At: c.now})
		}
		last := &c.losses[len(c.losses)-1]
		last.Members = append(last.Members, m.at)
	}
	if len(hit) > 0 {
		c.saw("lost with hardware")
	}
}

// Lost holds what a scheduler says that hardware took (see berth.Scheduler) against what was
// placed on it: all of it since the last pass, by event, job and replica, and nothing else. The
// detail of a cause is for people, and not compared.
func (c *Checker) Lost(list []berth.Loss) error {
	for i := range min(len(list), len(c.losses)) {
		have, want := list[i], &c.losses[i]
		if have.Cause.Code != berth.CauseHardwareLost {
			return broken(PromiseCauses, "loss %d, of %s/%d, is because of %q", i, have.Job, have.Replica, have.Cause.Code)
		}
		have.Cause = berth.Cause{}
		if !reflect.DeepEqual(have, *want) {
			return broken(PromiseLost, "loss %d is said to be %+v; it is %+v", i, have, *want)
		}
	}
	if len(list) != len(c.losses) {
		return broken(PromiseLost, "%d losses are said; there are %d: %+v", len(list), len(c.losses), c.losses)
	}
	return nil
}
