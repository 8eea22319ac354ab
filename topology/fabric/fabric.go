package fabric

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// A Fabric says where the nodes of a fleet are, whatever file told it.
//
// Invariants, without which nothing is written or made a tree:
//  1. Levels are named, each name once, and there are at most 16.
//  2. Nodes are strictly ordered by name, and no name is empty.
//  3. Every path names one domain for each level, and none is empty.
//  4. Rails are none or at least two, and joined by "+" they are the name of one of
//     the node's domains.
type Fabric struct {
	// Levels from the widest to the narrowest, without the fleet and the node.
	Levels []string
	// Nodes by name.
	Nodes []Node
	// BlockSizes of Slurm's topology/block, in nodes: that of a block, then those
	// of the aggregates that are enforced, as the file states them or as Slurm takes them where it
	// states none. Empty where the source has no blocks.
	BlockSizes []int
	// Apart: no network joins the domains of the widest level, so no gang may span two of them.
	// Slurm says so of switches that no other switch joins: topology.conf(5). A job says it with
	// the first of Levels as Topology.Required.
	Apart bool
}

// A Node is a machine of a fabric. What the source does not tell is left zero.
type Node struct {
	Name string
	// Path names the domain of every level, from the widest.
	Path []string
	// Rails are the leaf switches of a node that hangs on several, by name with
	// numbers in them compared as numbers: the position is the rail's number.
	Rails []string
	// Accelerator names the accelerator domain: nodes of equal name reach each
	// other over NVLink. It need not follow the levels; see WithIslands.
	Accelerator string
	// Clique names the part of the accelerator domain that the node belongs to.
	Clique string
	// Product is the model of the accelerators, as the source spells it.
	Product string
	// GPUs is the number of GPUs; 0 is unknown.
	GPUs int
}

// railSign joins the leaves of a node that hangs on several.
const railSign = "+"

// check verifies the invariants of a fabric and returns the first that does not
// hold: ErrInvalid, ErrDuplicate or ErrLimit. What this package returns has passed.
// O(nodes x levels).
func (f *Fabric) check() error {
	bad := func(kind error, field, format string, args ...any) error {
		return &Error{Field: field, Reason: fmt.Sprintf(format, args...), Kind: kind}
	}
	if len(f.Levels) > maxLevels {
		return bad(ErrLimit, "levels", "%d levels, the limit is %d", len(f.Levels), maxLevels)
	}
	for i, name := range f.Levels {
		if name == "" || slices.Contains(f.Levels[:i], name) {
			return bad(ErrInvalid, fmt.Sprintf("levels[%d]", i), "%q is empty or names two levels", name)
		}
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		field := fmt.Sprintf("nodes[%d]", i)
		switch {
		case n.Name == "":
			return bad(ErrInvalid, field, "the name of a node is empty")
		case i > 0 && f.Nodes[i-1].Name == n.Name:
			return bad(ErrDuplicate, field, "the node %q is there twice", n.Name)
		case i > 0 && f.Nodes[i-1].Name > n.Name:
			return bad(ErrInvalid, field, "%q stands after %q", n.Name, f.Nodes[i-1].Name)
		case len(n.Path) != len(f.Levels):
			return bad(ErrInvalid, field, "the path of %q has %d domains for %d levels", n.Name, len(n.Path), len(f.Levels))
		case slices.Contains(n.Path, ""):
			return bad(ErrInvalid, field, "a domain of %q has no name", n.Name)
		case n.GPUs < 0:
			return bad(ErrInvalid, field, "%q has %d GPUs", n.Name, n.GPUs)
		case len(n.Rails) == 1, len(n.Rails) > 0 && !slices.Contains(n.Path, n.railDomain()):
			return bad(ErrInvalid, field, "the rails of %q are not joined in any of its domains", n.Name)
		}
	}
	return nil
}

// railDomain names the domain of nodes that hang on the same leaves.
func (n *Node) railDomain() string { return strings.Join(n.Rails, railSign) }

// level finds a level by its name.
func (f *Fabric) level(name string) (int, bool) {
	i := slices.Index(f.Levels, name)
	return i, i >= 0
}

// node finds a node by its name. O(log nodes).
func (f *Fabric) node(name string) (Node, bool) {
	i, ok := slices.BinarySearchFunc(f.Nodes, name, func(n Node, name string) int { return strings.Compare(n.Name, name) })
	if !ok {
		return Node{}, false
	}
	return f.Nodes[i], true
}

// clone returns a copy that shares nothing with the fabric.
func (f *Fabric) clone() *Fabric {
	c := &Fabric{Levels: slices.Clone(f.Levels), Nodes: slices.Clone(f.Nodes), BlockSizes: slices.Clone(f.BlockSizes), Apart: f.Apart}
	for i := range c.Nodes {
		c.Nodes[i].Path = slices.Clone(c.Nodes[i].Path)
		c.Nodes[i].Rails = slices.Clone(c.Nodes[i].Rails)
	}
	return c
}

// Tree returns the domain tree of the fabric, in which every node has nothing free
// yet. The caller says of each node its class and its number of GPUs, since few
// sources do. Errors are those of package topology, or ErrInvalid, ErrDuplicate
// and ErrLimit for a broken invariant.
func (f *Fabric) Tree(class func(Node) (topology.NodeClass, int)) (*topology.Tree, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	tree, err := topology.NewTree(f.Levels...)
	if err != nil {
		return nil, err
	}
	for _, n := range f.Nodes {
		c, gpus := class(n)
		if _, err := tree.AddNode(n.Name, n.Path, c, gpus); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

// levelNames names the levels of a tree of switches by their height: leaf, spine,
// core, and what is above by its number, the leaf being tier 0.
func levelNames(levels int) []string {
	names := make([]string, levels)
	for height := range levels {
		name := fmt.Sprintf("tier-%d", height)
		switch height {
		case 0:
			name = "leaf"
		case 1:
			name = "spine"
		case 2:
			name = "core"
		}
		names[levels-1-height] = name
	}
	return names
}
