package gang

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// TestInstanceGoesWhereItTakesTheLeast: one instance is found if there is one, and on all
// GPUs there is no place of that profile with a smaller loss.
func TestInstanceGoesWhereItTakesTheLeast(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		w := drawFleet(t)
		for i := range w.nodes {
			if n := &w.nodes[i]; n.GPUs > 0 && rapid.Bool().Draw(t, "more") {
				w.divide(t, n)
				w.seat(t, n)
				n.schedulable = rapid.IntRange(0, 3).Draw(t, "schedulable") > 0
				w.fleet.SetSchedulable(n.index, n.schedulable)
			}
		}
		class := topology.NodeClass(rapid.IntRange(0, 1).Draw(t, "class"))
		l := worldLattices()[class]
		weights := make([]uint32, l.Profiles())
		for p := range weights {
			weights[p] = uint32(rapid.IntRange(1, 9).Draw(t, "weight"))
		}
		ranking := mig.NewRanking(l, weights)
		w.fleet.SetRanking(l, ranking)
		if rapid.Bool().Draw(t, "alike") {
			ranking = mig.NewRanking(l, nil)
			w.fleet.SetRanking(l, nil)
		}
		for range 3 {
			r := w.drawRequest(t, 1, 1)
			g := &r.Groups[0]
			g.Members, g.MinMembers, g.Segments = 1, 0, nil
			g.Classes = []topology.NodeClass{class}
			g.Claim.GPUs, g.Claim.Share = 0, Share{}
			g.Claim.Instances = []ClassProfile{{class, rapid.IntRange(0, l.Profiles()-1).Draw(t, "profile")}}
			least, found := int64(0), false
			loss := func(room *room, h *Hold) int64 {
				held := room.held[bits.TrailingZeros64(h.GPUs)]
				after := append(slices.Clip(held), h.Instance)
				from, err := l.StateOf(held)
				require.NoError(t, err)
				to, err := l.StateOf(after)
				require.NoError(t, err)
				return ranking.Loss(from, to)
			}
			rooms := w.rooms()
			at := map[topology.NodeIndex]*room{}
			for i := range rooms {
				n := rooms[i].node
				at[n.index] = &rooms[i]
				if !n.schedulable || n.Class != class || g.Match != nil && !g.Match(n.index) ||
					w.domain(n.index, w.fleet.Tree().DomainLevel(r.Within)) != w.domainLevelName(r.Within) {
					continue
				}
				for _, h := range rooms[i].options(n, &g.Claim) {
					if cost := loss(&rooms[i], &h); !found || cost < least {
						least, found = cost, true
					}
				}
			}
			// Whether nodes or lots are walked makes no difference.
			var other Placement
			require.Equal(t, found, w.fleet.Place(r, &other))
			copied := slices.Clone(other.Members)
			require.NoError(t, w.fleet.ReleaseAll(&other))
			w.fleet.walked = maxCompared - w.fleet.walked
			p, ok := w.place(t, r)
			require.Equal(t, found, ok)
			require.True(t, slices.Equal(copied, p.Members))
			if ok {
				require.Equal(t, least, loss(at[p.Members[0].Hold.Node], &p.Members[0].Hold))
			}
		}
	})
}

// most is how many members with a claim a node can take, by trying all ways.
func (r *room) most(c *Claim) int {
	best := 0
	for _, h := range r.options(r.node, c) {
		after := *r
		after.take(&h)
		after.floor = place(&h)
		best = max(best, 1+after.most(c))
	}
	return best
}

