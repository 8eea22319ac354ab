package fabric

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// WriteSlurmTree writes a fabric as Slurm's topology.conf of topology/tree, in the
// same order and spelling for the same fabric: the switches by their depth and name,
// each with a line of its own, the hosts as host lists. Reading it back gives the same
// places; levels take their standard names, and what else is known of the nodes is not
// in such a file. Slurm places no job across domains that no switch joins, so several of the
// widest level get a switch above them, "root", which is one more level; those of a fabric that is
// Apart, or of which one reaches all nodes, as rails do, do not.
//
// Refusals: ErrUnsupported for a fabric without levels, or with rails that do not
// meet in one domain; ErrConflict where Slurm could not tell two domains apart by
// their names (see Qualify) or would find a switch with both nodes and switches below
// it; ErrInvalid for names that host lists cannot carry; ErrLimit for a name of a
// switch above 64 bytes; and those of broken invariants. O(n log n).
func WriteSlurmTree(w io.Writer, f *Fabric) error {
	switches, err := f.switches()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, s := range switches {
		b.WriteString("SwitchName=" + s.name)
		if len(s.children) > 0 {
			b.WriteString(" Switches=" + compressHostlist(s.children))
		} else {
			b.WriteString(" Nodes=" + compressHostlist(s.hosts))
		}
		b.WriteByte('\n')
	}
	return write(w, b.Bytes())
}

// Blocks says how a fabric becomes Slurm's topology/block.
type Blocks struct {
	// Level whose domains become the blocks; empty: the narrowest. For blocks that are
	// NVLink domains, see WithIslands.
	Level string
	// Sizes as in Fabric.BlockSizes; none: those of the fabric.
	Sizes []int
}

// WriteSlurmBlock writes the domains of a level as Slurm's topology.conf of
// topology/block. Slurm aggregates neighbours, so blocks stand in the order of the
// tree; of the domains in a wider one those with more blocks come first, so that
// what is not whole comes last. Reading back what was read from such a file gives the
// same fabric: where an aggregate short of blocks is not the last, blocks without nodes take
// their places, as topograph writes them.
//
// Refusals: ErrUnknown for a level that is not there; ErrInvalid for sizes that Slurm
// would not take, and for names that host lists cannot carry; ErrConflict for two blocks of one
// name (see Qualify); ErrLimit for more blocks than nodes of a fabric; and those of broken
// invariants. O(n log n).
func WriteSlurmBlock(w io.Writer, f *Fabric, how Blocks) error {
	blocks, sizes, err := f.blocks(how)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, one := range blocks {
		b.WriteString("BlockName=" + one.name)
		if len(one.nodes) > 0 {
			b.WriteString(" Nodes=" + compressHostlist(one.nodes))
		}
		b.WriteByte('\n')
	}
	if len(sizes) > 0 {
		texts := make([]string, len(sizes))
		for i, size := range sizes {
			texts[i] = strconv.Itoa(size)
		}
		fmt.Fprintf(&b, "BlockSizes=%s\n", strings.Join(texts, ","))
	}
	return write(w, b.Bytes())
}

func write(w io.Writer, text []byte) error {
	if _, err := w.Write(text); err != nil {
		return &Error{Reason: fmt.Sprintf("writing failed: %v", err), Kind: err}
	}
	return nil
}

// A switchEntry is a switch as Slurm is told of it.
type switchEntry struct {
	name, parent    string
	depth           int
	children, hosts []string
}

