package core

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/errtext"
)

// isRoom reports whether room is being made in a window.
func (s *savedWindow) isRoom() bool { return len(s.Victims)+len(s.Where) > 0 }

// saveRoom saves for whom room is being made in a window, and by whom.
func (c *Core) saveRoom(w *window, saved *savedWindow) {
	saved.Cause = w.kind.cause()
	j := w.rep.job
	counts := make([]int, len(j.spec.Groups))
	for _, m := range w.preemption.where {
		saved.Where = append(saved.Where, berth.MemberPlacement{
			Group: j.spec.Groups[m.Group].Name, Index: counts[m.Group],
			Node: c.nodes[m.Hold.Node].spec.ID, GPUs: berth.GPUSet(m.Hold.GPUs),
			ShareMilli: int(m.Hold.Share.Milli), ShareMemoryMiB: m.Hold.Share.MemoryMiB, Instance: m.Hold.Instance,
		})
		counts[m.Group]++
	}
	for _, victim := range w.preemption.victims {
		saved.Victims = append(saved.Victims, victim.ref())
	}
}

// restoreRooms restores for which replicas room is being made, and which of them move.
func (c *Core) restoreRooms(jobs []savedJob) *berth.Error {
	return c.eachSaved(jobs, func(rep *replica, s *savedReplica) *berth.Error {
		for _, set := range rep.places(s) {
			if set.saved == nil || !set.saved.isRoom() {
				continue
			}
			w, err := c.restoreRoom(set.kind(), rep, set.saved)
			if err == nil && set.moves && len(w.preemption.victims) > 0 {
				err = refusal.Of(berth.ErrInvalid, "victims", "there are none of a move")
			}
			if err != nil {
				return refusal.In(err, set.field)
			}
			*set.at = w
			c.addWindow(w)
			for _, victim := range w.preemption.victims {
				if !victim.yieldsFor(rep) {
					victim.yieldsTo = rep
				}
				c.noteLeaving(victim, true)
			}
		}
		return nil
	})
}

// restoreRoom makes the window anew in which room is being made for a replica.
func (c *Core) restoreRoom(kind reservationKind, rep *replica, s *savedWindow) (*window, *berth.Error) {
	p, err := c.restorePreemption(rep, s)
	switch {
	case err != nil:
		return nil, err
	case s.Cause != kind.cause():
		return nil, refusal.Of(berth.ErrInvalid, "cause", fmt.Sprintf("%q is not that of a gang for which room was made, or which moves", s.Cause))
	case s.Remnant:
		return nil, refusal.Of(berth.ErrInvalid, "remnant", "is set beside where")
	}
	w, err := c.restoreWindow(kind, rep, s)
	if err != nil {
		return nil, err
	}
	w.preemption = p
	return w, nil
}

func (c *Core) restorePreemption(rep *replica, s *savedWindow) (*preemption, *berth.Error) {
	where, err := c.restoreWhere(rep, s)
	if err != nil {
		return nil, err
	}
	victims, err := c.restoreVictims(rep, s)
	if err != nil {
		return nil, err
	}
	p := c.newPreemption(where)
	p.victims = victims
	return p, nil
}

// restoreWhere restores where a gang is to be.
func (c *Core) restoreWhere(rep *replica, s *savedWindow) ([]gang.Member, *berth.Error) {
	var where []gang.Member
	for i := range s.Where {
		at := &s.Where[i]
		g := groupOf(&rep.job.spec, at.Group)
		if g < 0 || i > 0 && g < where[i-1].Group || !slices.Contains(s.Nodes, at.Node) {
			return nil, refusal.Of(berth.ErrInvalid, errtext.Index("where", i), "names no group, one out of order, or a node that is not set aside")
		}
		if err := c.checkPlacement(&rep.job.spec.Groups[g].Claim, at); err != nil {
			return nil, refusal.In(err, errtext.Index("where", i))
		}
		hold := c.holdOf(rep.job, at)
		c.owners.releaseShare(hold.Share) // as long as the job waits, its shape retains it
		where = append(where, gang.Member{Group: g, Hold: hold})
	}
	for g := range rep.job.spec.Groups {
		group := &rep.job.spec.Groups[g]
		if n := countGroup(where, g); n < least(group) || n > group.Replicas || n%unitOf(group) != 0 {
			return nil, refusal.Of(berth.ErrInvalid, "where", fmt.Sprintf("has %d members of group %q", n, group.Name))
		}
	}
	return where, nil
}

// restoreVictims restores who has to go before a gang can be where it is to be.
func (c *Core) restoreVictims(rep *replica, s *savedWindow) ([]*replica, *berth.Error) {
	var victims []*replica
	for i, ref := range s.Victims {
		victim := c.lookup(ref)
		switch {
		case victim == nil, victim == rep, victim.yieldsTo != nil:
			return nil, refusal.Of(berth.ErrInvalid, errtext.Index("victims", i), fmt.Sprintf("%v is not known, or yields to somebody else", ref))
		case victim.State != berth.Releasing && !victim.asked() && !victim.yieldsFor(rep):
			return nil, refusal.Of(berth.ErrInvalid, errtext.Index("victims", i), fmt.Sprintf("%v is neither asked for a checkpoint nor stopped", ref))
		case i > 0 && compareReplicas(victims[i-1], victim) >= 0:
			return nil, refusal.Of(berth.ErrInvalid, errtext.Index("victims", i), fmt.Sprintf("%v is out of order", ref))
		}
		victims = append(victims, victim)
	}
	return victims, nil
}

func countGroup(members []gang.Member, group int) int {
	n := 0
	for i := range members {
		if members[i].Group == group {
			n++
		}
	}
	return n
}

// restoreBids marks the replicas for which nothing has changed since victims were looked for,
// after all that Restore itself has changed.
func (c *Core) restoreBids(jobs []savedJob) *berth.Error {
	return c.eachSaved(jobs, func(rep *replica, s *savedReplica) *berth.Error {
		if s.Bid {
			rep.bid.Turn = c.agenda.preemptTurn
		}
		return nil
	})
}
