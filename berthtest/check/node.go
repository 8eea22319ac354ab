package check

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
)

// A node is what is known of a node, and what is held there.
type node struct {
	spec     berth.Node
	cordoned bool
	// quarantine, burnIn are until when it takes no work, and only what is cheap to lose; 0: it
	// does not.
	quarantine, burnIn berth.Time
	// drains: what runs there has to leave, by drainBy if that is not 0, for a reason.
	drains  bool
	drainBy berth.Time
	reason  string
	// clearedFor are the reservations for which it is cleared.
	clearedFor []*reservation
	failed     berth.GPUSet
	gpus       []gpu
	// CPU and memory of the host that members hold.
	cpu, memory int64
	counted     map[string]int64 // declared resources that members have, by name
	members     []*member
}

// A gpu has one member that holds it whole, and maybe one that borrows it, or members that share it
// or hold instances of it, or none.
type gpu struct {
	whole  *member
	shares []*member
	// over stands over what another holds whole, or has yet to give that back. vacated: its lender
	// is imagined gone, and it with that.
	over    *member
	vacated bool
	divided
}

func newNode(spec berth.Node) *node {
	n := &node{spec: spec, gpus: make([]gpu, len(spec.GPUs))}
	n.noteHealth()
	return n
}

func (n *node) noteHealth() {
	n.failed = 0
	for i := range n.spec.GPUs {
		if n.spec.GPUs[i].Failed {
			n.failed |= berth.GPUSetOf(i)
		}
	}
}

// hold books what a member holds, or says what stands in the way. A share's
// memory has been filled in.
func (c *Checker) hold(n *node, m *member) error {
	for _, i := range m.at.GPUs.Indexes() {
		if i >= len(n.gpus) {
			return broken(PromiseClaims, "%s is placed on GPU %d of node %s, which has %d", m, i, n.spec.ID, len(n.gpus))
		}
		if err := c.holdGPU(n, i, m); err != nil {
			return err
		}
	}
	n.cpu += m.claim().CPUMilli
	n.memory += m.claim().MemoryMiB
	n.count(m, 1)
	n.members = append(n.members, m)
	m.node = n
	return nil
}

// holdGPU: no GPU is held twice; the shares of one take no more than all of its
// compute and memory, are no more than it takes, and belong to one tenant and one mode.
func (c *Checker) holdGPU(n *node, i int, m *member) error {
	g := &n.gpus[i]
	if m.claim().Borrow != nil {
		return n.holdOver(i, m)
	}
	if g.whole != nil {
		return broken(PromiseS1, "GPU %d of node %s is held by %s and by %s", i, n.spec.ID, g.whole, m)
	}
	if ofInstance(m.claim()) {
		if len(g.shares) > 0 {
			return broken(PromiseS1, "GPU %d of node %s is shared by %s, and %s has an instance of it", i, n.spec.ID, g.shares[0], m)
		}
		return c.holdInstance(n, i, m)
	}
	if len(g.seats) > 0 {
		return broken(PromiseS1, "%s of GPU %d of node %s is held by %s, and the GPU by %s", g.seats[0].at.Instance, i, n.spec.ID, g.seats[0], m)
	}
	if m.at.ShareMilli == 0 {
		if len(g.shares) > 0 {
			return broken(PromiseS1, "GPU %d of node %s is held in part by %s and whole by %s", i, n.spec.ID, g.shares[0], m)
		}
		if g.over != nil && !g.vacated {
			if err := lentTo(m, g.over, n, i); err != nil {
				return err
			}
		}
		g.whole = m
		return nil
	}
	milli, memory := m.at.ShareMilli, m.at.ShareMemoryMiB
	for _, other := range g.shares {
		milli += other.at.ShareMilli
		memory += other.at.ShareMemoryMiB
		if trust(&other.rep.job.spec) != trust(&m.rep.job.spec) || other.claim().Share.Mode != m.claim().Share.Mode {
			return broken(PromiseS1, "GPU %d of node %s is shared by %s of %s (%s) and %s of %s (%s)", i, n.spec.ID,
				other, trust(&other.rep.job.spec), other.claim().Share.Mode, m, trust(&m.rep.job.spec), m.claim().Share.Mode)
		}
	}
	if milli > 1000 {
		return broken(PromiseS1, "with %s, shares of GPU %d of node %s add up to %d thousandths", m, i, n.spec.ID, milli)
	}
	if memory > n.spec.GPUs[i].MemoryMiB {
		return broken(PromiseS1, "with %s, shares of GPU %d of node %s add up to %d of %d MiB", m, i, n.spec.ID, memory, n.spec.GPUs[i].MemoryMiB)
	}
	if len(g.shares) >= n.maxShares() {
		return broken(PromiseS1, "with %s, %d members share GPU %d of node %s; it takes %d", m, len(g.shares)+1, i, n.spec.ID, n.maxShares())
	}
	if g.shares = append(g.shares, m); len(g.shares) == n.maxShares() {
		c.saw("as many shares as may be")
	}
	return nil
}

