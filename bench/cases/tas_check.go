package cases

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// ruleCloser names differences where the core's placement is closer together: the pods of all
// requests of a job stand in fewer domains of some level than in the other scheduler's, and in more
// of none; and where they are to be balanced, as evenly.
const ruleCloser = "closer"

// rule finds the rule that a difference comes under, and the sums that tell, given the pods of
// each request by leaf, ours and theirs; "" if it comes under none.
func (c *tasCase) rule(requests []tasRequest, ours, theirs []map[string]int) (rule, sums string) {
	var a, b []string // leaves
	for i := range requests {
		a, b = append(a, slices.Collect(maps.Keys(ours[i]))...), append(b, slices.Collect(maps.Keys(theirs[i]))...)
		if c.Options.Balanced && !c.asEven(&requests[i], ours[i], theirs[i]) {
			return "", ""
		}
	}
	if c.compareCloseness(a, b) >= 0 {
		return "", ""
	}
	for depth := range c.Levels {
		if mine, their := c.domainsAt(a, depth+1), c.domainsAt(b, depth+1); mine < their {
			sums = fmt.Sprintf("%d domains of level %s; with theirs %d", mine, c.Levels[depth], their)
		}
	}
	return ruleCloser, sums
}

// asEven reports whether the largest and the smallest part of a request, by domain of the level
// that is to be balanced, are no further apart than with the other scheduler.
func (c *tasCase) asEven(r *tasRequest, ours, theirs map[string]int) bool {
	skew := func(pods map[string]int) int {
		parts := map[string]int{}
		for leaf, count := range pods {
			if at := slices.IndexFunc(c.Nodes, func(n tasNode) bool { return c.leaf(&n) == leaf }); at >= 0 {
				parts[strings.Join(c.Nodes[at].Path[:slices.Index(c.Levels, r.Level)+1], "/")] += count
			}
		}
		list := slices.Sorted(maps.Values(parts))
		if len(list) == 0 {
			return 0
		}
		return list[len(list)-1] - list[0]
	}
	return skew(ours) <= skew(theirs)
}

// compareCloseness is negative if some leaves, named as in the file, are closer together
// than others, and positive if they are less close at any level, or not in the file.
func (c *tasCase) compareCloseness(ours, theirs []string) int {
	closer := 0
	for depth := 1; depth <= len(c.Levels); depth++ {
		a, b := c.domainsAt(ours, depth), c.domainsAt(theirs, depth)
		if a < 0 || b < 0 || a > b {
			return 1
		}
		closer = min(closer, a-b)
	}
	return closer
}

// domainsAt counts the domains of a depth that hold some leaves; -1: there is no such
// leaf.
func (c *tasCase) domainsAt(leaves []string, depth int) int {
	seen := map[string]bool{}
	for _, leaf := range leaves {
		at := slices.IndexFunc(c.Nodes, func(n tasNode) bool { return c.leaf(&n) == leaf })
		if at < 0 {
			return -1
		}
		seen[strings.Join(c.Nodes[at].Path[:depth], "/")] = true
	}
	return len(seen)
}

// leaf names the domain that a pod on a node is counted in: the host, or the whole path
// where there are no hosts.
func (c *tasCase) leaf(n *tasNode) string {
	if c.hosts() {
		return n.Path[len(n.Path)-1]
	}
	return strings.Join(n.Path, "/")
}

// broken says what a placement does not keep of what was asked for, or "".
func (c *tasCase) broken(bind *berth.Bind, requests []tasRequest) string {
	used := map[berth.NodeID]map[string]int64{}
	for i := range requests {
		r := &requests[i]
		var nodes []*tasNode // by index of the pod
		for k := range bind.Members {
			m := &bind.Members[k]
			if m.Group != r.Name {
				continue
			}
			at := slices.IndexFunc(c.Nodes, func(n tasNode) bool { return n.Name == string(m.Node) })
			if at < 0 || m.Index != len(nodes) {
				return fmt.Sprintf("%s is on %s, which is no node, or out of order", m.Ref(), m.Node)
			}
			nodes = append(nodes, &c.Nodes[at])
			if used[m.Node] == nil {
				used[m.Node] = map[string]int64{}
			}
			used[m.Node][resourcePods]++
			for name, amount := range r.PerPod {
				used[m.Node][name] += amount
			}
		}
		if len(nodes) != r.Count {
			return fmt.Sprintf("%d of %d pods of %s are placed", len(nodes), r.Count, r.Name)
		}
		if wrong := c.brokenLevels(r, nodes); wrong != "" {
			return wrong
		}
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		for _, name := range slices.Sorted(maps.Keys(used[berth.NodeID(n.Name)])) {
			if amount := used[berth.NodeID(n.Name)][name]; amount > n.Capacity[name] {
				return fmt.Sprintf("%d of %s on %s is more than its %d", amount, name, n.Name, n.Capacity[name])
			}
		}
	}
	return ""
}

// brokenLevels checks the required level and the slices of a request.
func (c *tasCase) brokenLevels(r *tasRequest, nodes []*tasNode) string {
	if r.Mode == "required" && !c.together(r.Level, nodes) {
		return fmt.Sprintf("%s stands in several domains of %s", r.Name, r.Level)
	}
	for _, s := range r.Slices {
		for slice := range slices.Chunk(nodes, max(s.Size, 1)) {
			if !c.together(s.Level, slice) {
				return fmt.Sprintf("a slice of %s stands in several domains of %s", r.Name, s.Level)
			}
		}
	}
	return ""
}

// together reports whether nodes are in one domain of a level.
func (c *tasCase) together(level string, nodes []*tasNode) bool {
	depth := slices.Index(c.Levels, level) + 1
	for _, n := range nodes {
		if !slices.Equal(n.Path[:depth], nodes[0].Path[:depth]) {
			return false
		}
	}
	return true
}
