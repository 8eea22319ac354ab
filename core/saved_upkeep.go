package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

// restoreTrust restores how far nodes are trusted. What is on them comes later.
func (c *Core) restoreTrust(list []savedNode) *berth.Error {
	for i := range list {
		if err := c.restoreTrustIn(c.nodeByID[list[i].Node.ID], &list[i].trustPart); err != nil {
			return refusal.In(err, errtext.Index("nodes", i))
		}
	}
	return nil
}

func (c *Core) restoreTrustIn(n *node, s *trustPart) *berth.Error {
	h := &c.config.Policy.Health
	switch {
	case s.Probation < 0 || s.Probation > 0 && h.Losses == 0:
		return refusal.Of(berth.ErrInvalid, "probation", "is before the epoch, or the policy knows none")
	case s.Trial < 0 || s.Trial > 0 && h.Trial == 0:
		return refusal.Of(berth.ErrInvalid, "trial", "is before the epoch, or the policy knows none")
	case s.Spare && (c.sparesOf(n.spec.Pool) == nil || s.Trial > 0 || s.StandsIn):
		return refusal.Of(berth.ErrInvalid, "spare", "is set for a node of a pool without spares, on trial, or that was one")
	}
	if s.Probation > 0 {
		c.keepOut(n, s.Probation)
	}
	if s.Trial > 0 {
		c.beginTrial(n, s.Trial)
	}
	if s.Spare {
		c.keepSpare(n)
	}
	n.trust = *s
	return nil
}

// save lists what is remembered, in order of name.
func (m *lossMemory) save() []lossRecord {
	var list []lossRecord
	for _, id := range slices.Sorted(maps.Keys(m.byID)) {
		list = append(list, *m.byID[id])
	}
	return list
}

func (c *Core) restoreLosses(list []lossRecord) *berth.Error {
	if len(list) > c.config.Limits.Nodes || len(list) > 0 && !c.config.Policy.Health.Remembers() {
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("%d nodes are more than are remembered", len(list)))
	}
	for i := range list {
		s := &list[i]
		if err := refusal.Name(string(s.Node)); err != nil {
			return refusal.In(refusal.In(err, "node"), errtext.Index("", i))
		}
		ok := i == 0 || list[i-1].Node < s.Node
		ok = ok && len(s.Losses) > 0 && len(s.Losses) <= limits.MaxLosses && slices.IsSorted(s.Losses)
		if !ok || s.Losses[len(s.Losses)-1] > c.now || s.Probations < 0 || s.Probations > limits.MaxDoublings {
			return refusal.Of(berth.ErrInvalid, errtext.Index("", i), "is out of order, in the future, or a counter is out of range")
		}
		c.lost.add(s)
	}
	return nil
}
