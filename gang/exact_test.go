package gang

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/topology"
)

// A dice draws random fleets and requests: the same for the same number.
type dice struct{ *rand.Rand }

func (r dice) in(low, high int) int               { return low + r.IntN(high-low+1) }
func (r dice) one(of ...int) int                  { return of[r.IntN(len(of))] }
func (r dice) chance(percent int) bool            { return r.IntN(100) < percent }
func (r dice) level(low, high int) topology.Level { return topology.Level(r.in(low, high)) }

// exactGPUs is the number of GPUs of the classes used here.
func exactGPUs(c topology.NodeClass) int { return []int{8, 4, 8, 2, 1}[c] }

// fleet draws a fleet of up to 12 nodes on 1 to 3 levels.
func (r dice) fleet(t require.TestingT) *world {
	levels := r.in(1, 3)
	f, err := NewFleet([]string{"zone", "spine", "leaf"}[3-levels:]...)
	require.NoError(t, err)
	w := &world{fleet: f, levels: levels}
	fan := r.in(2, 3)
	mixed := r.chance(40)
	idle := r.in(0, 80)
	for i := range r.in(1, 12) {
		s := NodeSpec{
			Name: fmt.Sprintf("n%02d", i), GPUMemoryMiB: 80,
			Host: countable.Amounts{countable.CPUMilli: int64(r.one(2, 4, 8, 16)), countable.MemoryMiB: int64(r.one(4, 16))},
		}
		if r.chance(70) {
			s.Declared = vfs(int64(r.one(2, 4, 16)))
		}
		if mixed {
			s.Class = topology.NodeClass(r.one(0, 0, 1, 2, 3, 4))
		}
		s.GPUs = exactGPUs(s.Class)
		for range levels {
			s.Path = append(s.Path, string(rune('a'+r.IntN(fan))))
		}
		n, err := f.AddNode(s)
		require.NoError(t, err)
		node := worldNode{NodeSpec: s, index: n, schedulable: !r.chance(6)}
		f.SetSchedulable(n, node.schedulable)
		if r.chance(6) {
			gpu := r.IntN(s.GPUs)
			f.SetHealthy(n, gpu, false)
			node.failed |= 1 << gpu
		}
		w.nodes = append(w.nodes, node)
		for gpu := range s.GPUs {
			if r.chance(idle) {
				break
			}
			h := Hold{Node: n, GPUs: 1 << gpu, Host: countable.Amounts{countable.CPUMilli: int64(r.one(0, 0, 0, 1))}}
			if r.chance(40) && f.Hold(h) == nil {
				w.holds = append(w.holds, h)
			}
		}
	}
	for l := range topology.Level(levels + 1) {
		f.SetBreakCost(l+1, r.one(0, 0, 1, 7))
	}
	return w
}

// group draws a group of at most so many members.
func (r dice) group(w *world, most int) Group {
	node := w.levels + 1
	g := Group{Claim: Claim{GPUs: r.one(0, 1, 1, 2, 2, 3, 4, 8)}, Classes: [][]topology.NodeClass{{0}, {0, 2, 1}, {3, 0, 1, 2, 4}}[r.one(0, 1, 1, 2, 2)]}
	if r.chance(30) || g.Claim.GPUs == 0 {
		g.Claim.Host[countable.CPUMilli], g.Claim.Host[countable.MemoryMiB] = int64(r.in(1, 2)), int64(r.one(0, 1, 2))
	}
	if r.chance(15) {
		g.Claim.Declared = vfs(int64(r.in(1, 2)))
	}
	unit := 1
	if r.chance(30) {
		level := r.in(1, node)
		inner := r.one(1, 2)
		outer := inner * r.one(1, 2, 3)
		g.Segments = []Segment{{outer, topology.Level(level)}, {inner, r.level(level, node)}}
		unit = max(1, outer)
	}
	g.Members = unit * r.in(1, max(1, most/unit))
	if r.chance(20) {
		g.MinMembers = unit * r.in(1, g.Members/unit)
	}
	if r.chance(15) {
		refused := w.nodes[r.IntN(len(w.nodes))].index
		g.Match = func(n topology.NodeIndex) bool { return n != refused }
	}
	low := 1
	if len(g.Segments) > 0 && unit > 1 {
		low = node + 1
	}
	switch r.in(0, 9) {
	case 0:
		g.Balance = r.level(1, node)
	case 1:
		g.Spread, g.MaxSkew = r.level(1, node), r.in(1, 2)
	case 2:
		if g.Claim.GPUs > 0 && low == 1 {
			g.RailLevel = r.level(1, node)
		}
	}
	for _, s := range g.Segments {
		if s.Size > 1 && (s.Level < g.Balance || s.Level < g.Spread) {
			g.Balance, g.Spread, g.MaxSkew = 0, 0, 0
		}
	}
	return g
}

