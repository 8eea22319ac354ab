package evictable

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// Check holds the places against what stands on the nodes on which nothing has changed since.
func (p *Index) Check() error {
	if p.fresh || !p.protectionInForce().equal(p.protection) {
		return nil // all of them are worked out anew
	}
	if err := p.checkRanks(); err != nil {
		return err
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
	listed, tiers := 0, 0
	for q, list := range p.byQueue {
		tiers += len(list)
		for _, t := range list {
			listed += len(t.places)
			if err := p.checkTier(quota.QueueIndex(q), t); err != nil {
				return err
			}
		}
	}
	return state.Agree(
		state.Tally{What: "tiers of queues", Is: tiers, Expected: len(p.tiers)},
		state.Tally{What: "places of tiers", Is: listed, Expected: places},
		state.Tally{What: "ends of protection on nodes", Is: p.ends.Len(), Expected: ends},
	)
}

// checkTier checks that a tier is known by its key and its queue, and what it costs at the least.
func (p *Index) checkTier(q quota.QueueIndex, t *tier) error {
	if t.queue != q || p.tiers[t.tierKey] != t || len(t.places) == 0 {
		return fmt.Errorf("a tier of queue %d is empty, or known by another key", q)
	}
	fresh := tier{places: t.places}
	if t.known && t.least != fresh.leastOfTier() {
		return fmt.Errorf("the tier %+v costs %+v at the least, expected %+v", t.tierKey, t.least, fresh.least)
	}
	return nil
}

// checkRanks checks that the nodes that were ranked are in the order of their names, and that all
// others are noted.
func (p *Index) checkRanks() error {
	listed := 0
	for rank, i := range p.names {
		f := &p.nodes[i]
		if f.rank < 0 {
			continue // it goes when the others come
		}
		listed++
		if int(f.rank) != rank || f.node == nil || rank > 0 && p.nodes[p.names[rank-1]].rank >= 0 && record.CompareNodes(p.nodes[p.names[rank-1]].node, f.node) >= 0 {
			return fmt.Errorf("node %d is ranked %d, and stands at %d, or out of order", i, f.rank, rank)
		}
	}
	ranked, renamed := 0, 0
	for i := range p.nodes {
		state.CountIf(&ranked, p.nodes[i].node != nil && p.nodes[i].rank >= 0)
		state.CountIf(&renamed, p.nodes[i].rank < 0)
		if f := &p.nodes[i]; f.node != p.state.Nodes[i] && !p.state.IsChanged(topology.NodeIndex(i)) {
			return fmt.Errorf("another node is at %d than is known, and nobody looks", i)
		}
	}
	return state.Agree(
		state.Tally{What: "nodes that are ranked", Is: listed, Expected: ranked},
		state.Tally{What: "nodes that are to be ranked", Is: len(p.renamed), Expected: renamed},
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
