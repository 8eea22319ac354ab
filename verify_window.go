package berth

import (
	"fmt"
	"slices"
)

// windows checks what is set aside: that windows, nodes and classes agree, and that each
// window has somebody whose it is.
func (v *verifier) windows() error {
	c := v.c
	for i, w := range c.windows {
		switch {
		case i > 0 && c.windows[i-1].name >= w.name:
			return fmt.Errorf("window %s is out of order", w.name)
		case !w.agrees(c):
			return fmt.Errorf("window %s is nobody's, or not what its kind says", w.name)
		case w.isReservation() && (w.rep.state != Pending || w.rep.entries == nil):
			return fmt.Errorf("window %s is for a gang that does not wait", w.name)
		case w.isMove() && (!w.rep.mayArrive() || w.isPart() && w.rep.state == Running || w.isPlanned() && len(w.preemption.victims) > 0):
			return fmt.Errorf("window %s is for a gang that does not move", w.name)
		case w.isPlanned() && !slices.IsSortedFunc(w.preemption.victims, compareReplicas):
			return fmt.Errorf("window %s: the victims are out of order", w.name)
		case w.isPlanned() && slices.ContainsFunc(w.preemption.victims, func(victim *replica) bool { return !victim.yieldsFor(w.rep) }):
			return fmt.Errorf("window %s: a victim does not yield", w.name)
		case !slices.IsSortedFunc(w.nodes, compareNodes):
			return fmt.Errorf("the nodes of window %s are out of order", w.name)
		}
		for _, n := range w.nodes {
			if c.nodes[n.index] != n || !slices.Contains(n.windows, w) {
				return fmt.Errorf("node %s does not know of window %s", n.spec.ID, w.name)
			}
		}
	}
	for _, n := range c.nodes {
		if n == nil {
			continue
		}
		for _, w := range n.windows {
			if !slices.Contains(c.windows, w) || !slices.Contains(w.nodes, n) {
				return fmt.Errorf("window %s does not know of node %s", w.name, n.spec.ID)
			}
		}
		entry := &c.classes.list[n.class]
		if entry.key != n.key() || !slices.Equal(entry.windows, n.windows) || int(c.fleet.Tree().NodeClass(n.index)) != n.class {
			return fmt.Errorf("node %s is in the wrong class", n.spec.ID)
		}
		if (n.graph == nil) != (n.spec.Links == nil) || n.graph != nil && c.graphs.byKey[graphKey(&n.spec)] != n.graph {
			return fmt.Errorf("node %s has the wrong links", n.spec.ID)
		}
	}
	for i, e := range c.fresh {
		if e.freshAt != i || e.slot < 0 {
			return fmt.Errorf("an entry of job %s is not where it says in what is fresh, or does not wait", e.rep.job.spec.ID)
		}
	}
	return nil
}

// ending checks the end that is expected of a replica.
func (v *verifier) ending(rep *replica) error {
	if rep.endsAt != 0 {
		v.endings++
	}
	switch {
	case rep.endsAt != 0 && !v.c.endings.Has(ending{rep.endsAt, rep}):
		return fmt.Errorf("its end is not in the index")
	case rep.endsAt == 0 && rep.holds() && rep.job.spec.Service == nil:
		return fmt.Errorf("it holds something and is never expected to end")
	case rep.ripeAt != 0 && (rep.state != Pending || rep.entries == nil):
		return fmt.Errorf("others may be worth stopping for it at %d, and it does not wait", rep.ripeAt)
	case rep.checkpointed > v.c.now || rep.evictions < 0:
		return fmt.Errorf("it wrote a checkpoint at %d, and had to yield %d times", rep.checkpointed, rep.evictions)
	case rep.state == Pending && (rep.endsAt != 0 || rep.exclusive != nil):
		return fmt.Errorf("it is pending, and is expected to end or has domains for itself")
	case !rep.setsAside():
		return fmt.Errorf("what it has set aside is over, or of another kind")
	case rep.imagined:
		return fmt.Errorf("it is imagined ended")
	}
	return nil
}

// yields checks what goes with a replica that is on its way out, in whole or in part, or
// runs.
func (v *verifier) yields(rep *replica) error {
	out, running := rep.has(memberStopping) || rep.yieldsTo != nil || rep.leaves, rep.state == Running
	if out {
		v.leaving++
	}
	if running {
		v.running++
		if rep.job.isElastic() {
			v.stretching++
		}
	}
	switch q := v.c.queues[rep.job.queue]; {
	case v.c.leaving.Has(rep) != out:
		return fmt.Errorf("on its way out: %v, and not so in the index", out)
	case q.running.Has(rep) != running:
		return fmt.Errorf("runs: %v, and not so in its queue", running)
	case rep.leaves && !rep.asked():
		return fmt.Errorf("it leaves, and is not asked for a checkpoint")
	case rep.moving == nil && rep.state == Releasing && rep.resumes() && !v.c.agenda.homeless && v.c.agenda.nextMove > v.c.now:
		return fmt.Errorf("it is to resume, and nobody looks for a place")
	case rep.yieldsTo != nil && rep.state != Releasing && !rep.asked():
		return fmt.Errorf("it yields, and is neither asked for a checkpoint nor stopped")
	}
	if err := yieldKnown(rep, rep.yieldsTo); err != nil {
		return err
	}
	for flat := range rep.members {
		m := &rep.members[flat]
		if m.imagined || m.yieldsTo != nil && m.state != memberStopping {
			return fmt.Errorf("member %d yields and is not stopped, or is imagined gone", flat)
		}
		if err := yieldKnown(rep, m.yieldsTo); err != nil {
			return err
		}
	}
	return nil
}

// yieldKnown checks that a replica is a victim of the one that it, or a member of it, yields
// to; nil: to nobody.
func yieldKnown(rep, to *replica) error {
	if to != nil && (to.room() == nil || !slices.Contains(to.room().preemption.victims, rep)) {
		return fmt.Errorf("it yields to %v, which does not know of it", to.ref())
	}
	return nil
}
