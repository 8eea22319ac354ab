package check

import (
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// parts: the members of each copy of a part stand in one domain of the level that the part
// requires, and copies that are to be apart stand in different ones.
func (c *Checker) parts(rep *replica, placed []*member) error {
	t := &rep.job.spec.Topology
	if !slices.ContainsFunc(placed, func(m *member) bool { return m.bind == c.last }) {
		return nil // it stands as it did
	}
	at := map[string]string{} // which copy stands in a domain of the level Apart
	for p := range t.Parts {
		for copied := range max(1, t.Parts[p].Copies) {
			var mates []*member
			for _, m := range placed {
				g := rep.job.group(m.flat)
				if rep.job.spec.Groups[g].Part == t.Parts[p].Name && rep.job.copyOf(m, g) == copied {
					mates = append(mates, m)
				}
			}
			if len(mates) == 0 {
				continue
			}
			if err := c.together(mates, c.narrower(t.Parts[p].Required, t.Apart)); err != nil {
				return err
			}
			c.saw("parts together")
			if max(1, t.Parts[p].Copies) > 1 {
				c.saw("copies together")
			}
			if t.Apart == "" {
				continue
			}
			domain := strings.Join(c.domain(mates[0].node, t.Apart), "/")
			if other, taken := at[domain]; taken {
				return broken(PromiseS8, "%s and %s, in another copy or part, stand in one %s", other, mates[0], t.Apart)
			}
			at[domain] = mates[0].String()
			if len(at) > 1 {
				c.saw("parts apart")
			}
		}
	}
	return nil
}

// copies is in how many copies of its part a group is.
func (j *job) copies(g int) int {
	for _, p := range j.spec.Topology.Parts {
		if p.Name == j.spec.Groups[g].Part {
			return max(1, p.Copies)
		}
	}
	return 1
}

// wholes are what of the only group of a gang comes whole, in one domain of a level: its segments,
// and the members of each copy of its part.
func (c *Checker) wholes(rep *replica) []berth.Segment {
	t, g := &rep.job.spec.Topology, &rep.job.spec.Groups[0]
	copies := rep.job.copies(0)
	if copies == 1 {
		return g.Topology.Segments
	}
	list := slices.Clone(g.Topology.Segments)
	for _, p := range t.Parts {
		if p.Name == g.Part {
			list = append(list, berth.Segment{Size: g.Members / copies, Level: c.narrower(p.Required, t.Apart)})
		}
	}
	return append(list, berth.Segment{Size: g.Members / copies, Level: g.Topology.Required})
}

// copyOf is in which copy of its part a member of a group is.
func (j *job) copyOf(m *member, g int) int {
	return (m.flat - j.offsets[g]) / (j.spec.Groups[g].Members / j.copies(g))
}

// groupTogether: the members of a group stand in one domain of the level that it requires, or
// those of each copy of its part do.
func (c *Checker) groupTogether(rep *replica, g int, members []*member) error {
	for len(members) > 0 {
		first := rep.job.copyOf(members[0], g)
		next := slices.IndexFunc(members, func(m *member) bool { return rep.job.copyOf(m, g) != first })
		if next < 0 {
			next = len(members)
		}
		if err := c.together(members[:next], rep.job.spec.Groups[g].Topology.Required); err != nil {
			return err
		}
		members = members[next:]
	}
	return nil
}