// TestFitsCountsInstances: the count is exact for one profile, no more than there is for
// several, and as many members really can be placed.
func TestFitsCountsInstances(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.join(t)
		n := &w.nodes[0]
		if n.GPUs == 0 {
			return
		}
		l := n.Lattice
		weights := make([]uint32, l.Profiles())
		for p := range weights {
			weights[p] = rapid.SampledFrom([]uint32{0, 1, 9, 99}).Draw(t, "weight")
		}
		w.fleet.SetRanking(l, mig.NewRanking(l, weights))
		for range rapid.IntRange(1, 3).Draw(t, "divisions") {
			w.divide(t, n)
			w.seat(t, n)
		}
		c := Claim{Host: countable.Amounts{countable.CPUMilli: int64(rapid.IntRange(0, 1).Draw(t, "cpu"))}}
		for range rapid.IntRange(1, 3).Draw(t, "profiles") {
			c.Instances = append(c.Instances, ClassProfile{n.Class, rapid.IntRange(0, l.Profiles()-1).Draw(t, "profile")})
		}
		fits, most := w.fleet.Fits(n.index, &c), w.rooms()[0].most(&c)
		if len(c.Instances) == 1 {
			require.Equal(t, most, fits)
		}
		require.LessOrEqual(t, fits, most)
		require.Equal(t, most > 0, fits > 0)
		if fits == 0 {
			return
		}
		before := slices.Clone(w.holds)
		for _, required := range []topology.Level{w.fleet.Tree().NodeLevel(), 0} {
			r := &Request{Groups: []Group{{Members: fits, Claim: c, Classes: []topology.NodeClass{n.Class}}}, Required: required}
			p, ok := w.place(t, r)
			require.True(t, ok || required == 0 && len(c.Instances) > 1)
			if ok {
				require.NoError(t, w.fleet.ReleaseAll(p))
			}
			w.holds = slices.Clone(before)
		}
	})
}

// h100 is the lattice of an H100 with 80 GB: profiles 1g.10gb, 1g.10gb+me, 1g.20gb, 2g,
// 3g, 4g and 7g.
func h100(tb testing.TB) *mig.Lattice {
	product, ok := mig.Lookup("H100-80GB")
	require.True(tb, ok)
	l, err := mig.NewLattice(product)
	require.NoError(tb, err)
	return l
}

func placements(tb testing.TB, texts ...string) []mig.Placement {
	var list []mig.Placement
	for _, text := range texts {
		p, err := mig.ParsePlacement(text)
		require.NoError(tb, err)
		list = append(list, p)
	}
	return list
}

func stateOf(tb testing.TB, l *mig.Lattice, texts ...string) mig.State {
	s, err := l.StateOf(placements(tb, texts...))
	require.NoError(tb, err)
	return s
}

// dividedFleet has one node a with a lattice, whose GPU 0 is Fixed with 3g 2g 1g and GPU 1
// is divided per claim, and a node b that does not divide.
func dividedFleet(t *testing.T) (f *Fleet, a, b topology.NodeIndex, l *mig.Lattice) {
	f, err := NewFleet()
	require.NoError(t, err)
	l = h100(t)
	a, err = f.AddNode(NodeSpec{Name: "a", GPUs: 4, Lattice: l, GPUMemoryMiB: 80_000, Host: countable.Amounts{countable.CPUMilli: 8_000, countable.MemoryMiB: 1_000}})
	require.NoError(t, err)
	b, err = f.AddNode(NodeSpec{Name: "b", Class: 1, GPUs: 4, GPUMemoryMiB: 80_000, MaxShares: 2})
	require.NoError(t, err)
	require.NoError(t, f.SetPartitioning(a, 0, PartitioningFixed, stateOf(t, l, "3g.40gb@4:4", "2g.20gb@0:2", "1g.10gb@2:1")))
	require.NoError(t, f.SetPartitioning(a, 1, PartitioningPerClaim, 0))
	return f, a, b, l
}

