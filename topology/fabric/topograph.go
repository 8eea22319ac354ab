package fabric

import (
	"cmp"
	"io"

	"go.yaml.in/yaml/v3"
)

// ReadTopograph reads a model of NVIDIA topograph, of each of its generations:
//
//   - switches as a list with capacity_blocks, and those with nvlink, type and nodes;
//   - switches as a mapping with nodes, nodes with attributes, and capacity_blocks with
//     nodes and attributes;
//   - switches as a mapping with labels, and blocks with a switch, nodes and labels or
//     annotations.
//
// NVLink, and the labels of an accelerator domain, become Node.Accelerator, the
// sub-domain Node.Clique. Regions and zones of switches are not levels of the fabric,
// for they are not switches. File names the input in errors.
//
// Refused beside what is wrong by itself: a node on two switches or in two blocks
// (ErrDuplicate), a switch with two parents (ErrConflict) or above itself (ErrInvalid),
// and a node or a capacity block that is described nowhere (ErrUnknown).
func ReadTopograph(file string, r io.Reader) (*Fabric, error) {
	s := newSource(file)
	root, err := s.yaml(r)
	if err != nil {
		return nil, err
	}
	m := modelReader{graph: newGraph(s), blocks: map[string][]int32{}, blockOf: map[int32]string{}}
	m.single = true
	if err := m.model(root); err != nil {
		return nil, err
	}
	if len(m.hosts) == 0 {
		return nil, s.refuse(ErrInvalid, root.Line, "", "the model has no nodes")
	}
	return m.fabric()
}

// A modelReader collects what the sections of a model say.
type modelReader struct {
	*graph
	declared bool               // there is a section that lists all nodes
	blocks   map[string][]int32 // the hosts of a capacity block
	blockOf  map[int32]string   // the capacity block of a host
}

// model reads the sections, those first to which others refer.
func (m *modelReader) model(root yamlNode) error {
	entries, err := m.mapping(root)
	if err != nil {
		return err
	}
	sections := map[string]yamlNode{}
	for _, e := range entries {
		switch e.key {
		case "switches", "nodes", "capacity_blocks", "blocks":
			if !isNull(e.value) {
				sections[e.key] = e.value
			}
		case "topology": // which of Slurm's plugins the model is meant for
		default:
			return m.unknownKey(e, "switches, nodes, capacity_blocks and blocks")
		}
	}
	_, m.declared = sections["nodes"]
	for _, section := range []struct {
		name string
		read func(key string, line int, n yamlNode) error
	}{
		{"nodes", m.node}, {"capacity_blocks", m.capacityBlock}, {"blocks", m.block}, {"switches", m.switches},
	} {
		if n, ok := sections[section.name]; ok {
			if err := m.each(n, section.read); err != nil {
				return err
			}
		}
	}
	return nil
}

// each reads the items of a section that is a mapping, in which they have their
// names as keys, or a list, in which they have none.
func (m *modelReader) each(n yamlNode, read func(key string, line int, n yamlNode) error) error {
	if n.Kind == yaml.SequenceNode {
		items, err := m.sequence(n)
		if err != nil {
			return err
		}
		for _, item := range items {
			if err := read("", item.Line, item); err != nil {
				return err
			}
		}
		return nil
	}
	entries, err := m.mapping(n)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := read(e.key, e.line, e.value); err != nil {
			return err
		}
	}
	return nil
}

// The attributes are what a section says about its nodes beside their place.
type attributes struct {
	accelerator, clique, product string
	gpus                         int
}

func (a attributes) apply(n *Node) {
	if a.accelerator != "" && !noCluster(a.accelerator) {
		n.Accelerator = a.accelerator
	}
	if a.clique != "" && !noCluster(cmp.Or(a.accelerator, a.clique)) {
		n.Clique = a.clique
	}
	if a.product != "" {
		n.Product = a.product
	}
	if a.gpus != 0 {
		n.GPUs = a.gpus
	}
}

// node reads {name, capacity_block_id, attributes}.
func (m *modelReader) node(key string, line int, n yamlNode) error {
	var is attributes
	var blockName string
	name := key
	entries, err := m.mapping(n)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.key {
		case "name":
			name, err = m.name(key, e)
		case "capacity_block_id":
			blockName, err = m.text(e.value)
		case "attributes":
			is, err = m.attributes(e.value)
		default:
			err = m.unknownKey(e, "name, capacity_block_id and attributes")
		}
		if err != nil {
			return err
		}
	}
	if err := m.checkName(line, n.path, name); err != nil {
		return err
	}
	h, isNew, err := m.host(name, line)
	if err != nil {
		return err
	}
	if !isNew {
		return m.refuse(ErrDuplicate, line, n.path, "the node %q is there twice", name)
	}
	is.apply(&m.hosts[h].Node)
	if blockName != "" {
		m.blocks[blockName] = append(m.blocks[blockName], h)
		m.blockOf[h] = blockName
	}
	return nil
}

