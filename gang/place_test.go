package gang

import (
	"flag"
	"math/bits"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// TestMain lets every property run often enough to see a rare fleet; these are tiny,
// and the whole package still takes a second or two.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "500"); err != nil { // the command line still wins
		panic(err)
	}
	os.Exit(m.Run())
}

// occupy lets random holds stand on the nodes, and some of them be out of order.
func (w *world) occupy(t *rapid.T) {
	for i := range w.nodes {
		n := &w.nodes[i]
		if n.GPUs > 0 && rapid.IntRange(0, 2).Draw(t, "dividing") == 0 {
			w.divide(t, n)
			w.seat(t, n)
		}
		if n.GPUs > 0 {
			for range rapid.IntRange(0, 2).Draw(t, "holds") {
				h := Hold{Node: n.index, GPUs: 1 << rapid.IntRange(0, n.GPUs-1).Draw(t, "gpu"), Host: countable.Amounts{countable.CPUMilli: int64(rapid.IntRange(0, 1).Draw(t, "cpu"))}}
				if rapid.Bool().Draw(t, "shared") {
					h.Share = Share{GPUMilli: int32(rapid.SampledFrom([]int{200, 500, 700}).Draw(t, "milli")), MemoryMiB: 30, Owner: Owner(rapid.IntRange(1, 2).Draw(t, "owner"))}
				}
				if w.fleet.Hold(h) == nil {
					w.holds = append(w.holds, h)
				}
			}
			w.lend(t, n)
		}
		if rapid.IntRange(0, 9).Draw(t, "trouble") == 0 {
			w.disturb(t, n)
		}
	}
}

// lend lends GPUs of a node that are held whole to random owners, and has some of them borrowed.
func (w *world) lend(t *rapid.T, n *worldNode) {
	for gpu := range n.GPUs {
		if !slices.ContainsFunc(w.holds, func(h Hold) bool {
			return h.Node == n.index && h.GPUs == 1<<gpu && h.Share == Share{} && h.Instance == mig.Placement{}
		}) {
			continue
		}
		n.lent[gpu] = Owner(rapid.SampledFrom([]int{0, 3, 3, 4}).Draw(t, "lent"))
		require.NoError(t, w.fleet.Lend(n.index, 1<<gpu, n.lent[gpu], lentMemory))
		h := Hold{Node: n.index, GPUs: 1 << gpu, Share: Over(3, int64(rapid.SampledFrom([]int{10, 50}).Draw(t, "borrowed")))}
		if rapid.IntRange(0, 3).Draw(t, "borrows") == 0 && w.fleet.Hold(h) == nil {
			w.holds = append(w.holds, h)
		}
	}
}

// disturb changes the state of a node.
func (w *world) disturb(t *rapid.T, n *worldNode) {
	switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case kind == 2 && n.GPUs > 0:
		w.divide(t, n)
	case kind == 0:
		n.schedulable = rapid.Bool().Draw(t, "schedulable")
		w.fleet.SetSchedulable(n.index, n.schedulable)
	case kind == 1 && n.GPUs > 0:
		gpu, ok := rapid.IntRange(0, n.GPUs-1).Draw(t, "gpu"), rapid.Bool().Draw(t, "healthy")
		w.fleet.SetHealthy(n.index, gpu, ok)
		n.failed |= 1 << gpu
		if ok {
			n.failed &^= 1 << gpu
		}
	default:
		n.Declared = vfs(rapid.Int64Range(0, 5).Draw(t, "vfs"))
		require.NoError(t, w.fleet.SetDeclared(n.index, n.Declared))
		n.Host[countable.CPUMilli] = int64(rapid.IntRange(0, 8).Draw(t, "cpu"))
		require.NoError(t, w.fleet.SetHost(n.index, n.Host))
	}
}

func (w *world) drawLevel(t *rapid.T, name string, from topology.Level) topology.Level {
	return topology.Level(rapid.IntRange(int(from), w.levels+1).Draw(t, name))
}

