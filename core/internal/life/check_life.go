package life

import (
	"errors"
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
	counts := map[*record.Slots]*record.Slots{}
	lanes := map[*record.Lane]bool{}
	var slots []*record.Slots
	for _, j := range l.state.JobsInOrder() {
		if j.Gate != nil {
			lane, err := l.checkGate(j)
			if err != nil {
				return fmt.Errorf("job %s: %w", j.Spec.ID, err)
			}
			if lane != nil {
				lanes[lane] = true
			}
			gated++
			awaited += len(j.Gate.Awaits)
		}
		for _, s := range l.state.SlotsOf(j) {
			if s == nil {
				return fmt.Errorf("job %s: some of its slots are not known", j.Spec.ID)
			}
			if counts[s] == nil {
				counts[s], slots = &record.Slots{}, append(slots, s)
			}
			counts[s].Jobs++
			switch {
			case j.Gate == nil:
				counts[s].Open++
				counts[s].OpenMilli += j.LaneKey().Milli
			case j.Gate.IsReady():
				counts[s].Ready++
			}
		}
	}
	for _, s := range slots {
		if is := counts[s]; s.Jobs != is.Jobs || s.Open != is.Open || s.OpenMilli != is.OpenMilli || s.Ready != is.Ready {
			return fmt.Errorf("slots %v count %d jobs, %d open with %d and %d ready: they are %v", s.Key, s.Jobs, s.Open, s.OpenMilli, s.Ready, is)
		}
	}
	return state.Agree(
		state.Tally{What: "jobs at gates", Is: l.Gated, Expected: gated},
		state.Tally{What: "slots", Is: len(l.state.Slots), Expected: len(counts)},
		state.Tally{What: "lanes", Is: len(l.state.Lanes), Expected: len(lanes)},
		state.Tally{What: "followers", Is: l.state.Followers.Len(), Expected: awaited},
	)
}

// checkGate checks the gate of one job, and returns its lane; nil: it is in none.
func (l *Life) checkGate(j *record.Job) (*record.Lane, error) {
	rep, lane := j.Replicas.At(0), l.state.Lanes[j.LaneKey()]
	lined := lane != nil && lane.Ready.Has(j)
	switch {
	case rep.State != berth.ReplicaPending || rep.Incarnation != 0:
		return nil, errors.New("it is at a gate, and was past it")
	case j.Gate.IsReady() != lined:
		return nil, fmt.Errorf("it is ready: %v, and not so among those that wait for slots", j.Gate.IsReady())
	case lined && lane.First == j && lane.HasRoom():
		return nil, errors.New("it could have all of its slots, and waits for them")
	}
	for _, id := range j.Gate.Awaits {
		if l.state.Jobs[id] == nil || !l.state.Followers.Has(record.Follower{Of: id, Job: j}) {
			return nil, fmt.Errorf("it awaits the end of job %s, which does not know of it", id)
		}
	}
	if !lined {
		return nil, nil
	}
	return lane, nil
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
		case rep.Relocation.Get().SoughtAt == l.agenda.MoveTurn && !l.agenda.MovesLeft:
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
