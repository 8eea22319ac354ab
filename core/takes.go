package core

import (
	"fmt"
	"math"
	"slices"

	"github.com/berth-sched/berth"
)

// WhatItTakes answers what it would take to start a replica that waits at an instant, if these
// facts were told first: whom to move, who would have to yield and at what price, or why
// nothing helps. It has no effect. Without facts, and now, it looks at the core itself; else at
// a copy for which all that is due by then has fallen due, which costs O(state) more. A job
// that is not known, also because its gang timeout is over by then, or a fact that would be
// refused, is refused.
func (c *Core) WhatItTakes(now berth.Time, id berth.JobID, replica int, facts ...berth.Event) (berth.Takes, error) {
	twin := c
	if len(facts) > 0 || now != c.now {
		b, err := c.Snapshot()
		if err != nil {
			return berth.Takes{}, err
		}
		if twin, err = restore(b, c.config.Gain, c.tables); err != nil {
			return berth.Takes{}, err
		}
		for _, e := range facts {
			if err := twin.Apply(now, e); err != nil {
				return berth.Takes{}, err
			}
		}
		if now < twin.now {
			return berth.Takes{}, c.clockError("whatItTakes", now)
		}
		twin.now = now
		twin.tick()
		twin.expire()
	}
	rep := twin.lookup(berth.ReplicaRef{Job: id, Replica: replica})
	if rep == nil {
		return berth.Takes{}, &berth.Error{Event: "whatItTakes", Field: "job", Kind: berth.ErrUnknown, Reason: fmt.Sprintf("job %q has no replica %d", id, replica)}
	}
	return twin.whatItTakes(rep), nil
}

func (c *Core) whatItTakes(rep *replica) berth.Takes {
	c.tellCapacity()
	switch {
	case rep.State != berth.Pending:
		return berth.Takes{Text: fmt.Sprintf("it does not wait: it is %s", rep.State)}
	case rep.entries == nil:
		return berth.Takes{Text: fmt.Sprintf("it waits for another %v after a failure, whatever there is room for", rep.retry.ReadyAt.Sub(c.now))}
	}
	e := rep.entries[0]
	if c.fitsNow(e) {
		return berth.Takes{Fits: true, Text: "nothing: the next pass is expected to start it"}
	}
	reason := c.reason(e)
	if reason.Code == berth.ReasonTurn { // no pass has tried it yet
		reason = c.capacityReason(e)
	}
	c.explainYielding(e, &reason)
	t := berth.Takes{Reason: &reason}
	if b := c.wouldMove(e); b != nil {
		t.Moves, t.MovesPrice, t.MovesGain = c.describeMoves(b), b.price, b.gain
	}
	t.Victims = slices.Concat(reason.Yielding, reason.WouldYield)
	for _, victim := range t.Victims {
		t.Price += min(victim.Price, math.MaxInt64-t.Price)
	}
	t.Text = takesSentence(&t)
	return t
}

func takesSentence(t *berth.Takes) string {
	switch {
	case len(t.Reason.Yielding) > 0:
		return t.Reason.Preemption
	case len(t.Moves) > 0 && len(t.Victims) > 0:
		return fmt.Sprintf("to move %d of those who run, or to stop %d", len(t.Moves), len(t.Victims))
	case len(t.Moves) > 0:
		return fmt.Sprintf("to move %d of those who run", len(t.Moves))
	case len(t.Victims) > 0:
		return fmt.Sprintf("to stop %d of those who run", len(t.Victims))
	}
	return "nothing that could be stopped or moved for it makes room: " + t.Reason.Text
}

// fitsNow reports whether an entry fits now, within its quota.
func (c *Core) fitsNow(e *entry) bool {
	t := c.trial(e, nil)
	t.request, _ = c.lift(e, &e.bucket.shape.minimum)
	_, within := c.quota.Fits(t.queue, t.asked)
	return within && t.place() != nil
}

// wouldMove looks for moves that make room for an entry without an effect; nil: there are
// none, or nobody is to look for any.
func (c *Core) wouldMove(e *entry) *bid {
	if c.config.Policy.Moves.Mode == berth.MovesOff || !c.inPieces(e) {
		return nil
	}
	im, broken := c.imagine()
	defer im.forget()
	if len(broken) > 0 {
		return nil
	}
	im.trials = maxTrials
	return im.bidForMoves(e)
}

// describeMoves names the moves of a bid.
func (c *Core) describeMoves(b *bid) []berth.Move {
	var list []berth.Move
	for _, m := range b.moves {
		move := berth.Move{Job: m.rep.job.spec.ID, Replica: m.rep.Number, Queue: m.rep.job.spec.Queue, GPUMilli: chargedOf(piece{rep: m.rep})}
		for flat := range m.rep.members {
			if at := &m.rep.members[flat]; at.state.holds() {
				move.From = append(move.From, at.node.spec.ID)
			}
		}
		for i := range m.where {
			move.To = append(move.To, c.nodes[m.where[i].Hold.Node].spec.ID)
		}
		move.From, move.To = sorted(move.From), sorted(move.To)
		list = append(list, move)
	}
	return list
}

// sorted is a list in order and without doubles.
func sorted(list []berth.NodeID) []berth.NodeID {
	slices.Sort(list)
	return slices.Compact(list)
}
