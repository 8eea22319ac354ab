package gang

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

// An oracle tries all placements of a request, as numbers of members by node and
// group, and knows the best of them in every domain. It shares no code with the search
// and works from the list of nodes.
type oracle struct {
	w      *world
	r      *Request
	counts []int
	level  topology.Level // of the nodes
	rooms  []room
	before []room // as they were
	// domain of each node by level, as a dense number; level 0 is the fleet.
	domain [][]int
	names  []int // number of domains by level
	at     [][]int
	left   []int
	// best by level and domain.
	best  [][]verdict
	tried int
}

// A verdict is what the best placement in a domain is like.
type verdict struct {
	ok           bool
	shape        []int // smaller is better, number by number
	span, broken int64
}

func newOracle(w *world, r *Request, counts []int) *oracle {
	o := &oracle{w: w, r: r, counts: counts, level: topology.Level(w.levels + 1), rooms: w.rooms(), before: w.rooms()}
	for l := topology.Level(0); l <= o.level; l++ {
		ids := map[string]int{}
		var list []int
		for i := range w.nodes {
			name := w.domain(w.nodes[i].index, l)
			if _, ok := ids[name]; !ok {
				ids[name] = len(ids)
			}
			list = append(list, ids[name])
		}
		o.domain = append(o.domain, list)
		o.names = append(o.names, len(ids))
		o.best = append(o.best, make([]verdict, len(ids)))
	}
	for range w.nodes {
		o.at = append(o.at, make([]int, len(r.Groups)))
	}
	o.left = slices.Clone(counts)
	return o
}

func (o *oracle) allowed(i, group int) bool {
	n, g := &o.w.nodes[i], &o.r.Groups[group]
	return n.schedulable && slices.Contains(g.Classes, n.Class) && (g.Match == nil || g.Match(n.index)) && (g.RailLevel == 0 || n.GPUs <= MaxRails) && o.within(i)
}

func (o *oracle) within(i int) bool {
	l := o.w.fleet.Tree().DomainLevel(o.r.Within)
	return o.w.domain(o.w.nodes[i].index, l) == o.w.domainLevelName(o.r.Within)
}

// search tries all numbers for the nodes from one on.
func (o *oracle) search(i, group int) {
	switch {
	case i == len(o.at):
		if !slices.ContainsFunc(o.left, func(n int) bool { return n > 0 }) {
			o.judge()
		}
		return
	case group == len(o.counts):
		o.search(i+1, 0)
		return
	}
	o.search(i, group+1)
	if !o.allowed(i, group) {
		return
	}
	r := &o.rooms[i]
	c := &o.r.Groups[group].Claim
	before, left := *r, o.left[group]
	for o.left[group] > 0 {
		if bits.OnesCount64(r.whole) < c.GPUs || c.Declared.Of(1) > max(r.vfs, 0) || r.cpu < c.Host[countable.CPUMilli] && c.Host[countable.CPUMilli] > 0 || r.memory < c.Host[countable.MemoryMiB] && c.Host[countable.MemoryMiB] > 0 {
			break
		}
		for range c.GPUs {
			r.whole &= r.whole - 1 // which ones does not matter here
		}
		r.cpu -= c.Host[countable.CPUMilli]
		r.memory -= c.Host[countable.MemoryMiB]
		r.vfs -= c.Declared.Of(1)
		o.left[group]--
		o.at[i][group]++
		o.search(i, group+1)
	}
	*r = before
	o.left[group] = left
	o.at[i][group] = 0
}

// in adds up what a group has in each domain of a level.
func (o *oracle) in(group int, l topology.Level) []int {
	list := make([]int, o.names[l])
	for i := range o.at {
		list[o.domain[l][i]] += o.at[i][group]
	}
	return list
}

func positive(list []int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(n int) bool { return n == 0 })
}

// valid reports whether the placement is one.
func (o *oracle) valid() bool {
	for group := range o.r.Groups {
		g := &o.r.Groups[group]
		if unit := o.counts[group] / o.copiesOf(group); slices.ContainsFunc(o.in(group, g.Required), func(n int) bool { return n%unit != 0 }) {
			return false
		}
		for _, s := range g.Segments {
			if s.Size > 1 && slices.ContainsFunc(o.in(group, s.Level), func(n int) bool { return n%s.Size != 0 }) {
				return false
			}
		}
		if g.Spread > 0 && !o.spread(group) || g.RailLevel > 0 && !o.aligned(group) {
			return false
		}
	}
	if !o.parted() {
		return false
	}
	used := map[int]bool{}
	for i := range o.at {
		for _, n := range o.at[i] {
			if n > 0 {
				used[o.domain[o.r.Required][i]] = true
			}
		}
	}
	return len(used) <= 1
}

