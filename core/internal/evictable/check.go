package evictable

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/topology"
)

// Check holds the places against what stands on the nodes on which nothing has changed since.
func (p *Index) Check() error {
	if p.minRuntime != p.state.Config.Policy.Preemption.MinRuntime {
		return nil // all of them are worked out anew
	}
	places, ends := 0, 0
	for i := range p.nodes {
		f := &p.nodes[i]
		places += len(f.refs)
		state.CountIf(&ends, f.until != 0)
		for _, r := range f.refs {
			if int(r.at) >= len(r.tier.places) || int(r.tier.places[r.at].node) != i || p.tiers[r.tier.tierKey] != r.tier {
				return fmt.Errorf("node %d: a place is not where it should be", i)
			}
		}
		if p.state.IsChanged(topology.NodeIndex(i)) || f.until != 0 && f.until <= p.state.Now {
			continue
		}
		if err := p.checkNode(topology.NodeIndex(i)); err != nil {
			return err
		}
	}
	listed := 0
	for _, list := range p.byQueue {
		for _, t := range list {
			listed += len(t.places)
		}
	}
	return state.Agree(
		state.Tally{What: "places of tiers", Is: listed, Expected: places},
		state.Tally{What: "ends of protection on nodes", Is: p.ends.Len(), Expected: ends},
	)
}

// checkNode holds the places of a node against what stands there.
func (p *Index) checkNode(i topology.NodeIndex) error {
	f := &p.nodes[i]
	until := p.draftPlaces(i)
	if f.bound != p.bound {
		return fmt.Errorf("node %d costs %+v at the least, expected %+v", i, f.bound, p.bound)
	}
	if len(p.drafts) != len(f.refs) || until != f.until || until != 0 && !p.ends.Has(ending{until, i}) {
		return fmt.Errorf("node %d has %d places until %d, expected %d until %d", i, len(f.refs), f.until, len(p.drafts), until)
	}
	for k := range p.drafts {
		s := &p.drafts[k]
		if !slices.ContainsFunc(f.refs, func(r ref) bool { return r.tier.tierKey == s.key && r.tier.places[r.at] == s.place }) {
			return fmt.Errorf("node %d has no place %+v %+v", i, s.key, s.place)
		}
	}
	return nil
}
