package fabric

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// A Kind is a type of topology in Slurm's topology.yaml.
type Kind string

// The types that this package writes.
const (
	TreeKind  Kind = "tree"
	BlockKind Kind = "block"
	FlatKind  Kind = "flat"
)

// A SlurmTopology is one of those that a topology.yaml holds.
type SlurmTopology struct {
	// Name by which partitions refer to it.
	Name string
	// Default makes it the cluster_default.
	Default bool
	Kind    Kind
	// Fabric that is written; none for a flat topology.
	Fabric *Fabric
	// Blocks is for BlockKind alone.
	Blocks Blocks
}

// WriteSlurmYAML writes topologies as Slurm's topology.yaml, in the order given and
// otherwise as WriteSlurmTree and WriteSlurmBlock do, with their refusals; and
// ErrInvalid for a topology without a name, of another kind or without a fabric where
// it needs one, ErrDuplicate for a name or a default that is there twice.
func WriteSlurmYAML(w io.Writer, topologies ...SlurmTopology) error {
	root := list()
	names, defaults := map[string]bool{}, 0
	for i, t := range topologies {
		field := fmt.Sprintf("topologies[%d]", i)
		if t.Default {
			defaults++
		}
		if names[t.Name] || defaults > 1 {
			return &Error{Field: field, Kind: ErrDuplicate, Reason: fmt.Sprintf("the name %q or the default is there twice", t.Name)}
		}
		names[t.Name] = true
		body, err := t.body(field)
		if err != nil {
			return err
		}
		root.Content = append(root.Content, object(
			"topology", textNode(t.Name), "cluster_default", plain(strconv.FormatBool(t.Default)), string(t.Kind), body))
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return &Error{Kind: ErrInvalid, Reason: err.Error()}
	}
	if err := encoder.Close(); err != nil {
		return &Error{Kind: ErrInvalid, Reason: err.Error()}
	}
	return write(w, b.Bytes())
}

func (t SlurmTopology) body(field string) (*yaml.Node, error) {
	bad := func(reason string) error { return &Error{Field: field, Kind: ErrInvalid, Reason: reason} }
	switch {
	case !plainName(t.Name):
		return nil, bad(fmt.Sprintf("%q is no name for a topology", t.Name))
	case t.Kind == FlatKind:
		return plain("true"), nil
	case t.Kind != TreeKind && t.Kind != BlockKind:
		return nil, bad(fmt.Sprintf("%q is neither tree nor block nor flat", string(t.Kind)))
	case t.Fabric == nil:
		return nil, bad("there is no fabric to write")
	case t.Kind == TreeKind:
		return t.tree()
	}
	return t.block()
}

func (t SlurmTopology) tree() (*yaml.Node, error) {
	switches, err := t.Fabric.switches()
	if err != nil {
		return nil, err
	}
	items := list()
	for _, s := range switches {
		item := object("switch", textNode(s.name))
		if len(s.children) > 0 {
			item.Content = append(item.Content, plain("children"), textNode(compressHostlist(s.children)))
		} else {
			item.Content = append(item.Content, plain("nodes"), textNode(compressHostlist(s.hosts)))
		}
		items.Content = append(items.Content, item)
	}
	return object("switches", items), nil
}

func (t SlurmTopology) block() (*yaml.Node, error) {
	blocks, sizes, err := t.Fabric.blocks(t.Blocks)
	if err != nil {
		return nil, err
	}
	body := object()
	if len(sizes) > 0 {
		numbers := list()
		for _, size := range sizes {
			numbers.Content = append(numbers.Content, plain(strconv.Itoa(size)))
		}
		body.Content = append(body.Content, plain("block_sizes"), numbers)
	}
	items := list()
	for _, b := range blocks {
		items.Content = append(items.Content, object("block", textNode(b.name), "nodes", textNode(compressHostlist(b.nodes))))
	}
	body.Content = append(body.Content, plain("blocks"), items)
	return body, nil
}

// list, object, textNode and plain build a document: a text is quoted where it would
// be taken for something else, a plain value never.
func list() *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"} }

func object(keysAndValues ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, part := range keysAndValues {
		switch part := part.(type) {
		case string:
			n.Content = append(n.Content, plain(part))
		case *yaml.Node:
			n.Content = append(n.Content, part)
		}
	}
	return n
}

func textNode(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

func plain(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }
