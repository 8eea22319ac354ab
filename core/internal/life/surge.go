package life

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
)

// The surge of a service: where a replica has to leave a node, another starts first, its stand-in.
// A stand-in is a replica like any other, with a number of its own; but it is never pending: it is
// made with its Bind, and forgotten if that comes to nothing. Once it runs, the replica that it
// stands in for goes for good, whatever state that is in by then. So whatever comes in between, in
// whatever order, the service has its number again.

// NewStandIn makes a replica that may become the stand-in of another: it comes to its age and its
// rank, as if that had moved. It may use what is kept for gangs that have to leave a node.
func (l *Life) NewStandIn(of *record.Replica) *record.Replica {
	var first [1][2]int
	rep := l.state.NewReplicaAt(of.Job, of.Job.Vacancies(first[:0], 1)[0][0])
	rep.Created, rep.PendingSince, rep.CameAt = of.Created, l.state.Now, of.CameAt
	retry := rep.Retry.Note()
	retry.LostHardware, retry.Avoid = true, slices.Clone(of.Relocation.Get().Shunned)
	rep.StandsInFor(of)
	return rep
}

// DropStandIn undoes NewStandIn of one that found no place.
func (l *Life) DropStandIn(rep *record.Replica) {
	rep.StandsInNoMore()
	l.state.RemoveReplica(rep)
}

// StandIn has a stand-in that has a place begin its life with a Bind.
func (l *Life) StandIn(rep *record.Replica) {
	l.state.SetEnd(rep, l.state.EndIfPlaced(rep))
	l.BeginNext(rep)
	l.Resume(rep, true)
}

// RestoreStandIns pairs replicas with their stand-ins.
func (l *Life) RestoreStandIns(noted []state.Noted) *berth.Error {
	return l.state.EachNoted(noted, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		bind, binds := rep.Order.(berth.Bind)
		if s.Instead == nil {
			if bind.Instead != (berth.ReplicaRef{}) {
				return refusal.Of(berth.ErrInvalid, "order", "is that of a stand-in, and it is none")
			}
			return nil
		}
		other := rep.Job.Replicas.At(*s.Instead)
		if other == nil || !rep.Surges() || !rep.Job.MayStart() {
			return refusal.Of(berth.ErrInvalid, "instead", fmt.Sprintf("%d is no replica of the job, or there are more stand-ins than it may have", *s.Instead))
		}
		if other.Relocation.Get().StandIn == nil {
			rep.StandsInFor(other)
		}
		if why := standsInAmiss(rep); why != "" || rep.Relocation.Get().Instead != other {
			return refusal.Of(berth.ErrInvalid, "instead", fmt.Sprintf("%d has another, or one of the two cannot be: %s", *s.Instead, why))
		}
		if binds && bind.Instead != other.Ref() {
			return refusal.Of(berth.ErrInvalid, "order", fmt.Sprintf("names %v, and not the replica that it stands in for", bind.Instead))
		}
		return nil
	})
}

// standsInAmiss says what is wrong about a stand-in, and the replica that it stands in for; empty:
// nothing is.
func standsInAmiss(rep *record.Replica) string {
	other := rep.Relocation.Get().Instead
	switch {
	case other == nil:
		return ""
	case other == rep || other.Job != rep.Job || other.Relocation.Get().StandIn != rep:
		return "they do not know of each other"
	case other.IsStandIn() || rep.Relocation.Get().StandIn != nil:
		return "one stands in for one that stands in"
	case rep.State != berth.ReplicaBinding && rep.State != berth.ReplicaRepairing:
		return "the stand-in is " + rep.State.String()
	case other.Release.Get().Gone:
		return "the other goes for good"
	}
	return ""
}

// CheckStandIns checks that stand-ins and the replicas that they stand in for know of each other.
func (l *Life) CheckStandIns() error {
	counts := map[*record.Job]int{}
	if err := l.state.EachReplica(func(rep *record.Replica) error {
		if other := rep.Relocation.Get().StandIn; other != nil && other.Relocation.Get().Instead != rep {
			return fmt.Errorf("%v does not know that it is its stand-in", other.Ref())
		}
		if why := standsInAmiss(rep); why != "" {
			return fmt.Errorf("it is a stand-in: %s", why)
		}
		if rep.IsStandIn() {
			counts[rep.Job]++
		}
		return nil
	}); err != nil {
		return err
	}
	for _, j := range l.state.JobsInOrder() {
		if int(j.StandIns) != counts[j] || counts[j] > 0 && counts[j] > j.Spec.Service.Surge {
			return fmt.Errorf("job %s has %d stand-ins, counted %d", j.Spec.ID, counts[j], j.StandIns)
		}
	}
	return nil
}
