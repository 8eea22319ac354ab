package check

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
)

// This file is about hardware that failed: what is remembered of nodes that were lost, which
// nodes take no work for it, and which take only what is cheap to lose.

// A memory is what is remembered of a node that was lost.
type memory struct {
	// losses are the latest, as many as matter.
	losses []berth.Time
	// quarantines is how often it was put in quarantine, up to four times.
	quarantines int
	until       berth.Time
}

// closed reports whether a node takes no work.
func (n *node) closed() bool { return n.cordoned || n.quarantine != 0 }

// remembers reports whether it matters to a policy that a node was lost.
func remembers(h *berth.Health) bool { return h.Losses > 0 || h.BurnIn > 0 }

// noteLoss remembers that a node is lost.
func (c *Checker) noteLoss(id berth.NodeID) {
	h := &c.policy.Health
	if !remembers(h) {
		return
	}
	m := c.gone[id]
	if m == nil || m.until <= c.now {
		m = &memory{}
		c.gone[id] = m
	}
	m.losses = append(m.losses, c.now)
	m.losses = m.losses[max(0, len(m.losses)-max(1, h.Losses)):]
	m.until = c.now.Add(h.Within)
}

// welcome finds out whether a node that joins is in quarantine, and in burn-in: it was lost of
// late, and often.
func (c *Checker) welcome(n *node) {
	h, m := &c.policy.Health, c.gone[n.spec.ID]
	if m == nil || m.until <= c.now || !remembers(h) {
		return
	}
	recent, from := 0, c.now
	for _, at := range m.losses {
		if c.now < at.Add(h.Within) {
			recent++
		}
	}
	if h.Losses > 0 && recent >= h.Losses {
		length := h.Quarantine
		for range m.quarantines {
			length *= 2
		}
		if m.quarantines > 0 {
			c.saw("a longer quarantine")
		}
		m.quarantines = min(m.quarantines+1, 4)
		n.quarantine = c.now.Add(length)
		from = n.quarantine
		c.saw("in quarantine")
	}
	c.beginBurnIn(n, from)
}

// beginBurnIn puts a node in burn-in from an instant on.
func (c *Checker) beginBurnIn(n *node, from berth.Time) {
	if length := c.policy.Health.BurnIn; length > 0 {
		n.burnIn = max(n.burnIn, from.Add(length))
		c.saw("in burn-in")
	}
}

// trustAgain ends quarantines and burn-ins that are over.
func (c *Checker) trustAgain() {
	for _, n := range c.nodes {
		if n.quarantine != 0 && n.quarantine <= c.now {
			n.quarantine = 0
			c.saw("quarantine over")
		}
		if n.burnIn != 0 && n.burnIn <= c.now {
			n.burnIn = 0
			c.saw("burn-in over")
		}
	}
}

// reconsider ends what the policy in force does not know.
func (c *Checker) reconsider() {
	h := &c.policy.Health
	for _, n := range c.nodes {
		if h.Losses == 0 {
			n.quarantine = 0
		}
		if h.BurnIn == 0 {
			n.burnIn = 0
		}
	}
	if !remembers(h) {
		c.gone = map[berth.NodeID]*memory{}
	}
}

// xidReported: a fault of the hardware condemns, and one that may be so does in burn-in.
func (c *Checker) xidReported(e berth.XidReported) error {
	n, err := c.known(e.Node)
	switch {
	case err != nil:
		return err
	case e.Xid < 1:
		return broken(PromiseEvents, "Xid %d was accepted", e.Xid)
	case e.GPU < 0 || e.GPU >= len(n.gpus):
		return broken(PromiseEvents, "an Xid of GPU %d of node %s was accepted, which has %d", e.GPU, e.Node, len(n.gpus))
	}
	switch effect := berth.LookupXid(e.Xid).Effect; {
	case effect == berth.XidCondemns:
		c.saw("an Xid condemns")
	case effect == berth.XidSuspect && n.burnIn != 0:
		c.saw("a suspect Xid in burn-in")
	default:
		c.saw("an Xid without effect")
		return nil
	}
	return c.gpuFailed(berth.GPUFailed{Node: e.Node, GPU: e.GPU})
}

// cheap reports whether little is lost with a replica, so that it may be on hardware in burn-in: it
// is on one node for certain, and nobody waits for its answers.
func cheap(rep *replica) bool {
	spec := &rep.job.spec
	return spec.Class < berth.ClassLatencyCritical && (rep.job.members() == 1 || spec.Topology.Required == "node")
}

func (j *job) members() int { return j.offsets[len(j.offsets)-1] }

// inBurnInOnly: hardware in burn-in gets nothing of which the loss would cost much.
func (c *Checker) inBurnInOnly(rep *replica, n *node) error {
	switch {
	case n.burnIn == 0:
		return nil
	case !cheap(rep):
		return broken(PromiseHealth, "%s is placed on node %s, which is in burn-in until %d", rep, n.spec.ID, n.burnIn)
	}
	c.saw("placed in burn-in")
	return nil
}

// againstHealth holds the nodes that a report says are not trusted against those that are not.
func (c *Checker) againstHealth(list []berth.HealthReport) error {
	var want []berth.HealthReport
	for _, n := range c.nodes {
		if n.quarantine != 0 || n.burnIn != 0 {
			want = append(want, berth.HealthReport{Node: n.spec.ID, QuarantineUntil: n.quarantine, BurnInUntil: n.burnIn})
		}
	}
	slices.SortFunc(want, func(a, b berth.HealthReport) int { return cmp.Compare(a.Node, b.Node) })
	if !slices.Equal(list, want) {
		return broken(PromiseHealth, "the report says that nodes are in quarantine or in burn-in as in %+v; it is %+v", list, want)
	}
	return nil
}