// parted reports whether each domain has whole copies of each part, and one copy at the most where
// they stand apart.
func (o *oracle) parted() bool {
	crowd := make([]int, o.names[o.r.Apart])
	for p := range o.r.Parts {
		level := max(o.r.Parts[p].Required, o.r.Apart)
		times := max(1, o.r.Parts[p].Copies)
		copies := make([]int, o.names[level])
		first := true
		for group := range o.r.Groups {
			if o.r.Groups[group].Part != p+1 {
				continue
			}
			unit := o.counts[group] / times
			for d, n := range o.in(group, level) {
				if n%unit != 0 || !first && copies[d] != n/unit {
					return false
				}
				copies[d] = n / unit
			}
			first = false
		}
		for i := range o.at {
			if n := copies[o.domain[level][i]]; n > 0 && o.r.Apart > 0 {
				crowd[o.domain[o.r.Apart][i]] += n
				copies[o.domain[level][i]] = 0
			}
		}
	}
	return o.r.Apart == 0 || !slices.ContainsFunc(crowd, func(n int) bool { return n > 1 })
}

// copiesOf is in how many copies of its part a group is.
func (o *oracle) copiesOf(group int) int {
	if p := o.r.Groups[group].Part; p > 0 {
		return max(1, o.r.Parts[p-1].Copies)
	}
	return 1
}

// tie is the level inside one domain of which the part of a group keeps it.
func (o *oracle) tie(group int) topology.Level {
	if p := o.r.Groups[group].Part; p > 0 && o.r.Parts[p-1].Copies < 2 {
		return max(o.r.Parts[p-1].Required, o.r.Apart)
	}
	return 0
}

func (o *oracle) spread(group int) bool {
	g := &o.r.Groups[group]
	scope := max(o.r.Required, o.tie(group), g.Required, o.w.fleet.Tree().DomainLevel(o.r.Within))
	mine := -1
	for i := range o.at {
		if o.at[i][group] > 0 {
			mine = o.domain[scope][i]
		}
	}
	least, most := math.MaxInt, 0
	counts := o.in(group, g.Spread)
	for i := range o.at {
		if o.domain[scope][i] == mine && o.allowed(i, group) {
			n := counts[o.domain[g.Spread][i]]
			least, most = min(least, n), max(most, n)
		}
	}
	return most-least <= g.MaxSkew
}

func (o *oracle) aligned(group int) bool {
	g := &o.r.Groups[group]
	if len(positive(o.in(group, g.RailLevel))) > 1 {
		return false
	}
	var nodes []int
	most := 0
	for i := range o.at {
		if o.at[i][group] > 0 {
			nodes = append(nodes, i)
			most = max(most, o.at[i][group])
		}
	}
	if len(nodes) == 1 {
		return true
	}
	free := o.before
	for mask := range uint64(1) << 8 {
		if bits.OnesCount64(mask) != most*g.Claim.GPUs {
			continue
		}
		parts, ok := 0, true
		for _, i := range nodes {
			has := bits.OnesCount64(free[i].whole & mask)
			ok = ok && has >= o.at[i][group]*g.Claim.GPUs
			if o.at[i][group] < most {
				parts++
			}
		}
		if ok && parts <= 1 {
			return true
		}
	}
	return false
}

// judge compares the placement with the best so far in all domains around it.
func (o *oracle) judge() {
	o.tried++
	if !o.valid() {
		return
	}
	span, broken := o.cost()
	for l := o.level; l >= 0; l-- {
		d := -1
		for i := range o.at {
			if slices.ContainsFunc(o.at[i], func(n int) bool { return n > 0 }) {
				if d >= 0 && d != o.domain[l][i] {
					d = math.MaxInt
				} else if d < 0 {
					d = o.domain[l][i]
				}
			}
		}
		if d == math.MaxInt {
			continue
		}
		v := verdict{ok: true, shape: o.shape(l), span: span, broken: broken}
		if best := &o.best[l][d]; !best.ok || o.compare(&v, best) < 0 {
			*best = v
		}
	}
}

