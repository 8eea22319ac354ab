package life

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/internal/limits"
)

// The surge of a service: where a replica has to leave a node, another starts first, its stand-in.
// A stand-in is a replica like any other, with a number of its own; but it is never pending: it is
// made with its Bind, and forgotten if that comes to nothing. Once it runs, the one in whose place
// it started goes for good, whatever state that is in by then. So whatever comes in between, in
// whatever order, the service has its number again.

// NewStandIn makes a replica that may become the stand-in of another: it comes to its age and its
// rank, as if that had moved. It may use what is kept for gangs that have to leave a node.
func (l *Life) NewStandIn(of *record.Replica) *record.Replica {
	var first [1][2]int
	rep := l.state.NewReplicaAt(of.Job, of.Job.Vacancies(first[:0], 1)[0][0])
	rep.Created, rep.PendingSince, rep.CameAt = of.Created, l.state.Now, of.CameAt
	retry := rep.Retry.Note()
	retry.LostHardware, retry.Avoid = true, slices.Clone(of.Surge.Get().Shunned)
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

// relieve has a replica go, as its stand-in runs; or the stand-in, if it is not needed any more.
func (l *Life) relieve(standIn *record.Replica) {
	rep := standIn.Surge.Get().Instead
	standIn.StandsInNoMore()
	rep.Surge.Set(record.Surge{})
	drain := l.state.DrainOf(rep)
	if rep.Stands() && drain.Node == nil {
		l.TakeBack(standIn, needless(rep), true)
		return
	}
	cause := berth.Cause{Code: berth.CauseSurge, Detail: fmt.Sprintf("%v runs in its place", standIn.Ref())}
	if rep.State == berth.ReplicaRunning && drain.Node != nil {
		cause.Detail = values.Detail(cause.Detail, DrainCause(drain).Detail)
	}
	l.TakeBack(rep, cause, true)
}

// needless is why a stand-in goes that is not needed any more.
func needless(rep *record.Replica) berth.Cause {
	return berth.Cause{Code: berth.CauseSurge, Detail: fmt.Sprintf("%v need not leave any more", rep.Ref())}
}

// SpareStandIns looks for stand-ins that are not needed any more, of what is on nodes that are
// drained or cleared no longer.
func (l *Life) SpareStandIns(nodes ...*record.Node) {
	var list []*record.Replica
	for _, n := range nodes {
		for _, at := range n.Members {
			if at.Rep.Surge.Get().StandIn != nil {
				list = append(list, at.Rep)
			}
		}
	}
	slices.SortFunc(list, record.CompareReplicas)
	for _, rep := range list {
		l.spareStandIn(rep)
	}
}

// spareStandIn has the stand-in of a replica go that need not leave any more.
func (l *Life) spareStandIn(rep *record.Replica) {
	if other := rep.Surge.Get().StandIn; other != nil && rep.Stands() && l.state.DrainOf(rep).Node == nil {
		l.TakeBack(other, needless(rep), true)
	}
}

// partStandIn sees to a replica that goes for good, as far as it is a stand-in, or has one. A
// stand-in that came to nothing is tried again after a backoff. The stand-in of a replica goes with
// it.
func (l *Life) partStandIn(rep *record.Replica, cause berth.Cause) {
	surge := rep.Surge.Get()
	if surge.Instead != nil {
		switch rep.StandsInNoMore(); cause.Code {
		case berth.CauseSurge, berth.CauseScaledDown, berth.CauseCancelled:
		default:
			l.awaitStandIn(surge.Instead, rep.Retry.Get().Avoid)
		}
		l.agenda.Relook(l.state.Now)
	}
	if surge.StandIn != nil {
		surge.StandIn.StandsInNoMore()
		l.TakeBack(surge.StandIn, cause, true)
	}
}

// awaitStandIn has the next stand-in of a replica wait, longer each time, and keep off some nodes.
func (l *Life) awaitStandIn(rep *record.Replica, shunned []berth.NodeID) {
	surge := rep.Surge.Note()
	surge.At = l.state.Now.Add(l.backoff(surge.FailedStarts))
	surge.FailedStarts = min(surge.FailedStarts+1, limits.MaxAttempts)
	surge.Shunned = slices.Clone(shunned)
	l.agenda.MoveBy(surge.At)
}

// RestoreStandIns pairs replicas with their stand-ins.
func (l *Life) RestoreStandIns(noted []state.Noted) *berth.Error {
	return l.state.EachNoted(noted, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		if s.Instead == nil {
			return nil
		}
		other := rep.Job.Replicas.At(*s.Instead)
		if other == nil || !rep.Surges() || !rep.Job.MayStart() {
			return refusal.Of(berth.ErrInvalid, "instead", fmt.Sprintf("%d is no replica of the job, or there are more stand-ins than it may have", *s.Instead))
		}
		if other.Surge.Get().StandIn == nil {
			rep.StandsInFor(other)
		}
		if why := standsInAmiss(rep); why != "" || rep.Surge.Get().Instead != other {
			return refusal.Of(berth.ErrInvalid, "instead", fmt.Sprintf("%d has another, or one of the two cannot be: %s", *s.Instead, why))
		}
		return nil
	})
}

// standsInAmiss says what is wrong about a stand-in, and the replica in whose place it starts;
// empty: nothing is.
func standsInAmiss(rep *record.Replica) string {
	other := rep.Surge.Get().Instead
	switch {
	case other == nil:
		return ""
	case other == rep || other.Job != rep.Job || other.Surge.Get().StandIn != rep:
		return "they do not know of each other"
	case other.IsStandIn() || rep.Surge.Get().StandIn != nil:
		return "one stands in for one that stands in"
	case rep.State != berth.ReplicaBinding && rep.State != berth.ReplicaRepairing:
		return "the stand-in is " + rep.State.String()
	case other.Release.Get().Gone:
		return "the other goes for good"
	}
	return ""
}

// CheckStandIns checks that stand-ins and those in whose place they start know of each other.
func (l *Life) CheckStandIns() error {
	counts := map[*record.Job]int{}
	if err := l.state.EachReplica(func(rep *record.Replica) error {
		if other := rep.Surge.Get().StandIn; other != nil && other.Surge.Get().Instead != rep {
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
