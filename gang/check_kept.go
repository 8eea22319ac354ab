package gang

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth/topology"
)

// This file checks what a fleet keeps so as not to work it out again: each of it is worked out
// anew, and compared. What is noted as changed is as it was when it was worked out.

// checkGenerations checks that classes with nodes are told apart by their generations, as the nodes
// are, and that their tables are those of their lattices.
func (f *Fleet) checkGenerations() error {
	seen := map[uint64]bool{}
	for c := range f.divided {
		of := &f.divided[c]
		if of.nodes == 0 {
			continue
		}
		if of.generation == 0 || of.generation > f.generations || seen[of.generation] {
			return fmt.Errorf("gang: class %d is of generation %d, of %d, or another one is", c, of.generation, f.generations)
		}
		seen[of.generation] = true
		if g := of.geometry; g != nil {
			fresh := newGeometry(g.lattice, g.ranking)
			otherwise := func(k ranking) bool { return k.lattice == g.lattice && k.ranking != g.ranking }
			if !slices.Equal(g.placements, fresh.placements) || !slices.Equal(g.extents, fresh.extents) || slices.ContainsFunc(f.rankings, otherwise) {
				return fmt.Errorf("gang: class %d: the tables are not those of its lattice, or places are ranked otherwise", c)
			}
		}
	}
	for n := range f.nodes {
		if s := &f.nodes[n]; s.live && s.generation != f.divided[s.class].generation {
			return fmt.Errorf("gang: node %d is of generation %d of its class, which is at %d", n, s.generation, f.divided[s.class].generation)
		}
	}
	return nil
}

// checkCensus counts all nodes anew, but for those that are noted: they are counted as they were.
func (f *Fleet) checkCensus() error {
	c := &f.census
	at, counted, stale := map[topology.DomainIndex]map[int32]int32{}, make([]int, len(c.conditions)), 0
	for i := range c.of {
		n, r := topology.NodeIndex(i), &c.of[i]
		if r.stale {
			stale++
		}
		if r.condition < 0 {
			if !r.stale && f.nodes[n].live {
				return fmt.Errorf("gang: node %d is counted in no condition", n)
			}
			continue
		}
		if err := f.checkCondition(n); !r.stale && err != nil {
			return err
		}
		if at[r.domain] == nil {
			at[r.domain] = map[int32]int32{}
		}
		at[r.domain][r.condition]++
		counted[r.condition]++
	}
	if stale != len(c.stale) || slices.ContainsFunc(c.stale, func(n topology.NodeIndex) bool { return !c.of[n].stale }) {
		return fmt.Errorf("gang: %d nodes are noted as changed, %d are marked so", len(c.stale), stale)
	}
	for d, list := range c.at {
		of := at[topology.DomainIndex(d)]
		for i, w := range list {
			if w.nodes <= 0 || of[w.condition] != w.nodes || i > 0 && list[i-1].condition >= w.condition {
				return fmt.Errorf("gang: domain %d counts %d nodes in condition %d, out of order, or %d are there", d, w.nodes, w.condition, of[w.condition])
			}
		}
		if len(of) != len(list) {
			return fmt.Errorf("gang: domain %d counts %d conditions, its nodes are in %d", d, len(list), len(of))
		}
		delete(at, topology.DomainIndex(d))
	}
	if len(at) > 0 {
		return fmt.Errorf("gang: %d domains with nodes count none", len(at))
	}
	for i := range c.conditions {
		if of := &c.conditions[i]; of.nodes != counted[i] || counted[i] > 0 && c.byKey[of.key] != int32(i) || counted[i] == 0 != slices.Contains(c.vacant, int32(i)) {
			return fmt.Errorf("gang: condition %d has %d nodes, %d are in it, or its number or key is lost", i, of.nodes, counted[i])
		}
	}
	if len(c.byKey)+len(c.vacant) != len(c.conditions) {
		return fmt.Errorf("gang: %d conditions, %d keys, %d vacant", len(c.conditions), len(c.byKey), len(c.vacant))
	}
	return nil
}

// written is all of a state but its lattice, which has much to print. Loans and declared
// amounts are written by what they say, and not by where they are kept.
func (s nodeState) written() string {
	var written []loans
	s.geometry, s.slots = nil, slices.Clone(s.slots)
	for gpu := range s.slots {
		slot := &s.slots[gpu]
		written = append(written, loans{slot.lent(), slot.over()})
		slot.loans = nil
	}
	declared := [...]string{fmt.Sprint(s.declaredHas()), fmt.Sprint(s.declaredUsed())}
	s.declared = nil
	return fmt.Sprintf("%+v, loans %v, declared %s", s, written, declared)
}

// checkCondition checks that a node is in the condition that its state comes to, and where it
// stands.
func (f *Fleet) checkCondition(n topology.NodeIndex) error {
	r, state := &f.census.of[n], &f.nodes[n]
	of := &f.census.conditions[r.condition]
	if !state.live || of.key != string(state.appendKey(nil)) || r.domain != f.tree.DomainOf(n, f.tree.NodeLevel()-1) {
		return fmt.Errorf("gang: node %d is counted in another condition or domain", n)
	}
	is, sample := of.nodeState, state.sample()
	if is.geometry != sample.geometry {
		return fmt.Errorf("gang: node %d is counted with another lattice", n)
	}
	if a, b := is.written(), sample.written(); a != b {
		return fmt.Errorf("gang: node %d is counted as %s, and is %s", n, a, b)
	}
	return nil
}

