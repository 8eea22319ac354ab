package topology

import (
	"fmt"
	"slices"
)

// A Level is a depth in the tree: 0 is the fleet, 1 to n are the named levels,
// n+1 is the node.
type Level int

// A DomainIndex stands for one domain of a tree. Domains are dense; that of a domain
// which lost its last node is given to a later one. No decision depends on them.
type DomainIndex int32

// A NodeIndex stands for one node of a tree. Nodes are dense; that of a removed node is
// given to a later one. No decision depends on them.
type NodeIndex int32

// A NodeClass is what nodes have in common that are alike to a search: equal
// product, equal number of GPUs and whatever else the caller tells apart. Classes
// are small dense numbers from the caller, 0 to MaxClasses-1.
type NodeClass int32

const (
	// LevelFleet is the level of the root.
	LevelFleet Level = 0
	// RootDomain is the domain that holds the whole fleet.
	RootDomain DomainIndex = 0
	// MaxGPUs and MaxNICs are the largest numbers of GPUs and of NICs of a node: a word
	// holds any set of either.
	MaxGPUs = 64
	MaxNICs = 64
	// MaxClasses is the number of classes that a tree can tell apart: more than anybody has
	// nodes. Memory goes with the highest class in use.
	MaxClasses = 1 << 21

	fleetName = "fleet"
	nodeName  = "node"
)

// A Tree is a fleet's hierarchy of domains with counts of what is free in each.
// Make one with New.
//
// Invariants, which Check verifies:
//  1. Every domain but the root has a node at or below it; children and nodes are
//     strictly ordered by name.
//  2. A domain has a tally for a class exactly if it has a node of that class at
//     or below it, whether or not that node takes work.
//  3. A tally counts, for every k, the nodes of its class at or below its domain
//     with exactly k GPUs free, and the sum of what they have free.
//  4. A tally lists its members (nodes of a narrowest domain, else tallies of the
//     same class in the child domains) by name, each knows its position, and bit i of
//     mark k is set exactly if member i has, or has below it, a node with
//     exactly k GPUs free.
//  5. A domain knows how many GPUs its nodes have and how many of them are free.
//  6. A tally is open exactly if its domain is not whole, or has the GPUs of one
//     node alone, and it has an open tally below it or, in a narrowest domain, a node
//     of GPUs that are all free.
type Tree struct {
	levels  []string // the named ones
	domains []domain
	sums    []sum // by Domain; beside the domains, since every update of a count needs them
	nodes   []node
	classes []classUse // by Class

	vacantDomains vacancies
	vacantNodes   vacancies

	// steps is scratch for Visit, used as a stack.
	steps []step
}

type node struct {
	name     string
	tally    *tally // of its class in its domain; nil: vacant
	domain   DomainIndex
	class    NodeClass
	gpus     int32
	free     int32 // -1: takes no work
	position int32 // in tally.nodes
}

// A classUse keeps the number of GPUs of a class for as long as it has nodes, and its tally of the
// whole fleet: with many classes, as where much is set aside, that is asked for all of them.
type classUse struct {
	nodes int32
	gpus  int32
	fleet *tally
}

// NewTree returns a tree without nodes. Levels are named from the widest to the
// narrowest; names are unique, not empty, and neither "fleet" nor "node", which
// name the two ends (ErrInvalid, ErrDuplicate). No levels make a flat fleet.
func NewTree(levels ...string) (*Tree, error) {
	for i, name := range levels {
		field := fmt.Sprintf("levels[%d]", i)
		switch {
		case name == "":
			return nil, &Error{Field: field, Reason: "the name of a level is empty", Kind: ErrInvalid}
		case name == fleetName || name == nodeName:
			return nil, &Error{Field: field, Reason: fmt.Sprintf("%q names an end of every tree", name), Kind: ErrInvalid}
		case slices.Contains(levels[:i], name):
			return nil, &Error{Field: field, Reason: fmt.Sprintf("%q names two levels", name), Kind: ErrDuplicate}
		}
	}
	return &Tree{
		levels:  slices.Clone(levels),
		domains: []domain{{parent: -1, live: true}},
		sums:    []sum{{}},
	}, nil
}

