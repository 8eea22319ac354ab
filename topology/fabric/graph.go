package fabric

import (
	"slices"
	"strings"
)

// directSuffix names the leaf made for the nodes that hang on a switch which has
// switches below it too.
const directSuffix = "-direct"

// A graph collects switches and what hangs on them, and becomes a Fabric. Names of
// switches are unique, a switch has at most one parent, a host any number of leaves.
type graph struct {
	*source
	vertices []*vertex
	index    map[string]int32
	hosts    []*host
	byName   map[string]int32
	// single refuses a host on several switches instead of calling them rails.
	single bool
}

type vertex struct {
	name     string
	line     int
	parent   int32 // -1: none
	children []int32
	hosts    int   // that hang directly on it
	height   int   // of the switches below; -1: no host anywhere below
	leaf     int32 // stands in for it as a leaf; itself where it is one
	path     []string
}

type host struct {
	Node
	line   int
	leaves []int32
}

func newGraph(s *source) *graph {
	return &graph{source: s, index: map[string]int32{}, byName: map[string]int32{}}
}

// vertex returns the switch of a name, a new one where it was not yet named.
func (g *graph) vertex(name string, line int) (int32, error) {
	if v, ok := g.index[name]; ok {
		return v, nil
	}
	if err := g.spend(line, "", switchCost); err != nil {
		return 0, err
	}
	v := int32(len(g.vertices))
	g.vertices = append(g.vertices, &vertex{name: name, line: line, parent: -1})
	g.index[name] = v
	return v, nil
}

// link hangs a switch below another.
func (g *graph) link(parent, child int32, line int, field string) error {
	c := g.vertices[child]
	if c.parent == parent {
		return g.refuse(ErrDuplicate, line, field, "%q is named twice below %q", c.name, g.vertices[parent].name)
	}
	if c.parent >= 0 {
		return g.refuse(ErrConflict, line, field, "the switch %q is below both %q and %q",
			c.name, g.vertices[c.parent].name, g.vertices[parent].name)
	}
	c.parent = parent
	g.vertices[parent].children = append(g.vertices[parent].children, child)
	return nil
}

// host returns the host of a name, a new one where it was not yet named.
func (g *graph) host(name string, line int) (h int32, isNew bool, err error) {
	if h, ok := g.byName[name]; ok {
		return h, false, nil
	}
	if len(g.hosts) >= maxNodes {
		return 0, false, g.refuse(ErrLimit, line, "", "there are more than %d nodes", maxNodes)
	}
	if err := g.spend(line, "", nodeCost); err != nil {
		return 0, false, err
	}
	h = int32(len(g.hosts))
	g.hosts = append(g.hosts, &host{Node: Node{Name: name}, line: line})
	g.byName[name] = h
	return h, true, nil
}

// attach hangs a host on a switch.
func (g *graph) attach(v, h int32, line int, field string) error {
	node := g.hosts[h]
	if len(node.leaves) >= maxRails {
		return g.refuse(ErrLimit, line, field, "the node %q is on more than %d switches", node.Name, maxRails)
	}
	if slices.Contains(node.leaves, v) {
		return g.refuse(ErrDuplicate, line, field, "the node %q is named twice on %q", node.Name, g.vertices[v].name)
	}
	if g.single && len(node.leaves) > 0 {
		return g.refuse(ErrDuplicate, line, field, "the node %q is on both %q and %q",
			node.Name, g.vertices[node.leaves[0]].name, g.vertices[v].name)
	}
	node.leaves = append(node.leaves, v)
	g.vertices[v].hosts++
	return nil
}