func (r dice) request(w *world) *Request {
	node := w.levels + 1
	q := &Request{Required: r.level(0, w.levels), Locality: Locality(r.one(0, 0, 0, 1, 2))}
	if r.chance(50) {
		q.Required = 0
	}
	if r.chance(25) {
		q.Preferred = r.level(int(q.Required), node)
	}
	if r.chance(15) {
		q.Within = w.fleet.Tree().DomainOf(w.nodes[r.IntN(len(w.nodes))].index, r.level(0, w.levels))
	}
	groups := r.one(1, 1, 1, 2, 2, 3)
	for range groups {
		g := r.group(w, []int{0, 8, 4, 3}[groups])
		if r.chance(25) {
			g.Required = r.level(0, node)
		}
		if r.chance(15) {
			g.Preferred = max(g.Required, r.level(1, node))
		}
		q.Groups = append(q.Groups, g)
	}
	if len(q.Groups) == 1 && q.Groups[0].Preferred > 0 {
		q.Groups[0].Preferred = max(q.Groups[0].Preferred, q.Required)
	}
	return q
}

// ways is about how many placements there are to try.
func ways(w *world, r *Request) int {
	total := 1.0
	for i := range r.Groups {
		g := &r.Groups[i]
		nodes := 0
		for _, n := range w.nodes {
			if n.schedulable && slices.Contains(g.Classes, n.Class) && bits.OnesCount64(w.fleet.FreeMask(n.index)) >= g.Claim.GPUs {
				nodes++
			}
		}
		for k := range g.Members {
			total *= float64(nodes+k) / float64(k+1)
		}
	}
	return int(min(total, math.MaxInt32))
}

// tally is what came of many cases.
type tally struct {
	cases, placed, short          int
	missed, wider, looser, dearer int
}

// peculiar are cases that once found what thousands of others had not.
var peculiar = []uint64{2215, 4211, 10327, 14658, 15101, 20351, 21699, 23104, 27922, 28165, 29718, 33206, 40849}

// TestTheSearchAgreesWithTheOracle: on fleets of up to 12 nodes a request is placed
// whenever it can be, at the lowest level, in the tightest domain, and at the least cost
// (1% is allowed). 100,000 cases: BERTH_SEEDS=200.
func TestTheSearchAgreesWithTheOracle(t *testing.T) {
	var sum tally
	list := slices.Collect(drawn.Seeds(500))
	if len(list) > 1 { // not one that is replayed
		list = append(slices.Clone(peculiar), list...)
	}
	for _, i := range list {
		r := dice{rand.New(rand.NewPCG(i, 1))}
		w := r.fleet(t)
		q := r.request(w)
		for ways(w, q) > 4000 {
			q = r.request(w)
		}
		if !sum.try(t, w, q) {
			t.Errorf("seed %d: %s", i, describe(w, q))
			if sum.missed+sum.wider+sum.looser+sum.dearer > 20 {
				break
			}
		}
	}
	t.Logf("%+v", sum)
	if drawn.Many() {
		require.Greater(t, sum.placed, len(list)/3)
		require.Greater(t, sum.short, 0)
		require.Less(t, sum.placed, sum.cases)
	}
}

