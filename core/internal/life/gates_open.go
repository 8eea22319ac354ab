package life

import "github.com/berth-sched/berth/core/internal/record"

// Gates open once an event is told, and once a pass has seen to all that is due: so of several jobs
// that may take a slot of an array the one of the highest rank has it, whichever came first there.

// SettleGates opens the gates at which nothing is left to wait for.
func (l *Life) SettleGates() {
	for _, a := range l.mayFill {
		for next, some := a.Ready.Min(); some && a.Open < a.Width; next, some = a.Ready.Min() {
			l.openGate(next)
		}
	}
	for _, j := range l.ready {
		l.openGate(j)
	}
	l.mayFill, l.ready = nil, nil
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