// fabric brings what was collected to one depth, by the rule of the package
// comment. O(switches + nodes x levels).
func (g *graph) fabric() (*Fabric, error) {
	order, err := g.order()
	if err != nil {
		return nil, err
	}
	if err := g.leaves(order); err != nil {
		return nil, err
	}
	levels := 0
	for i := range g.vertices {
		levels = max(levels, g.vertices[i].height+1)
	}
	if levels > maxLevels {
		return nil, g.refuse(ErrLimit, 0, "", "the switches are %d levels deep, the limit is %d", levels, maxLevels)
	}
	names := 0 // of levels of nodes
	for _, h := range g.hosts {
		names += levels * max(1, len(h.leaves))
	}
	if err := g.spend(0, "", pathCost*names); err != nil {
		return nil, err
	}
	f := &Fabric{Levels: levelNames(levels), Nodes: make([]Node, 0, len(g.hosts))}
	for _, h := range g.hosts {
		if err := g.place(h, levels); err != nil {
			return nil, err
		}
		f.Nodes = append(f.Nodes, h.Node)
	}
	slices.SortFunc(f.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return f, nil
}

// order lists the switches so that each comes after its parent. What cannot be
// reached from a switch without a parent is on a ring, or below one.
func (g *graph) order() ([]int32, error) {
	order := make([]int32, 0, len(g.vertices))
	for v := range g.vertices {
		if g.vertices[v].parent < 0 {
			order = append(order, int32(v))
		}
	}
	for i := 0; i < len(order); i++ {
		order = append(order, g.vertices[order[i]].children...)
	}
	if len(order) == len(g.vertices) {
		return order, nil
	}
	reached := make([]bool, len(g.vertices))
	for _, v := range order {
		reached[v] = true
	}
	at := slices.Index(reached, false)
	for range g.vertices { // from below the ring up onto it
		at = int(g.vertices[at].parent)
	}
	for v := g.vertices[at].parent; int(v) != at; v = g.vertices[v].parent {
		if g.vertices[v].line < g.vertices[at].line {
			at = int(v)
		}
	}
	return nil, g.refuse(ErrInvalid, g.vertices[at].line, "", "the switch %q is above itself", g.vertices[at].name)
}

// leaves finds the height of every switch, leaving out those without a host, and
// gives each switch that has both hosts and switches below it a leaf of its own.
func (g *graph) leaves(order []int32) error {
	for _, v := range slices.Backward(order) {
		at := g.vertices[v]
		at.height, at.leaf = -1, v
		for _, child := range at.children {
			if h := g.vertices[child].height; h >= 0 {
				at.height = max(at.height, h+1)
			}
		}
		if at.hosts > 0 && at.height < 0 {
			at.height = 0
		}
	}
	for _, v := range order {
		at := g.vertices[v]
		if at.hosts == 0 || at.height == 0 {
			continue
		}
		name, line := at.name+directSuffix, at.line
		if _, taken := g.index[name]; taken {
			return g.refuse(ErrConflict, line, "", "the nodes that hang directly on %q would be the domain %q, which is a switch", at.name, name)
		}
		leaf, err := g.vertex(name, line)
		if err != nil {
			return err
		}
		g.vertices[leaf].parent, g.vertices[leaf].leaf = v, leaf
		g.vertices[v].leaf = leaf
	}
	return nil
}

// place gives a host its path and its rails.
func (g *graph) place(h *host, levels int) error {
	switch len(h.leaves) {
	case 0:
		if _, taken := g.index[h.Name]; taken && levels > 0 {
			return g.refuse(ErrConflict, h.line, "", "the node %q hangs on no switch, and a switch has its name", h.Name)
		}
		h.Path = slices.Repeat([]string{h.Name}, levels)
		return nil
	case 1:
		h.Path = slices.Clone(g.path(g.vertices[h.leaves[0]].leaf, levels))
		return nil
	}
	names := make([][]string, levels)
	for _, v := range h.leaves {
		for l, name := range g.path(g.vertices[v].leaf, levels) {
			names[l] = append(names[l], name)
		}
	}
	h.Path = make([]string, levels)
	for l := range names {
		slices.SortFunc(names[l], compareNatural)
		names[l] = slices.Compact(names[l])
		h.Path[l] = strings.Join(names[l], railSign)
		if err := g.joined(h, names[l], h.Path[l]); err != nil {
			return err
		}
	}
	h.Rails = names[levels-1]
	return nil
}

// joined refuses a name that could stand for two sets of switches.
func (g *graph) joined(h *host, names []string, name string) error {
	if len(names) == 1 {
		return nil
	}
	_, taken := g.index[name]
	if taken || slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, railSign) }) {
		return g.refuse(ErrConflict, h.line, "", "the node %q hangs on several switches, whose names joined by %q would be ambiguous: %s",
			h.Name, railSign, shorten(name))
	}
	return nil
}

// path returns the names from the widest level down to a leaf. A level that its
// switches skip has the name of the next one below.
func (g *graph) path(leaf int32, levels int) []string {
	at := g.vertices[leaf]
	if at.path != nil {
		return at.path
	}
	at.path = make([]string, levels)
	for v := leaf; v >= 0; v = g.vertices[v].parent {
		at.path[levels-1-g.vertices[v].height] = g.vertices[v].name
	}
	for l := levels - 2; l >= 0; l-- {
		if at.path[l] == "" {
			at.path[l] = at.path[l+1]
		}
	}
	return at.path
}
