package bench

import "slices"

// Berth keeps as much room as it can for what is expected, and the more of it the less there is: a
// task goes where the fleet loses the least of
//
//	sum over the typical kinds of demand × (log alone + log company)
//
// demand is how much of the GPUs the kind is asked for, alone how many of the kind would fit on the
// nodes if nothing else came, and company how many of them the nodes would take if all kinds came
// in turn. For that each node is filled with 60 sequences of 30 tasks of the mix, the same for all
// nodes, each sequence by itself, a share on the GPU on which it leaves the least. Typical
// are the kinds that are asked for most and make up 95 % of the tasks.
//
// The argument. How many of a kind the fleet still takes is the measure of a placement, not how
// many a node takes; the logarithm has it that the last places are dear. So a kind that few nodes
// suit, for their model, for CPU, or because it needs all GPUs of a node, keeps its places until there
// is nothing else, and nobody has to say which kinds those are; a kind with places everywhere costs
// next to nothing. That is proportional fairness between the kinds (Kelly, Maulloo and Tan, 1998), used
// as a potential of which each placement descends the steepest, as fragmentation gradient descent
// does with its measure. That measure asks what the next task has no use for: of a node with
// four free GPUs and the CPU for one it says that there is nothing wrong. Alone sees it; and
// company sees that three tasks of little CPU and one of much go well together, that 470 and 470 of a
// GPU do, and that nothing ever fits beside 810.
//
// Demand and sequences come from the mix that the Session knows, and follow it as it grows: the
// sequences are drawn anew when it has twice as many tasks. Without a mix a task goes to the first
// node. Prices, the demand of a kind by how many of it there is room for, are found anew whenever a
// thirty-second part of the free GPUs or CPU has changed hands. All of it is in integers.
//
// A decision is O(feasible nodes), and for each node that has changed since the last task of that kind,
// up to a measurement for each GPU of it: O(typical kinds × GPUs + 1,800). Nodes with the same left are
// measured once, and what was measured is kept, for 131,072 of them at the most.
func Berth() Policy { return &berthPolicy{} }

// repriceParts: prices are found anew when this part of what was free has changed.
const repriceParts = 32

// Prices are fixed-point numbers, with so many bits after the point.
const priceBits = 32

type berthPolicy struct {
	rooms  rooms
	mixes  uint32
	nodes  []*room
	at     []uint32 // version of each node, and one more, of which nodes says the room
	prices []int64  // by what a take counts, in milli-GPU times 1<<priceBits
	number uint32   // of the prices
	// What was free at these prices, and what changed since.
	free, changed amount
	left          []int16
	sums          []int64
}

// An amount is of GPUs in thousandths and of CPU in thousandths of a core.
type amount struct{ gpu, cpu int64 }

var _ Follower = (*berthPolicy)(nil)

func (p *berthPolicy) Held(f *Fleet, k Kind, _ Place)     { p.change(f, k) }
func (p *berthPolicy) Released(f *Fleet, k Kind, _ Place) { p.change(f, k) }

func (p *berthPolicy) change(f *Fleet, k Kind) {
	r := f.Request(k)
	p.changed.gpu += r.TotalMilli()
	p.changed.cpu += r.CPUMilli
}

// Choose takes the node that loses the least worth.
func (p *berthPolicy) Choose(f *Fleet, k Kind, feasible []Node) Choice {
	p.follow(f)
	best, least := feasible[0], p.move(f, k, feasible[0])
	for _, n := range feasible[1:] {
		if m := p.move(f, k, n); m.loss < least.loss {
			best, least = n, m
		}
	}
	c := Choice{Place: Place{Node: best, GPUs: Free(f, k, best)}, Score: -least.loss >> priceBits}
	if f.Request(k).Share() {
		c.GPUs = 1 << slices.Index(f.Left(best), least.left)
	}
	return c
}

// follow takes notice of another mix, and finds prices anew where much has changed.
func (p *berthPolicy) follow(f *Fleet) {
	if mix, mixes := f.Mix(); p.rooms.outlook == nil || mixes != p.mixes {
		p.mixes = mixes
		if p.rooms.outlook == nil || !p.rooms.outlook.grown(mix) {
			p.begin(f, mix)
			return
		}
	}
	if p.changed.gpu*repriceParts > p.free.gpu || p.changed.cpu*repriceParts > p.free.cpu {
		p.price(f)
	}
}

