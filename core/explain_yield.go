package core

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// yielding describes what yields to a replica.
func (c *Core) yielding(to *replica, list []piece) []berth.Yielding {
	var out []berth.Yielding
	for _, p := range list {
		candidate := c.candidate(p, c.queueingFor(to))
		spec := &p.rep.job.spec
		y := berth.Yielding{
			Job: spec.ID, Replica: p.rep.Number, Queue: spec.Queue, GPUMilli: candidate.GPUMilli, Members: len(p.flats),
			Price: candidate.Price(),
		}
		if p.rep.asked() {
			y.By = p.rep.order.Header().Deadline
		}
		out = append(out, y)
	}
	return out
}

// victimsOf lists what has yet to go for a beneficiary.
func (p *preemption) victimsOf(rep *replica) []piece {
	var list []piece
	for _, victim := range p.victims {
		yields := piece{rep: victim}
		for flat := range victim.members {
			if victim.members[flat].yieldsTo == rep {
				yields.flats = append(yields.flats, flat)
			}
		}
		list = append(list, yields)
	}
	return list
}

// explainYielding adds to a reason who makes room for an entry, or would, and why nobody
// does.
func (c *Core) explainYielding(e *entry, reason *berth.Reason) {
	if e.grows {
		return
	}
	if w := e.rep.room(); w != nil {
		reason.Yielding = c.yielding(e.rep, w.preemption.victimsOf(e.rep))
		reason.Preemption = fmt.Sprintf("room is being made for it: %d of those who run there have yet to go", len(reason.Yielding))
		return
	}
	if b := c.wouldMove(e); b != nil {
		reason.Moves = c.describeMoves(b)
	}
	policy := &c.config.Policy.Preemption
	t, victims := c.wouldYield(e)
	reason.WouldYield, reason.Weighed = c.yielding(e.rep, victims), t.weighing
	switch asked := e.bucket.shape.least.GPUMilli; {
	case policy.Mode == berth.PreemptNever:
		reason.Preemption = "nothing that runs is stopped for it: the policy forbids preemption"
	case len(victims) > 0 && policy.Mode == berth.PreemptReclaim:
		reason.Preemption = "nothing that runs is stopped for it: between queues nobody has to yield, and within its queue the policy forbids preemption"
	case t.weighing != nil:
		reason.Preemption = describeWeighing(t.weighing, c.now)
	case len(victims) > 0 && c.victimsReady(wholes(victims)) > c.now:
		reason.Preemption = fmt.Sprintf("no more have to yield at the rate that the policy sets; these may in %v", c.victimsReady(wholes(victims)).Sub(c.now))
	case len(victims) > 0:
		reason.Preemption = "the next pass that looks for victims may have these yield"
	case t.waits:
		reason.Preemption = "the least harm is to wait for a gang that gives or gets members just now, and has more above its minimum"
	case earlier(t.spared, t.limited) != 0:
		reason.Preemption = fmt.Sprintf("nobody has to yield who may be stopped yet; the first may in %v", earlier(t.spared, t.limited).Sub(c.now))
	default:
		reason.Preemption = c.overShare(e.rep.job.queue, asked)
	}
}

// overShare says which queue would have more than its fair share, if one would.
func (c *Core) overShare(q quota.Index, asked int64) string {
	for i := q; i != quota.Root; i = c.quota.Parent(i) {
		used, fair := c.quota.Used(i, quota.GPU), c.shares.Of(i)
		if used < c.quota.Used(c.quota.Parent(i), quota.GPU) && used+asked > fair { // others beside it have something
			return fmt.Sprintf("nobody has to yield for it: queue %s would use %s, over its fair share of %s",
				c.quota.Name(i), berth.Amount(quota.GPU, used+asked), berth.Amount(quota.GPU, fair))
		}
	}
	return "nobody has to yield for it who would make enough room"
}

// describeWeighing says in a sentence what spoke against having somebody yield.
func describeWeighing(w *berth.Weighing, now berth.Time) string {
	when := "as things are, never"
	if w.From != 0 {
		when = "not for another " + w.From.Sub(now).String()
	}
	return fmt.Sprintf("it is not worth it that these yield, %s: they would lose %v of a GPU, and it would gain %v of one", when, berth.Duration(w.Price), berth.Duration(w.Gain))
}

// wouldYield looks for the victims of an entry without an effect, also for those whom it is
// not worth it to stop.
func (c *Core) wouldYield(e *entry) (*trial, []piece) {
	c.demands()
	im, _ := c.imagine()
	defer im.forget()
	trials := maxTrials
	t, victims, ok := c.seek(e, seeking{mode: berth.PreemptAndReclaim, chooser: new(preempt.Chooser)}, &trials)
	if !ok && t.weighing == nil {
		victims = nil
	}
	return t, victims
}
