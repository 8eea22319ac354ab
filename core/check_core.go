package core

import (
	"fmt"
	"maps"
	"slices"
)

// Check holds every redundant index of the core against what it is an index of,
// and tests the invariants that Core states. It returns the first violation. It
// is for tests, an embedder's among them. Cost: O(state).
//
// Every part of the core checks its own, in the order in which the parts stand on each
// other: a check may rely on those before it.
func (c *Core) Check() error {
	for _, check := range [...]func() error{
		c.checkNodes, c.checkJobs, c.checkMembers, c.checkOrders, c.checkEndings,
		c.checkHolds, c.checkCharges, c.checkCapacities,
		c.checkWaiting, c.checkQueues, c.checkWindows, c.checkPlaces,
		c.checkTrust, c.checkSpares, c.checkLosses,
		c.checkLife, c.checkYields,
		c.checkGPUs, c.checkDrains,
		c.checkAgenda,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// eachNode calls a check for every node.
func (c *Core) eachNode(check func(*node) error) error {
	for _, n := range c.nodes {
		if n == nil {
			continue
		}
		if err := check(n); err != nil {
			return fmt.Errorf("node %s: %w", n.spec.ID, err)
		}
	}
	return nil
}

// eachReplica calls a check for every replica, in order of job and number.
func (c *Core) eachReplica(check func(*replica) error) error {
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		for number, rep := range c.jobs[id].replicas {
			if rep == nil {
				continue
			}
			if err := check(rep); err != nil {
				return fmt.Errorf("job %s: replica %d (%s): %w", id, number, rep.State, err)
			}
		}
	}
	return nil
}

// A tally is a number that is kept, and what it should be.
type tally struct {
	what         string
	is, expected int
}

// agree checks tallies.
func agree(list ...tally) error {
	for _, t := range list {
		if t.is != t.expected {
			return fmt.Errorf("%s: %d, expected %d", t.what, t.is, t.expected)
		}
	}
	return nil
}