func (w *world) drawClaim(t *rapid.T) Claim {
	c := Claim{Host: countable.Amounts{countable.CPUMilli: int64(rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "cpu")), countable.MemoryMiB: int64(rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "memory"))}}
	c.Declared = vfs(rapid.SampledFrom([]int64{0, 0, 0, 1, 3}).Draw(t, "vfs"))
	switch rapid.IntRange(0, 7).Draw(t, "claim") {
	case 7:
		c.Share = Over(Owner(rapid.IntRange(3, 4).Draw(t, "owner")), int64(rapid.SampledFrom([]int{0, 10, 30, 50}).Draw(t, "gpuMemory")))
	case 0:
		c.Host[countable.CPUMilli]++
	case 6:
		for class := range topology.NodeClass(2) {
			c.Instances = append(c.Instances, ClassProfile{class, rapid.IntRange(0, worldLattices()[class].Profiles()-1).Draw(t, "profile")})
		}
	case 1:
		c.Share = Share{
			GPUMilli: int32(rapid.SampledFrom([]int{200, 300, 600}).Draw(t, "milli")), Owner: Owner(rapid.IntRange(1, 2).Draw(t, "owner")),
			MemoryMiB: int64(rapid.SampledFrom([]int{0, 0, 45}).Draw(t, "gpuMemory")),
		}
	default:
		c.GPUs = rapid.IntRange(1, 4).Draw(t, "gpus")
	}
	return c
}

// drawGroup draws a group of at most so many members.
func (w *world) drawGroup(t *rapid.T, most int) Group {
	g := Group{Claim: w.drawClaim(t), Classes: rapid.SampledFrom([][]topology.NodeClass{{0}, {0, 1}, {1, 0}, {2, 0, 1}}).Draw(t, "classes")}
	g.Claim.Instances = slices.DeleteFunc(g.Claim.Instances, func(p ClassProfile) bool { return !slices.Contains(g.Classes, p.Class) })
	segment := rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "segment")
	unit := max(1, segment)
	g.Members = unit * rapid.IntRange(1, max(1, most/unit)).Draw(t, "count")
	if rapid.IntRange(0, 3).Draw(t, "elastic") == 0 {
		g.MinMembers = unit * rapid.IntRange(1, g.Members/unit).Draw(t, "min")
	}
	if segment > 1 {
		g.Segments = []Segment{{segment, w.drawLevel(t, "segmentLevel", 1)}}
	}
	if rapid.IntRange(0, 3).Draw(t, "picky") == 0 {
		refused := w.nodes[rapid.IntRange(0, len(w.nodes)-1).Draw(t, "refused")].index
		g.Match = func(n topology.NodeIndex) bool { return n != refused }
	}
	return g
}

func (w *world) drawRequest(t *rapid.T, groups, most int) *Request {
	r := &Request{Required: w.drawLevel(t, "required", 0)}
	if rapid.IntRange(0, 3).Draw(t, "preferring") == 0 {
		r.Preferred = w.drawLevel(t, "preferred", r.Required)
	}
	if rapid.IntRange(0, 5).Draw(t, "confined") == 0 {
		n := w.nodes[rapid.IntRange(0, len(w.nodes)-1).Draw(t, "near")].index
		r.Within = w.fleet.Tree().DomainOf(n, w.drawLevel(t, "within", 0))
	}
	for range groups {
		g := w.drawGroup(t, most)
		if groups > 1 && rapid.IntRange(0, 3).Draw(t, "near") == 0 {
			g.Required = w.drawLevel(t, "groupRequired", 0)
		}
		r.Groups = append(r.Groups, g)
	}
	return r
}

func drawFleet(t *rapid.T) *world {
	w := newWorld(t)
	for range rapid.SampledFrom([]int{6, 5, 4, 3, 2, 1}).Draw(t, "nodes") {
		w.join(t)
	}
	w.occupy(t)
	w.check(t)
	return w
}

