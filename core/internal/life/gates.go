package life

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// enterGate enters a job where what opens its gate finds it. O(After x log jobs).
func (l *Life) enterGate(j *record.Job) {
	l.Gated++
	if t, some := j.GateTimer(); some {
		l.state.SetTimer(t)
	}
	for _, id := range j.Gate.Awaits {
		l.state.Follow(id, j)
	}
	if j.Gate.IsReady() {
		l.line(j)
	}
}

// line has a job that is ready wait for its slots. Where others wait for the same already, there is
// no room for it either.
func (l *Life) line(j *record.Job) {
	switch lane := l.state.Line(j); {
	case lane == nil:
		l.ready = append(l.ready, j)
	case lane.Ready.Len() == 1:
		l.made = append(l.made, lane)
	}
}

// leaveGate undoes enterGate.
func (l *Life) leaveGate(j *record.Job) {
	l.Gated--
	if t, some := j.GateTimer(); some {
		l.state.StopTimer(t)
	}
	for _, id := range j.Gate.Awaits {
		l.state.Unfollow(id, j)
	}
	if j.Gate.IsReady() {
		l.state.Unline(j)
	}
}

// SkipGate has a job that no gate keeps take its slots, whether there is room or not.
func (l *Life) SkipGate(j *record.Job) {
	j.Gate = nil
	l.state.OpenSlots(j, 1)
}

// NoteArrival notes that a job is about to wait. A queue in which nothing waited has a larger share
// now, and others a smaller one. One with jobs that wait has its whole share already, as a rule; to
// compute that at each submission would cost too much.
func (l *Life) NoteArrival(j *record.Job) {
	if l.books.Queues[j.Queue].WaitingMilli == 0 {
		l.agenda.Reshare(l.state.Now)
	}
}

// GateDue handles the timer of a gate. If it can never open, it says why.
func (l *Life) GateDue(j *record.Job) (why string, broken bool) {
	if id := j.Gate.Broken; id != "" {
		return fmt.Sprintf("job %s ended, and did not complete", id), true
	}
	l.changeGate(j, func() { j.Gate.Begun = true })
	return "", false
}

func (l *Life) changeGate(j *record.Job, change func()) {
	l.leaveGate(j)
	change()
	l.enterGate(j)
}

// endAtGates tells the gates of others of the end of a job: its followers, and those that wait for
// its slots. O(followers x log jobs).
func (l *Life) endAtGates(j *record.Job) {
	if j.Gate != nil {
		l.leaveGate(j)
	} else {
		l.freed = append(l.freed, l.state.OpenSlots(j, -1)...)
	}
	for _, f := range l.state.FollowersOf(j.Spec.ID) {
		l.changeGate(f, func() { l.endAwaited(f, j) })
	}
}

// endAwaited notes at the gate of a follower that a job has ended.
func (l *Life) endAwaited(f, j *record.Job) {
	is := func(d berth.Dependency) bool { return d.Job == j.Spec.ID }
	after := f.Spec.Gating().After[slices.IndexFunc(f.Spec.Gating().After, is)]
	if j.Completed || after.Kind == berth.DependencyAny {
		f.Gate.Awaits = slices.DeleteFunc(f.Gate.Awaits, func(id berth.JobID) bool { return id == j.Spec.ID })
	} else {
		f.Gate.Awaits, f.Gate.Broken, f.Gate.BrokenAt = nil, j.Spec.ID, l.state.Now
	}
}