// name reads a name that may stand beside the key that is the name, too.
func (m *modelReader) name(key string, e entry) (string, error) {
	name, err := m.text(e.value)
	if err == nil && key != "" && name != key {
		err = m.refuse(ErrConflict, e.line, e.value.path, "the name %q is not the key %q", name, key)
	}
	return name, err
}

// attributes reads {nvlink, status, timestamp, gpus}.
func (m *modelReader) attributes(n yamlNode) (attributes, error) {
	var is attributes
	entries, err := m.mapping(n)
	if err != nil {
		return is, err
	}
	for _, e := range entries {
		switch e.key {
		case "nvlink":
			is.accelerator, err = m.text(e.value)
		case "status", "timestamp": // of the moment, not of the place
		case "gpus":
			is.gpus, is.product, err = m.gpus(e.value)
		default:
			err = m.unknownKey(e, "nvlink, status, timestamp and gpus")
		}
		if err != nil {
			return is, err
		}
	}
	return is, nil
}

// gpus counts the GPUs of a node, and takes the model of the first as that of all.
func (m *modelReader) gpus(n yamlNode) (count int, product string, err error) {
	items, err := m.sequence(n)
	if err != nil {
		return 0, "", err
	}
	for i, item := range items {
		entries, err := m.mapping(item)
		if err != nil {
			return 0, "", err
		}
		for _, e := range entries {
			if i == 0 && e.key == "model" {
				if product, err = m.text(e.value); err != nil {
					return 0, "", err
				}
			}
		}
	}
	return len(items), product, nil
}

// capacityBlock reads {name, type, nvlink, nodes, attributes}, or a name alone.
func (m *modelReader) capacityBlock(key string, line int, n yamlNode) error {
	name := key
	if name == "" {
		if alone, err := m.text(n); err == nil {
			m.announce(alone)
			return nil
		}
	}
	if key != "" && isNull(n) {
		m.announce(key)
		return nil
	}
	var is attributes
	var nodes []string
	entries, err := m.mapping(n)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.key {
		case "name":
			name, err = m.name(key, e)
		case "type":
			is.product, err = m.text(e.value)
		case "nvlink":
			is.accelerator, err = m.text(e.value)
		case "attributes":
			var more attributes
			more, err = m.attributes(e.value)
			is.accelerator = more.accelerator
		case "nodes":
			nodes, err = m.hostLists(e.value)
		default:
			err = m.unknownKey(e, "name, type, nvlink, attributes and nodes")
		}
		if err != nil {
			return err
		}
	}
	if name == "" {
		return m.refuse(ErrInvalid, line, n.path, "the capacity block has no name")
	}
	return m.fillBlock(name, line, n.path, nodes, is)
}

// announce makes a capacity block known, whether or not it has hosts.
func (m *modelReader) announce(name string) {
	if _, known := m.blocks[name]; !known {
		m.blocks[name] = nil
	}
}

// fillBlock puts nodes into a capacity block. They come from here unless there is a
// section of nodes.
func (m *modelReader) fillBlock(name string, line int, field string, nodes []string, is attributes) error {
	m.announce(name)
	for _, node := range nodes {
		if _, known := m.byName[node]; m.declared && !known {
			return m.refuse(ErrUnknown, line, field, "the node %q is not among the nodes of the model", node)
		}
		h, isNew, err := m.host(node, line)
		if err != nil {
			return err
		}
		other := m.blockOf[h]
		if !isNew && (other != name && other != "" || !m.declared) {
			return m.refuse(ErrDuplicate, line, field, "the node %q is in the capacity blocks %q and %q", node, other, name)
		}
		if other == "" {
			m.blocks[name] = append(m.blocks[name], h)
			m.blockOf[h] = name
		}
		is.apply(&m.hosts[h].Node)
	}
	return nil
}