// switches makes the switches of a fabric: its domains, without those that are there
// by filling, and with the leaves of a set of rails in the place of the set.
func (f *Fabric) switches() ([]switchEntry, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if len(f.Levels) == 0 {
		return nil, &Error{Field: "levels", Kind: ErrUnsupported, Reason: "a fabric without levels has no switches"}
	}
	l := switchLayout{source: newSource(""), index: map[string]int{}}
	for i := range f.Nodes {
		if err := l.add(&f.Nodes[i], fmt.Sprintf("nodes[%d]", i)); err != nil {
			return nil, err
		}
	}
	if len(l.entries) == 0 {
		return nil, &Error{Field: "nodes", Kind: ErrUnsupported, Reason: "a fabric without nodes has no switches"}
	}
	for _, e := range l.entries {
		if len(e.children) > 0 && len(e.hosts) > 0 {
			return nil, &Error{Field: "nodes", Kind: ErrConflict, Reason: fmt.Sprintf(
				"%q names both a domain and one of several in it, and Slurm takes no switch with both nodes and switches", e.name)}
		}
	}
	if !f.Apart {
		l.join(len(f.Nodes))
	}
	slices.SortFunc(l.entries, func(a, b switchEntry) int {
		if a.depth != b.depth {
			return a.depth - b.depth
		}
		return compareNatural(a.name, b.name)
	})
	return l.entries, nil
}

// A switchLayout collects switches from the paths of nodes.
type switchLayout struct {
	*source
	entries []switchEntry
	index   map[string]int
}

func (l *switchLayout) add(n *Node, field string) error {
	if err := l.checkName(0, field, n.Name); err != nil {
		return err
	}
	path := fold(n.Path)
	last := len(path) - 1
	leaves := path[last:]
	if len(n.Rails) > 0 {
		if path[last] != n.railDomain() || strings.Contains(strings.Join(path[:last], ""), railSign) {
			return l.refuse(ErrUnsupported, 0, field, "the rails of %q do not hang on one switch, in its narrowest domain", n.Name)
		}
		leaves = n.Rails
	}
	parent := ""
	for depth, name := range path[:last] {
		if _, err := l.entry(name, parent, depth, field); err != nil {
			return err
		}
		parent = name
	}
	for _, name := range leaves {
		at, err := l.entry(name, parent, last, field)
		if err != nil {
			return err
		}
		l.entries[at].hosts = append(l.entries[at].hosts, n.Name)
	}
	return nil
}

// join puts a switch above those that have none above them, unless one reaches all nodes.
func (l *switchLayout) join(nodes int) {
	root := switchEntry{name: "root", depth: -1}
	for n := 1; l.taken(root.name); n++ {
		root.name = fmt.Sprintf("root%d", n)
	}
	for _, e := range l.entries {
		if e.parent == "" {
			root.children = append(root.children, e.name)
		}
		if len(e.hosts) == nodes {
			return
		}
	}
	if len(root.children) > 1 {
		l.entries = append(l.entries, root)
	}
}

func (l *switchLayout) taken(name string) bool {
	_, taken := l.index[name]
	return taken
}

// entry returns the switch of a name below a parent, a new one where there is none.
func (l *switchLayout) entry(name, parent string, depth int, field string) (int, error) {
	if at, seen := l.index[name]; seen {
		if l.entries[at].parent != parent || l.entries[at].depth != depth {
			return 0, l.refuse(ErrConflict, 0, field, "several domains have the name %q", name)
		}
		return at, nil
	}
	if err := l.checkName(0, field, name); err != nil {
		return 0, err
	}
	if len(name) > maxSwitchName {
		return 0, l.refuse(ErrLimit, 0, field, "the domain %q has a name of %d bytes, Slurm takes %d", shorten(name), len(name), maxSwitchName)
	}
	at := len(l.entries)
	l.index[name] = at
	l.entries = append(l.entries, switchEntry{name: name, parent: parent, depth: depth})
	if parent != "" {
		above := &l.entries[l.index[parent]]
		above.children = append(above.children, name)
	}
	return at, nil
}

