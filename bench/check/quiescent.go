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
// and are not judged.
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
		case rep.waits() && c.couldStart(rep):
			return broken(L1, "%s is %s, waits for a place, and would fit", rep, rep.state)
		}
	}
	return nil
}

// couldStart reports whether there is certainly a place for a replica that waits:
// for its minimum, or for one more member if it runs.
func (c *Checker) couldStart(rep *replica) bool {
	j := rep.job
	if len(j.spec.Groups) != 1 || rep.observed {
		return false
	}
	g := &j.spec.Groups[0]
	need := minimum(g)
	if rep.state == berth.Running {
		need = 1
	}
	return j.queue.admits(g, int64(need)) && c.room(rep, g) >= need
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

// room is how many members of a group of one group fit at most: in the roomiest
// domain of the level that they require, or, for a gang that runs, in its own.
func (c *Checker) room(rep *replica, g *berth.Group) int {
	levels := append(append([]string{"", "fleet"}, c.levels...), "node")
	required := rep.job.spec.Topology.Required
	if slices.Index(levels, g.Topology.Required) > slices.Index(levels, required) {
		required = g.Topology.Required
	}
	rooms, segments := map[string]int{}, map[string]int{}
	for _, n := range c.nodes {
		key := c.key(n, required)
		if here := rep.in(running); len(here) > 0 && c.key(here[0].node, required) != key {
			continue
		}
		if g.Topology.Segment == 0 || slices.Index(levels, g.Topology.SegmentLevel) <= slices.Index(levels, required) {
			rooms[key] += n.room(g, rep.job.spec.Tenant)
			continue
		}
		// Of a segment's domain only whole segments count.
		inner := c.key(n, g.Topology.SegmentLevel)
		rooms[key] -= segments[inner] / g.Topology.Segment * g.Topology.Segment
		segments[inner] += n.room(g, rep.job.spec.Tenant)
		rooms[key] += segments[inner] / g.Topology.Segment * g.Topology.Segment
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
