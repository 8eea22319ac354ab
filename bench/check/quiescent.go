package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// Quiescent asserts that the fleet has come to rest: no order is out, every gang
// is pending or runs, and none of those that wait could start. Call it after
// facts, faults and backoffs have stopped and the core has nothing left to do.
//
// Whether a gang could start is decided for gangs of one group, where counting
// is exact: O(replicas x nodes). Gangs of several groups are a packing problem,
// and are not judged, nor are groups that are to be spread, balanced or on aligned
// rails, or gangs that want their domains for themselves. Nodes that are set aside
// for others are left out, also where the gang would leave in time: how many such
// jobs the core tries is a matter of its budget. Those of gangs are known from the
// latest report (see Against).
func (c *Checker) Quiescent(now berth.Time) error {
	if err := c.advance(now); err != nil {
		return err
	}
	if out := slices.Sorted(maps.Keys(c.orders)); len(out) > 0 {
		return broken(L1, "order %d is out about %s", out[0], c.orders[out[0]])
	}
	all := set{}
	for _, j := range c.jobs {
		for _, rep := range j.replicas {
			all.add(rep)
		}
	}
	for _, rep := range all.sorted() {
		switch {
		case rep.state != berth.Pending && rep.state != berth.Running:
			return broken(L1, "%s is %s", rep, rep.state)
		case rep.readyAt != 0:
			return broken(L1, "%s backs off until %d", rep, rep.readyAt)
		case rep.waits() && c.couldStart(rep, 0):
			return broken(L1, "%s is %s, waits for a place, and would fit", rep, rep.state)
		}
	}
	return nil
}

// couldStart reports whether there is certainly a place for a replica that waits:
// for its minimum, or for one more member if it runs; of a group in segments that
// runs it asks nothing. Nodes that are set aside in one of the given ways count as if
// they were not.
func (c *Checker) couldStart(rep *replica, ignored int) bool {
	j := rep.job
	if len(j.spec.Groups) != 1 || rep.observed || j.spec.Topology.Exclusive != "" {
		return false
	}
	g := &j.spec.Groups[0]
	t := &g.Topology
	if t.Spread != "" || t.Balance != "" || t.RailAligned {
		return false
	}
	need := minimum(g)
	if rep.state == berth.Running {
		need = 1
		if len(t.Segments) > 0 {
			return false
		}
	}
	open := func(n *node) bool { return c.setAside(n, rep)&^ignored == 0 }
	return j.queue.admits(g, int64(need)) && c.room(rep, g, open) >= need
}

// admits reports whether so many members certainly keep every limit. Where GPUs of
// one product are limited it depends on the place, so the answer is no.
func (q *queue) admits(g *berth.Group, n int64) bool {
	milli := int64(1000 * g.Claim.GPUs)
	if g.Claim.Share != nil {
		milli = int64(g.Claim.Share.Milli)
	}
	for ; q != nil; q = q.parent {
		for r, limit := range q.spec.Limit {
			asked := map[quota.Resource]int64{quota.GPU: milli, quota.CPU: g.Claim.CPUMilli, quota.Memory: g.Claim.MemoryMiB}[r]
			if strings.HasPrefix(string(r), "gpu:") && milli > 0 || asked > 0 && q.used[r]+n*asked > limit {
				return false
			}
		}
	}
	return true
}

// room is how many members of a group of one group fit at most on nodes that are open
// to it: in the roomiest domain of the level that they require, or, for a gang that
// runs, in its own. Of a segment's domain only whole segments count, on each level of
// nesting: what fits is summed up from the nodes to wider and wider domains.
func (c *Checker) room(rep *replica, g *berth.Group, open func(*node) bool) int {
	required := c.narrower(rep.job.spec.Topology.Required, g.Topology.Required)
	here, rooms := rep.in(running), map[string]int{}
	for _, n := range c.nodes {
		if open(n) && (len(here) == 0 || c.key(here[0].node, required) == c.key(n, required)) {
			rooms[c.key(n, "node")] = n.room(g, rep.job.spec.Tenant)
		}
	}
	levels := append(append([]string{"fleet"}, c.levels...), "node")
	for depth := len(levels) - 1; depth >= c.depth(required); depth-- {
		wider := map[string]int{}
		for _, n := range c.nodes {
			from := c.key(n, levels[min(depth+1, len(levels)-1)])
			wider[c.key(n, levels[depth])] += rooms[from]
			delete(rooms, from) // once for all nodes of that domain
		}
		for key := range wider {
			for _, segment := range g.Topology.Segments {
				if c.depth(segment.Level) == depth {
					wider[key] -= wider[key] % segment.Size
				}
			}
		}
		rooms = wider
	}
	most := 0
	for _, room := range rooms {
		most = max(most, room)
	}
	return most
}

// key is the domain of a node, as a string.
func (c *Checker) key(n *node, level string) string {
	if level == "" {
		level = "fleet"
	}
	return strings.Join(c.domain(n, level), "\x00")
}

// room is how many members of a group fit on a node now.
func (n *node) room(g *berth.Group, tenant berth.TenantID) int {
	if n.cordoned || n.unfit(g) != "" {
		return 0
	}
	cl := &g.Claim
	room := 1 << 30
	if cl.CPUMilli > 0 {
		room = min(room, int(max(0, n.spec.CPUMilli-n.cpu)/cl.CPUMilli))
	}
	if cl.MemoryMiB > 0 {
		room = min(room, int(max(0, n.spec.MemoryMiB-n.memory)/cl.MemoryMiB))
	}
	switch {
	case cl.GPUs > 0:
		_, whole := n.count()
		room = min(room, whole/cl.GPUs)
	case cl.Share != nil:
		shares := 0
		for i := range n.gpus {
			shares += n.shareRoom(i, cl.Share, tenant)
		}
		room = min(room, shares)
	}
	return room
}

// shareRoom is how many shares of one kind fit on a GPU now.
func (n *node) shareRoom(i int, s *berth.Share, tenant berth.TenantID) int {
	g := &n.gpus[i]
	if g.whole != nil || n.failed.Has(i) {
		return 0
	}
	memory := n.spec.GPUs[i].MemoryMiB
	for _, m := range g.shares {
		if m.rep.job.spec.Tenant != tenant || m.claim().Share.Mode != s.Mode {
			return 0
		}
		memory -= m.at.ShareMemoryMiB
	}
	room := (1000 - int(g.heldMilli())) / s.Milli
	if each := shareMemory(s, n); each > 0 {
		room = min(room, int(memory/each))
	}
	return room
}
