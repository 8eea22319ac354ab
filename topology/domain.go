package topology

import (
	"slices"
	"strings"
)

// A domain is one place of a level.
type domain struct {
	name     string
	parent   DomainIndex
	level    Level
	live     bool
	children []DomainIndex // by name
	nodes    []NodeIndex   // by name; of narrowest domains alone
	tallies  []*tally      // by class
}

// A sum is what a domain amounts to over all classes.
type sum struct {
	gpus, free int32 // GPUs that its nodes have, and those of them that are free
	nodes      int32 // at or below it
}

// whole reports whether all GPUs of a domain are free.
func (s sum) whole() bool { return s.gpus > 0 && s.free == s.gpus }

// HasDomain reports whether a domain is in the tree. The root always is.
func (t *Tree) HasDomain(d DomainIndex) bool {
	return d >= 0 && int(d) < len(t.domains) && t.domains[d].live
}

// Children returns the child domains of a domain, ordered by name. The slice is
// the tree's own, good until the next AddNode or RemoveNode.
func (t *Tree) Children(d DomainIndex) []DomainIndex {
	if !t.HasDomain(d) {
		return nil
	}
	return t.domains[d].children
}

// Nodes returns the nodes that are directly in a domain, ordered by name. Only
// domains of the narrowest level have any, or the root if there are no levels.
// The slice is the tree's own, good until the next AddNode or RemoveNode.
func (t *Tree) Nodes(d DomainIndex) []NodeIndex {
	if !t.HasDomain(d) {
		return nil
	}
	return t.domains[d].nodes
}

// GPUs returns how many GPUs the nodes at or below a domain have, free or not, of all
// classes, whether or not the nodes take work.
func (t *Tree) GPUs(d DomainIndex) int {
	if !t.HasDomain(d) {
		return 0
	}
	return int(t.sums[d].gpus)
}

// FreeTotal returns how many GPUs are free at or below a domain, of all classes.
func (t *Tree) FreeTotal(d DomainIndex) int {
	if !t.HasDomain(d) {
		return 0
	}
	return int(t.sums[d].free)
}

// NodeCount returns how many nodes there are at or below a domain, whether or not they
// take work.
func (t *Tree) NodeCount(d DomainIndex) int {
	if !t.HasDomain(d) {
		return 0
	}
	return int(t.sums[d].nodes)
}

// Whole reports whether a domain has GPUs and all of them are free, so that none
// is on a node that takes no work.
func (t *Tree) Whole(d DomainIndex) bool { return t.HasDomain(d) && t.sums[d].whole() }

// Parent returns the domain around a domain; that of the root is the root.
func (t *Tree) Parent(d DomainIndex) DomainIndex {
	if !t.HasDomain(d) || d == RootDomain {
		return RootDomain
	}
	return t.domains[d].parent
}

// DomainLevel returns the level of a domain, or Fleet where there is none.
func (t *Tree) DomainLevel(d DomainIndex) Level {
	if !t.HasDomain(d) {
		return LevelFleet
	}
	return t.domains[d].level
}

// DomainName returns the name of a domain within its parent; "" for the root.
func (t *Tree) DomainName(d DomainIndex) string {
	if !t.HasDomain(d) {
		return ""
	}
	return t.domains[d].name
}

// DomainPath returns the names from the widest level down to a domain; empty for
// the root.
func (t *Tree) DomainPath(d DomainIndex) []string {
	var path []string
	for ; t.HasDomain(d) && d != RootDomain; d = t.domains[d].parent {
		path = append(path, t.domains[d].name)
	}
	slices.Reverse(path)
	return path
}

// DomainString returns the path of a domain for a reader, such as
// "zone-a/spine-1", and "fleet" for the root. It does not parse back: names may
// contain slashes.
func (t *Tree) DomainString(d DomainIndex) string {
	if d == RootDomain || !t.HasDomain(d) {
		return fleetName
	}
	return strings.Join(t.DomainPath(d), "/")
}

// Lookup finds a domain by its path, which may be shorter than the levels; the
// empty path is the root's. O(levels log fan-out).
func (t *Tree) Lookup(path ...string) (DomainIndex, bool) {
	return t.lookup(path)
}

func (t *Tree) lookup(path []string) (DomainIndex, bool) {
	d := RootDomain
	for _, name := range path {
		at, ok := t.findChild(d, name)
		if !ok {
			return RootDomain, false
		}
		d = t.domains[d].children[at]
	}
	return d, true
}

// Compare orders two nodes of the tree by name, and equal names by the paths of
// their domains: a total order that no index has a part in.
func (t *Tree) Compare(a, b NodeIndex) int {
	if a == b {
		return 0
	}
	if d := strings.Compare(t.NodeName(a), t.NodeName(b)); d != 0 {
		return d
	}
	return t.compareDomains(t.DomainOf(a, t.NodeLevel()), t.DomainOf(b, t.NodeLevel()))
}

// compareDomains orders domains of one level by their paths.
func (t *Tree) compareDomains(a, b DomainIndex) int {
	if a == b {
		return 0
	}
	if d := t.compareDomains(t.domains[a].parent, t.domains[b].parent); d != 0 {
		return d
	}
	return strings.Compare(t.domains[a].name, t.domains[b].name)
}

// findChild returns where a child of that name is, or would be.
func (t *Tree) findChild(d DomainIndex, name string) (int, bool) {
	return slices.BinarySearchFunc(t.domains[d].children, name, func(c DomainIndex, name string) int {
		return strings.Compare(t.domains[c].name, name)
	})
}

// findNode returns where a node of that name is, or would be.
func (t *Tree) findNode(d DomainIndex, name string) (int, bool) {
	return slices.BinarySearchFunc(t.domains[d].nodes, name, func(n NodeIndex, name string) int {
		return strings.Compare(t.nodes[n].name, name)
	})
}

// ensureDomain returns the domain with a path, made where it is missing.
func (t *Tree) ensureDomain(path []string) DomainIndex {
	d := RootDomain
	for i, name := range path {
		at, ok := t.findChild(d, name)
		if ok {
			d = t.domains[d].children[at]
			continue
		}
		child := DomainIndex(t.vacantDomains.take(len(t.domains)))
		if int(child) == len(t.domains) {
			t.domains, t.sums = append(t.domains, domain{}), append(t.sums, sum{})
		}
		t.domains[child] = domain{name: name, parent: d, level: Level(i + 1), live: true}
		t.domains[d].children = slices.Insert(t.domains[d].children, at, child)
		d = child
	}
	return d
}

// dropDomains removes a domain, and those around it, as far as they are empty.
func (t *Tree) dropDomains(d DomainIndex) {
	for d != RootDomain && len(t.domains[d].nodes) == 0 && len(t.domains[d].children) == 0 {
		parent := t.domains[d].parent
		at, _ := t.findChild(parent, t.domains[d].name)
		t.domains[parent].children = slices.Delete(t.domains[parent].children, at, at+1)
		t.domains[d] = domain{}
		t.vacantDomains.put(int(d))
		d = parent
	}
}