// place runs Place and checks whatever comes of it.
func (w *world) place(t *rapid.T, r *Request) (*Placement, bool) {
	require.NoError(t, w.fleet.Validate(r))
	before := dump(w.fleet)
	p := &Placement{Members: []Member{{Index: 77}}}
	ok := w.fleet.Place(r, p)
	if !ok {
		require.Equal(t, before, dump(w.fleet), "a request that does not fit left something")
		require.Empty(t, p.Members)
		w.check(t)
		return p, false
	}
	w.checkPlacement(t, r, p)
	for _, m := range p.Members {
		w.holds = append(w.holds, m.Hold)
	}
	w.check(t)
	return p, true
}

// TestOneGroupAgreesWithItsTwin: a request with one group is placed exactly if it can
// be, and in the lowest domain (S2, S8), in the tightest one of that level.
func TestOneGroupAgreesWithItsTwin(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		w := drawFleet(t)
		for range 3 {
			w.tryOneGroup(t, w.drawRequest(t, 1, 6))
		}
	})
}

// TestManyClassesAreNoOthers: a request is placed in the same places whether or not it is searched
// for on the classes of which nothing is free.
func TestManyClassesAreNoOthers(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		w := drawFleet(t)
		r := w.drawRequest(t, rapid.IntRange(1, 3).Draw(t, "groups"), 4)
		r.Locality = rapid.SampledFrom([]Locality{LocalityStrict, LocalityBalanced, LocalityLoose}).Draw(t, "locality")
		var found [2][]Member
		for i, many := range []int{0, manyClasses} {
			w.fleet.many = many
			var p Placement
			if w.fleet.Place(r, &p) {
				found[i] = slices.Clone(p.Members)
				require.NotEmpty(t, found[i])
				require.NoError(t, w.fleet.ReleaseAll(&p))
			}
		}
		require.True(t, slices.Equal(found[0], found[1]), "%v and %v", found[0], found[1])
	})
}

func (w *world) tryOneGroup(t *rapid.T, r *Request) {
	g := &r.Groups[0]
	start, widest := w.bounds(r)
	twin := newTwin(w, r)
	level, full := twin.level(start, widest)
	possible := full
	if !full {
		twin.counts[0] = g.min()
		_, possible = twin.level(start, widest)
	}
	p, ok := w.place(t, r)
	require.Equal(t, possible, ok)
	switch {
	case !ok:
		w.requireShortage(t, r)
	case full:
		require.Len(t, p.Members, g.Members)
		if g.Claim.GPUs == 0 {
			break
		}
		if r.Preferred == 0 {
			require.Equal(t, level, p.Level, "not the lowest domain")
		} else if g.Members > 1 {
			require.GreaterOrEqual(t, p.Level, level)
		}
		if g.Members == 1 {
			level = p.Level // one member goes by the rule for nodes
		}
		if !g.Claim.wantsHost() && g.Match == nil && g.outermost() == 1 {
			twin.requireTightest(t, p, level)
		}
	default:
		require.Less(t, len(p.Members), g.Members)
		// Nothing more fits beside it, inside the required level.
		more := &Request{Groups: []Group{*g}, Within: w.fleet.Tree().DomainOf(p.Members[0].Hold.Node, widest)}
		more.Groups[0].Members, more.Groups[0].MinMembers = g.outermost(), 0
		if widest == w.fleet.Tree().NodeLevel() {
			node := p.Members[0].Hold.Node
			more.Groups[0].Match = func(n topology.NodeIndex) bool { return n == node }
		}
		_, fits := newTwin(w, more).level(w.fleet.Tree().NodeLevel(), 0)
		require.False(t, fits, "it could have had more members")
	}
}

// bounds are the levels between which a request is searched for.
func (w *world) bounds(r *Request) (start, widest topology.Level) {
	start, widest = w.fleet.Tree().NodeLevel(), max(r.Required, w.fleet.Tree().DomainLevel(r.Within))
	if r.Preferred > 0 {
		start = max(r.Preferred, widest)
	}
	return start, widest
}

