package life

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/internal/limits"
)

// What is held and left idle: it is warned, and its job ended.
//
// The law. A replica r is quiet at t if it runs, holds GPUs of its own, and the last report of its
// present life says so. Let s be when that began. The first pass at or after s + QuietFor warns it,
// at w. The first pass at or after w + Grace ends its job, or takes its surplus, as the policy
// says, if r has nothing else going on; else it is looked at again after ReleaseTimeout. A gang
// that is to give up its surplus gets no more from w on, as it would get back then what it gives. A
// report that r is busy forgets s and w. A request for a last checkpoint stands, whatever is
// reported then: to write one is activity. Another policy begins anew: with what is left of the old
// one, that request is taken back (script 482).
//
// The case: a notebook that was left open over the weekend (script 400).
//
// Rejected: to end a service, which an autoscaler would only start again; to lend what is idle of a
// job that does not lend, as nobody knows how much of the memory of its GPUs it uses; to have a
// report be over after some time, as the ledger and lending hold it until the next one.

// weighIdleness notes whether a replica is quiet, and has it looked at when it has been for long
// enough.
func (l *Life) weighIdleness(rep *record.Replica) {
	if !l.leavesIdle(rep) {
		l.forgetWarning(rep)
	}
	p := rep.Idle.Get()
	switch {
	case !l.leavesIdle(rep):
		p.IdleSince = 0
	case p.IdleSince == 0:
		p.IdleSince = max(l.state.Now, 1) // 0 is none
	}
	if rep.Idle.Set(p); p.WarnedAt == 0 {
		l.state.SetIdleAt(rep, l.warnsAt(rep))
	}
}

// forgetWarning has a replica be as it was before it was warned.
func (l *Life) forgetWarning(rep *record.Replica) {
	p := rep.Idle.Get()
	stayed := p.Stays
	p.WarnedAt, p.Stays = 0, false
	if rep.Idle.Set(p); stayed {
		l.backlog.Await(rep)
	}
}

// isQuiet reports whether a replica is quiet, by what was reported last: up to an activity, in
// thousandths; below 0: none is.
func isQuiet(rep *record.Replica, most int) bool {
	return most >= 0 && rep.Idle.Get().Reported && int(rep.ActiveMilli) <= most
}

// leavesIdle reports whether a replica is quiet.
func (l *Life) leavesIdle(rep *record.Replica) bool {
	p := &l.state.Config.Policy.Idle
	return p.QuietFor > 0 && isQuiet(rep, p.QuietMilli) && rep.State == berth.ReplicaRunning && rep.Job.ClaimsGPUs()
}

// awaitIdle has a replica that was warned, and is not asked to end any more, be looked at when it
// is to end.
func (l *Life) awaitIdle(rep *record.Replica) {
	if p := rep.Idle.Get(); p.WarnedAt != 0 && p.IdleAt == 0 && !p.Stays && l.dealsWith(rep) {
		l.state.SetIdleAt(rep, l.actsAt(rep))
	}
}

// warnsAt is when a replica is to be warned; 0: it is not quiet, or was warned.
func (l *Life) warnsAt(rep *record.Replica) berth.Time {
	if p := rep.Idle.Get(); p.IdleSince != 0 && p.WarnedAt == 0 {
		return p.IdleSince.Add(l.state.Config.Policy.Idle.QuietFor)
	}
	return 0
}

// actsAt is when something is due about a replica that was warned.
func (l *Life) actsAt(rep *record.Replica) berth.Time {
	return rep.Idle.Get().WarnedAt.Add(max(l.state.Config.Policy.Idle.Grace, 0))
}

// dealsWith reports whether something is done to a replica if it is idle for too long.
func (l *Life) dealsWith(rep *record.Replica) bool {
	spec := &rep.Job.Spec
	if spec.NonPreemptible || spec.Lend != nil {
		return false
	}
	switch l.state.Config.Policy.Idle.Action {
	case berth.IdleStop:
		return spec.Service == nil
	case berth.IdleShrink: // nobody else may stand where a gang has the domain for itself
		return rep.Job.IsElastic() && spec.Topology.Exclusive == ""
	}
	return false
}

// Idleness tells what comes of it that a replica leaves idle what it holds; nil: it does not.
func (l *Life) Idleness(rep *record.Replica) *berth.Idleness {
	if !rep.IsIdle(&l.state.Config.Policy.Idle, l.state.Now) {
		return nil
	}
	p := rep.Idle.Get()
	out := &berth.Idleness{Since: p.IdleSince, ActiveMilli: int(rep.ActiveMilli), Warned: p.WarnedAt}
	if p.WarnedAt != 0 {
		out.Until = p.IdleAt
	}
	return out
}

// RestoreIdle takes back since when replicas are quiet, and when they were warned.
func (l *Life) RestoreIdle(noted []state.Noted) *berth.Error {
	return l.state.EachNoted(noted, func(rep *record.Replica, _ *record.SavedReplica) *berth.Error {
		l.state.RestoreIdleAt(rep)
		if field := l.idleAmiss(rep); field != "" {
			return refusal.Of(berth.ErrInvalid, field, fmt.Sprintf("does not go with the rest: %+v, active %d", rep.Idle.Get(), rep.ActiveMilli))
		}
		return nil
	})
}

// idleAmiss names what is noted of a replica that cannot be so; empty: all of it can.
func (l *Life) idleAmiss(rep *record.Replica) string {
	p, policy, now := rep.Idle.Get(), &l.state.Config.Policy.Idle, max(l.state.Now, 1)
	deals := p.WarnedAt != 0 && l.dealsWith(rep)
	switch {
	case p.IdleSince < 0 || p.IdleSince > now || (p.IdleSince != 0) != l.leavesIdle(rep):
		return "idleSince"
	case p.WarnedAt < 0 || p.WarnedAt > now || p.WarnedAt != 0 && !rep.IsIdle(policy, p.WarnedAt):
		return "warnedAt"
	case p.Stays != (deals && policy.Action == berth.IdleShrink):
		return "idleStays"
	case !deals && p.IdleAt != l.warnsAt(rep), p.IdleAt > limits.MaxFuture:
		return "idleAt"
	case deals && p.IdleAt < l.actsAt(rep) && (p.IdleAt != 0 || !p.Stays && !rep.Ends()):
		return "idleAt"
	}
	return ""
}

// CheckIdle checks that what is quiet is looked at when it is to be warned, or ended.
func (l *Life) CheckIdle() error {
	return l.state.EachReplica(func(rep *record.Replica) error {
		if field := l.idleAmiss(rep); field != "" {
			return fmt.Errorf("its %s is wrong: %+v, active %d", field, rep.Idle.Get(), rep.ActiveMilli)
		}
		return nil
	})
}
