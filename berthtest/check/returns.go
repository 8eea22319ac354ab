package check

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file is about gangs whose members died. They back off, and come back to where they stood,
// however many of them died, and in however many reports: their places are kept until then.
// No place is kept if the job is at fault, or if it crashes in a loop.

// returning is what is known of a gang whose members died.
type returning struct {
	// crashes counts the lives in a row that ended so, soon after the start.
	crashes int
	// stood has where the members were of a gang that is to come back there, by flat index; of one
	// that runs, the members that died since it began to back off.
	stood map[int]stand
	// failedIn is the pass before which the gang failed, retriedIn the one in which its backoff
	// was over.
	failedIn, retriedIn int
	// keptUntil is for how long its place is kept, as of when it began to back off, and keptAnew as
	// of the pass in which its backoff was over: the policy may have changed. whole: the place has
	// all of where it stood.
	keptUntil, keptAnew berth.Time
	whole               bool
	// told: the life was observed, and may have stood where no order would have placed it.
	told bool
}

// A stand is where a member was that died.
type stand struct {
	node *node
	at   berth.MemberPlacement
}

// enough reports whether a list of members has the minimum of every group.
func (rep *replica) enough(list []*member) bool {
	for g := range rep.job.spec.Groups {
		n := 0
		for _, m := range list {
			if rep.job.group(m.flat) == g {
				n++
			}
		}
		if n < minimum(&rep.job.spec.Groups[g]) {
			return false
		}
	}
	return true
}

// soon reports whether a life that ends now ended soon after its start.
func (c *Checker) soon(rep *replica) bool { return c.now.Sub(rep.started) < c.policy.MaxRetryBackoff }

// noteStood notes where members of a gang that runs are, before some of them die.
func (rep *replica) noteStood(die func(*member) bool) {
	if rep.state != berth.ReplicaRunning || isBorrower(&rep.job.spec) {
		return
	}
	stood := map[int]stand{}
	maps.Copy(stood, rep.stood)
	for _, m := range rep.in(running, binding) {
		if die(m) {
			stood[m.flat] = stand{m.node, m.at}
		}
	}
	rep.stood = stood
}

// failed: too few members of a gang are left. It is released, and backs off.
func (c *Checker) failed(rep *replica, fault berth.Fault) {
	rep.backoff, rep.failedIn, rep.whole = true, c.passes, false
	rep.attempts = 0
	if c.soon(rep) {
		rep.attempts = rep.crashes
		rep.crashes++
	} else {
		rep.crashes = 0
	}
	switch {
	case fault == berth.FaultJob:
		c.saw("members died, and the job is at fault")
		rep.stood = nil
	case rep.attempts > 0:
		c.saw("members died in a crash loop")
		rep.stood = nil
	}
	rep.told = rep.observed
}

// losePlaces: a gang that backs off, and of which a member died on hardware that is lost now, has
// lost hardware.
func (c *Checker) losePlaces(lost func(stand) bool) {
	for rep := range c.replicas() {
		for _, s := range rep.stood {
			if rep.state == berth.ReplicaPending && rep.readyAt != 0 && lost(s) && !rep.struck {
				rep.struck = true
				c.saw("lost hardware while it backed off")
			}
		}
	}
}

// comesBack reports whether a place may be kept for a gang that is being stopped.
func (rep *replica) comesBack() bool {
	if isBorrower(&rep.job.spec) {
		return false
	}
	switch rep.cause {
	case berth.CauseMoved, berth.CauseDrained, berth.CauseHardwareLost:
		return true
	case berth.CauseMemberFailed:
		return len(rep.stood) > 0
	}
	return false
}

// unseen reports whether no pass had seen the failure of a gang before the last one.
func (c *Checker) unseen(rep *replica) bool { return rep.failedIn >= c.passes-1 }

// justFailed lists the gangs that back off since a failure that no pass had seen before the last
// one, and that have stood somewhere.
func (c *Checker) justFailed() (list []*replica) {
	for rep := range c.replicas() {
		if rep.readyAt != 0 && len(rep.stood) > 0 && c.unseen(rep) {
			list = append(list, rep)
		}
	}
	return list
}

// isBackoff reports whether a place that is kept lasts as long as that of a gang that backs off.
func (c *Checker) isBackoff(rep *replica, r *berth.ReservationReport) bool {
	return rep.readyAt != 0 && (r.Until == rep.keptUntil || r.Until == rep.readyAt.Add(c.policy.ReservationTimeout))
}

// returns: while a gang backs off after all of its members died, its place is kept for it, from
// the next pass on, unless something came in between.
func (c *Checker) returns(gangs map[gangKey]berth.ReservationReport, passed bool) error {
	for rep := range c.replicas() {
		if rep.state != berth.ReplicaPending || rep.readyAt == 0 || rep.left != berth.CauseMemberFailed {
			continue
		}
		r, kept := gangs[rep.key()]
		there := kept && r.Moving
		for _, s := range rep.stood {
			there = there && slices.Contains(r.Nodes, s.node.spec.ID)
		}
		if !passed || !c.unseen(rep) { // it may have been taken since, and a node may be open that was not
			rep.whole = rep.whole && there
			continue
		}
		if rep.whole = c.standsFree(rep, gangs); rep.whole && !there {
			return broken(PromiseReservations, "all members of %s died, its place is free, and it is not kept for it: %v", rep, r)
		}
		if rep.whole {
			c.saw("the place of a gang was kept of which all members died")
		}
	}
	return nil
}