// TestDivideRefusals: what cannot be divided so is refused, and nothing changes.
func TestDivideRefusals(t *testing.T) {
	f, a, b, l := dividedFleet(t)
	one := placements(t, "1g.10gb@2:1")[0]
	require.NoError(t, f.Hold(Hold{Node: a, GPUs: 1, Instance: one}))
	require.NoError(t, f.Hold(Hold{Node: a, GPUs: 2, Instance: one}))
	require.NoError(t, f.Hold(Hold{Node: a, GPUs: 4}))
	require.NoError(t, f.Hold(Hold{Node: a, GPUs: 8, Share: Share{GPUMilli: 1, Owner: 1}}))
	lacks := mig.State(l.States())
	for _, c := range []struct {
		what  string
		kind  error
		field string
		node  topology.NodeIndex
		gpu   int
		d     Partitioning
		exist mig.State
	}{
		{"no such node", ErrUnknown, "node", 7, 0, PartitioningPerClaim, 0},
		{"no such GPU", ErrUnknown, "gpu", a, 4, PartitioningPerClaim, 0},
		{"a negative GPU", ErrUnknown, "gpu", a, -1, PartitioningPerClaim, 0},
		{"no such division", ErrInvalid, "division", a, 0, 3, 0},
		{"no lattice", ErrInvalid, "division", b, 0, PartitioningPerClaim, 0},
		{"a state for per claim", ErrInvalid, "exist", a, 1, PartitioningPerClaim, 1},
		{"a state for undivided", ErrInvalid, "exist", a, 1, PartitioningNone, 1},
		{"no such state", ErrInvalid, "exist", a, 1, PartitioningFixed, lacks},
		{"held whole", ErrHeld, "division", a, 2, PartitioningPerClaim, 0},
		{"held in shares", ErrHeld, "division", a, 3, PartitioningFixed, 0},
		{"held instances, undivided", ErrHeld, "division", a, 0, PartitioningNone, 0},
		{"held instances, per claim undivided", ErrHeld, "division", a, 1, PartitioningNone, 0},
		{"held instances that would be gone", ErrHeld, "exist", a, 0, PartitioningFixed, stateOf(t, l, "3g.40gb@4:4")},
		{"held instances that do not exist", ErrHeld, "exist", a, 1, PartitioningFixed, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			requireRefusal(t, f, c.kind, c.field, func() error { return f.SetPartitioning(c.node, c.gpu, c.d, c.exist) })
		})
	}
	// What is held may stay.
	require.NoError(t, f.SetPartitioning(a, 0, PartitioningPerClaim, 0))
	d, exist, held := f.Partitioning(a, 0)
	require.Equal(t, [3]int{int(PartitioningPerClaim), int(stateOf(t, l, "1g.10gb@2:1")), int(exist)}, [3]int{int(d), int(exist), int(held)})
	require.NoError(t, f.SetPartitioning(a, 0, PartitioningFixed, stateOf(t, l, "1g.10gb@2:1", "1g.10gb@0:1")))
	require.NoError(t, f.Check())
	for _, stranger := range []int{-1, 4} {
		d, exist, held = f.Partitioning(a, stranger)
		require.Zero(t, int(d)+int(exist)+int(held))
	}
	requireRefusal(t, f, ErrInUse, "node", func() error { return f.RemoveNode(a) })
}

