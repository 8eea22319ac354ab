package fabric

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A LabeledNode is a node as Kubernetes knows it.
type LabeledNode struct {
	Name   string
	Labels map[string]string
}

// LabelKeys says which labels tell where a node is. Of each list of keys the first
// that a node has counts; a label without a value is none.
type LabelKeys struct {
	// Levels from the widest to the narrowest.
	Levels []LevelKeys
	// Accelerator and Clique as in Node. A clique of the form DOMAIN.NUMBER, which
	// is that of nvidia.com/gpu.clique, gives the accelerator domain too where no
	// other label does. A domain that is a UUID of zeros is none: NVLinks of such a node end there.
	Accelerator, Clique []string
	// Product and GPUs as in Node.
	Product, GPUs []string
}

// LevelKeys are the keys of the labels that name a node's domain of one level.
type LevelKeys struct {
	// Name of the level in the fabric.
	Name string
	Keys []string
}

// TopographKeys are the keys of every generation of NVIDIA topograph: since 1.0
// fabric.topograph.run/tier-N and accelerator.topograph.run/domain and sub-domain; before
// that network.topology.nvidia.com/ with accelerator, leaf, spine and core, and at
// first block and datacenter for leaf and core. The levels are called core, spine and
// leaf, with tier-7 to tier-3 above them; those that no node has are left out.
//
// With nvidia.com/gpu.clique and the counts of GPU Feature Discovery.
func TopographKeys() LabelKeys {
	const tiers = 8
	keys := nvidiaKeys()
	keys.Accelerator = []string{"accelerator.topograph.run/domain", oldTopograph + "accelerator"}
	keys.Clique = append([]string{"accelerator.topograph.run/sub-domain"}, keys.Clique...)
	for i, name := range levelNames(tiers) {
		level := LevelKeys{Name: name, Keys: []string{fmt.Sprintf("fabric.topograph.run/tier-%d", tiers-1-i)}}
		switch name {
		case "core":
			level.Keys = append(level.Keys, oldTopograph+"core", oldTopograph+"datacenter")
		case "spine":
			level.Keys = append(level.Keys, oldTopograph+"spine")
		case "leaf":
			level.Keys = append(level.Keys, oldTopograph+"leaf", oldTopograph+"block")
		}
		keys.Levels = append(keys.Levels, level)
	}
	return keys
}

const oldTopograph = "network.topology.nvidia.com/"

// KueueKeys are the levels of the examples of Kueue's topology-aware scheduling,
// cloud.provider.com/topology-block and topology-rack, called block and rack. Kueue's
// third level, kubernetes.io/hostname, is the node.
//
// With nvidia.com/gpu.clique and the counts of GPU Feature Discovery.
func KueueKeys() LabelKeys {
	keys := nvidiaKeys()
	keys.Levels = []LevelKeys{
		{Name: "block", Keys: []string{"cloud.provider.com/topology-block"}},
		{Name: "rack", Keys: []string{"cloud.provider.com/topology-rack"}},
	}
	return keys
}

func nvidiaKeys() LabelKeys {
	return LabelKeys{
		Clique:  []string{"nvidia.com/gpu.clique"},
		Product: []string{"nvidia.com/gpu.product"},
		GPUs:    []string{"nvidia.com/gpu.count"},
	}
}

// FromLabels makes a fabric of labelled nodes, in any order. Refusals: ErrDuplicate
// for a node that is there twice, ErrInvalid for a level or a node without a name or
// a number of GPUs that is none, ErrConflict where a domain that had to be made up
// has the name of one that there is.
//
// Labels name a domain within its parent, so the same rack name in two blocks is two
// racks; a switch that labels put below two parents is two domains, too.
// O(n log n + nodes x levels).
func FromLabels(nodes []LabeledNode, keys LabelKeys) (*Fabric, error) {
	l := newLabelReader("", keys)
	l.budget = math.MaxInt // what the nodes stand for the caller has in memory
	for i, n := range nodes {
		if err := l.add(0, fmt.Sprintf("nodes[%d]", i), n); err != nil {
			return nil, err
		}
	}
	return l.fabric()
}

type labelReader struct {
	*source
	keys LabelKeys
	rows []*row
}

func newLabelReader(file string, keys LabelKeys) *labelReader {
	return &labelReader{source: newSource(file), keys: keys}
}

// add reads the labels of one node.
func (l *labelReader) add(line int, field string, n LabeledNode) error {
	if n.Name == "" {
		return l.refuse(ErrInvalid, line, field, "the node has no name")
	}
	r := row{line: line, Node: Node{
		Name:        n.Name,
		Path:        make([]string, len(l.keys.Levels)),
		Accelerator: first(n.Labels, l.keys.Accelerator),
		Clique:      first(n.Labels, l.keys.Clique),
		Product:     first(n.Labels, l.keys.Product),
	}}
	for i, level := range l.keys.Levels {
		r.Path[i] = first(n.Labels, level.Keys)
	}
	r.Accelerator = cmp.Or(r.Accelerator, cliqueDomain(r.Clique))
	if noCluster(r.Accelerator) {
		r.Accelerator, r.Clique = "", ""
	}
	if text := first(n.Labels, l.keys.GPUs); text != "" {
		count, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return l.refuse(ErrInvalid, line, field, "%q is no number of GPUs", shorten(text))
		}
		r.GPUs = int(count)
	}
	var err error
	l.rows, err = l.row(l.rows, field, r)
	return err
}

func (l *labelReader) fabric() (*Fabric, error) {
	names := make([]string, len(l.keys.Levels))
	for i, level := range l.keys.Levels {
		names[i] = level.Name
	}
	f, err := l.source.rows(names, l.rows)
	if err != nil {
		return nil, err
	}
	if err := f.check(); err != nil { // names of levels come from the caller
		return nil, err
	}
	return f, nil
}

func first(labels map[string]string, keys []string) string {
	for _, key := range keys {
		if value := labels[key]; value != "" {
			return value
		}
	}
	return ""
}

// noCluster reports whether a domain has the UUID of no cluster, all zeros: the NVLinks of such a
// node end at the node, and drivers tell it of all nodes alike.
func noCluster(domain string) bool {
	return strings.HasPrefix(domain, "00000000-0000-0000-0000-000000000000")
}

// cliqueDomain returns the accelerator domain of a clique DOMAIN.NUMBER.
func cliqueDomain(clique string) string {
	at := strings.LastIndexByte(clique, '.')
	if at < 0 || !digits(clique[at+1:]) {
		return ""
	}
	return clique[:at]
}
