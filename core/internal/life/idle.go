package life

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/decimal"
)

// IdleDue warns a replica that was quiet for long enough, or ends its job, or takes its surplus.
func (l *Life) IdleDue(rep *record.Replica) {
	l.state.SetIdleAt(rep, 0)
	policy := &l.state.Config.Policy
	cause := berth.Cause{Code: berth.CauseIdle, Detail: fmt.Sprintf("no more than %s%% active for %v", decimal.Milli(100*int64(policy.Idle.QuietMilli)), policy.Idle.QuietFor)}
	if rep.Idle.Get().WarnedAt == 0 {
		l.warnIdle(rep, cause)
		return
	}
	if rep.Stray() {
		l.WithdrawRequest(rep) // it is asked anew, with less time, or for another cause
	}
	switch {
	case !rep.MayMove(): // what is under way comes first
		l.state.SetIdleAt(rep, l.state.Now.Add(policy.ReleaseTimeout))
	case policy.Idle.Action == berth.IdleShrink:
		cause.Code = berth.CauseIdleSurplus
		l.takeSurplus(rep, cause)
	default:
		l.Depart(rep, cause, l.state.DrainOf(rep).By)
	}
}

// warnIdle warns a replica. From now on it gets no more of what it is to give up.
func (l *Life) warnIdle(rep *record.Replica, cause berth.Cause) {
	p := rep.Idle.Get()
	p.WarnedAt = max(l.state.Now, 1) // 0 is none
	warning := berth.WarnIdle{OrderHeader: l.state.Order(rep, 0, cause), Since: p.IdleSince, ActiveMilli: int(rep.ActiveMilli)}
	if l.dealsWith(rep) {
		warning.Action = l.state.Config.Policy.Idle.Action
		p.Stays = warning.Action == berth.IdleShrink
	}
	if rep.Idle.Set(p); l.dealsWith(rep) {
		warning.Until = l.actsAt(rep)
		if !rep.Ends() {
			l.state.SetIdleAt(rep, warning.Until)
		}
	}
	if p.Stays && rep.Entries != nil {
		l.backlog.Unawait(rep)
		l.agenda.Reshare(l.state.Now)
	}
	l.state.Emit(warning)
}

// takeSurplus stops what a gang has above its minimum: of units that are alike, the later ones.
func (l *Life) takeSurplus(rep *record.Replica, cause berth.Cause) {
	var flats []int
	for g := range rep.Job.Spec.Groups {
		s := record.SurplusOf(rep, g)
		s.InTurn()
		flats = append(flats, slices.Concat(s.Extras()...)...)
	}
	if slices.Sort(flats); len(flats) > 0 {
		l.shrink(record.Piece{Rep: rep, Flats: flats}, nil, cause)
	}
}
