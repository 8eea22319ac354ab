package core

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
)

func (c *Core) restoreNodes(list []record.SavedNode) *berth.Error {
	for i := range list {
		if err := c.restoreNode(&list[i]); err != nil {
			return refusal.In(err, errtext.Index("nodes", i))
		}
	}
	return nil
}

func (c *Core) restoreNode(s *record.SavedNode) *berth.Error {
	if err := c.nodeJoined(berth.NodeJoined{Node: s.Node}); err != nil {
		return err
	}
	if err := refusal.Text(s.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	if s.Draining && !s.Cordoned || s.DrainBy < 0 || s.DrainBy != 0 && !s.Draining {
		return refusal.Of(berth.ErrInvalid, "draining", "is set for a node that is not cordoned, or drainBy makes no sense")
	}
	n := c.state.NodeByID[s.Node.ID]
	c.upkeep.Cordon(n, s.Cordoned, s.Reason)
	c.drainNode(n, s.Draining, s.DrainBy)
	freed := n.Freed
	n.CordonPart = s.CordonPart
	n.Freed = freed // until all nodes are there, see State.RestoreFreed
	return nil
}