// requireTightest asserts that no other domain of the level would have had room for
// fewer members, but still enough, before the placement.
func (t *twin) requireTightest(rt *rapid.T, p *Placement, level topology.Level) {
	g := &t.request.Groups[0]
	size := func(r *room) int {
		if int(level) > t.levels { // on one node GPUs count, not members
			return bits.OnesCount64(r.whole)
		}
		return bits.OnesCount64(r.whole) / g.Claim.GPUs
	}
	need := g.Members
	if int(level) > t.levels {
		need *= g.Claim.GPUs
	}
	room := map[string]int{}
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.schedulable && slices.Contains(g.Classes, n.Class) &&
			t.domain(n.index, t.fleet.Tree().DomainLevel(t.request.Within)) == t.domainLevelName(t.request.Within) {
			room[t.domain(n.index, level)] += size(&t.rooms[i])
		}
	}
	chosen := t.domain(p.Members[0].Hold.Node, level)
	for name, size := range room {
		if size >= need {
			require.LessOrEqual(rt, room[chosen], size, "%s is tighter than %s", name, chosen)
		}
	}
}

// requireShortage asserts that a request that does not fit is told why, without a
// change.
func (w *world) requireShortage(t *rapid.T, r *Request) {
	before := dump(w.fleet)
	s, ok := w.fleet.Diagnose(r)
	require.True(t, ok)
	require.Equal(t, before, dump(w.fleet))
	w.check(t)
	w.requireSlowTwin(t, r)
	g := &r.Groups[s.Group]
	require.Equal(t, g.min(), s.Needed)
	require.NotEqual(t, BottleneckNone, s.Bottleneck)
	require.Equal(t, s.EligibleNodes == 0, s.Bottleneck == BottleneckNodes)
	require.LessOrEqual(t, s.MembersInDomain, s.Members)
	require.LessOrEqual(t, s.FittingNodes, s.EligibleNodes)
	if len(r.Groups) == 1 && g.outermost() == 1 {
		require.Less(t, s.MembersInDomain, s.Needed)
	}
}

// TestGroupsAgreeWithTheirTwin: whatever is placed is valid, and gangs of the kind for
// which the package promises it are placed exactly if they can be.
func TestGroupsAgreeWithTheirTwin(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		w := drawFleet(t)
		for range 2 {
			r := w.drawRequest(t, rapid.IntRange(2, 3).Draw(t, "groups"), 3)
			promised := rapid.Bool().Draw(t, "promised")
			if promised {
				for i := range r.Groups {
					g := &r.Groups[i]
					*g = Group{
						Members: g.Members, MinMembers: g.MinMembers, Classes: r.Groups[0].Classes,
						Claim: Claim{GPUs: rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "size")},
					}
				}
			}
			if alike := rapid.IntRange(0, 3).Draw(t, "alike"); alike == 0 { // instances of one profile
				promised = false
				profile := rapid.IntRange(0, 2).Draw(t, "profile")
				for i := range r.Groups {
					g := &r.Groups[i]
					g.Classes, g.Claim = []topology.NodeClass{0}, Claim{Instances: []ClassProfile{{0, profile}}}
				}
				_, widest := w.bounds(r)
				_, possible := newTwin(w, r).level(w.fleet.Tree().NodeLevel(), widest)
				_, ok := w.place(t, r)
				require.True(t, ok || !possible, "it would have fitted")
				continue
			}
			w.tryGroups(t, r, promised)
		}
	})
}

func (w *world) tryGroups(t *rapid.T, r *Request, promised bool) {
	start, widest := w.bounds(r)
	twin := newTwin(w, r)
	level, full := twin.level(start, widest)
	possible := full
	if !full {
		for i := range r.Groups {
			twin.counts[i] = r.Groups[i].min()
		}
		_, possible = twin.level(start, widest)
	}
	p, ok := w.place(t, r)
	if ok {
		require.True(t, possible, "the twin missed a placement")
	} else {
		w.requireShortage(t, r)
	}
	if promised {
		require.Equal(t, possible, ok)
		if full && r.Preferred == 0 {
			require.Equal(t, level, p.Level, "not the lowest domain")
		}
	}
}

