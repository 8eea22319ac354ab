package gang

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

// A census says which nodes are in one condition: alike to every claim. A full fleet has few
// conditions, so a diagnosis asks each of them once, and then counts. Placing has no use for it;
// so a node that changes is only noted, and counted anew when somebody asks: what a census costs is
// proportional to what changed since.
//
// Invariants, which Check verifies:
//  1. A node that is there is in the condition that its state comes to, or is stale.
//  2. A narrowest domain lists the conditions of its nodes, in order of number, each with so many.
//  3. A condition has a node, and none has the key of another. A key has the generation of the
//     class, and not its number: a node that is stale may be counted as of a class that is gone.
type census struct {
	conditions []condition
	byKey      map[string]int32
	vacant     []int32
	of         []residence // by topology.NodeIndex
	at         [][]crowd   // by topology.DomainIndex; of narrowest domains alone
	stale      []topology.NodeIndex
	key        []byte
	// counted is how often a node was counted, asked how often a poll asked a condition: for tests.
	counted, asked int
}

// A condition is a state with its GPUs in an order of their own, and how many nodes are in it.
type condition struct {
	nodeState
	key   string
	nodes int
}

// A residence is where a node is counted; condition -1: nowhere.
type residence struct {
	condition int32
	domain    topology.DomainIndex
	stale     bool
}

// A crowd is so many nodes in one condition.
type crowd struct {
	condition, nodes int32
}

// touch notes that a node is not as it was counted.
func (f *Fleet) touch(n topology.NodeIndex) {
	if r := &f.census.of[n]; !r.stale {
		r.stale = true
		f.census.stale = append(f.census.stale, n)
	}
	f.stocks.note(n)
}

// count counts the nodes that changed.
func (f *Fleet) count() *census {
	c := &f.census
	for _, n := range c.stale {
		r := &c.of[n]
		r.stale = false
		c.counted++
		state := &f.nodes[n]
		if !state.live {
			continue
		}
		c.key = state.appendKey(c.key[:0])
		if r.condition >= 0 && c.conditions[r.condition].key == string(c.key) {
			continue
		}
		f.uncount(n)
		r.domain = f.tree.DomainOf(n, f.tree.NodeLevel()-1)
		r.condition = c.conditionOf(state)
		c.conditions[r.condition].nodes++
		c.shift(r, 1)
	}
	c.stale = c.stale[:0]
	return c
}

// uncount takes a node out of the census.
func (f *Fleet) uncount(n topology.NodeIndex) {
	c := &f.census
	r := &c.of[n]
	if r.condition < 0 {
		return
	}
	c.shift(r, -1)
	of := &c.conditions[r.condition]
	if of.nodes--; of.nodes == 0 {
		delete(c.byKey, of.key)
		*of = condition{}
		c.vacant = append(c.vacant, r.condition)
	}
	r.condition = -1
}

// shift counts one node more, or less, where it is.
func (c *census) shift(r *residence, change int32) {
	for int(r.domain) >= len(c.at) {
		c.at = append(c.at, nil)
	}
	list := &c.at[r.domain]
	at, there := slices.BinarySearchFunc(*list, r.condition, func(w crowd, condition int32) int { return int(w.condition - condition) })
	if !there {
		*list = slices.Insert(*list, at, crowd{condition: r.condition})
	}
	if (*list)[at].nodes += change; (*list)[at].nodes == 0 {
		*list = slices.Delete(*list, at, at+1)
	}
}

// conditionOf is the number of the condition with the key at hand, which a state has.
func (c *census) conditionOf(s *nodeState) int32 {
	if i, known := c.byKey[string(c.key)]; known {
		return i
	}
	i := int32(len(c.conditions))
	if last := len(c.vacant) - 1; last >= 0 {
		i, c.vacant = c.vacant[last], c.vacant[:last]
	} else {
		c.conditions = append(c.conditions, condition{})
	}
	c.conditions[i] = condition{nodeState: s.sample(), key: string(c.key)}
	if c.byKey == nil {
		c.byKey = map[string]int32{}
	}
	c.byKey[c.conditions[i].key] = i
	return i
}