// blocks makes the blocks of a fabric, and the sizes that go with them.
func (f *Fabric) blocks(how Blocks) ([]block, []int, error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	level, ok := len(f.Levels)-1, len(f.Levels) > 0
	if how.Level != "" {
		level, ok = f.level(how.Level)
	}
	if !ok {
		return nil, nil, &Error{Field: "level", Kind: ErrUnknown, Reason: fmt.Sprintf("there is no level %q for the blocks", how.Level)}
	}
	sizes := how.Sizes
	if len(sizes) == 0 {
		sizes = f.BlockSizes
	}
	s := newSource("")
	wanted := make([]sized, len(sizes))
	for i, size := range sizes {
		wanted[i] = sized{nodes: size}
	}
	ratios, err := s.ratios(wanted, "sizes")
	if err != nil {
		return nil, nil, err
	}
	if len(sizes) > 0 { // in the order of their levels, each once
		sizes = sizes[:1:1]
		for _, ratio := range ratios {
			sizes = append(sizes, sizes[0]*ratio)
		}
	}
	if level != len(ratios) || !slices.Equal(sizes, f.BlockSizes) {
		ratios = nil // the levels are not those of the sizes
	}
	blocks, err := f.blocksOf(level, ratios)
	if err != nil {
		return nil, nil, err
	}
	if len(blocks) == 0 {
		return nil, nil, &Error{Field: "nodes", Kind: ErrUnsupported, Reason: "a fabric without nodes has no blocks"}
	}
	return blocks, sizes, nil
}

// blocksOf lists the domains of a level in the order in which Slurm should aggregate
// them. With the ratios of the levels above, the narrowest first, a domain of those begins where
// Slurm's aggregate does.
func (f *Fabric) blocksOf(level int, ratios []int) ([]block, error) {
	s := newSource("")
	index := map[string]int{} // of a block by its path
	within := map[string]int{}
	type placed struct {
		block
		path []string
	}
	var found []placed
	for i, n := range f.Nodes {
		field := fmt.Sprintf("nodes[%d]", i)
		path := n.Path[:level+1]
		at, seen := index[pathKey(path)]
		if !seen {
			if err := s.checkName(0, field, path[level]); err != nil {
				return nil, err
			}
			at = len(found)
			index[pathKey(path)] = at
			found = append(found, placed{block{name: path[level]}, path})
			for l := range path {
				within[pathKey(path[:l+1])]++
			}
		}
		if err := s.checkName(0, field, n.Name); err != nil {
			return nil, err
		}
		found[at].nodes = append(found[at].nodes, n.Name)
	}
	slices.SortFunc(found, func(a, b placed) int {
		for l := range a.path {
			if a.path[l] == b.path[l] {
				continue
			}
			if more := within[pathKey(b.path[:l+1])] - within[pathKey(a.path[:l+1])]; more != 0 {
				return more
			}
			return compareNatural(a.path[l], b.path[l])
		}
		return 0
	})
	blocks, names := make([]block, 0, len(found)), map[string]bool{}
	for _, b := range found {
		if names[b.name] {
			return nil, s.refuse(ErrConflict, 0, "nodes", "several blocks have the name %q", b.name)
		}
		names[b.name] = true
	}
	empty := 0
	for i, b := range found {
		for len(blocks)%startOf(ratios, found[max(i-1, 0)].path, b.path) > 0 {
			name := ""
			for name == "" || names[name] {
				empty++
				name = fmt.Sprintf("empty%d", empty)
			}
			if blocks = append(blocks, block{name: name}); len(blocks) > maxNodes {
				return nil, s.refuse(ErrLimit, 0, "sizes", "more than %d blocks, most of them without nodes", maxNodes)
			}
		}
		blocks = append(blocks, b.block)
	}
	return blocks, nil
}

// startOf is of which number of blocks the place of a block is a multiple, that begins the widest
// domain that it does not share with the one before.
func startOf(ratios []int, before, path []string) int {
	for l, ratio := range slices.Backward(ratios) {
		if at := len(ratios) - 1 - l; before[at] != path[at] {
			return ratio
		}
	}
	return 1
}