// hostFits: a new member never takes more host CPU or memory than there is. (An
// updated node may have less than is held; nothing more goes there then.)
func (n *node) hostFits(m *member) error {
	cl := m.claim()
	if cl.CPUMilli > 0 && n.cpu+cl.CPUMilli > n.spec.CPUMilli {
		return broken(PromiseS1, "with %s, members hold %d of %d milli-CPU of node %s", m, n.cpu+cl.CPUMilli, n.spec.CPUMilli, n.spec.ID)
	}
	if cl.MemoryMiB > 0 && n.memory+cl.MemoryMiB > n.spec.MemoryMiB {
		return broken(PromiseS1, "with %s, members hold %d of %d MiB of node %s", m, n.memory+cl.MemoryMiB, n.spec.MemoryMiB, n.spec.ID)
	}
	for name, each := range cl.Resources {
		if n.counted[name]+each > n.spec.Resources[name] {
			return broken(PromiseS1, "with %s, members hold %d of %d %s of node %s", m, n.counted[name]+each, n.spec.Resources[name], name, n.spec.ID)
		}
	}
	return nil
}

// count adds what a member has of declared resources, times sign.
func (n *node) count(m *member, sign int64) {
	for name, each := range m.claim().Resources {
		if n.counted == nil {
			n.counted = map[string]int64{}
		}
		n.counted[name] += sign * each
	}
}

// crowded reports whether members hold more of the host than it has.
func (n *node) crowded() bool {
	for name, held := range n.counted {
		if held > n.spec.Resources[name] {
			return true
		}
	}
	return n.cpu > n.spec.CPUMilli || n.memory > n.spec.MemoryMiB
}

// release ends what hold began.
func (n *node) release(m *member) {
	for _, i := range m.at.GPUs.Indexes() {
		g := &n.gpus[i]
		if g.whole == m {
			g.whole = nil
		}
		if g.over == m {
			g.over = nil
		}
		if k := slices.Index(g.shares, m); k >= 0 {
			g.shares = slices.Delete(g.shares, k, k+1)
		}
		if k := slices.Index(g.seats, m); k >= 0 {
			g.seats = slices.Delete(g.seats, k, k+1)
		}
	}
	n.cpu -= m.claim().CPUMilli
	n.memory -= m.claim().MemoryMiB
	n.count(m, -1)
	k := slices.Index(n.members, m)
	n.members = slices.Delete(n.members, k, k+1)
	m.node = nil
}

// heldMilli is how much of a GPU of a node is held, in thousandths.
func (c *Checker) heldMilli(n *node, i int) int64 {
	g := &n.gpus[i]
	if g.whole != nil {
		return 1000
	}
	held := 0
	for _, m := range g.seats {
		held += int(instanceMilli(c.table(n), int(m.at.Instance.Size)))
	}
	for _, m := range g.shares {
		held += m.at.ShareMilli
	}
	return int64(held)
}

// inService: a new member goes to a schedulable node and to healthy GPUs.
func (n *node) inService(m *member) error {
	if n.cordoned {
		return broken(PromiseSelectors, "%s is placed on node %s, which is cordoned", m, n.spec.ID)
	}
	if n.quarantine != 0 {
		return broken(PromiseHealth, "%s is placed on node %s, which is in quarantine until %d", m, n.spec.ID, n.quarantine)
	}
	if m.at.GPUs&n.failed != 0 {
		return broken(PromiseSelectors, "%s is placed on failed GPUs %s of node %s", m, m.at.GPUs&n.failed, n.spec.ID)
	}
	return nil
}

// selected: a member's node is one that its group's selector and claim allow.
func (n *node) selected(m *member) error {
	if why := n.unfit(m.group()); why != "" {
		return broken(PromiseSelectors, "%s is placed on node %s: %s", m, n.spec.ID, why)
	}
	return nil
}

// unfit says why a node does not suit a group, or returns "".
func (n *node) unfit(g *berth.Group) string {
	s := &g.Selector
	product := berth.GPU{}
	if len(n.spec.GPUs) > 0 {
		product = n.spec.GPUs[0]
	}
	switch {
	case len(s.Pools) > 0 && !slices.Contains(s.Pools, n.spec.Pool):
		return "it is in none of the pools selected"
	case len(s.Products) > 0 && !slices.Contains(s.Products, product.Product):
		return "its GPUs are none of the products selected"
	case product.MemoryMiB < s.MinGPUMemoryMiB:
		return "its GPUs have less memory than selected"
	case product.ComputeCapability.Less(s.MinComputeCapability):
		return "its GPUs have a lower compute capability than selected"
	case g.Claim.NVLink && product.Clique == "":
		return "its GPUs have no NVLink"
	}
	for key, value := range s.Labels {
		if have, ok := n.spec.Labels[key]; !ok || have != value {
			return "it does not carry the labels selected"
		}
	}
	for _, taint := range n.spec.Taints {
		if !tolerated(taint, s.Tolerations) {
			return "it has a taint that is not tolerated"
		}
	}
	return ""
}

// tolerated reports whether a toleration is for a taint: its key, value and effect are those of the
// taint, as far as it states them and its operator asks.
func tolerated(taint berth.Taint, list []berth.Toleration) bool {
	for _, t := range list {
		value, effect := t.Value == taint.Value, t.Effect == taint.Effect || t.Effect == berth.TaintAnyEffect
		switch t.Operator {
		case berth.TolerationEqual:
			if t.Key == taint.Key && value && effect {
				return true
			}
		case berth.TolerationExists:
			if (t.Key == "" || t.Key == taint.Key) && effect {
				return true
			}
		}
	}
	return false
}

// trust names the jobs with which one shares GPUs: those of its tenant, or of its queue if it
// has no tenant.
func trust(j *berth.Job) string {
	if j.Tenant != "" {
		return fmt.Sprintf("tenant %q", j.Tenant)
	}
	return fmt.Sprintf("no tenant in queue %q", j.Queue)
}