// block reads {switch, nodes, labels, annotations}.
func (m *modelReader) block(_ string, line int, n yamlNode) error {
	entries, err := m.mapping(n)
	if err != nil {
		return err
	}
	var is attributes
	var nodes []string
	var on string
	for _, e := range entries {
		switch e.key {
		case "switch":
			if on, err = m.text(e.value); err == nil {
				err = m.checkName(e.line, e.value.path, on)
			}
		case "nodes":
			nodes, err = m.hostLists(e.value)
		case "labels", "annotations":
			var more attributes
			more, err = m.labels(e.value)
			if more.accelerator != "" {
				is.accelerator = more.accelerator
			}
			if more.clique != "" {
				is.clique = more.clique
			}
		default:
			err = m.unknownKey(e, "switch, nodes, labels and annotations")
		}
		if err != nil {
			return err
		}
	}
	for _, node := range nodes {
		h, isNew, err := m.host(node, line)
		if err != nil {
			return err
		}
		if !isNew && !m.declared {
			return m.refuse(ErrDuplicate, line, n.path, "the node %q is in two blocks", node)
		}
		is.apply(&m.hosts[h].Node)
		if on == "" {
			continue
		}
		at, err := m.vertex(on, line)
		if err == nil {
			err = m.attach(at, h, line, n.path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// labels finds the accelerator domain among labels or annotations: of the
// simulations, of topograph 1.0, and of the two spellings before it.
func (m *modelReader) labels(n yamlNode) (attributes, error) {
	entries, err := m.mapping(n)
	if err != nil {
		return attributes{}, err
	}
	labels := map[string]string{}
	for _, e := range entries {
		if labels[e.key], err = m.text(e.value); err != nil {
			return attributes{}, err
		}
	}
	return attributes{
		accelerator: first(labels, []string{
			"accelerator.topology.test/domain", "accelerator.topograph.run/domain",
			oldTopograph + "accelerator", "accelerated.topology.nvidia.com/level-0",
		}),
		clique: first(labels, []string{"accelerator.topology.test/sub-domain", "accelerator.topograph.run/sub-domain"}),
	}, nil
}

// switches reads {name, labels, annotations, metadata, switches, nodes, capacity_blocks}.
func (m *modelReader) switches(key string, line int, n yamlNode) error {
	entries, err := m.mapping(n)
	if err != nil {
		return err
	}
	name := key
	for _, e := range entries {
		if e.key == "name" {
			if name, err = m.name(key, e); err != nil {
				return err
			}
		}
	}
	if err := m.checkName(line, n.path, name); err != nil {
		return err
	}
	at, err := m.vertex(name, line)
	if err != nil {
		return err
	}
	m.vertices[at].line = line // others may have named it before
	for _, e := range entries {
		switch e.key {
		case "name":
		case "labels", "annotations", "metadata":
			_, err = m.mapping(e.value)
		case "switches":
			err = m.children(at, e.value)
		case "nodes":
			err = m.nodesOf(at, e.value)
		case "capacity_blocks":
			err = m.blocksOf(at, e.value)
		default:
			err = m.unknownKey(e, "name, labels, annotations, metadata, switches, nodes and capacity_blocks")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *modelReader) children(at int32, n yamlNode) error {
	names, err := m.hostLists(n)
	if err != nil {
		return err
	}
	for _, name := range names {
		child, err := m.vertex(name, n.Line)
		if err == nil {
			err = m.link(at, child, n.Line, n.path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *modelReader) nodesOf(at int32, n yamlNode) error {
	names, err := m.hostLists(n)
	if err != nil {
		return err
	}
	for _, name := range names {
		h, known := m.byName[name]
		if !known {
			return m.refuse(ErrUnknown, n.Line, n.path, "the node %q is neither among the nodes nor in a block", name)
		}
		if err := m.attach(at, h, n.Line, n.path); err != nil {
			return err
		}
	}
	return nil
}

func (m *modelReader) blocksOf(at int32, n yamlNode) error {
	items, err := m.sequence(n)
	if err != nil {
		return err
	}
	for _, item := range items {
		name, err := m.text(item)
		if err != nil {
			return err
		}
		hosts, known := m.blocks[name]
		if !known {
			return m.refuse(ErrUnknown, item.Line, item.path, "the capacity block %q is described nowhere", name)
		}
		for _, h := range hosts {
			if err := m.attach(at, h, item.Line, item.path); err != nil {
				return err
			}
		}
	}
	return nil
}

// hostLists reads a sequence of host lists.
func (m *modelReader) hostLists(n yamlNode) ([]string, error) {
	items, err := m.sequence(n)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, item := range items {
		more, err := m.yamlHosts(item)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	return names, nil
}