// TestS1_InstancesAreHeldOnce: an instance is held by one, and beside others only where
// both can exist.
func TestS1_InstancesAreHeldOnce(t *testing.T) {
	f, a, b, _ := dividedFleet(t)
	at := func(gpu int, text string) Hold {
		return Hold{Node: a, GPUs: 1 << gpu, Instance: placements(t, text)[0]}
	}
	with := func(h Hold, change func(*Hold)) Hold { change(&h); return h }
	require.NoError(t, f.Hold(at(0, "3g.40gb@4:4")))
	require.NoError(t, f.Hold(at(1, "3g.40gb@4:4")))
	for _, c := range []struct {
		what  string
		kind  error
		field string
		hold  Hold
	}{
		{"the same again", ErrHeld, "hold.instance", at(0, "3g.40gb@4:4")},
		{"the same again per claim", ErrHeld, "hold.instance", at(1, "3g.40gb@4:4")},
		{"one that does not exist", ErrUnavailable, "hold.instance", at(0, "1g.10gb@3:1")},
		{"one that overlaps", ErrCapacity, "hold.instance", at(1, "1g.10gb@4:1")},
		{"one that is too large", ErrCapacity, "hold.instance", at(1, "7g.80gb@0:8")},
		{"of a GPU that is not divided", ErrUnavailable, "hold.instance", at(2, "1g.10gb@0:1")},
		{"a divided GPU whole", ErrUnavailable, "hold.gpus", Hold{Node: a, GPUs: 1}},
		{"a share of a divided GPU", ErrUnavailable, "hold.gpus", Hold{Node: a, GPUs: 2, Share: Share{GPUMilli: 1, Owner: 1}}},
		{"no such place", ErrUnknown, "hold.instance", with(at(1, "1g.10gb@0:1"), func(h *Hold) { h.Instance.Start = 7 })},
		{"no lattice", ErrUnknown, "hold.instance", with(at(1, "1g.10gb@0:1"), func(h *Hold) { h.Node = b })},
		{"with a share", ErrInvalid, "hold.instance", with(at(1, "1g.10gb@0:1"), func(h *Hold) { h.Share = Share{GPUMilli: 1, Owner: 1} })},
		{"of two GPUs", ErrInvalid, "hold.instance", with(at(1, "1g.10gb@0:1"), func(h *Hold) { h.GPUs = 3 })},
		{"of no GPU", ErrInvalid, "hold.instance", with(at(1, "1g.10gb@0:1"), func(h *Hold) { h.GPUs = 0 })},
	} {
		t.Run(c.what, func(t *testing.T) {
			requireRefusal(t, f, c.kind, c.field, func() error { return f.Hold(c.hold) })
			requireRefusal(t, f, c.kind, c.field, func() error { return f.Adopt(c.hold) })
		})
	}
	requireRefusal(t, f, ErrNotHeld, "hold.instance", func() error { return f.Release(at(0, "2g.20gb@0:2")) })
	requireRefusal(t, f, ErrNotHeld, "hold.instance", func() error { return f.Release(at(2, "2g.20gb@0:2")) })
	requireRefusal(t, f, ErrNotHeld, "hold.gpus", func() error { return f.Release(Hold{Node: a, GPUs: 1}) })
	require.NoError(t, f.CheckHolds([]Hold{at(1, "3g.40gb@4:4"), at(0, "3g.40gb@4:4")}))
	require.ErrorIs(t, f.CheckHolds([]Hold{at(0, "3g.40gb@4:4")}), ErrNotHeld)
	require.ErrorIs(t, f.CheckHolds([]Hold{at(0, "3g.40gb@4:4"), at(0, "3g.40gb@4:4")}), ErrHeld)
	require.NoError(t, f.Release(at(0, "3g.40gb@4:4")))
	requireRefusal(t, f, ErrNotHeld, "hold.node", func() error { return f.Release(Hold{Node: a}) })
	// A GPU that has failed gives nothing, but what runs there is known.
	f.SetHealthy(a, 0, false)
	requireRefusal(t, f, ErrUnavailable, "hold.gpus", func() error { return f.Hold(at(0, "3g.40gb@4:4")) })
	require.NoError(t, f.Adopt(at(0, "3g.40gb@4:4")))
	require.Equal(t, 2, f.Fits(a, &Claim{Instances: []ClassProfile{{0, 3}, {0, 6}}}), "2g on GPU 1 alone")
	require.NoError(t, f.Check())
}

// TestMaxShares: no GPU has more shares than its node allows.
func TestMaxShares(t *testing.T) {
	f, _, b, _ := dividedFleet(t)
	c := Claim{Share: Share{GPUMilli: 100, Owner: 1}}
	require.Equal(t, 8, f.Fits(b, &c))
	var p Placement
	require.True(t, f.Place(&Request{Groups: []Group{{Members: 3, Claim: c, Classes: []topology.NodeClass{1}}}}, &p))
	require.Equal(t, []uint64{1, 1, 2}, []uint64{p.Members[0].Hold.GPUs, p.Members[1].Hold.GPUs, p.Members[2].Hold.GPUs})
	require.Equal(t, 5, f.Fits(b, &c))
	requireRefusal(t, f, ErrCapacity, "hold.share", func() error { return f.Adopt(p.Members[0].Hold) })
	_, err := f.AddNode(NodeSpec{Name: "c", MaxShares: -1})
	require.ErrorIs(t, err, ErrInvalid)
	require.NoError(t, f.Check())
}

// TestOneLatticeForAClass: nodes of one class divide alike, and those of a vacant class as
// the next node does.
func TestOneLatticeForAClass(t *testing.T) {
	f, a, b, l := dividedFleet(t)
	other := worldLattices()[0]
	requireRefusal(t, f, ErrInvalid, "lattice", func() error {
		_, err := f.AddNode(NodeSpec{Name: "c", GPUs: 4, Lattice: other})
		return err
	})
	requireRefusal(t, f, ErrInvalid, "lattice", func() error { return f.SetClass(a, 1) })
	requireRefusal(t, f, ErrInvalid, "lattice", func() error { return f.SetClass(b, 0) })
	r := &Request{Groups: []Group{{Members: 1, Claim: Claim{Instances: []ClassProfile{{2, 0}}}, Classes: []topology.NodeClass{0, 2}}}}
	var p Placement
	require.False(t, f.Place(r, &p))
	require.NoError(t, f.SetClass(a, 2))
	require.NoError(t, f.Check())
	require.True(t, f.Place(r, &p))
	require.NoError(t, f.SetClass(a, 2))
	require.NoError(t, f.ReleaseAll(&p))
	require.NoError(t, f.RemoveNode(a))
	require.NoError(t, f.Check())
	for _, class := range []topology.NodeClass{0, 2} {
		_, err := f.AddNode(NodeSpec{Name: fmt.Sprint("d", class), Class: class, GPUs: 4, Lattice: other})
		require.NoError(t, err)
	}
	f.SetRanking(l, mig.NewRanking(l, nil)) // of nobody now
	f.SetRanking(nil, nil)
	require.NoError(t, f.Check())
}

