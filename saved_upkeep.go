package berth

import (
	"fmt"
	"maps"
	"slices"
)

// restoreTrust restores how far nodes are trusted. What is on them comes later.
func (c *Core) restoreTrust(list []savedNode) *Error {
	for i := range list {
		if err := c.restoreTrustIn(c.nodeByID[list[i].Node.ID], &list[i].trustPart); err != nil {
			return err.in(index("nodes", i))
		}
	}
	return nil
}

func (c *Core) restoreTrustIn(n *node, s *trustPart) *Error {
	h := &c.config.Policy.Health
	switch {
	case s.Probation < 0 || s.Probation > 0 && h.Losses == 0:
		return refuse(ErrInvalid, "probation", "is before the epoch, or the policy knows none")
	case s.Trial < 0 || s.Trial > 0 && h.Trial == 0:
		return refuse(ErrInvalid, "trial", "is before the epoch, or the policy knows none")
	case s.Spare && (c.sparesOf(n.spec.Pool) == nil || s.Trial > 0 || s.StandsIn):
		return refuse(ErrInvalid, "spare", "is set for a node of a pool without spares, on trial, or that was one")
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

func (c *Core) restoreLosses(list []lossRecord) *Error {
	if len(list) > c.config.Limits.Nodes || len(list) > 0 && !c.config.Policy.Health.remembers() {
		return refuse(ErrLimit, "", fmt.Sprintf("%d nodes are more than are remembered", len(list)))
	}
	for i := range list {
		s := &list[i]
		if err := checkName(string(s.Node)); err != nil {
			return err.in("node").in(index("", i))
		}
		ok := i == 0 || list[i-1].Node < s.Node
		ok = ok && len(s.Losses) > 0 && len(s.Losses) <= maxLosses && slices.IsSorted(s.Losses)
		if !ok || s.Losses[len(s.Losses)-1] > c.now || s.Probations < 0 || s.Probations > maxDoublings {
			return refuse(ErrInvalid, index("", i), "is out of order, in the future, or a counter is out of range")
		}
		c.lost.add(s)
	}
	return nil
}
