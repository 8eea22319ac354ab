package topology

import (
	"errors"
	"fmt"
	"strings"
)

// Check compares everything that the tree keeps twice with what it should be,
// and returns what is wrong. It is for tests: O(nodes x classes x GPUs).
func (t *Tree) Check() error {
	c := checker{t: t}
	c.domain(RootDomain)
	c.indexes()
	return errors.Join(c.found...)
}

type checker struct {
	t              *Tree
	found          []error
	domains, nodes int // seen from the root
}

func (c *checker) wrong(format string, args ...any) {
	c.found = append(c.found, fmt.Errorf("topology: "+format, args...))
}

// indexes checks that whatever is in use is reached from the root, and the rest
// is vacant.
func (c *checker) indexes() {
	t := c.t
	if got := c.domains + t.vacantDomains.n; got != len(t.domains) {
		c.wrong("%d domains in use and %d vacant, of %d", c.domains, t.vacantDomains.n, len(t.domains))
	}
	if got := c.nodes + t.vacantNodes.n; got != len(t.nodes) {
		c.wrong("%d nodes in use and %d vacant, of %d", c.nodes, t.vacantNodes.n, len(t.nodes))
	}
	uses, vacant := make([]int32, len(t.classes)), node{}
	for n := range t.nodes {
		node := &t.nodes[n]
		if !t.Has(NodeIndex(n)) {
			if !t.vacantNodes.free.has(n) || *node != vacant {
				c.wrong("node %d is neither in use nor vacant", n)
			}
			continue
		}
		uses[node.class]++
		if node.gpus != t.classes[node.class].gpus || node.tally.class != node.class || node.tally.domain != node.domain {
			c.wrong("node %d is not of its class, or is counted elsewhere", n)
		}
	}
	for d := range t.domains {
		if !t.domains[d].live && (!t.vacantDomains.free.has(d) || t.sums[d] != sum{}) {
			c.wrong("domain %d is neither in use nor vacant, or something is left of it", d)
		}
	}
	if t.vacantNodes.n > 0 && t.vacantNodes.low > t.vacantNodes.free.next(0) || t.vacantDomains.n > 0 && t.vacantDomains.low > t.vacantDomains.free.next(0) {
		c.wrong("an index is vacant that would not be given")
	}
	for class, use := range t.classes {
		if use.nodes != uses[class] {
			c.wrong("class %d is said to have %d nodes, it has %d", class, use.nodes, uses[class])
		}
		list := t.domains[RootDomain].tallies
		if at, some := findTally(list, NodeClass(class)); some != (use.fleet != nil) || some && list[at] != use.fleet {
			c.wrong("class %d has another tally of the fleet", class)
		}
	}
}

// domain checks a domain and all below it.
func (c *checker) domain(d DomainIndex) {
	t := c.t
	c.domains++
	dom := &t.domains[d]
	name := t.DomainString(d)
	narrowest := int(dom.level) == len(t.levels)
	switch {
	case !dom.live:
		c.wrong("%s is reachable but vacant", name)
	case d != RootDomain && len(dom.children) == 0 && len(dom.nodes) == 0:
		c.wrong("%s is empty", name)
	case narrowest && len(dom.children) > 0, !narrowest && len(dom.nodes) > 0:
		c.wrong("%s has children of the wrong level", name)
	}
	for i, child := range dom.children {
		if t.domains[child].parent != d || t.domains[child].level != dom.level+1 {
			c.wrong("%s has a child %d that is another's", name, child)
		}
		if i > 0 && strings.Compare(t.domains[dom.children[i-1]].name, t.domains[child].name) >= 0 {
			c.wrong("the children of %s are out of order", name)
		}
		c.domain(child)
	}
	for i, n := range dom.nodes {
		c.nodes++
		if !t.Has(n) || t.nodes[n].domain != d {
			c.wrong("%s has a node %d that is another's", name, n)
		}
		if i > 0 && strings.Compare(t.nodes[dom.nodes[i-1]].name, t.nodes[n].name) >= 0 {
			c.wrong("the nodes of %s are out of order", name)
		}
	}
	gpus, free, population := 0, 0, 0
	for n := range t.nodes {
		if node := &t.nodes[n]; node.tally != nil && t.below(node.domain, d) {
			population++
			gpus += int(node.gpus)
			free += max(int(node.free), 0)
		}
	}
	if all := (sum{int32(gpus), int32(free), int32(population)}); t.sums[d] != all {
		c.wrong("%s is said to amount to %+v, not %+v", name, t.sums[d], all)
	}
	for class := range t.classes {
		c.tally(d, NodeClass(class))
	}
	for i, tl := range dom.tallies {
		if i > 0 && dom.tallies[i-1].class >= tl.class {
			c.wrong("the tallies of %s are out of order", name)
		}
	}
}

