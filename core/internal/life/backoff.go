package life

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// What a replica waits for after a start that failed, and what is kept for it meanwhile.

// BackOff makes a replica wait after a failed Bind, longer each time.
func (l *Life) BackOff(rep *record.Replica) {
	l.endBackoff(rep)
	retry := rep.Retry.Note()
	retry.ReadyAt = l.state.Now.Add(l.backoff(retry.Attempts))
	retry.Attempts++
	l.state.SetTimer(record.Timer{At: retry.ReadyAt, Kind: record.TimerBackoff, Rep: rep})
}

// backoff is how long to wait after so many starts that failed in a row, and one more.
func (l *Life) backoff(attempts int) berth.Duration {
	p := &l.state.Config.Policy
	delay := p.MaxRetryBackoff
	if doublings := min(attempts, 40); p.RetryBackoff<<doublings>>doublings == p.RetryBackoff {
		delay = min(delay, p.RetryBackoff<<doublings)
	}
	return delay
}

// endBackoff ends a backoff, if there is one.
func (l *Life) endBackoff(rep *record.Replica) {
	if retry := rep.Retry.Get(); retry.ReadyAt != 0 {
		l.state.StopTimer(record.Timer{At: retry.ReadyAt, Kind: record.TimerBackoff, Rep: rep})
		retry.ReadyAt = 0
		rep.Retry.Set(retry)
		l.state.NoteReturning(rep, false)
	}
}

// justStarted reports whether a life that ends now was so short that the start counts as failed.
func (l *Life) justStarted(rep *record.Replica) bool {
	return l.state.Now < rep.Started.Add(l.state.Config.Policy.MaxRetryBackoff)
}

// keepPlace has the place of a gang that begins to back off be kept until that is over.
func (l *Life) keepPlace(rep *record.Replica) {
	if rep.Moving != nil {
		l.backlog.KeepThrough(rep)
	}
	if rep.Returns() {
		l.state.NoteReturning(rep, true)
		if rep.Moving == nil {
			l.agenda.MoveBy(l.state.Now)
		}
	}
}

// LosePlaces notes the gangs that back off, and of which a member died on hardware that is lost
// now: GPUs of a node or, if none are given, all of it. Like those that still have members there
// they may be placed on spares from then on.
func (l *Life) LosePlaces(node berth.NodeID, gpus berth.GPUSet) {
	l.state.Returning.Ascend(func(rep *record.Replica) bool {
		retry := rep.Retry.Get()
		retry.LostHardware = retry.LostHardware || slices.ContainsFunc(retry.Stood, func(p berth.MemberPlacement) bool {
			return p.Node == node && (gpus == 0 || p.GPUs&gpus != 0)
		})
		rep.Retry.Set(retry)
		return true
	})
}

// BackoffsOver has the gangs wait for their places again whose backoff is over, after the pass has
// seen to it that these are kept.
func (l *Life) BackoffsOver() {
	if l.state.Returning.Len() == 0 {
		return
	}
	var over []*record.Replica
	l.state.Returning.Ascend(func(rep *record.Replica) bool {
		if rep.Retry.Get().ReadyAt <= l.state.Now {
			over = append(over, rep)
		}
		return true
	})
	for _, rep := range over {
		l.state.NoteReturning(rep, false)
		l.BackoffOver(rep)
	}
}

// BackoffOver has a replica wait for a place, or for members, after a backoff.
func (l *Life) BackoffOver(rep *record.Replica) {
	retry := rep.Retry.Get()
	retry.ReadyAt, retry.Stood = 0, nil
	rep.Retry.Set(retry)
	l.backlog.Await(rep)
}