func (o *oracle) compare(a, b *verdict) int {
	if d := slices.Compare(a.shape, b.shape); d != 0 {
		return d
	}
	if o.r.Locality != LocalityStrict {
		return cmp.Or(cmp.Compare(a.broken, b.broken), cmp.Compare(a.span, b.span))
	}
	return cmp.Or(cmp.Compare(a.span, b.span), cmp.Compare(a.broken, b.broken))
}

// shape is how even the placement is, as seen from a domain of a level.
func (o *oracle) shape(l topology.Level) []int {
	shape := []int{0}
	for group := range o.r.Groups {
		if g := &o.r.Groups[group]; g.Balance > l {
			parts := positive(o.in(group, g.Balance))
			shape[0] += len(parts)
			shape = append(shape, -slices.Min(parts), slices.Max(parts))
		}
	}
	return shape
}

// cost is the cost as it is documented, from scratch.
func (o *oracle) cost() (span, broken int64) {
	total := 0
	for _, n := range o.counts {
		total += n
	}
	price := int64(1)
	for l := o.level; l >= 1; l-- {
		members, gpus := make([]int, o.names[l]), make([]int, o.names[l])
		has, free := make([]int, o.names[l]), make([]int, o.names[l])
		for i := range o.at {
			d := o.domain[l][i]
			for group, n := range o.at[i] {
				members[d] += n
				gpus[d] += n * o.r.Groups[group].Claim.GPUs
			}
			has[d] += o.w.nodes[i].GPUs
			if o.w.nodes[i].schedulable {
				free[d] += bits.OnesCount64(o.before[i].whole)
			}
		}
		for d := range members {
			if members[d] > 0 && members[d] < total {
				span += price
			}
			if gpus[d] > 0 && has[d] == free[d] && gpus[d] < has[d] {
				broken += int64(has[d]) * (1 + o.w.fleet.demand[l])
			}
		}
		if len(o.r.Groups) > 1 {
			for group := range o.r.Groups {
				for _, n := range o.in(group, l) {
					if o.copiesOf(group) == 1 && o.r.Groups[group].Preferred >= l && n > 0 && n < o.counts[group] {
						span += 4096
					}
				}
			}
		}
		price *= 4
	}
	return span, broken
}

// room is the capacity of a domain for a group as tightness is defined: whole segments
// level by level below it; by GPUs alone unless exact.
func (o *oracle) room(group int, l topology.Level, d int, exact bool) int {
	if l == o.level {
		return o.roomOn(group, slices.Index(o.domain[l], d), exact)
	}
	unit := 1
	for _, s := range o.r.Groups[group].Segments {
		if s.Size > 1 && s.Level > l {
			unit = s.Size
			break
		}
	}
	total := 0
	seen := map[int]bool{}
	for i := range o.at {
		if child := o.domain[l+1][i]; o.domain[l][i] == d && !seen[child] {
			seen[child] = true
			members := o.room(group, l+1, child, exact)
			total = min(math.MaxInt32, total+members-members%unit)
		}
	}
	return total
}

func (o *oracle) roomOn(group, i int, exact bool) int {
	g, n, r := &o.r.Groups[group], &o.w.nodes[i], &o.before[i]
	if !n.schedulable || !slices.Contains(g.Classes, n.Class) || g.RailLevel > 0 && n.GPUs > MaxRails {
		return 0
	}
	total := math.MaxInt32
	if g.Claim.GPUs > 0 {
		total = bits.OnesCount64(r.whole) / g.Claim.GPUs
	}
	if !exact {
		return total
	}
	if g.Match != nil && !g.Match(n.index) {
		return 0
	}
	if g.Claim.Host[countable.CPUMilli] > 0 {
		total = min(total, int(max(r.cpu, 0)/g.Claim.Host[countable.CPUMilli]))
	}
	if g.Claim.Host[countable.MemoryMiB] > 0 {
		total = min(total, int(max(r.memory, 0)/g.Claim.Host[countable.MemoryMiB]))
	}
	if asked := g.Claim.Declared.Of(1); asked > 0 {
		total = min(total, int(max(r.vfs, 0)/asked))
	}
	return total
}