// open works out from the nodes whether a tally is open.
func (c *checker) open(d DomainIndex, class NodeClass) bool {
	t := c.t
	for n := range t.nodes {
		node := &t.nodes[n]
		if node.tally == nil || node.class != class || node.gpus == 0 || node.free != node.gpus || !t.below(node.domain, d) {
			continue
		}
		open := true
		for at := node.domain; open; at = t.domains[at].parent {
			open = !t.Whole(at) || t.GPUs(at) == int(node.gpus)
			if at == d {
				break
			}
		}
		if open {
			return true
		}
	}
	return false
}

// tally checks one tally against the nodes at or below its domain.
func (c *checker) tally(d DomainIndex, class NodeClass) {
	t := c.t
	where := fmt.Sprintf("%s, class %d", t.DomainString(d), class)
	tl := t.tallyOf(d, class)
	counts, free, nodes := map[int]int32{}, 0, 0
	for n := range t.nodes {
		node := &t.nodes[n]
		if node.tally == nil || node.class != class || !t.below(node.domain, d) {
			continue
		}
		nodes++
		if node.free >= 0 {
			counts[int(node.free)]++
			free += int(node.free)
		}
	}
	if (tl != nil) != (nodes > 0) {
		c.wrong("%s: %d nodes, tally there: %t", where, nodes, tl != nil)
	}
	if tl == nil {
		return
	}
	if tl.free != free || tl.class != class || tl.domain != d {
		c.wrong("%s: %d GPUs are counted as free, %d are", where, tl.free, free)
	}
	for k := range tl.counts {
		if tl.counts[k] != counts[k] {
			c.wrong("%s: %d nodes are counted with %d free, %d are", where, tl.counts[k], k, counts[k])
		}
		c.marks(tl, k, where)
	}
	for i, n := range tl.nodes {
		if t.nodes[n].tally != tl || int(t.nodes[n].position) != i {
			c.wrong("%s: node %q has lost its position", where, t.nodes[n].name)
		}
		if i > 0 && strings.Compare(t.nodes[tl.nodes[i-1]].name, t.nodes[n].name) >= 0 {
			c.wrong("%s: nodes out of order", where)
		}
	}
	if tl.open != c.open(d, class) {
		c.wrong("%s: open is %t", where, tl.open)
	}
	c.below(tl, where)
}

// below checks what a tally knows of the tallies of the domains below.
func (c *checker) below(tl *tally, where string) {
	t := c.t
	opens := 0
	for i, b := range tl.below {
		if tl.openBelow.has(i) {
			opens++
		}
		whole := t.Whole(b.domain) && t.GPUs(b.domain) > tl.gpus()
		if tl.openBelow.has(i) != b.open || tl.wholeBelow.has(i) != whole {
			c.wrong("%s: the marks of %s are wrong", where, t.DomainString(b.domain))
		}
		if b.up != tl || b.position != i || b.free != tl.belowFree[i] {
			c.wrong("%s: the tally of %s has lost its position or its count", where, t.DomainString(b.domain))
		}
		if i > 0 && strings.Compare(t.DomainName(tl.below[i-1].domain), t.DomainName(b.domain)) >= 0 {
			c.wrong("%s: children out of order", where)
		}
	}
	if tl.opens != opens || tl.openBelow.next(len(tl.below)) >= 0 || tl.wholeBelow.next(len(tl.below)) >= 0 {
		c.wrong("%s: %d are counted as open, %d are", where, tl.opens, opens)
	}
}

// marks checks the bits for one number of free GPUs.
func (c *checker) marks(tl *tally, k int, where string) {
	members := max(len(tl.nodes), len(tl.below))
	for i := range members {
		want := false
		if tl.below != nil {
			want = tl.below[i].counts[k] > 0
		} else {
			want = int(c.t.nodes[tl.nodes[i]].free) == k
		}
		if tl.marks[k].has(i) != want {
			c.wrong("%s: mark %d of member %d is %t", where, k, i, !want)
		}
	}
	if i := tl.marks[k].next(members); i >= 0 {
		c.wrong("%s: mark %d is set for member %d of %d", where, k, i, members)
	}
}

// below reports whether a domain is another or somewhere below it.
func (t *Tree) below(d, top DomainIndex) bool {
	for d != top && d != RootDomain {
		d = t.domains[d].parent
	}
	return d == top
}