func describe(w *world, q *Request) string {
	text := fmt.Sprintf("levels %d, within %v, required %d, preferred %d, %v\n", w.levels, w.fleet.Tree().DomainPath(q.Within), q.Required, q.Preferred, q.Locality)
	for i, n := range w.nodes {
		text += fmt.Sprintf("  node %d %v class %d free %b of %d, host %v schedulable %t\n", i, n.Path, n.Class, w.fleet.FreeMask(n.index), n.GPUs, w.fleet.HostFree(n.index), n.schedulable)
	}
	for _, g := range q.Groups {
		text += fmt.Sprintf("  group %+v\n", g)
	}
	return text + fmt.Sprintf("  demand %v", w.fleet.demand)
}

// try places a request and compares what comes of it with the oracle.
func (y *tally) try(t *testing.T, w *world, q *Request) bool {
	y.cases++
	require.NoError(t, w.fleet.Validate(q), describe(w, q))
	counts := make([]int, len(q.Groups))
	for i := range q.Groups {
		counts[i] = q.Groups[i].Members
	}
	o := newOracle(w, q, counts)
	o.search(0, 0)
	full := o.possible()
	possible := full
	if !full {
		for i := range q.Groups {
			counts[i] = q.Groups[i].min()
		}
		least := newOracle(w, q, counts)
		least.search(0, 0)
		possible = least.possible()
	}
	var p Placement
	ok := w.fleet.Place(q, &p)
	if ok {
		defer func() {
			if t.Failed() {
				t.Log(y.cases, describe(w, q), p)
			}
		}()
		w.checkPlacement(t, q, &p)
		require.True(t, possible, "the oracle missed a placement")
	}
	defer func() {
		require.NoError(t, w.fleet.ReleaseAll(&p))
		require.NoError(t, w.fleet.Check())
		require.NoError(t, w.fleet.CheckHolds(w.holds))
	}()
	switch {
	case ok != possible:
		y.missed++
		return false
	case !ok:
		return true
	}
	y.placed++
	if !full {
		y.short++
		return true
	}
	return y.compare(t, o, &p)
}

func (o *oracle) possible() bool {
	return slices.ContainsFunc(o.best[0], func(v verdict) bool { return v.ok })
}

// compare checks level, tightness and cost of a full placement.
func (y *tally) compare(t *testing.T, o *oracle, p *Placement) bool {
	q := o.r
	total, near, aligned := 0, false, false
	start, widest := o.level, max(q.Required, o.w.fleet.Tree().DomainLevel(q.Within))
	if q.Preferred > 0 {
		start = q.Preferred
	}
	if len(q.Groups) == 1 && o.copiesOf(0) == 1 {
		widest = max(widest, q.Groups[0].Required, q.Groups[0].RailLevel, o.tie(0))
		if q.Groups[0].Preferred > 0 {
			start = q.Groups[0].Preferred
		}
	}
	for i := range q.Groups {
		g := &q.Groups[i]
		total += g.Members
		close := g.Required > 0 || o.tie(i) > 0 || g.Preferred > 0 || g.outermost() > 1 || g.Spread > 0 || g.Balance > 0 ||
			len(q.Groups) == 1 && (q.Required > 0 || q.Preferred > 0)
		near = near || g.Claim.GPUs > 0 || close
		aligned = aligned || g.RailLevel > 0
		if g.Spread > 0 {
			start = min(start, max(widest, g.Required, o.tie(i)))
		}
	}
	if q.Apart > 0 && o.copies() > 1 {
		start = min(start, q.Apart-1)
	}
	start = max(start, widest)
	if total == 1 {
		start, widest = o.level, o.level
	}
	gpus := 0
	for i := range q.Groups {
		gpus += q.Groups[i].Members * q.Groups[i].Claim.GPUs
	}
	if gpus == 0 && (!near || len(q.Groups) > 1 || total == 1) {
		return true // anywhere will do
	}
	got := o.w.fleet.costOf(q, p)
	want, level, ok := o.expect(start, widest)
	require.True(t, ok)
	switch {
	case aligned && q.Locality != LocalityStrict:
		return true // what it breaks is not minimised
	case p.Level < level:
		y.wider++
		return false
	case q.Locality == LocalityStrict && p.Level > level && start == o.level:
		t.Errorf("level %d is narrower than the oracle's %d", p.Level, level)
		return false
	case aligned:
		return true
	}
	if q.Locality == LocalityStrict && level < o.level && o.slack(level, o.domainOf(p, level)) > o.tightest(level) {
		y.looser++
		return false
	}
	if q.Locality == LocalityStrict && (100*got.Span > 101*want.span || got.Span == want.span && 100*got.Broken > 101*want.broken) ||
		q.Locality != LocalityStrict && (100*got.Broken > 101*want.broken || got.Broken == want.broken && 100*got.Span > 101*want.span) {
		t.Logf("cost %+v, best %+v at level %d", got, want, level)
		y.dearer++
		return false
	}
	return true
}

