package life

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
)

// Gates open once an event is told, and once a pass has seen to all that is due: so of several jobs
// that may take a slot the one of the highest rank has it, whichever came first there.

// SettleGates opens the gates at which nothing is left to wait for.
func (l *Life) SettleGates() {
	for j := l.nextToOpen(); j != nil; j = l.nextToOpen() {
		l.openGate(j)
	}
	for _, j := range l.ready {
		l.openGate(j)
	}
	l.freed, l.made, l.ready = nil, nil, nil
}

// nextToOpen is the job that is offered slots before all others that could have theirs; nil: there
// is none. A gate that opens takes slots and frees none, so all that has to be looked at is what
// came free, and the lanes that were made, since the gates were last settled; and a lane without
// room has none until then. O(lanes of that), however many jobs wait in them.
func (l *Life) nextToOpen() (next *record.Job) {
	consider := func(lane *record.Lane) (found bool) {
		found = lane.First != nil && lane.HasRoom()
		if found && (next == nil || record.ComesBefore(lane.First, next)) {
			next = lane.First
		}
		return found
	}
	for _, s := range l.freed {
		s.Lanes.Ascend(func(lane *record.Lane) bool { return s.HasRoomForJob() && !consider(lane) })
	}
	l.made = slices.DeleteFunc(l.made, func(lane *record.Lane) bool { return !consider(lane) })
	return next
}

// openGate has a job be as one that was submitted now.
func (l *Life) openGate(j *record.Job) {
	l.leaveGate(j)
	l.SkipGate(j)
	rep := j.Replicas.At(0)
	rep.Created = l.state.Now
	l.NoteArrival(j)
	l.Pend(rep)
}

// RestoreGates enters jobs where what opens their gates finds them. It refuses gates that would be
// open.
func (l *Life) RestoreGates(jobs []record.SavedJob) *berth.Error {
	numbers := map[*record.Job]int{}
	for i := range jobs {
		j := l.state.Jobs[jobs[i].Job.ID]
		if numbers[j] = i; j.Gate != nil {
			l.enterGate(j)
		} else {
			l.SkipGate(j)
		}
	}
	open, why := l.nextToOpen(), "waits for slots, and they are free"
	if len(l.ready) > 0 {
		open, why = l.ready[0], "has nothing left to wait for"
	}
	if open != nil {
		return refusal.Of(berth.ErrInvalid, errtext.Index("jobs", numbers[open])+".gate", why)
	}
	l.made = nil
	return nil
}

// ChangeCaps has other caps of the policy count. No job loses a slot by it.
func (l *Life) ChangeCaps() {
	l.state.RecountSlots()
	for _, j := range l.state.JobsInOrder() {
		switch {
		case j.Gate == nil:
			l.SkipGate(j)
		case j.Gate.IsReady():
			l.line(j)
		}
	}
}
