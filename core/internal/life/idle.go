package life

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/decimal"
)

// IdleDue warns a replica that was quiet for long enough, or ends its job.
func (l *Life) IdleDue(rep *record.Replica) {
	l.state.SetIdleAt(rep, 0)
	policy := &l.state.Config.Policy
	cause := berth.Cause{Code: berth.CauseIdle, Detail: fmt.Sprintf("no more than %s%% active for %v", decimal.Milli(100*int64(policy.Idle.QuietMilli)), policy.Idle.QuietFor)}
	p := rep.Idle.Get()
	if p.WarnedAt != 0 && rep.Stray() {
		l.WithdrawRequest(rep) // it is asked anew, with less time, or for another cause
	}
	switch {
	case p.WarnedAt == 0:
		p.WarnedAt = max(l.state.Now, 1) // 0 is none
		rep.Idle.Set(p)
		l.awaitIdle(rep)
		warning := berth.WarnIdle{OrderHeader: l.state.Order(rep, 0, cause), Since: p.IdleSince, ActiveMilli: int(rep.ActiveMilli)}
		if l.endsIdle(rep) {
			warning.Until, warning.Action = l.endsAt(rep), policy.Idle.Action
		}
		l.state.Emit(warning)
	case !rep.MayMove(): // what is under way comes first
		l.state.SetIdleAt(rep, l.state.Now.Add(policy.ReleaseTimeout))
	default:
		by, _ := rep.DrainedBy()
		l.Depart(rep, cause, by)
	}
}