// checkStocks checks that nodes are in the stocks that they belong to, but for those that are
// noted, and that stocks have what these have.
func (f *Fleet) checkStocks() error {
	k := &f.stocks
	if !k.on {
		return nil
	}
	live, in, births := 0, 0, map[uint32]bool{}
	for i := range k.list {
		s := &k.list[i]
		if k.byKey[s.key] != int32(i) || births[s.birth] || s.birth == 0 || s.birth > k.births {
			return fmt.Errorf("gang: stock %d is not known by its key, or was born with another", i)
		}
		births[s.birth] = true
		if in += len(s.nodes); len(s.nodes) > 0 {
			live++
			if list := k.lists[s.Class]; int(k.at[i]) >= len(list) || list[k.at[i]] != int32(i) {
				return fmt.Errorf("gang: stock %d is not in the list of its class", i)
			}
		}
	}
	listed := 0
	for _, list := range k.lists {
		listed += len(list)
	}
	if live != k.live || live != listed || len(k.byKey) != len(k.list) {
		return fmt.Errorf("gang: %d stocks have nodes, %d are counted, and %d listed; there are %d, and %d keys", live, k.live, listed, len(k.list), len(k.byKey))
	}
	stale := 0
	for i := range k.of {
		at := &k.of[i]
		if at.stock >= 0 {
			in--
		}
		if at.stale {
			stale++
		} else if err := f.checkStocked(topology.NodeIndex(i)); err != nil {
			return err
		}
	}
	if in != 0 || stale != len(k.stale) {
		return fmt.Errorf("gang: stocks have %d nodes too many; %d nodes are noted as changed, %d are marked so", in, len(k.stale), stale)
	}
	return nil
}

// checkStocked checks that a node is in the stock that its state comes to.
func (f *Fleet) checkStocked(n topology.NodeIndex) error {
	k, state := &f.stocks, &f.nodes[n]
	at := k.of[n]
	if takes := state.live && state.schedulable; takes != (at.stock >= 0) {
		return fmt.Errorf("gang: node %d is in stock %d, and takes work: %t", n, at.stock, takes)
	}
	if at.stock < 0 {
		return nil
	}
	probe := stocks{}
	probe.writeKey(state)
	s := &k.list[at.stock]
	if string(probe.key) != s.key || int(at.at) >= len(s.nodes) || s.nodes[at.at] != n {
		return fmt.Errorf("gang: node %d is in another stock", n)
	}
	if s.Class != state.class || s.generation != state.generation || s.Host != state.hostFree() || !s.Declared.Equal(state.declaredFree()) || !slices.Equal(s.Left, probe.leftOf(state)) {
		return fmt.Errorf("gang: node %d is in stock %+v, and has something else left", n, s)
	}
	return nil
}

// CheckTags calls a function for each stock that is kept, whether or not nodes have as much left,
// and returns the first error: the caller checks its tag. It is for tests.
func (f *Fleet) CheckTags(check func(*Stock) error) error {
	for i := range f.stocks.list {
		s := &f.stocks.list[i]
		if of := &f.divided[s.Class]; of.nodes == 0 || of.generation != s.generation {
			continue // nobody has it any more
		}
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

// checkLosses asks again about what is remembered of losses.
func (f *Fleet) checkLosses() error {
	l := &f.losses
	if len(l.byClaim) != len(l.claims) {
		return fmt.Errorf("gang: the losses by %d claims are remembered, %d are known", len(l.claims), len(l.byClaim))
	}
	for i := range l.claims {
		if at, known := l.byClaim[l.claims[i].key]; !known || at != i {
			return fmt.Errorf("gang: the losses by claim %d are not known by it", i)
		}
	}
	if l.of == nil {
		return nil
	}
	asked, version := l.asked, l.version
	defer func() { l.asked, l.version = asked, version }()
	l.version = l.of.Version()
	for i := range f.stocks.list {
		s := f.stocks.list[i]
		at := slices.IndexFunc(s.nodes, func(n topology.NodeIndex) bool { return !f.stocks.of[n].stale })
		if at < 0 {
			continue
		}
		s.nodes = s.nodes[at:]
		for c := range l.claims {
			if err := f.checkLoss(&l.claims[c], &s, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkLoss asks again about the loss of a claim on a stock, if it is remembered.
func (f *Fleet) checkLoss(c *claimLosses, s *Stock, i int) error {
	if i >= len(c.known) || c.known[i].birth != s.birth || c.known[i].version != f.losses.version {
		return nil
	}
	var anew loss
	f.lose(&Claim{GPUs: c.key.gpus, Share: c.key.share, Host: c.key.host, Declared: c.key.declared}, s, &anew)
	if anew != c.known[i] {
		return fmt.Errorf("gang: the loss of %+v on stock %d is remembered as %+v, and is %+v", c.key, i, c.known[i], anew)
	}
	return nil
}

// checkScratch checks that nothing is left that a search or a change of many nodes ends with.
func (f *Fleet) checkScratch() error {
	if f.search.picks.on || f.together || len(f.untold) > 0 {
		return errors.New("gang: a choice of places, or a change of many nodes, is not over")
	}
	return nil
}
