package life

import "github.com/berth-sched/berth/core/internal/record"

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
	l.freed, l.joined, l.ready = nil, nil, nil
}

// nextToOpen is the job that is offered slots before all others that could have theirs; nil: there
// is none. A gate that opens takes slots and frees none, so what came free since the gates were last
// settled is all that has to be looked at. O(lanes of that), however many jobs wait in them.
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
	for _, lane := range l.joined {
		consider(lane)
	}
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
