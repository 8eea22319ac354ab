package core

// RevealAll makes records of all replicas that are a number as yet.
func RevealAll(c *Core) {
	for _, j := range c.state.Jobs {
		for len(j.Batches()) > 0 {
			c.backlog.Reveal(j.Batches()[0])
		}
	}
}

// Records counts the replicas of a core that are more than a number.
func Records(c *Core) int {
	n := c.state.Replicas
	for _, j := range c.state.Jobs {
		for _, t := range j.Batches() {
			n -= t.Len()
		}
	}
	return n
}