// Levels returns the names of the levels between the fleet and the node, from
// the widest to the narrowest.
func (t *Tree) Levels() []string { return slices.Clone(t.levels) }

// Level finds a level by its name; "fleet" and "node" name the two ends.
func (t *Tree) Level(name string) (Level, bool) {
	switch name {
	case fleetName:
		return LevelFleet, true
	case nodeName:
		return t.NodeLevel(), true
	}
	i := slices.Index(t.levels, name)
	return Level(i + 1), i >= 0
}

// LevelName returns the name of a level, or "" if the tree has no such level.
func (t *Tree) LevelName(l Level) string {
	switch {
	case l < LevelFleet || l > t.NodeLevel():
		return ""
	case l == LevelFleet:
		return fleetName
	case l == t.NodeLevel():
		return nodeName
	}
	return t.levels[l-1]
}

// NodeLevel is the level of single nodes, one below the narrowest named level.
func (t *Tree) NodeLevel() Level { return Level(len(t.levels) + 1) }

// AddNode adds a node and the domains on its path that are not there yet, and
// gives it the lowest index that is free. It starts with 0 GPUs free.
//
// The path has the name of one domain for each level, from the widest. Names are
// not empty and unique within their parent. A class has one number of GPUs, 0 to
// MaxGPUs, for as long as it has nodes. Refusals: ErrInvalid, ErrDuplicate,
// ErrConflict.
func (t *Tree) AddNode(name string, path []string, class NodeClass, gpus int) (NodeIndex, error) {
	refuse := func(kind error, field, format string, args ...any) (NodeIndex, error) {
		return -1, &Error{Node: name, Field: field, Reason: fmt.Sprintf(format, args...), Kind: kind}
	}
	switch {
	case name == "":
		return refuse(ErrInvalid, "name", "the name of a node is empty")
	case len(path) != len(t.levels):
		return refuse(ErrInvalid, "path", "the path has %d domains, the fleet %d levels", len(path), len(t.levels))
	case slices.Contains(path, ""):
		return refuse(ErrInvalid, fmt.Sprintf("path[%d]", slices.Index(path, "")), "the name of a domain is empty")
	case class < 0 || class >= MaxClasses:
		return refuse(ErrInvalid, "class", "class %d is not within 0 and %d", class, MaxClasses-1)
	case gpus < 0 || gpus > MaxGPUs:
		return refuse(ErrInvalid, "gpus", "%d GPUs are not within 0 and %d", gpus, MaxGPUs)
	}
	if had, ok := t.ClassGPUs(class); ok && had != gpus {
		return refuse(ErrConflict, "gpus", "nodes of class %d have %d GPUs, not %d", class, had, gpus)
	}
	if d, ok := t.lookup(path); ok {
		if _, taken := t.findNode(d, name); taken {
			return refuse(ErrDuplicate, "name", "its domain has a node of that name")
		}
	}
	t.useClass(class, gpus)
	n := NodeIndex(t.vacantNodes.take(len(t.nodes)))
	if int(n) == len(t.nodes) {
		t.nodes = append(t.nodes, node{})
	}
	d := t.ensureDomain(path)
	t.nodes[n] = node{name: name, domain: d, class: class, gpus: int32(gpus)}
	at, _ := t.findNode(d, name)
	t.domains[d].nodes = slices.Insert(t.domains[d].nodes, at, n)
	t.ensureTally(d, class, gpus).addNode(t, n)
	return n, nil
}

// RemoveNode removes a node, whatever it has free, and the domains that are left
// without one. ErrUnknown where there is no such node.
func (t *Tree) RemoveNode(n NodeIndex) error {
	if !t.Has(n) {
		return &Error{Field: "node", Reason: fmt.Sprintf("there is no node with index %d", n), Kind: ErrUnknown}
	}
	t.SetFree(n, -1)
	d, name := t.nodes[n].domain, t.nodes[n].name
	t.nodes[n].tally.removeNode(t, n)
	t.dropTallies(t.nodes[n].tally)
	at, _ := t.findNode(d, name)
	t.domains[d].nodes = slices.Delete(t.domains[d].nodes, at, at+1)
	t.classes[t.nodes[n].class].nodes--
	t.nodes[n] = node{}
	t.vacantNodes.put(int(n))
	t.dropDomains(d)
	return nil
}