// standsFree reports whether it is certain that all members of a gang fit where they stood: on
// whole GPUs of nodes that take work and that nobody has set aside.
func (c *Checker) standsFree(rep *replica, gangs map[gangKey]berth.ReservationReport) bool {
	spec := &rep.job.spec
	if rep.job.isOutOfBudget() || !c.surelyAdmitted(rep) || !rep.stoodAlike() {
		return false
	}
	cpu, memory, counted := map[*node]int64{}, map[*node]int64{}, map[*node]map[string]int64{}
	for flat, s := range rep.stood {
		g := &spec.Groups[rep.job.group(flat)]
		n := s.node
		plain := g.Claim.Share == nil && !ofInstance(&g.Claim) && g.Topology.Spread == "" && g.Topology.Balance == "" && !g.Topology.RailAligned && spec.Topology.Exclusive == ""
		if !plain || c.nodes[n.spec.ID] != n || n.closed() || n.unfit(g) != "" || n.burnIn != 0 || c.mayBeSpare(n) || c.ownedByOthers(rep, n) || rep.avoided[n.spec.ID] {
			return false
		}
		if c.promisedToOthers(rep, n, c.gangs, c.then) || c.promisedToOthers(rep, n, gangs, c.preemptions) {
			return false
		}
		for _, i := range s.at.GPUs.Indexes() {
			if gpu := &n.gpus[i]; !c.takes(n, i) || gpu.mode != berth.GPUModeWhole || len(gpu.holders()) > 0 {
				return false
			}
		}
		cpu[n] += g.Claim.CPUMilli
		memory[n] += g.Claim.MemoryMiB
		for name, each := range g.Claim.Resources {
			if counted[n] == nil {
				counted[n] = map[string]int64{}
			}
			if counted[n][name] += each; n.counted[name]+counted[n][name] > n.spec.Resources[name] {
				return false
			}
		}
		if n.cpu+cpu[n] > n.spec.CPUMilli && cpu[n] > 0 || n.memory+memory[n] > n.spec.MemoryMiB && memory[n] > 0 {
			return false
		}
	}
	return len(rep.stood) == rep.job.members() && !rep.told
}

// stoodAlike reports whether the nodes where the members of a gang stood have one value of each
// label that its job names. Labels may change under a gang.
func (rep *replica) stoodAlike() bool {
	values := map[string]bool{}
	for flat, s := range rep.stood {
		if value, labelled := s.node.values(&rep.job.spec); wantsGPU(&rep.job.spec.Groups[rep.job.group(flat)]) {
			if values[value] = true; !labelled {
				return false
			}
		}
	}
	return len(values) <= 1
}

// surelyAdmitted reports whether the limits of its queues certainly admit all of a gang beside what
// is planned for others.
func (c *Checker) surelyAdmitted(rep *replica) bool {
	defer c.earmark(rep)()
	all := func(quota.Resource) bool { return true }
	if len(rep.job.spec.Groups) != 1 || c.byProduct(rep.job.queue) || c.somebodyKeeps() {
		return !c.bounds(rep.job.queue, all)
	}
	g := &rep.job.spec.Groups[0]
	_, admitted := c.admits(rep, g, int64(g.Members), "")
	return admitted
}

// ownedByOthers reports whether a node is set aside in advance, or for another gang that runs
// there.
func (c *Checker) ownedByOthers(rep *replica, n *node) bool {
	for _, r := range c.booked {
		if r.has(n) || r.spec.GPUs > 0 && !r.told {
			return true
		}
	}
	for other := range c.alone {
		if other != rep && other.alone[c.key(n, other.job.spec.Topology.Exclusive)] {
			return true
		}
	}
	return false
}

// promisedToOthers reports whether a node is in the place that is planned for another gang, or
// reserved for one that may rank above, by a report with the preemptions of that time. Any other
// waits for its turn there, and goes on to wait.
func (c *Checker) promisedToOthers(rep *replica, n *node, gangs map[gangKey]berth.ReservationReport, preemptions map[gangKey]*preemption) bool {
	for key, r := range gangs {
		promised := r.Moving || preemptions[key] != nil || c.kept[key] != 0
		if other := c.find(key); other != nil && key != rep.key() {
			promised = promised || c.mayPass(other, rep.key()) || c.mayPassOnceLeft(other, rep.key())
		}
		if key != rep.key() && promised && slices.Contains(r.Nodes, n.spec.ID) {
			return true
		}
	}
	return false
}

// mayPassOnceLeft is mayPass when all has left that is on its way out: places are planned for then.
func (c *Checker) mayPassOnceLeft(rep *replica, key gangKey) bool {
	undo, _ := c.dischargeLeaving()
	defer undo()
	return c.mayPass(rep, key)
}

// veryPlace: a gang whose whole place was kept comes back to that very place.
func (c *Checker) veryPlace(rep *replica, b *berth.Bind) error {
	if !rep.whole {
		return nil
	}
	for _, s := range rep.stood {
		if !slices.ContainsFunc(b.Members, func(p berth.MemberPlacement) bool {
			return p.Group == s.at.Group && p.Node == s.at.Node && p.GPUs == s.at.GPUs
		}) {
			return broken(PromiseReservations, "order %d does not bring %s back to where it stood: no member is on %v of node %s", b.ID, rep, s.at.GPUs.Indexes(), s.at.Node)
		}
	}
	c.saw("a gang of which all members died came back to where it stood")
	return nil
}