// A part is what claims can tell of one GPU.
type part struct {
	slot
	healthy, whole, vacated bool
}

// parts lists the GPUs of a node that has shared or divided ones, in an order that does not depend
// on where they are.
func (s *nodeState) parts() []part {
	list := make([]part, len(s.slots))
	for gpu := range list {
		list[gpu] = part{s.slots[gpu], s.healthy>>gpu&1 == 1, s.whole>>gpu&1 == 1, s.vacated>>gpu&1 == 1}
		list[gpu].hold, list[gpu].host = 0, countable.Amounts{}
	}
	slices.SortFunc(list, func(a, b part) int { return slices.Compare(a.words(), b.words()) })
	return list
}

// words are what a part is told by.
func (p *part) words() []uint64 {
	flags := uint64(p.division) << 3
	if p.vacated {
		flags |= 4
	}
	if p.healthy {
		flags |= 1
	}
	if p.whole {
		flags |= 2
	}
	return []uint64{
		flags, uint64(p.shares), uint64(p.milli), uint64(p.owner), uint64(p.memory), uint64(p.exist), uint64(p.held),
		uint64(p.lent().owner), uint64(p.lent().memory), uint64(p.over().owner), uint64(p.over().memory),
	}
}

// plain reports whether all GPUs of a node are free, held whole or failed, and none is lent.
func (s *nodeState) plain() bool { return s.shared|s.divided|s.lent|s.borrowed == 0 }

// appendKey appends what tells a condition from all others.
func (s *nodeState) appendKey(b []byte) []byte {
	flags := uint64(len(s.slots)) << 3
	if s.schedulable {
		flags |= 1
	}
	if s.plain() {
		flags |= 2
	}
	if s.declared != nil {
		flags |= 4
	}
	b = binary.AppendUvarint(b, flags)
	b = binary.AppendUvarint(b, s.generation)
	b = binary.AppendVarint(b, s.gpuMemory)
	b = binary.AppendUvarint(b, uint64(s.maxShares))
	for r := range s.host {
		b = binary.AppendVarint(b, s.host[r])
		b = binary.AppendVarint(b, s.hostUsed[r])
	}
	if s.declared != nil {
		for i := range countable.MaxDeclared {
			b = binary.AppendVarint(b, s.declaredHas().Of(i))
			b = binary.AppendVarint(b, s.declaredUsed().Of(i))
		}
	}
	if s.plain() {
		return append(b, byte(bits.OnesCount64(s.healthy)), byte(bits.OnesCount64(s.whole)), byte(bits.OnesCount64(s.healthy&s.whole)))
	}
	for _, p := range s.parts() {
		for _, w := range p.words() {
			b = binary.AppendUvarint(b, w)
		}
	}
	return b
}

// sample is a state with the GPUs in the order of a condition.
func (s *nodeState) sample() nodeState {
	of := *s
	of.choose, of.holds = nil, 0
	if s.plain() {
		idle := bits.OnesCount64(s.healthy &^ s.whole)
		both, whole := bits.OnesCount64(s.healthy&s.whole), bits.OnesCount64(s.whole)
		of.healthy = lowMask(idle + both)
		of.whole = lowMask(idle+whole) &^ lowMask(idle)
		of.slots = make([]slot, len(s.slots))
		return of
	}
	of.healthy, of.whole, of.shared, of.divided, of.seated, of.slots = 0, 0, 0, 0, 0, nil
	of.lent, of.borrowed, of.vacated = 0, 0, 0
	for gpu, p := range s.parts() {
		of.slots = append(of.slots, p.slot)
		for _, is := range [...]struct {
			so  bool
			set *uint64
		}{{p.healthy, &of.healthy}, {p.whole, &of.whole}, {p.shares > 0, &of.shared}, {p.division != PartitioningNone, &of.divided}, {p.held != 0, &of.seated}, {p.lent().owner != 0, &of.lent}, {p.over().owner != 0, &of.borrowed}, {p.vacated, &of.vacated}} {
			if is.so {
				*is.set |= 1 << gpu
			}
		}
	}
	return of
}

