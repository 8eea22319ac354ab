package core

import (
	"cmp"
	"slices"

	"github.com/google/btree"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/limits"
)

// A lossRecord is what is remembered of a node that was lost, and how that is saved.
type lossRecord struct {
	Node berth.NodeID `json:"node"`
	// Losses are the latest instants, the oldest first.
	Losses []berth.Time `json:"losses"`
	// Probations counts those that it had, up to maxDoublings.
	Probations int `json:"probations,omitempty"`
	// Until is when it is forgotten.
	Until berth.Time `json:"until"`
}

// lessLoss orders records by when they are forgotten, then by node.
func lessLoss(a, b *lossRecord) bool {
	return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Node, b.Node)) < 0
}

// A lossMemory remembers the nodes that were lost, by name and in the order in which they
// are forgotten.
type lossMemory struct {
	byID   map[berth.NodeID]*lossRecord
	fading *btree.BTreeG[*lossRecord]
}

func newLossMemory() lossMemory {
	return lossMemory{byID: map[berth.NodeID]*lossRecord{}, fading: btree.NewG(16, lessLoss)}
}

// clear forgets all losses.
func (m *lossMemory) clear() { *m = newLossMemory() }

func (m *lossMemory) add(r *lossRecord) {
	m.byID[r.Node] = r
	m.fading.ReplaceOrInsert(r)
}

func (m *lossMemory) remove(r *lossRecord) {
	delete(m.byID, r.Node)
	m.fading.Delete(r)
}

// forget drops what is over at an instant, and the oldest of what is more than so many.
func (m *lossMemory) forget(now berth.Time, most int) {
	for {
		oldest, some := m.fading.Min()
		if !some || oldest.Until > now && m.fading.Len() <= most {
			return
		}
		m.remove(oldest)
	}
}

// noteLoss remembers that a node is lost.
func (c *Core) noteLoss(id berth.NodeID) {
	h := &c.config.Policy.Health
	if !h.Remembers() {
		return
	}
	c.lost.forget(c.now, c.config.Limits.Nodes)
	r := c.lost.byID[id]
	if r == nil {
		r = &lossRecord{Node: id}
	} else {
		c.lost.remove(r)
	}
	r.Losses = append(r.Losses, c.now)
	r.Losses = slices.Delete(r.Losses, 0, max(0, len(r.Losses)-max(h.Losses, 1)))
	r.Until = c.now.Add(h.Within)
	c.lost.add(r)
	c.lost.forget(c.now, c.config.Limits.Nodes)
}

// welcome puts a node that joins on probation or on trial, if it was lost before.
func (c *Core) welcome(n *node) {
	h := &c.config.Policy.Health
	c.lost.forget(c.now, c.config.Limits.Nodes)
	r := c.lost.byID[n.spec.ID]
	if r == nil || !h.Remembers() {
		return
	}
	recent := 0
	for _, at := range r.Losses {
		if at.Add(h.Within) > c.now {
			recent++
		}
	}
	from := c.now
	if h.Losses > 0 && recent >= h.Losses {
		from = c.now.Add(h.Probation << r.Probations)
		r.Probations = min(r.Probations+1, limits.MaxDoublings)
		c.totals.Probations++
		c.keepOut(n, from)
	}
	c.putOnTrial(n, from)
}

// keepOut puts a node on probation: it takes no work, as if it were cordoned.
func (c *Core) keepOut(n *node, until berth.Time) {
	n.trust.Probation = until
	c.cordon(n, n.Cordoned, n.Reason)
	c.watch(n)
}

// putOnTrial puts a node on trial from an instant on, if the policy says so. What counts on
// it counts on a node that is trusted.
func (c *Core) putOnTrial(n *node, from berth.Time) {
	length := c.config.Policy.Health.Trial
	if length == 0 {
		return
	}
	c.totals.Trials++
	c.beginTrial(n, max(n.trust.Trial, from.Add(length)))
}

func (c *Core) beginTrial(n *node, until berth.Time) {
	n.trust.Trial = until
	c.leaveSpares(n)
	c.spoil(n)
	if c.trials == nil {
		c.newKept(&c.trials, kindBurnIn, trialName)
	}
	c.keepIn(c.trials, n)
	c.watch(n)
}

// trialName names the window of the nodes that are on trial.
const trialName = "trial"

// mayTry reports whether a replica may be placed on hardware that is on trial: what is lost
// with it is cheap.
func mayTry(rep *replica) bool {
	return rep.job.spec.Class != berth.LatencyCritical && rep.job.onOneNode()
}

// onOneNode reports whether a gang is on one node for certain.
func (j *job) onOneNode() bool {
	return j.members() == 1 || j.spec.Topology.Required == limits.LevelNode
}

// distrust has a node that is described anew on probation and on trial as it was.
func (c *Core) distrust(n, old *node) {
	n.trust.Probation, n.trust.Trial = old.trust.Probation, old.trust.Trial
	c.watch(n)
}

// watch has a pass look at a node that is on probation or on trial when that is over, or no
// longer at one that is not.
func (c *Core) watch(n *node) {
	at, watched := slices.BinarySearchFunc(c.watched, n, compareNodes)
	switch is := n.trust.Probation != 0 || n.trust.Trial != 0; {
	case is && !watched:
		c.watched = slices.Insert(c.watched, at, n)
	case !is && watched:
		c.watched = slices.Delete(c.watched, at, at+1)
	}
	first := never
	for _, n := range c.watched {
		if n.trust.Probation != 0 {
			first = min(first, n.trust.Probation)
		}
		if n.trust.Trial != 0 {
			first = min(first, n.trust.Trial)
		}
	}
	c.agenda.watchUntil(first)
}

// trustAgain ends the probations and the trials that are over, and forgets the losses that
// are.
func (c *Core) trustAgain() {
	c.lost.forget(c.now, c.config.Limits.Nodes)
	if c.now < c.agenda.healthDue {
		return
	}
	for _, n := range slices.Clone(c.watched) {
		if n.trust.Probation != 0 && n.trust.Probation <= c.now {
			c.endProbation(n)
		}
		if n.trust.Trial != 0 && n.trust.Trial <= c.now {
			c.endTrial(n)
		}
	}
}

func (c *Core) endProbation(n *node) {
	n.trust.Probation = 0
	c.watch(n)
	c.cordon(n, n.Cordoned, n.Reason)
	c.freed(n)
	c.agenda.grew(c.now)
}

func (c *Core) endTrial(n *node) {
	n.trust.Trial = 0
	c.watch(n)
	c.letOut(c.trials, n)
}

// vouch ends what keeps a node from being trusted.
func (c *Core) vouch(n *node) {
	if n.trust.Probation != 0 {
		c.endProbation(n)
	}
	if n.trust.Trial != 0 {
		c.endTrial(n)
	}
}

// reconsider does what a changed policy says about hardware that is not trusted: what it does
// not know any more is over; else what has begun lasts for as long as was said then.
func (c *Core) reconsider() {
	h := &c.config.Policy.Health
	for _, n := range slices.Clone(c.watched) {
		if n.trust.Probation != 0 && h.Losses == 0 {
			c.endProbation(n)
		}
		if n.trust.Trial != 0 && h.Trial == 0 {
			c.endTrial(n)
		}
	}
	if !h.Remembers() {
		c.lost.clear()
	}
}