// domainOf is the domain of a level in which a placement is.
func (o *oracle) domainOf(p *Placement, l topology.Level) int {
	return o.domain[l][slices.IndexFunc(o.w.nodes, func(n worldNode) bool { return n.index == p.Members[0].Hold.Node })]
}

// tightest is how many more members fit at least into a domain of a level that holds all.
func (o *oracle) tightest(l topology.Level) int {
	least := math.MaxInt
	for d, v := range o.best[l] {
		if v.ok {
			least = min(least, o.slack(l, d))
		}
	}
	return least
}

// expect is the best verdict that the documented order of preferences allows, and its level.
func (o *oracle) expect(start, widest topology.Level) (verdict, topology.Level, bool) {
	level := start
	for !slices.ContainsFunc(o.best[level], func(v verdict) bool { return v.ok }) {
		if level == widest {
			return verdict{}, 0, false
		}
		level--
	}
	best := o.bestAt(level)
	if o.r.Locality == LocalityStrict || level == widest {
		return best, level, true
	}
	last := widest
	if o.r.Locality == LocalityBalanced {
		last = level - 1
	}
	for l := level - 1; l >= last; l-- {
		if v := o.bestAt(l); v.broken < best.broken {
			best, level = v, l
		}
	}
	return best, level, true
}

// bestAt is the best verdict of a level: on Strict in the tightest domains.
func (o *oracle) bestAt(l topology.Level) verdict {
	var best verdict
	size := 0
	for d, v := range o.best[l] {
		if !v.ok {
			continue
		}
		s := o.slack(l, d)
		better := !best.ok
		if best.ok && o.r.Locality == LocalityStrict {
			better = s < size || s == size && (v.span < best.span || v.span == best.span && v.broken < best.broken)
		} else if best.ok {
			better = v.broken < best.broken || v.broken == best.broken && (s < size || s == size && v.span < best.span)
		}
		if better {
			best, size = v, s
		}
	}
	return best
}

func (o *oracle) slack(l topology.Level, d int) int {
	if l == o.level {
		return bits.OnesCount64(o.before[slices.Index(o.domain[l], d)].whole)
	}
	slack := 0
	for i := range o.r.Groups {
		g := &o.r.Groups[i]
		exact := len(o.r.Groups) == 1 && (g.Claim.GPUs == 0 || (g.Spread > 0 || g.Balance > 0) && (g.Claim.Host[countable.CPUMilli] > 0 || g.Claim.Host[countable.MemoryMiB] > 0 || g.Claim.Declared != nil || g.Match != nil))
		if g.Claim.GPUs > 0 || exact {
			slack += o.room(i, l, d, exact) - o.counts[i]
		}
	}
	return slack
}

// costOf returns what a placement costs while it is held, with everything else as it is
// now. O(members x levels), for shares O(shares squared).
func (f *Fleet) costOf(r *Request, p *Placement) placementCost {
	if len(p.Members) == 0 || f.Validate(r) != nil {
		return placementCost{}
	}
	for i := range p.Members {
		if m := &p.Members[i]; m.Group < 0 || m.Group >= len(r.Groups) || f.checkShape(&m.Hold) != nil {
			return placementCost{}
		}
	}
	return f.cost(r, p.Members)
}
