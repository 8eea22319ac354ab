package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// checkNodes checks that nodes are where their names and indexes say, and of the class, and
// with the links, that they are described with.
func (c *Core) checkNodes() error {
	named := 0
	err := c.eachNode(func(n *node) error {
		named++
		entry := &c.classes.list[n.class]
		switch {
		case c.nodes[n.index] != n || c.nodeByID[n.spec.ID] != n || n.Freed != slices.Contains(c.freedNodes, n):
			return fmt.Errorf("its index or its name leads elsewhere, or it is wrongly in freedNodes")
		case entry.key != n.key() || !slices.Equal(entry.windows, n.windows) || int(c.fleet.Tree().NodeClass(n.index)) != n.class:
			return fmt.Errorf("is in the wrong class")
		case (n.graph == nil) != (n.spec.Links == nil) || n.graph != nil && c.graphs.byKey[graphKey(&n.spec)] != n.graph:
			return fmt.Errorf("has the wrong links")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return agree(tally{"nodes by name", len(c.nodeByID), named})
}

// checkJobs checks jobs and their replicas against each other.
func (c *Core) checkJobs() error {
	replicas := 0
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		j := c.jobs[id]
		live := 0
		for number, rep := range j.replicas {
			switch {
			case rep == nil:
				continue
			case rep.job != j || rep.Number != number:
				return fmt.Errorf("job %s: replica %d is elsewhere", id, number)
			}
			live++
		}
		if live != j.live || live == 0 && j.spec.Service == nil {
			return fmt.Errorf("job %s: %d replicas live, counted %d", id, live, j.live)
		}
		if c.shapes[j.shape.key] != j.shape || j.shape.users < 1 {
			return fmt.Errorf("job %s: its shape is not known", id)
		}
		replicas += live
	}
	return agree(tally{"replicas", c.replicas, replicas})
}

// checkMembers checks members against the state of their replica, and the lists of their nodes.
func (c *Core) checkMembers() error {
	members, listed := 0, 0
	for _, n := range c.nodes {
		if n != nil {
			listed += len(n.members)
		}
	}
	if err := c.eachReplica(func(rep *replica) error {
		for flat := range rep.members {
			m := &rep.members[flat]
			if !m.state.holds() {
				continue
			}
			members++
			if m.slot >= len(m.node.members) || m.node.members[m.slot] != (memberAt{rep, flat}) {
				return fmt.Errorf("member %d is not in its node's list", flat)
			}
		}
		if err := rep.consistent(); err != nil {
			return err
		}
		return nil
	}); err != nil {
		return err
	}
	return agree(tally{"members on nodes", listed, members})
}

// checkOrders checks that orders are in the index, and that all that falls due is in the
// timers.
func (c *Core) checkOrders() error {
	orders, timers := 0, 0
	due := func(t timer) bool {
		timers++
		return c.timers.Has(t)
	}
	if err := c.eachReplica(func(rep *replica) error {
		if rep.order != nil {
			orders++
			h := rep.order.Header()
			if c.orders[h.ID] != rep || !due(timer{at: h.Deadline, kind: timerDeadline, rep: rep}) {
				return fmt.Errorf("order %d is not in the indexes", h.ID)
			}
		}
		if rep.retry.ReadyAt != 0 && !due(timer{at: rep.retry.ReadyAt, kind: timerBackoff, rep: rep}) {
			return fmt.Errorf("its backoff is not in the timers")
		}
		if at, limited := rep.dropAt(); limited && rep.State == berth.Pending && !due(timer{at: at, kind: timerGang, rep: rep}) {
			return fmt.Errorf("its gang timeout is not in the timers")
		}
		return nil
	}); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(c.repartitions)) {
		if p := c.repartitions[id]; !due(timer{at: p.order.Deadline, kind: timerRepartition, repartition: p}) {
			return fmt.Errorf("order %d about a GPU is not in the timers", id)
		}
	}
	return agree(tally{"orders out", len(c.orders), orders}, tally{"timers", c.timers.Len(), timers})
}

// checkEndings checks the ends that are expected.
func (c *Core) checkEndings() error {
	endings := 0
	if err := c.eachReplica(func(rep *replica) error {
		if rep.endsAt != 0 {
			endings++
		}
		switch {
		case rep.endsAt != 0 && !c.endings.Has(ending{rep.endsAt, rep}):
			return fmt.Errorf("its end is not in the index")
		case rep.endsAt == 0 && rep.holds() && rep.job.spec.Service == nil:
			return fmt.Errorf("it holds something and is never expected to end")
		case rep.State == berth.Pending && (rep.endsAt != 0 || rep.exclusive != nil):
			return fmt.Errorf("it is pending, and is expected to end or has domains for itself")
		}
		return nil
	}); err != nil {
		return err
	}
	return agree(tally{"expected ends", c.endings.Len(), endings})
}