// begin looks at the fleet anew, with another mix.
func (p *berthPolicy) begin(f *Fleet, mix Mix) {
	p.rooms.outlook = newOutlook(f, mix)
	p.rooms.known = map[string]*room{}
	p.nodes = make([]*room, f.Nodes())
	p.at = make([]uint32, f.Nodes())
	p.price(f)
}

// price finds the prices: what one more of a typical kind is worth.
func (p *berthPolicy) price(f *Fleet) {
	typical := p.rooms.outlook.typical
	p.sums = slices.Grow(p.sums[:0], 2*len(typical))[:2*len(typical)]
	clear(p.sums)
	p.free, p.changed = amount{}, amount{}
	for n := range Node(f.Nodes()) {
		p.free.gpu += f.GPULeft(n)
		p.free.cpu += f.CPULeft(n)
		for _, t := range p.room(f, n).takes {
			p.sums[t.kind] += int64(t.count)
		}
	}
	p.prices = p.prices[:0]
	for i := range p.sums {
		one := int64(1) // of the unit in which the sum counts
		if i >= len(typical) {
			one = outlookFills
		}
		p.prices = append(p.prices, typical[i%len(typical)].demand/(p.sums[i]+one))
	}
	p.number++
}

// room is what a node has left.
func (p *berthPolicy) room(f *Fleet, n Node) *room {
	if version := f.Version(n) + 1; p.at[n] != version {
		p.at[n] = version
		if old := p.nodes[n]; old != nil {
			p.rooms.leave(old)
		}
		p.left = append(p.left[:0], f.Left(n)...)
		slices.Sort(p.left)
		p.nodes[n] = p.rooms.find(f.model[n], f.CPULeft(n), f.MemoryLeft(n), p.left)
		p.nodes[n].nodes++
	}
	return p.nodes[n]
}

// leave counts a node less, and keeps the memory for the moves of a room that has none.
func (rs *rooms) leave(r *room) {
	if r.nodes--; r.nodes == 0 && r.moves != nil {
		for i := range r.moves {
			r.moves[i] = move{outcomes: r.moves[i].outcomes[:0]}
		}
		rs.spare, r.moves = append(rs.spare, r.moves), nil
	}
}

// move is what comes of a task on a node on which it fits.
func (p *berthPolicy) move(f *Fleet, k Kind, n Node) *move {
	r := p.room(f, n)
	if len(r.moves) <= int(k) {
		if last := len(p.rooms.spare) - 1; r.moves == nil && last >= 0 {
			r.moves, p.rooms.spare = p.rooms.spare[last], p.rooms.spare[:last]
		}
		if short := f.Kinds() - len(r.moves); short > 0 {
			r.moves = append(r.moves, make([]move, short)...)
		}
	}
	m := &r.moves[k]
	if m.priced == p.number {
		return m
	}
	if len(m.outcomes) == 0 {
		p.try(f.Request(k), r, m)
	}
	m.priced = p.number
	for i, o := range m.outcomes {
		if loss := p.worth(r) - p.worth(o.room); i == 0 || loss < m.loss {
			m.loss, m.left = loss, o.left
		}
	}
	return m
}

// try finds the outcomes of a move.
func (p *berthPolicy) try(t *Request, r *room, m *move) {
	cpu, memory := r.cpu-t.CPUMilli, r.memory-t.MemoryMiB
	if !t.Share() {
		p.left = append(p.left[:0], r.left...)
		last := len(p.left) - t.GPUs
		clear(p.left[last:])
		slices.Sort(p.left)
		m.outcomes = append(m.outcomes, outcome{room: p.rooms.find(r.model, cpu, memory, p.left)})
		return
	}
	for g, milli := range r.left {
		if int(milli) < t.Milli || g > 0 && milli == r.left[g-1] {
			continue // no room, or as the one before
		}
		p.left = append(p.left[:0], r.left...)
		p.left[g] -= int16(t.Milli)
		slices.Sort(p.left)
		m.outcomes = append(m.outcomes, outcome{room: p.rooms.find(r.model, cpu, memory, p.left), left: milli})
	}
}

// worth is what a room is worth.
func (p *berthPolicy) worth(r *room) int64 {
	if r.priced != p.number {
		r.priced, r.worth = p.number, 0
		for _, t := range r.takes {
			r.worth += p.prices[t.kind] * int64(t.count)
		}
	}
	return r.worth
}
