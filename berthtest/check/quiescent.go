package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// Quiescent asserts that the fleet has come to rest: no order is out, every gang
// is pending or runs, and none of those that wait could start. Call it after
// events, faults and backoffs have stopped and the core has nothing left to do.
//
// Whether a gang could start is decided for gangs of one group, where counting
// is exact: O(replicas x nodes). Gangs of several groups are a packing problem,
// and are not judged, nor are groups on aligned rails, or with segments that are
// balanced over domains narrower than theirs; where GPUs of one product are limited, what
// is to be spread, or needs several products. Nodes that are set aside for others
// count where the gang would leave in time, unless Policy.BackfillBudget is below its
// default: then that is a matter of the budget. Those of gangs are known from the
// latest report (see Against). GPUs of pools that are not fixed may be closed for
// a waiting gang, which no order tells: unless nothing is drained there they count
// only if nobody holds anything of them, and then they count for what they could become,
// too: a job that waits is worth any change in the end.
func (c *Checker) Quiescent(now berth.Time) error {
	if err := c.advance(now); err != nil {
		return err
	}
	if out := slices.Sorted(maps.Keys(c.orders)); len(out) > 0 {
		return broken(PromiseL1, "order %d is out about %s", out[0], c.orders[out[0]])
	}
	if out := slices.Sorted(maps.Keys(c.changes)); len(out) > 0 {
		return broken(PromiseL1, "order %d is out about GPU %d of node %s", out[0], c.changes[out[0]].GPU, c.changes[out[0]].Node)
	}
	all := inOrder(c.replicas())
	for _, rep := range all {
		switch {
		case rep.state != berth.ReplicaPending && rep.state != berth.ReplicaRunning:
			return broken(PromiseL1, "%s is %s", rep, rep.state)
		case rep.readyAt != 0:
			return broken(PromiseL1, "%s backs off until %d", rep, rep.readyAt)
		}
	}
	if err := c.Served(); err != nil {
		return err
	}
	for _, rep := range all {
		if err := c.collected(rep); err != nil {
			return err
		}
	}
	return c.reshaped()
}

// Served asserts that no gang waits that could start, as Quiescent does, and that gangs leave
// draining nodes, in a fleet that is not at rest: after a pass that left no work over
// (Core.NextWake is later), and with what is reserved known from a report.
func (c *Checker) Served() error {
	for _, rep := range c.placeless() {
		if rep.any(func() bool { return c.couldStart(rep, 0) }) {
			return broken(PromiseL1, "%s is %s, waits for a place, and would fit", rep, rep.state)
		}
	}
	if err := c.settled(); err != nil {
		return err
	}
	return c.sparesServed()
}

// couldStart reports whether there is certainly a place for a replica that waits:
// for its minimum, or for one more member if it runs; of a group in segments that
// runs it asks nothing. Nodes that are set aside in one of the given ways count as if
// they were not.
func (c *Checker) couldStart(rep *replica, ignored int) bool {
	open := func(n *node) bool { return c.setAside(n, rep)&^ignored == 0 }
	if !c.couldStartOn(rep, open) {
		return false
	}
	if len(c.preemptions)+len(c.kept) == 0 {
		return true
	}
	defer c.earmark(c.withThosePassed(rep)...)()
	if !c.couldStartOn(rep, open) {
		return false
	}
	undo, certain := c.dischargeLeaving()
	defer undo()
	return certain && c.couldStartOn(rep, open)
}

// dischargeLeaving charges queues for nothing that is on its way out: what a queue keeps for
// itself is less while its gangs use of it, and rooms are made with what is kept afterwards.
// It is certain unless something leaves a node that takes no more work, and the fleet shrinks by
// that.
func (c *Checker) dischargeLeaving() (undo func(), certain bool) {
	var gone []*member
	certain = true
	for rep := range c.replicas() {
		for _, m := range rep.members {
			if m.node != nil && (rep.state == berth.ReplicaReleasing || rep.asked() && !rep.needless() || m.state == stopping) {
				gone, certain = append(gone, m), certain && !m.node.closed()
			}
		}
	}
	for _, m := range gone {
		m.rep.job.queue.charge(c.cost(m), -1)
	}
	return func() {
		for _, m := range gone {
			m.rep.job.queue.charge(c.cost(m), 1)
		}
	}, certain
}

// couldStartOn is couldStart on nodes that are open to the replica.
func (c *Checker) couldStartOn(rep *replica, open func(*node) bool) bool {
	j := rep.job
	if len(j.spec.Groups) != 1 || rep.observed {
		return false
	}
	g := &j.spec.Groups[0]
	t := &g.Topology
	if rep.job.copies(0) > 1 && j.spec.Topology.Apart != "" {
		return false
	}
	if t.RailAligned || t.Balance != "" && len(t.Segments) > 0 && c.depth(t.Balance) > c.depth(t.Segments[0].Level) {
		return false
	}
	need := minimum(g)
	if rep.state == berth.ReplicaRunning {
		if need = 1; c.preemptions[rep.key()] != nil {
			need = max(1, c.preemptions[rep.key()].members)
		}
		if len(t.Segments) > 0 {
			return false
		}
	}
	for _, f := range c.fashions(rep, g) {
		what, admitted := c.admits(rep, g, int64(need), f.product)
		if !admitted && c.cases[waitsFor(what)] > 0 {
			continue
		}
		idle := func(n *node) bool { return f.suits(n) && open(n) && c.idleFor(rep, n) }
		fits := t.Spread == "" && c.room(rep, g, idle) >= need || t.Spread != "" && !c.byProduct(j.queue) && c.spreads(rep, g, f, idle)
		if fits && admitted {
			return true
		}
		if fits {
			c.saw(waitsFor(what))
		}
	}
	return false
}