// TestInstanceClaims: claims that make no sense are refused.
func TestInstanceClaims(t *testing.T) {
	f, a, _, _ := dividedFleet(t)
	for _, c := range []struct {
		field string
		claim Claim
	}{
		{"groups[0].claim.instances", Claim{GPUs: 1, Instances: []ClassProfile{{0, 0}}}},
		{"groups[0].claim.instances", Claim{Share: Share{GPUMilli: 1, Owner: 1}, Instances: []ClassProfile{{0, 0}}}},
		{"groups[0].claim.instances", Claim{Instances: make([]ClassProfile, MaxClaimProfiles+1)}},
		{"groups[0].claim.instances[1].class", Claim{Instances: []ClassProfile{{0, 0}, {2, 0}}}},
		{"groups[0].claim.instances[0].index", Claim{Instances: []ClassProfile{{0, -1}}}},
		{"groups[0].claim.instances[0].index", Claim{Instances: []ClassProfile{{0, 7}}}},
		{"groups[0].claim.instances[0].index", Claim{Instances: []ClassProfile{{1, 64}}}},
	} {
		err := f.Validate(&Request{Groups: []Group{{Members: 1, Claim: c.claim, Classes: []topology.NodeClass{0, 1}}}})
		require.ErrorIs(t, err, ErrInvalid)
		require.Equal(t, c.field, err.(*Error).Field)
	}
	// A class that does not divide has nothing to give.
	r := &Request{Groups: []Group{{Members: 1, Claim: Claim{Instances: []ClassProfile{{1, 63}, {9, 2}}}, Classes: []topology.NodeClass{0, 1, 9}}}}
	require.NoError(t, f.Validate(r))
	require.False(t, f.Place(r, &Placement{}))
	require.Zero(t, f.Fits(a, &Claim{Instances: []ClassProfile{{0, -1}}}))
	require.Zero(t, f.Fits(a, &Claim{Instances: []ClassProfile{{0, 63}}}))
}

// TestInstancesPack: the first of the profiles that can be had, an instance that exists,
// and the GPU on which the least is lost.
func TestInstancesPack(t *testing.T) {
	f, a, _, _ := dividedFleet(t)
	require.NoError(t, f.SetPartitioning(a, 2, PartitioningPerClaim, 0))
	require.NoError(t, f.SetPartitioning(a, 3, PartitioningPerClaim, 0))
	require.NoError(t, f.Hold(Hold{Node: a, GPUs: 4, Instance: placements(t, "1g.10gb@6:1")[0]}))
	place := func(profiles ...int) string {
		c := Claim{}
		for _, p := range profiles {
			c.Instances = append(c.Instances, ClassProfile{0, p})
		}
		r := &Request{Groups: []Group{{Members: 1, Claim: c, Classes: []topology.NodeClass{0}}}}
		var p Placement
		require.True(t, f.Place(r, &p))
		require.Equal(t, placementCost{}, f.costOf(r, &p), "an instance breaks nothing")
		require.NoError(t, f.Check())
		return fmt.Sprintf("%d %s", bits.TrailingZeros64(p.Members[0].Hold.GPUs), p.Members[0].Hold.Instance)
	}
	require.Equal(t, "2 1g.10gb@4:1", place(0), "the GPU in use")
	require.Equal(t, "2 2g.20gb@0:2", place(3, 6), "the GPU in use")
	require.Equal(t, "1 7g.80gb@0:8", place(6, 3))
	require.Equal(t, "3 7g.80gb@0:8", place(6, 3))
	require.Equal(t, "0 3g.40gb@4:4", place(6, 4), "the first cannot be had")
	// With demand for 4g alone, its place is left to it.
	var l *mig.Lattice
	f, _, _, l = dividedFleet(t)
	require.Equal(t, "1 1g.10gb@6:1", place(0))
	weights := make([]uint32, l.Profiles())
	weights[3] = 1
	f.SetRanking(l, mig.NewRanking(l, weights))
	require.Equal(t, "0 1g.10gb@2:1", place(0))
	weights[3], weights[5] = 0, 1
	f.SetRanking(l, mig.NewRanking(l, weights))
	require.Equal(t, "1 1g.10gb@4:1", place(0))
	require.Equal(t, "1 1g.10gb@5:1", place(0))
	require.Equal(t, "1 4g.40gb@0:4", place(5))
}

