package record

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
)

// A Surge is of a replica that has to leave a node, of a service that has another start first: its
// stand-in.
type Surge struct {
	SurgePart
	// Instead is the replica in whose place this one starts, StandIn the one that starts in the
	// place of this one; nil: none. Both know of each other.
	Instead, StandIn *Replica
}

// Nothing reports whether there is no stand-in, and none has failed.
func (s Surge) Nothing() bool {
	return s.Instead == nil && s.StandIn == nil && s.FailedStarts == 0 && s.At == 0 && len(s.Shunned) == 0
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
func (rep *Replica) IsStandIn() bool { return rep.Surge.Get().Instead != nil }

// StandsInFor makes a replica the stand-in of another.
func (rep *Replica) StandsInFor(other *Replica) {
	rep.Surge.Note().Instead, other.Surge.Note().StandIn = other, rep
	rep.Job.StandIns++
}

// StandsInNoMore ends what StandsInFor began.
func (rep *Replica) StandsInNoMore() {
	mine, other := rep.Surge.Get(), rep.Surge.Get().Instead
	its := other.Surge.Get()
	mine.Instead, its.StandIn = nil, nil
	rep.Surge.Set(mine)
	other.Surge.Set(its)
	rep.Job.StandIns--
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
