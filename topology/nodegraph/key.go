package nodegraph

import "strconv"

// Key is a text that two graphs share exactly when nothing in this package tells
// them apart, so that a caller keeps one graph for all nodes that are alike. It
// holds rates, links, NUMA nodes and NICs with their names, not the product's name
// or the GPUs' addresses. Its form may change with a release: compare, do not parse
// or store it.
func (g *Graph) Key() string { return g.key }

func (g *Graph) makeKey() string {
	key := strconv.AppendInt([]byte("nvlink "), g.rate, 10)
	for i, gpu := range g.gpus {
		key = append(key, ";gpu "...)
		key = append(key, gpu.NUMA.String()...)
		key = append(key, ' ')
		key = strconv.AppendInt(key, gpu.PCIeMBps, 10)
		for peer := range i {
			key = append(key, ' ')
			key = append(key, g.links[i*g.n+peer].String()...)
		}
	}
	for _, nic := range g.nics {
		key = append(key, ";nic "...)
		key = strconv.AppendQuote(key, nic.Name)
		key = append(key, ' ')
		key = append(key, nic.NUMA.String()...)
		key = append(key, ' ')
		key = strconv.AppendInt(key, nic.MBps, 10)
		for _, kind := range nic.Paths {
			key = append(key, ' ')
			key = append(key, kind.String()...)
		}
	}
	return string(key)
}