// TestInstancesDoNotHuddle: instances of a gang that asks for no level go where each takes the
// least, together only if that is asked for.
func TestInstancesDoNotHuddle(t *testing.T) {
	f, err := NewFleet()
	require.NoError(t, err)
	l := h100(t)
	for _, name := range []string{"a", "b", "c"} {
		n, err := f.AddNode(NodeSpec{Name: name, GPUs: 2, Lattice: l})
		require.NoError(t, err)
		require.NoError(t, f.SetPartitioning(n, 0, PartitioningPerClaim, 0))
		if name == "a" {
			continue
		}
		for _, p := range placements(t, "4g.40gb@0:4", "2g.20gb@4:2") {
			require.NoError(t, f.Hold(Hold{Node: n, GPUs: 1, Instance: p}))
		}
	}
	r := &Request{Groups: []Group{{Members: 2, Claim: Claim{Instances: []ClassProfile{{0, 0}}}, Classes: []topology.NodeClass{0}}}}
	var p Placement
	require.True(t, f.Place(r, &p))
	require.Equal(t, []topology.NodeIndex{1, 2}, []topology.NodeIndex{p.Members[0].Hold.Node, p.Members[1].Hold.Node})
	require.Zero(t, f.costOf(r, &p).Broken, "what is divided is not whole")
	require.NoError(t, f.ReleaseAll(&p))
	r.Required = f.Tree().NodeLevel()
	require.True(t, f.Place(r, &p))
	require.Equal(t, []topology.NodeIndex{0, 0}, []topology.NodeIndex{p.Members[0].Hold.Node, p.Members[1].Hold.Node})
}

// TestInstancesThatAskToBeClose: they are on as few nodes as can be, which takes the solver.
func TestInstancesThatAskToBeClose(t *testing.T) {
	f, err := NewFleet("leaf")
	require.NoError(t, err)
	l := h100(t)
	exist := []string{"1g.10gb@0:1", "1g.10gb@1:1", "1g.10gb@2:1", "1g.10gb@3:1", "1g.10gb@4:1"}
	for i, instances := range []int{2, 2, 2, 5} {
		n, err := f.AddNode(NodeSpec{Name: fmt.Sprint("n", i), Path: []string{fmt.Sprint("leaf", i/3)}, GPUs: 1, Lattice: l})
		require.NoError(t, err)
		require.NoError(t, f.SetPartitioning(n, 0, PartitioningFixed, stateOf(t, l, exist[:instances]...)))
	}
	r := &Request{
		Groups:    []Group{{Members: 7, Claim: Claim{Instances: []ClassProfile{{0, 0}}}, Classes: []topology.NodeClass{0}}},
		Preferred: 1,
	}
	var p Placement
	require.True(t, f.Place(r, &p))
	require.Equal(t, placementCost{Span: 2*4 + 2}, f.costOf(r, &p), "two nodes of two leaves")
	require.NoError(t, f.Check())
}

// TestShortOfInstances: a request that lacks instances is told so.
func TestShortOfInstances(t *testing.T) {
	f, a, _, _ := dividedFleet(t)
	r := &Request{Groups: []Group{{Members: 4, Claim: Claim{Instances: []ClassProfile{{0, 3}}, Host: countable.Amounts{countable.CPUMilli: 1_000}}, Classes: []topology.NodeClass{0, 1}}}}
	require.True(t, f.Place(r, &Placement{}))
	s, ok := f.Diagnose(r)
	require.True(t, ok)
	require.Equal(t, Shortfall{
		Needed: 4, EligibleNodes: 2, IfIdle: 4, IfIdleInDomain: 4, Bottleneck: BottleneckInstances,
	}, s)
	require.Equal(t, "gpu-instances", s.Bottleneck.String())
	levels := f.DiagnoseLevels(r)
	require.Len(t, levels, 2)
	require.Equal(t, [2]int{2, 1}, [2]int{levels[0].GPUs, levels[1].GPUs})
	f.SetHealthy(a, 1, false)
	s, _ = f.Diagnose(r)
	require.Equal(t, 1, s.IfIdle)
	require.NoError(t, f.Check())
}

