package check

import "slices"

// topology: the gang as a whole, each of its groups and each of their segments
// stand in one domain of the level that they require. What was observed stands
// where it stands.
func (c *Checker) topology(rep *replica) error {
	if rep.observed {
		return nil
	}
	placed := rep.in(binding, running)
	if err := c.together(placed, rep.job.spec.Topology.Required); err != nil {
		return err
	}
	for g := range rep.job.spec.Groups {
		t := &rep.job.spec.Groups[g].Topology
		first := rep.job.offsets[g]
		members := slices.DeleteFunc(slices.Clone(placed), func(m *member) bool { return rep.job.group(m.flat) != g })
		if err := c.together(members, t.Required); err != nil {
			return err
		}
		if t.Segment == 0 {
			continue
		}
		segments := map[int][]*member{}
		for _, m := range members {
			s := (m.flat - first) / t.Segment
			segments[s] = append(segments[s], m)
		}
		for s := range rep.job.spec.Groups[g].Replicas / t.Segment {
			if err := c.together(segments[s], t.SegmentLevel); err != nil {
				return err
			}
		}
		c.saw("segments placed")
	}
	return nil
}

// together: members stand in one domain of a level.
func (c *Checker) together(members []*member, level string) error {
	if level == "" {
		return nil
	}
	for _, m := range members {
		if !slices.Equal(c.domain(m.node, level), c.domain(members[0].node, level)) {
			return broken(S8, "%s on node %s and %s on node %s are to stand in one %s",
				members[0], members[0].at.Node, m, m.at.Node, level)
		}
	}
	c.saw("required level kept")
	return nil
}

// domain names a node's domain of a level: the path down to it, since a name is
// unique within its parent only.
func (c *Checker) domain(n *node, level string) []string {
	switch level {
	case "fleet":
		return nil
	case "node":
		return []string{string(n.spec.ID)}
	}
	return n.spec.Domains[:slices.Index(c.levels, level)+1]
}
