package core

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// noLink is the word for a GPU's link to itself.
const noLink = "X"

// graphSpec describes the inside of a node with links to package nodegraph.
func graphSpec(n *berth.Node) (nodegraph.Spec, *berth.Error) {
	spec := nodegraph.Spec{Product: n.GPUs[0].Product}
	for i := range n.GPUs {
		spec.GPUs = append(spec.GPUs, nodegraph.GPU{NUMA: n.GPUs[i].NUMANode})
	}
	for _, nic := range n.NICs {
		spec.NICs = append(spec.NICs, nodegraph.NIC{Name: nic.Name, NUMA: nic.NUMANode, OneWay: nic.MbitPerSecond / 8})
	}
	if len(n.Links) != len(n.GPUs) {
		return spec, refusal.Of(berth.ErrInvalid, "", fmt.Sprintf("%d rows for %d GPUs", len(n.Links), len(n.GPUs)))
	}
	for i, row := range n.Links {
		if len(row) != len(n.GPUs) {
			return spec, refusal.Of(berth.ErrInvalid, errtext.Index("", i), fmt.Sprintf("%d cells for %d GPUs", len(row), len(n.GPUs)))
		}
		links := make([]nodegraph.Link, len(row))
		for j, word := range row {
			if i == j && word == noLink {
				continue
			}
			link, err := nodegraph.ParseLink(word)
			if err != nil {
				return spec, refusal.Of(berth.ErrInvalid, errtext.Index(errtext.Index("", i), j), err.Error())
			}
			links[j] = link
		}
		spec.Links = append(spec.Links, links)
	}
	return spec, nil
}

// A graphTable interns the graphs of nodes, counting who uses each: thousands of nodes
// are alike, and a graph of 16 GPUs takes some 60 ms to make.
type graphTable struct {
	byKey map[string]*graphEntry
	// latest is the graph that was made last, used or not, for the node that was
	// checked a moment ago.
	latest *graphEntry
}

type graphEntry struct {
	key   string
	graph *nodegraph.Graph
	uses  int
}

// graphKey is what a graph depends on.
func graphKey(n *berth.Node) string {
	key := []byte(n.GPUs[0].Product)
	for i := range n.GPUs {
		key = fmt.Appendf(key, ";%d", n.GPUs[i].NUMANode)
	}
	for _, nic := range n.NICs {
		key = fmt.Appendf(key, ";%q %d %d", nic.Name, nic.NUMANode, nic.MbitPerSecond)
	}
	for _, row := range n.Links {
		key = fmt.Appendf(key, ";%q", row)
	}
	return string(key)
}

// check refuses links that make no graph.
func (t *graphTable) check(n *berth.Node) *berth.Error {
	if n.Links == nil {
		return nil
	}
	if len(n.GPUs) == 0 {
		return refusal.Of(berth.ErrInvalid, "", "the node has no GPUs")
	}
	_, err := t.find(n)
	return err
}

// find returns the graph of a node with links, made if it is new.
func (t *graphTable) find(n *berth.Node) (*graphEntry, *berth.Error) {
	key := graphKey(n)
	if e := t.byKey[key]; e != nil {
		return e, nil
	}
	if t.latest != nil && t.latest.key == key {
		return t.latest, nil
	}
	spec, bad := graphSpec(n)
	if bad != nil {
		return nil, bad
	}
	g, err := nodegraph.New(spec)
	if err != nil {
		return nil, refusal.Of(berth.ErrInvalid, "", err.Error())
	}
	t.latest = &graphEntry{key: key, graph: g}
	return t.latest, nil
}

// retain returns the graph of a checked node; nil where it tells no links.
func (t *graphTable) retain(n *berth.Node) *graphEntry {
	if n.Links == nil {
		return nil
	}
	e, bad := t.find(n)
	if bad != nil {
		must(bad)
	}
	e.uses++
	t.byKey[e.key] = e
	return e
}

func (t *graphTable) release(e *graphEntry) {
	if e == nil {
		return
	}
	if e.uses--; e.uses == 0 {
		delete(t.byKey, e.key)
	}
}

// wire has the fleet choose the GPUs of a node by its links.
func (c *Core) wire(n *node) {
	old := n.graph
	n.graph = c.graphs.retain(&n.spec)
	c.graphs.release(old)
	if n.graph == nil {
		c.fleet.SetChooser(n.index, nil)
		return
	}
	graph := n.graph.graph
	c.fleet.SetChooser(n.index, func(free uint64, k int) uint64 {
		set, _ := graph.Best(free, k)
		return set
	})
}

// withinNode is the bus bandwidth of an all-reduce among GPUs of one node: by its links,
// or, where it tells none, of NVLink through a switch if the GPUs have a clique, and
// of PCIe across sockets if not.
func (n *node) withinNode(gpus berth.GPUSet) berth.MBps {
	if n.graph != nil {
		return berth.MBps(n.graph.graph.AllReduce(uint64(gpus)))
	}
	if rate := nvlinkOf(n); rate > 0 || gpus.Len() < 2 {
		return rate
	}
	rates, known := nodegraph.RatesOf(n.spec.GPUs[0].Product)
	if !known {
		rates = nodegraph.DefaultRates()
	}
	return berth.MBps(rates.PCIe / 2)
}

// bestOf is the set of so many GPUs that reach each other best.
func (n *node) bestOf(free berth.GPUSet, k int) berth.GPUSet {
	if n.graph == nil {
		return berth.GPUSet(1)<<k - 1
	}
	set, _ := n.graph.graph.Best(uint64(free), k)
	return berth.GPUSet(set)
}