// instanceFleet has nodes with 8 GPUs, of which 7 are divided, 5 per claim and 2 for good,
// and hold random instances.
func instanceFleet(tb testing.TB, nodes int) *Fleet {
	f, err := NewFleet("spine", "leaf")
	require.NoError(tb, err)
	l := h100(tb)
	fixed := []mig.State{
		stateOf(tb, l, "3g.40gb@0:4", "3g.40gb@4:4"),
		stateOf(tb, l, "2g.20gb@0:2", "2g.20gb@2:2", "2g.20gb@4:2", "1g.10gb@6:1"),
	}
	all := l.Placements()
	seed := uint32(1)
	random := func(n int) int {
		seed = seed*1_664_525 + 1_013_904_223
		return int(seed>>8) % n
	}
	for i := range nodes {
		n, err := f.AddNode(NodeSpec{
			Name: fmt.Sprintf("n%06d", i), Path: []string{fmt.Sprintf("s%03d", i/512), fmt.Sprintf("l%04d", i/32)},
			GPUs: 8, GPUMemoryMiB: 81559, Host: countable.Amounts{countable.CPUMilli: 192_000, countable.MemoryMiB: 2 << 20}, Lattice: l,
		})
		require.NoError(tb, err)
		for gpu := range 7 {
			d, exist := PartitioningPerClaim, mig.State(0)
			if gpu < 2 {
				d, exist = PartitioningFixed, fixed[gpu]
			}
			require.NoError(tb, f.SetPartitioning(n, gpu, d, exist))
			for range random(6) {
				_ = f.Hold(Hold{Node: n, GPUs: 1 << gpu, Instance: all[random(len(all))]}) // or not
			}
		}
	}
	require.NoError(tb, f.Check())
	weights := []uint32{50, 0, 5, 25, 15, 3, 2}
	f.SetRanking(l, mig.NewRanking(l, weights))
	return f
}

func instanceShapes() []shape {
	one := func(count int, profiles ...int) Request {
		g := Group{Members: count, Claim: Claim{Host: countable.Amounts{countable.CPUMilli: 1_000, countable.MemoryMiB: 1 << 10}}, Classes: []topology.NodeClass{0}}
		for _, p := range profiles {
			g.Claim.Instances = append(g.Claim.Instances, ClassProfile{0, p})
		}
		return Request{Groups: []Group{g}}
	}
	together := one(16, 0)
	together.Required = leafLevel
	return []shape{
		{"1g", one(1, 0)},
		{"3g", one(1, 4)},
		{"7g or 4g", one(1, 6, 5)},
		{"64 of 1g", one(64, 0)},
		{"16 of 1g in a leaf", together},
	}
}

func TestPlaceInstancesDoesNotAllocate(t *testing.T) {
	f := instanceFleet(t, 1000)
	for _, s := range instanceShapes() {
		t.Run(s.name, func(t *testing.T) {
			var p Placement
			placed := 0
			place := func() {
				if f.Place(&s.request, &p) && f.ReleaseAll(&p) == nil {
					placed++
				}
			}
			place()
			require.Zero(t, testing.AllocsPerRun(20, place))
			require.Equal(t, 22, placed)
		})
	}
	require.NoError(t, f.Check())
}

func BenchmarkPlaceInstance(b *testing.B) {
	for _, nodes := range []int{125, 1000, 8000} {
		f := instanceFleet(b, nodes)
		for _, s := range instanceShapes() {
			b.Run(fmt.Sprintf("%s/nodes=%d", s.name, nodes), func(b *testing.B) {
				var p Placement
				b.ReportAllocs()
				for b.Loop() {
					if !f.Place(&s.request, &p) || f.ReleaseAll(&p) != nil {
						b.Fatal("does not fit")
					}
				}
				b.ReportMetric(float64(len(f.divided[0].lots)), "lots")
			})
		}
	}
}