// SetClass moves a node to another hardware class with the same number of GPUs; what it
// has free stays. Refusals: ErrUnknown, ErrInvalid for a class out of range,
// ErrConflict for a class whose nodes have another number of GPUs. It costs as much
// as AddNode; the index of the node stays.
func (t *Tree) SetClass(n NodeIndex, class NodeClass) error {
	if !t.Has(n) {
		return &Error{Field: "node", Reason: fmt.Sprintf("there is no node with index %d", n), Kind: ErrUnknown}
	}
	node := &t.nodes[n]
	if class < 0 || class >= MaxClasses {
		return &Error{
			Node: node.name, Field: "class", Kind: ErrInvalid,
			Reason: fmt.Sprintf("class %d is not within 0 and %d", class, MaxClasses-1),
		}
	}
	if had, ok := t.ClassGPUs(class); ok && had != int(node.gpus) {
		return &Error{
			Node: node.name, Field: "class", Kind: ErrConflict,
			Reason: fmt.Sprintf("nodes of class %d have %d GPUs, not %d", class, had, node.gpus),
		}
	}
	if class == node.class {
		return nil
	}
	free := int(node.free)
	t.SetFree(n, -1)
	old := node.tally
	old.removeNode(t, n)
	t.classes[node.class].nodes--
	t.useClass(class, int(node.gpus))
	node.class, node.free = class, 0
	t.ensureTally(node.domain, class, int(node.gpus)).addNode(t, n)
	t.dropTallies(old)
	t.SetFree(n, free)
	return nil
}

func (t *Tree) useClass(c NodeClass, gpus int) {
	for int(c) >= len(t.classes) {
		t.classes = append(t.classes, classUse{})
	}
	t.classes[c].nodes++
	t.classes[c].gpus = int32(gpus)
}

// ClassGPUs returns the number of GPUs that each node of a class has, and false
// where no node is of that class.
func (t *Tree) ClassGPUs(c NodeClass) (int, bool) {
	if c < 0 || int(c) >= len(t.classes) || t.classes[c].nodes == 0 {
		return 0, false
	}
	return int(t.classes[c].gpus), true
}

// Has reports whether a node is in the tree.
func (t *Tree) Has(n NodeIndex) bool {
	return n >= 0 && int(n) < len(t.nodes) && t.nodes[n].tally != nil
}

// NodeName returns the name of a node, or "" where there is none.
func (t *Tree) NodeName(n NodeIndex) string {
	if !t.Has(n) {
		return ""
	}
	return t.nodes[n].name
}

// NodeClass returns the class of a node, or -1 where there is none.
func (t *Tree) NodeClass(n NodeIndex) NodeClass {
	if !t.Has(n) {
		return -1
	}
	return t.nodes[n].class
}

// NodeGPUs returns how many GPUs a node has, free or not; 0 where there is no
// such node.
func (t *Tree) NodeGPUs(n NodeIndex) int {
	if !t.Has(n) {
		return 0
	}
	return int(t.nodes[n].gpus)
}

// Free returns how many GPUs of a node are free, or -1 where the node takes no
// work or is not there.
func (t *Tree) Free(n NodeIndex) int {
	if !t.Has(n) {
		return -1
	}
	return int(t.nodes[n].free)
}

// DomainOf returns the domain of a level in which a node is. At or below the
// narrowest level that is the domain that holds the node directly. A node that is
// not in the tree is in the root. O(levels).
func (t *Tree) DomainOf(n NodeIndex, l Level) DomainIndex {
	if !t.Has(n) {
		return RootDomain
	}
	d := t.nodes[n].domain
	for t.domains[d].level > l && d != RootDomain {
		d = t.domains[d].parent
	}
	return d
}