// TestHistoryDoesNotShow builds the same fleet again in another order, and wants the
// same placement.
func TestHistoryDoesNotShow(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		w := drawFleet(t)
		again, err := NewFleet(w.fleet.Tree().Levels()...)
		require.NoError(t, err)
		renamed := map[topology.NodeIndex]topology.NodeIndex{}
		for _, n := range rapid.Permutation(w.nodes).Draw(t, "nodes") {
			index, err := again.AddNode(n.NodeSpec)
			require.NoError(t, err)
			renamed[n.index] = index
			again.SetSchedulable(index, n.schedulable)
			for gpu := range n.GPUs {
				again.SetHealthy(index, gpu, n.failed>>gpu&1 == 0)
				require.NoError(t, again.SetPartitioning(index, gpu, n.division[gpu], n.state(gpu)))
			}
		}
		for _, h := range rapid.Permutation(w.holds).Draw(t, "holds") {
			h.Node = renamed[h.Node]
			require.NoError(t, again.Adopt(h))
		}
		for _, n := range w.nodes {
			for gpu := range n.GPUs {
				require.NoError(t, again.Lend(renamed[n.index], 1<<gpu, n.lent[gpu], lentMemory))
			}
		}
		require.NoError(t, again.Check())
		r := w.drawRequest(t, rapid.IntRange(1, 2).Draw(t, "groups"), 4)
		other := *r
		other.Within, _ = again.Tree().Lookup(w.fleet.Tree().DomainPath(r.Within)...)
		other.Groups = slices.Clone(r.Groups)
		for i := range other.Groups {
			if match := r.Groups[i].Match; match != nil {
				other.Groups[i].Match = func(n topology.NodeIndex) bool {
					for old, index := range renamed {
						if index == n {
							return match(old)
						}
					}
					return false
				}
			}
		}
		p, ok := w.place(t, r)
		var q Placement
		require.Equal(t, ok, again.Place(&other, &q))
		require.Equal(t, p.Level, q.Level)
		require.Len(t, q.Members, len(p.Members))
		for i, m := range p.Members {
			m.Hold.Node = renamed[m.Hold.Node]
			require.Equal(t, m, q.Members[i])
		}
	})
}

// TestChurn lets gangs and single holds come and go while nodes do, too.
func TestChurn(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.join(t)
		var gangs []*Placement
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			n := rapid.IntRange(0, len(w.nodes)-1).Draw(t, "node")
			switch op := rapid.IntRange(0, 6).Draw(t, "op"); op {
			case 0:
				if len(w.nodes) < 6 {
					w.join(t)
				}
			case 1:
				w.disturb(t, &w.nodes[n])
			case 2:
				held := slices.ContainsFunc(w.holds, func(h Hold) bool { return h.Node == w.nodes[n].index })
				if len(w.nodes) == 1 {
					break
				}
				err := w.fleet.RemoveNode(w.nodes[n].index)
				require.Equal(t, !held, err == nil)
				if held {
					require.ErrorIs(t, err, ErrInUse)
				} else {
					w.nodes = slices.Delete(w.nodes, n, n+1)
				}
			case 3:
				if len(gangs) == 0 {
					break
				}
				i := rapid.IntRange(0, len(gangs)-1).Draw(t, "gang")
				for _, m := range gangs[i].Members {
					at := slices.Index(w.holds, m.Hold)
					w.holds = slices.Delete(w.holds, at, at+1)
				}
				require.NoError(t, w.fleet.ReleaseAll(gangs[i]))
				gangs = slices.Delete(gangs, i, i+1)
			default:
				if p, ok := w.place(t, w.drawRequest(t, rapid.IntRange(1, 2).Draw(t, "groups"), 3)); ok {
					gangs = append(gangs, p)
				}
			}
			w.check(t)
		}
		for _, p := range gangs {
			require.NoError(t, w.fleet.ReleaseAll(p))
		}
		w.holds = nil
		w.check(t)
	})
}
