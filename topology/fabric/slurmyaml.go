package fabric

import (
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ReadSlurmYAML reads one topology of Slurm's topology.yaml: that of the given name,
// or if the name is empty the first with cluster_default, or the only one. A flat
// topology gives a fabric without levels and without nodes, for it lists none. File
// names the input in errors.
//
// Every topology in the file must have a name, once. That which is asked for must have exactly
// one type, which is tree, block or flat (else ErrUnsupported), and is held to what ReadSlurmConf
// holds a topology.conf to; of a flat one the options, such as alpha_step_rank, say nothing of
// places. The others are not looked into: they may be of types that are not known here.
// ErrUnknown where there is no topology of the name.
func ReadSlurmYAML(file string, r io.Reader, topology string) (*Fabric, error) {
	s := newSource(file)
	root, err := s.yaml(r)
	if err != nil {
		return nil, err
	}
	items, err := s.sequence(root)
	if err != nil {
		return nil, err
	}
	var found []slurmTopology
	names := make(map[string]bool, len(items))
	for _, item := range items {
		t, err := s.slurmTopology(item)
		if err != nil {
			return nil, err
		}
		if names[t.name] {
			return nil, s.refuse(ErrDuplicate, item.Line, item.path, "the topology %q is there twice", t.name)
		}
		names[t.name] = true
		found = append(found, t)
	}
	t, err := s.pick(found, topology)
	if err == nil {
		err = s.kindOf(&t)
	}
	if err != nil {
		return nil, err
	}
	switch t.kind.key {
	case "tree":
		return s.yamlTree(t.kind.value)
	case "block":
		return s.yamlBlocks(t.kind.value)
	case "flat":
		return &Fabric{}, nil
	}
	return nil, s.refuse(ErrUnsupported, t.kind.line, t.kind.value.path, "rings and tori are not trees of domains")
}

// A slurmTopology is an item of topology.yaml before it is looked into.
type slurmTopology struct {
	name      string
	isDefault bool
	item      yamlNode
	entries   []entry
	kind      entry
}

func (s *source) slurmTopology(item yamlNode) (slurmTopology, error) {
	t := slurmTopology{item: item}
	var err error
	if t.entries, err = s.mapping(item); err != nil {
		return t, err
	}
	for i, e := range t.entries {
		switch e.key {
		case "topology":
			if t.name, err = s.text(e.value); err == nil && i != 0 {
				err = s.refuse(ErrSyntax, e.line, e.value.path, "the key must be the first")
			}
		case "cluster_default":
			t.isDefault, err = s.truth(e.value)
		}
		if err != nil {
			return t, err
		}
	}
	if t.name == "" {
		return t, s.refuse(ErrInvalid, item.Line, item.path, "the topology has no name")
	}
	return t, nil
}

// kindOf finds the type of a topology among its entries.
func (s *source) kindOf(t *slurmTopology) error {
	for _, e := range t.entries {
		is := true
		switch e.key {
		case "topology", "cluster_default":
			is = false
		case "flat":
			if e.value.Kind != yaml.MappingNode {
				var err error
				if is, err = s.truth(e.value); err != nil {
					return err
				}
			}
		case "tree", "block", "ring", "torus3d":
		default:
			return s.unknownKey(e, "topology, cluster_default, tree, block, flat, ring and torus3d")
		}
		switch {
		case is && t.kind.key != "":
			return s.refuse(ErrConflict, e.line, e.value.path, "the topology is both %s and %s", t.kind.key, e.key)
		case is:
			t.kind = e
		}
	}
	if t.kind.key == "" {
		return s.refuse(ErrInvalid, t.item.Line, t.item.path, "the topology %q has no type, such as tree or block", t.name)
	}
	return nil
}

// pick chooses a topology by its name, or that which Slurm would take.
func (s *source) pick(found []slurmTopology, name string) (slurmTopology, error) {
	names := make([]string, len(found))
	for i, t := range found {
		if name == t.name || name == "" && t.isDefault {
			return t, nil
		}
		names[i] = t.name
	}
	switch {
	case name == "" && len(found) == 1:
		return found[0], nil
	case name == "":
		return slurmTopology{}, s.refuse(ErrUnknown, 0, "", "no topology is the cluster_default; there are %s", shorten(strings.Join(names, ", ")))
	}
	return slurmTopology{}, s.refuse(ErrUnknown, 0, "", "there is no topology %q; there are %s", name, shorten(strings.Join(names, ", ")))
}

// yamlTree reads {switches: [{switch, children, nodes}]}.
func (s *source) yamlTree(n yamlNode) (*Fabric, error) {
	entries, err := s.mapping(n)
	if err != nil {
		return nil, err
	}
	var lines []switchLine
	for _, e := range entries {
		if e.key != "switches" {
			return nil, s.unknownKey(e, "switches alone")
		}
		items, err := s.sequence(e.value)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			l, err := s.yamlSwitch(item)
			if err != nil {
				return nil, err
			}
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return nil, s.refuse(ErrInvalid, n.Line, n.path, "the tree has no switches")
	}
	return s.tree(lines)
}

func (s *source) yamlSwitch(item yamlNode) (switchLine, error) {
	l := switchLine{line: item.Line}
	entries, err := s.mapping(item)
	if err != nil {
		return l, err
	}
	for _, e := range entries {
		switch e.key {
		case "switch":
			l.name, err = s.text(e.value)
		case "children":
			l.switchesLine, l.switchesField = e.line, e.value.path
			l.switches, err = s.yamlHosts(e.value)
		case "nodes":
			l.nodesLine, l.nodesField = e.line, e.value.path
			l.nodes, err = s.yamlHosts(e.value)
		default:
			err = s.unknownKey(e, "switch, children and nodes")
		}
		if err != nil {
			return l, err
		}
	}
	if l.name == "" {
		return l, s.refuse(ErrInvalid, item.Line, item.path, "the switch has no name")
	}
	return l, nil
}

// yamlHosts reads a host list, which is a text in YAML, or nothing.
func (s *source) yamlHosts(n yamlNode) ([]string, error) {
	if isNull(n) {
		return nil, nil
	}
	list, err := s.text(n)
	if err != nil {
		return nil, err
	}
	return s.hosts(n.Line, n.path, list)
}

// yamlBlocks reads {block_sizes: [], blocks: [{block, nodes}]}.
func (s *source) yamlBlocks(n yamlNode) (*Fabric, error) {
	entries, err := s.mapping(n)
	if err != nil {
		return nil, err
	}
	var blocks []block
	var sizes []sized
	field := ""
	for _, e := range entries {
		var items []yamlNode
		switch e.key {
		case "block_sizes", "blocks":
			if items, err = s.sequence(e.value); err != nil {
				return nil, err
			}
		default:
			return nil, s.unknownKey(e, "block_sizes and blocks")
		}
		for _, item := range items {
			if e.key == "blocks" {
				var b block
				b, err = s.yamlBlock(item)
				blocks = append(blocks, b)
			} else {
				field = e.value.path
				var size int
				size, err = s.yamlSize(item)
				sizes = append(sizes, sized{size, item.Line})
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if len(blocks) == 0 {
		return nil, s.refuse(ErrInvalid, n.Line, n.path, "there are no blocks")
	}
	return s.blocks(blocks, sizes, field)
}

func (s *source) yamlSize(n yamlNode) (int, error) {
	text, err := s.text(n)
	if err != nil {
		return 0, err
	}
	size, bad := strconv.Atoi(text)
	if bad != nil {
		return 0, s.refuse(ErrInvalid, n.Line, n.path, "%q is not a whole number", shorten(text))
	}
	return size, nil
}

func (s *source) yamlBlock(item yamlNode) (block, error) {
	b := block{line: item.Line}
	entries, err := s.mapping(item)
	if err != nil {
		return b, err
	}
	for _, e := range entries {
		switch e.key {
		case "block":
			if b.name, err = s.text(e.value); err == nil {
				err = s.checkName(e.line, e.value.path, b.name)
			}
		case "nodes":
			b.nodes, err = s.yamlHosts(e.value)
		default:
			err = s.unknownKey(e, "block and nodes")
		}
		if err != nil {
			return b, err
		}
	}
	if b.name == "" {
		return b, s.refuse(ErrInvalid, item.Line, item.path, "the block has no name")
	}
	return b, nil
}
