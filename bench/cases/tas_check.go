package cases

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

const (
	// ruleCloser names differences where the core's placement is closer together: the pods
	// of all requests of a job stand in fewer domains of some level than in the other
	// scheduler's, and in more of none.
	ruleCloser = "closer"
	// ruleWhole names those where it is as close, and leaves more whole: the domains of
	// all levels that a request uses in part are smaller in sum, counted in its pods.
	ruleWhole = "whole"
	// ruleTighter names those where a request is on one host either way, and has less left
	// over beside it on the core's.
	ruleTighter = "tighter"
)

// rule finds the rule that a difference comes under, given the pods of each request by
// leaf, ours and theirs; "" if it comes under none.
func (c *tasCase) rule(requests []tasRequest, ours, theirs []map[string]int) string {
	if c.Options.Balanced { // evenness is another question
		return ""
	}
	var a, b []string // leaves
	for i := range requests {
		a, b = append(a, slices.Collect(maps.Keys(ours[i]))...), append(b, slices.Collect(maps.Keys(theirs[i]))...)
	}
	switch order := c.compareCloseness(a, b); {
	case order < 0:
		return ruleCloser
	case order > 0 || len(requests) > 1:
		return ""
	}
	r := &requests[0]
	switch {
	case c.brokenPods(r, ours[0]) < c.brokenPods(r, theirs[0]):
		return ruleWhole
	case c.hosts() && len(ours[0]) == 1 && len(theirs[0]) == 1 && c.roomAt(r, a[0]) < c.roomAt(r, b[0]):
		return ruleTighter
	}
	return ""
}

// roomAt is how many pods of a request an idle leaf holds.
func (c *tasCase) roomAt(r *tasRequest, leaf string) int64 {
	room := int64(0)
	for i := range c.Nodes {
		if c.leaf(&c.Nodes[i]) == leaf {
			room += c.podsOf(r, &c.Nodes[i])
		}
	}
	return room
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

// brokenPods sums, over the domains of all levels that are used in part, how many pods
// of a request they hold when they are idle.
func (c *tasCase) brokenPods(r *tasRequest, used map[string]int) int64 {
	total := int64(0)
	for depth := 1; depth <= len(c.Levels); depth++ {
		room, taken, counted := map[string]int64{}, map[string]int64{}, map[string]bool{}
		for i := range c.Nodes {
			n := &c.Nodes[i]
			domain := strings.Join(n.Path[:depth], "/")
			room[domain] += c.podsOf(r, n)
			if leaf := c.leaf(n); !counted[leaf] {
				counted[leaf] = true
				taken[domain] += int64(used[leaf])
			}
		}
		for domain, pods := range room {
			if taken[domain] > 0 && taken[domain] < pods {
				total += pods
			}
		}
	}
	return total
}

// podsOf is how many pods of a request an idle node holds.
func (c *tasCase) podsOf(r *tasRequest, n *tasNode) int64 {
	pods := n.Capacity[resourcePods]
	for name, amount := range positive(r.PerPod) {
		pods = min(pods, n.Capacity[name]/amount)
	}
	return pods
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
