package core

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
)

// A savedNode is a node: as it was described, and what was told of it since.
type savedNode struct {
	Node berth.Node `json:"node"`
	cordonPart
	GPUs []savedGPU `json:"gpus,omitempty"`
	trustPart
}

func (c *Core) saveNodes() []savedNode {
	list := []savedNode{}
	for _, id := range slices.Sorted(maps.Keys(c.nodeByID)) {
		n := c.nodeByID[id]
		list = append(list, savedNode{n.spec, n.cordonPart, n.saveGPUs(), n.trust})
	}
	return list
}

func (c *Core) restoreNodes(list []savedNode) *berth.Error {
	for i := range list {
		if err := c.restoreNode(&list[i]); err != nil {
			return refusal.In(err, errtext.Index("nodes", i))
		}
	}
	return nil
}

func (c *Core) restoreNode(s *savedNode) *berth.Error {
	if err := c.nodeJoined(berth.NodeJoined{Node: s.Node}); err != nil {
		return err
	}
	if err := refusal.Text(s.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	if s.Drains && !s.Cordoned || s.DrainBy < 0 || s.DrainBy != 0 && !s.Drains {
		return refusal.Of(berth.ErrInvalid, "drains", "is set for a node that is not cordoned, or drainBy makes no sense")
	}
	n := c.nodeByID[s.Node.ID]
	c.cordon(n, s.Cordoned, s.Reason)
	c.drainNode(n, s.Drains, s.DrainBy)
	freed := n.Freed
	n.cordonPart = s.cordonPart
	n.Freed = freed // until all nodes are there, see restoreWakeUps
	return nil
}

// restoreFreed has the next pass look at the nodes that the next pass would have looked at, and
// at no others. From then on nothing that Restore does is news, and the turns begin.
func (c *Core) restoreFreed(list []savedNode) *berth.Error {
	c.clearFreed()
	for i := range list {
		if list[i].Freed {
			c.freed(c.nodeByID[list[i].Node.ID])
		}
	}
	c.agenda.nextTurns()
	return nil
}