// EachFaulty calls a function for each node with a GPU that is not healthy. O(domains x conditions
// of a domain + nodes of the domains that have one), and what changed since it was last asked.
func (f *Fleet) EachFaulty(use func(topology.NodeIndex)) {
	c := f.count()
	faulty := func(of int32) bool {
		state := &c.conditions[of].nodeState
		return state.healthy != lowMask(len(state.slots))
	}
	for d, list := range c.at {
		if !slices.ContainsFunc(list, func(w crowd) bool { return faulty(w.condition) }) {
			continue
		}
		for _, n := range f.tree.Nodes(topology.DomainIndex(d)) {
			if faulty(c.of[n].condition) {
				use(n)
			}
		}
	}
}

// A poll is what nodes at and below a domain have for one group: each condition is asked once. A
// group that is told nodes apart by more than their state has its own count of them.
type poll struct {
	fleet  *Fleet
	group  *Group
	within topology.DomainIndex
	// own has the crowds of a group with a Match, by domain; nil: those of the census count.
	own  [][]crowd
	fits []fit // by condition
}

// A fit is how many members of a group go to a node in one condition.
type fit struct {
	asked bool
	known bool // it is one for the group, whether or not it takes work
	now   int
	idle  int // if nothing were held on it
	// device, if its host had room for everything; healthy, if moreover all its GPUs worked and it
	// took work.
	device, healthy int
}

// poll begins one. O(nodes) for a group with a Match.
func (f *Fleet) poll(g *Group, within topology.DomainIndex) *poll {
	p := &poll{fleet: f, group: g, within: within, fits: make([]fit, len(f.count().conditions))}
	if g.Match != nil {
		p.own = make([][]crowd, len(f.census.at))
		p.match(within)
	}
	return p
}

// match counts the nodes that match.
func (p *poll) match(d topology.DomainIndex) {
	for _, child := range p.fleet.tree.Children(d) {
		p.match(child)
	}
	for _, n := range p.fleet.tree.Nodes(d) {
		of := p.fleet.census.of[n].condition
		if !p.fit(of).known || !p.group.Match(n) {
			continue
		}
		list := &p.own[d]
		at, there := slices.BinarySearchFunc(*list, of, func(w crowd, condition int32) int { return int(w.condition - condition) })
		if !there {
			*list = slices.Insert(*list, at, crowd{condition: of})
		}
		(*list)[at].nodes++
	}
}

// at lists the crowds of a narrowest domain that are known to the group, and others.
func (p *poll) at(d topology.DomainIndex) []crowd {
	list := p.fleet.census.at
	if p.own != nil {
		list = p.own
	}
	if int(d) >= len(list) {
		return nil
	}
	return list[d]
}

// fit is how many members go to a node in a condition.
func (p *poll) fit(of int32) *fit {
	a := &p.fits[of]
	if a.asked {
		return a
	}
	a.asked = true
	p.fleet.census.asked++
	state := &p.fleet.census.conditions[of].nodeState
	g := p.group
	if !slices.Contains(g.Classes, state.class) || g.RailLevel > 0 && len(state.slots) > MaxRails {
		return a
	}
	a.known = true
	c := g.Claim
	if state.schedulable {
		a.now, a.idle = state.fits(&c), state.idle(&c)
	}
	c.Host, c.Declared = countable.Amounts{}, nil
	if state.schedulable {
		a.device = state.fits(&c)
	}
	healthy := *state
	healthy.healthy = lowMask(len(state.slots))
	a.healthy = healthy.fits(&c)
	return a
}

// fitOn is how many members go to a node.
func (p *poll) fitOn(n topology.NodeIndex) fit {
	if a := p.fit(p.fleet.census.of[n].condition); a.known && (p.group.Match == nil || p.group.Match(n)) {
		return *a
	}
	return fit{}
}

// A sum is what all nodes of a domain have: as a fit, and in whole segments as far as these are
// inside it.
type sum struct {
	known                             bool
	now, idle, device, healthy, whole int
}

