package record

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/refusal"
)

// A Relocation is of a replica that has to leave a node, and of one that starts first in its place:
// its stand-in.
type Relocation struct {
	SurgePart
	// Instead is the replica that this one stands in for, StandIn the one that stands in for this
	// one; nil: none. Both know of each other.
	Instead, StandIn *Replica
	// SoughtAt is the round in which another place was last looked for.
	SoughtAt agenda.Turn
}

// Nothing reports whether nothing was looked for, no stand-in is there, and none has failed.
func (m Relocation) Nothing() bool {
	return m.Instead == nil && m.StandIn == nil && m.SoughtAt == 0 && m.SurgePart.Nothing()
}

// Check refuses what is out of range.
func (p *SurgePart) Check() *berth.Error {
	switch {
	case !InRange(p.FailedStarts) || p.At < 0:
		return RefuseCounter()
	case len(p.Shunned) > maxAvoid:
		return refusal.Of(berth.ErrLimit, "standInShuns", fmt.Sprintf("names %d nodes", len(p.Shunned)))
	}
	return nil
}

// IsStandIn reports whether a replica starts in the place of another, which is released once it
// runs.
func (rep *Replica) IsStandIn() bool { return rep.Relocation.Get().Instead != nil }

// StandsInFor makes a replica the stand-in of another.
func (rep *Replica) StandsInFor(other *Replica) {
	rep.Relocation.Note().Instead, other.Relocation.Note().StandIn = other, rep
	rep.Job.StandIns++
}

// StandsInNoMore ends what StandsInFor began.
func (rep *Replica) StandsInNoMore() {
	mine, other := rep.Relocation.Get(), rep.Relocation.Get().Instead
	its := other.Relocation.Get()
	mine.Instead, its.StandIn = nil, nil
	rep.Relocation.Set(mine)
	other.Relocation.Set(its)
	rep.Job.StandIns--
}

// ForgetSurge forgets the stand-ins that came to nothing.
func (rep *Replica) ForgetSurge() {
	m := rep.Relocation.Get()
	m.SurgePart = SurgePart{}
	rep.Relocation.Set(m)
}

// Surges reports whether a replica starts elsewhere before it stops, if it has to leave its node.
func (rep *Replica) Surges() bool {
	return rep.Job.Spec.Service != nil && rep.Job.Spec.Service.Surge > 0
}

// Most is how many replicas a job may have at a time.
func (j *Job) Most() int {
	if j.Spec.Service == nil {
		return 1
	}
	return j.Spec.Service.Replicas + j.Spec.Service.Surge
}

// MayStart reports whether one more stand-in of a job may be started.
func (j *Job) MayStart() bool { return int(j.StandIns) < j.Spec.Service.Surge }
