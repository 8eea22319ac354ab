package catalogue

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
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
		spec.GPUs = append(spec.GPUs, nodegraph.GPUSpec{NUMA: numaOf(n.GPUs[i].NUMANode)})
	}
	for _, nic := range n.NICs {
		spec.NICs = append(spec.NICs, nodegraph.NICSpec{Name: nic.Name, NUMA: numaOf(nic.NUMANode), MBps: nic.MbitPerSecond / 8})
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

// A GraphTable interns the graphs of nodes, counting the users of each: thousands of nodes
// are alike, and a graph of 16 GPUs takes some 60 ms to make.
type GraphTable struct {
	ByKey map[string]*GraphEntry
	// latest is the graph that was made last, used or not, for the node that was
	// checked a moment ago.
	latest *GraphEntry
}

// A GraphEntry is a graph, and how many nodes use it.
type GraphEntry struct {
	key   string
	Graph *nodegraph.Graph
	uses  int
}

// GraphKey is what a graph depends on.
func GraphKey(n *berth.Node) string {
	key := []byte(n.GPUs[0].Product)
	for i := range n.GPUs {
		key = fmt.Appendf(key, ";%s", n.GPUs[i].NUMANode)
	}
	for _, nic := range n.NICs {
		key = fmt.Appendf(key, ";%q %s %d", nic.Name, nic.NUMANode, nic.MbitPerSecond)
	}
	for _, row := range n.Links {
		key = fmt.Appendf(key, ";%q", row)
	}
	return string(key)
}

// Check refuses links that make no graph.
func (t *GraphTable) Check(n *berth.Node) *berth.Error {
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
func (t *GraphTable) find(n *berth.Node) (*GraphEntry, *berth.Error) {
	key := GraphKey(n)
	if e := t.ByKey[key]; e != nil {
		return e, nil
	}
	if t.latest != nil && t.latest.key == key {
		return t.latest, nil
	}
	spec, bad := graphSpec(n)
	if bad != nil {
		return nil, bad
	}
	g, err := nodegraph.NewGraph(spec)
	if err != nil {
		return nil, refusal.Of(berth.ErrInvalid, "", err.Error())
	}
	t.latest = &GraphEntry{key: key, Graph: g}
	return t.latest, nil
}

// Retain returns the graph of a checked node that tells its links.
func (t *GraphTable) Retain(n *berth.Node) *GraphEntry {
	e, bad := t.find(n)
	if bad != nil {
		invariant.Must(bad)
	}
	e.uses++
	t.ByKey[e.key] = e
	return e
}

// Release counts a use of a graph no longer; nil is the graph of a node without links.
func (t *GraphTable) Release(e *GraphEntry) {
	if e == nil {
		return
	}
	if e.uses--; e.uses == 0 {
		delete(t.ByKey, e.key)
	}
}

// numaOf is a NUMA node as package nodegraph has it.
func numaOf(o berth.Ordinal) nodegraph.NUMANode {
	n, _ := o.Number() // -1 if it is not known
	return nodegraph.NUMANodeOf(n)
}