// waitsFor names the case of a gang for which there is room, and that something else holds
// back. It is counted once only: it takes a search.
func waitsFor(what obstacle) string {
	return "there is room, and what holds back is the " + string(what)
}

// spreads reports whether a group of one group that is to be spread certainly has a
// place: with some number m of its members in each domain of some region there is room
// for that many in all of them, and for all of it if each takes what it may.
func (c *Checker) spreads(rep *replica, g *berth.Group, f fashion, open func(*node) bool) bool {
	required, skew := c.required(rep, 0), max(1, g.Topology.MaxSkew)
	regions := map[string]map[string]int{}
	for _, n := range c.nodes {
		if !n.serves(g) || !f.suits(n) {
			continue
		}
		if !c.surelyFor(n, rep, g) {
			return false // it is not certain which domains count
		}
		region, domain := c.key(n, required), c.key(n, g.Topology.Spread)
		if regions[region] == nil {
			regions[region] = map[string]int{}
		}
		regions[region][domain] += 0
		if open(n) {
			regions[region][domain] += c.roomOn(n, g, trust(&rep.job.spec))
		}
	}
	for _, rooms := range regions {
		for m := 0; m*len(rooms) <= g.Members; m++ {
			all, least := 0, m
			for _, room := range rooms {
				all, least = all+min(room, m+skew), min(least, room)
			}
			if least == m && all >= g.Members {
				return true
			}
		}
	}
	return false
}

// room is how many members of a group of one group fit at most on nodes that are open
// to it: in the roomiest domain of the level that they require, or, for a gang that
// runs, in its own. Of a segment's domain only whole segments count, on each level of
// nesting: what fits is summed up from the nodes to wider and wider domains.
func (c *Checker) room(rep *replica, g *berth.Group, open func(*node) bool) int {
	required, wholes := c.required(rep, 0), c.wholes(rep)
	here, rooms := rep.in(running), map[string]int{}
	for _, n := range c.nodes {
		if open(n) && (len(here) == 0 || c.key(here[0].node, required) == c.key(n, required)) {
			rooms[c.key(n, "node")] = c.roomOn(n, g, trust(&rep.job.spec))
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
			for _, segment := range wholes {
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

// key is the domain of a node, as a string. A node that comes back elsewhere under the same name is
// another.
func (c *Checker) key(n *node, level string) string {
	switch level {
	case "":
		level = "fleet"
	case "node":
		return strings.Join(n.spec.Domains, "\x00") + "\x00" + string(n.spec.ID)
	}
	return strings.Join(c.domain(n, level), "\x00")
}

// roomOn is how many members of a group certainly fit on a node now.
func (c *Checker) roomOn(n *node, g *berth.Group, domain string) int {
	if n.closed() || n.unfit(g) != "" {
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
	for name, each := range cl.Resources {
		room = min(room, int(max(0, n.spec.Resources[name]-n.counted[name])/each))
	}
	if !wantsGPU(g) {
		return room
	}
	there := 0
	for i := range n.gpus {
		switch divided := n.gpus[i].mode == berth.GPUModeMIG; {
		case !c.takes(n, i) || divided != ofInstance(cl):
		case divided:
			there += c.instanceRoom(n, i, cl)
		case cl.Share != nil:
			there += n.shareRoom(i, cl.Share, domain)
		case cl.Borrow != nil:
			there += truth(c.lendable(n, i, domain, cl.Borrow.MemoryMiB))
		case n.gpus[i].isFree():
			there++
		}
	}
	return min(room, there/max(cl.GPUs, 1))
}

// shareRoom is how many shares of one kind fit on a GPU now.
func (n *node) shareRoom(i int, s *berth.Share, domain string) int {
	g := &n.gpus[i]
	if g.whole != nil || g.over != nil && !g.vacated || n.failed.Has(i) {
		return 0
	}
	memory := n.spec.GPUs[i].MemoryMiB
	for _, m := range g.shares {
		if trust(&m.rep.job.spec) != domain || m.claim().Share.Mode != s.Mode {
			return 0
		}
		memory -= m.at.ShareMemoryMiB
	}
	room := 1000
	for _, m := range g.shares {
		room -= m.at.ShareMilli
	}
	room = min(room/s.GPUMilli, n.maxShares()-len(g.shares))
	if each := shareMemory(s, n); each > 0 {
		room = min(room, int(memory/each))
	}
	return room
}