// sum adds up a domain.
func (p *poll) sum(d topology.DomainIndex) (s sum) {
	node := p.fleet.tree.NodeLevel()
	for _, child := range p.fleet.tree.Children(d) {
		below := p.sum(child)
		s.known = s.known || below.known
		s.now, s.idle, s.device = add(s.now, below.now), add(s.idle, below.idle), add(s.device, below.device)
		s.healthy, s.whole = add(s.healthy, below.healthy), add(s.whole, below.whole)
	}
	for _, w := range p.at(d) {
		a := p.fit(w.condition)
		if !a.known {
			continue
		}
		s.known = true
		s.now, s.idle = add(s.now, times(a.now, w.nodes)), add(s.idle, times(a.idle, w.nodes))
		s.device = add(s.device, times(a.device, w.nodes))
		s.healthy = add(s.healthy, times(a.healthy, w.nodes))
		s.whole = add(s.whole, times(wholeSegments(p.group, node, a.now), w.nodes))
	}
	s.whole = wholeSegments(p.group, p.fleet.tree.DomainLevel(d), s.whole)
	return s
}

// times is so often a count, within 32 bits.
func times(count int, nodes int32) int { return int(min(int64(count)*int64(nodes), math.MaxInt32)) }

// crowds adds up how many nodes at and below a domain are in each condition.
func (p *poll) crowds(d topology.DomainIndex, of []int32) {
	for _, child := range p.fleet.tree.Children(d) {
		p.crowds(child, of)
	}
	for _, w := range p.at(d) {
		of[w.condition] += w.nodes
	}
}

// best names two domains of a level, the first of equal ones. The largest has room for the most
// members if nothing is held. The nearest has room for the most now, of those that are large enough
// for all that are needed, or of all domains if none is. For the level of nodes, a domain has what
// its best node has. The domain asked about stands for none.
func (p *poll) best(level topology.Level, needed int) (nearest, largest inDomain) {
	nearest.at, largest.at = p.within, p.within
	narrowest := p.fleet.tree.NodeLevel() - 1
	raise := func(d topology.DomainIndex, now, idle int) {
		one := inDomain{at: d, now: now, idle: idle}
		if one.nearer(nearest, needed) {
			nearest = one
		}
		if idle > largest.idle {
			largest = one
		}
	}
	var walk func(d topology.DomainIndex)
	walk = func(d topology.DomainIndex) {
		if on := p.fleet.tree.DomainLevel(d); on < min(level, narrowest) {
			for _, child := range p.fleet.tree.Children(d) {
				walk(child)
			}
			return
		}
		if level <= narrowest {
			all := p.sum(d)
			raise(d, all.now, all.idle)
			return
		}
		for _, w := range p.at(d) {
			one := p.fit(w.condition)
			raise(d, one.now, one.idle)
		}
	}
	walk(p.within)
	return nearest, largest
}

// An inDomain is how many members a domain has room for, now and if nothing were held.
type inDomain struct {
	at        topology.DomainIndex
	now, idle int
}

// nearer reports whether a domain comes nearer to holding all that are needed than another.
func (b inDomain) nearer(than inDomain, needed int) bool {
	if (b.idle >= needed) != (than.idle >= needed) {
		return b.idle >= needed
	}
	return b.now > than.now
}

// idle is how many members would fit on a node if nothing were held.
func (s *nodeState) idle(c *Claim) int {
	idle := *s
	idle.whole, idle.shared, idle.seated, idle.hostUsed = 0, 0, 0, countable.Amounts{}
	idle.declared = declaredOf(s.declaredHas(), nil)
	idle.lent, idle.borrowed, idle.vacated = 0, 0, 0
	if c.Share.Over { // as many as would fit if all GPUs were lent
		lendable := s.healthy &^ s.divided
		if c.Share.MemoryMiB > s.gpuMemory {
			lendable = 0
		}
		return idle.fitsHost(bits.OnesCount64(lendable), c)
	}
	idle.slots = make([]slot, len(s.slots))
	for gpu := range idle.slots {
		idle.slots[gpu].division, idle.slots[gpu].exist = s.slots[gpu].division, s.slots[gpu].exist
	}
	return idle.fits(c)
}

// freeGPUs is how many GPUs of a node are free for work.
func (s *nodeState) freeGPUs() int {
	if !s.schedulable {
		return 0
	}
	return bits.OnesCount64(s.free())
}
