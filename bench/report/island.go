package report

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// chart draws the map of the fleet.
func (b *book) chart(now berth.Time) Map {
	m := Map{At: now}
	at := map[berth.NodeID]*NodeView{}
	islands := map[string]*Island{}
	for _, id := range slices.Sorted(maps.Keys(b.nodes)) {
		n := b.nodes[id]
		if len(n.spec.GPUs) == 0 {
			continue
		}
		name := n.spec.GPUs[0].Product
		if k := len(n.spec.Domains); k > 0 {
			name = n.spec.Domains[k-1]
		}
		if islands[name] == nil {
			islands[name] = &Island{Name: name}
		}
		view := NodeView{ID: id, GPUs: make([]GPUView, len(n.spec.GPUs))}
		if n.cordoned {
			view.Trouble = "cordoned"
		}
		for g := range n.spec.GPUs {
			view.GPUs[g].Failed = n.spec.GPUs[g].Failed
		}
		islands[name].Nodes = append(islands[name].Nodes, view)
	}
	for _, name := range slices.Sorted(maps.Keys(islands)) {
		island := islands[name]
		for i := range island.Nodes {
			at[island.Nodes[i].ID] = &island.Nodes[i]
		}
		m.Islands = append(m.Islands, *island)
	}
	b.fill(at)
	return m
}

// fill enters the holders into the views of the nodes.
func (b *book) fill(at map[berth.NodeID]*NodeView) {
	for _, id := range slices.Sorted(maps.Keys(b.jobs)) {
		j := b.jobs[id]
		for _, number := range slices.Sorted(maps.Keys(j.replicas)) {
			for _, p := range j.replicas[number].members {
				view := at[p.Node]
				if view == nil {
					continue
				}
				for _, g := range p.GPUs.Indexes() {
					part := int64(1000)
					if p.ShareMilli > 0 || p.Instance.Size > 0 {
						part = b.milli(&p)
					}
					view.GPUs[g].Holders = append(view.GPUs[g].Holders, Holder{id, number, j.category, part})
				}
			}
		}
	}
}
