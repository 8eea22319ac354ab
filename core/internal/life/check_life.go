package life

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
)

// CheckLife checks that what runs is in its queue, and what needs an order is in the set of
// those that do.
func (l *Life) CheckLife() error {
	todo, running, stretching, listed, returning, backoffs := 0, 0, 0, 0, 0, 0
	var states [berth.ReplicaReleasing + 1]int
	if err := l.state.EachReplica(func(rep *record.Replica) error {
		due := rep.NeedsOrder() || rep.Stray()
		if due {
			todo++
		}
		if rep.Retry.Get().ReadyAt != 0 {
			backoffs++
		}
		states[rep.State]++
		runs := rep.State == berth.ReplicaRunning
		if runs {
			running++
			if rep.Job.IsElastic() {
				stretching++
			}
		}
		if rep.Returns() {
			returning++
		}
		switch {
		case !limitNoted(rep):
			return fmt.Errorf("its limit is to be looked at at %d, and it runs: %v", rep.LimitAt(), runs)
		case l.state.Returning.Has(rep) != rep.Returns():
			return fmt.Errorf("comes back to where it stood: %v, and is not so in the index", rep.Returns())
		case len(rep.Retry.Get().Stood) > 0 && !rep.MayHaveStood():
			return fmt.Errorf("it is to come back to where it stood, and no members of it died")
		case l.state.Todo.Has(rep) != due:
			return fmt.Errorf("needs an order: %v, is in the set: %v", due, !due)
		case l.books.Queues[rep.Job.Queue].Running.Has(rep) != runs:
			return fmt.Errorf("runs: %v, and not so in its queue", runs)
		case rep.Eviction.Get().Checkpointed > l.state.Now || rep.Eviction.Get().Evictions < 0:
			return fmt.Errorf("it wrote a checkpoint at %d, and was evicted %d times", rep.Eviction.Get().Checkpointed, rep.Eviction.Get().Evictions)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, q := range l.books.Queues {
		if q != nil {
			listed += q.Running.Len()
		}
	}
	return state.Agree(
		state.Tally{What: "replicas that need an order", Is: l.state.Todo.Len(), Expected: todo},
		state.Tally{What: "replicas that come back to where they stood", Is: l.state.Returning.Len(), Expected: returning},
		state.Tally{What: "running replicas in queues", Is: listed, Expected: running},
		state.Tally{What: "running replicas that may shrink", Is: l.Stretching, Expected: stretching},
		state.Tally{What: "replicas that back off", Is: l.state.Backoffs, Expected: backoffs},
		state.Tally{What: "running replicas", Is: l.States[berth.ReplicaRunning], Expected: states[berth.ReplicaRunning]},
		state.Tally{What: "replicas that a Bind is out for", Is: l.States[berth.ReplicaBinding], Expected: states[berth.ReplicaBinding]},
		state.Tally{What: "replicas to repair", Is: l.States[berth.ReplicaRepairing], Expected: states[berth.ReplicaRepairing]},
		state.Tally{What: "replicas that are released", Is: l.States[berth.ReplicaReleasing], Expected: states[berth.ReplicaReleasing]},
	)
}

// CheckGates checks that jobs at gates stand where what opens these finds them.
func (l *Life) CheckGates() error {
	gated, awaited := 0, 0
	open, known := map[*record.Array]int{}, map[*record.Array]int{}
	var arrays []*record.Array
	if err := l.state.EachReplica(func(rep *record.Replica) error {
		j := rep.Job
		a := l.state.ArrayOf(j)
		_, some := j.ArrayName()
		if known[a]++; a != nil && known[a] == 1 {
			arrays = append(arrays, a)
		}
		switch {
		case some != (a != nil) || some && j.Spec.Gates.Array.Width != a.Width:
			return fmt.Errorf("its array is not known, or of another width")
		case j.Gate == nil:
			open[a]++
			return nil
		case j.Spec.Gates == nil || rep.State != berth.ReplicaPending || rep.Incarnation != 0 || a == nil && j.Gate.IsReady():
			return fmt.Errorf("it is at a gate, and has none, or was past it")
		case a != nil && a.Ready.Has(j) != j.Gate.IsReady():
			return fmt.Errorf("it is ready: %v, and not so in its array", j.Gate.IsReady())
		}
		gated++
		awaited += len(j.Gate.Awaits)
		for _, id := range j.Gate.Awaits {
			if l.state.Jobs[id] == nil || !l.state.Followers.Has(record.Follower{Of: id, Job: j}) {
				return fmt.Errorf("it awaits the end of job %s, which does not know of it", id)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for _, a := range arrays {
		if a.Open != open[a] || a.Jobs != known[a] || a.Ready.Len() > 0 && a.Open < a.Width {
			return fmt.Errorf("an array has %d jobs with slots, counted %d, of %d, and %d are ready", open[a], a.Open, a.Width, a.Ready.Len())
		}
	}
	return state.Agree(
		state.Tally{What: "jobs at gates", Is: l.Gated, Expected: gated},
		state.Tally{What: "arrays", Is: len(l.state.Arrays), Expected: len(arrays)},
		state.Tally{What: "followers", Is: l.state.Followers.Len(), Expected: awaited},
	)
}

// CheckVictims checks what goes with replicas that are on their way out, in whole or in part.
func (l *Life) CheckVictims() error {
	leaving := 0
	if err := l.state.EachReplica(func(rep *record.Replica) error {
		out := rep.Has(record.MemberStopping) || rep.Beneficiary != nil || rep.Leaves
		if out {
			leaving++
		}
		switch {
		case l.state.Leaving.Has(rep) != out:
			return fmt.Errorf("on its way out: %v, and not so in the index", out)
		case rep.Leaves && !rep.Asked():
			return fmt.Errorf("it leaves, and is not asked for a checkpoint")
		case rep.Moving == nil && (rep.Resumes() || rep.Returns()) && !l.agenda.Homeless && !l.agenda.MovesLeft && l.agenda.NextMove > l.state.Now:
			return fmt.Errorf("it is to resume, and no pass looks for a place")
		case rep.SoughtAt == l.agenda.MoveTurn && !l.agenda.MovesLeft:
			return fmt.Errorf("it had its turn in a round of moves, and none goes on")
		case rep.Beneficiary != nil && rep.State != berth.ReplicaReleasing && !rep.Asked():
			return fmt.Errorf("it is a victim, and is neither asked for a checkpoint nor stopped")
		}
		return checkVictim(rep)
	}); err != nil {
		return err
	}
	return state.Agree(state.Tally{What: "replicas on their way out", Is: l.state.Leaving.Len(), Expected: leaving})
}

// checkVictim checks that the beneficiary of a victim, or of a member, knows of it.
func checkVictim(rep *record.Replica) error {
	if err := beneficiaryKnown(rep, rep.Beneficiary); err != nil {
		return err
	}
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if m.Imagined || m.Beneficiary != nil && m.State != record.MemberStopping {
			return fmt.Errorf("member %d is a victim and is not stopped, or is imagined gone", flat)
		}
		if err := beneficiaryKnown(rep, m.Beneficiary); err != nil {
			return err
		}
	}
	return nil
}

// beneficiaryKnown checks that a replica is a victim of its beneficiary, or of that of a member;
// nil: there is none.
func beneficiaryKnown(rep, to *record.Replica) error {
	if to != nil && (to.PlannedReservation() == nil || !slices.Contains(to.PlannedReservation().Plan.Victims, rep)) {
		return fmt.Errorf("it is a victim of %v, which does not know of it", to.Ref())
	}
	return nil
}

// limitNoted reports whether the limit of a replica is to be looked at if it is to have an end, and
// was not asked for its last checkpoint: not after that end, and at it if it writes no checkpoint.
func limitNoted(rep *record.Replica) bool {
	end, limited := rep.RunsUntil()
	if !limited || rep.Overruns() {
		return rep.LimitAt() == 0 && (limited || !rep.Overruns())
	}
	return rep.LimitAt() > 0 && (rep.LimitAt() == end || rep.LimitAt() < end && rep.Job.Spec.Checkpoint.Supported)
}
