package gang

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

// TestValidate: what makes no sense is refused by field, fits nowhere and has no
// diagnosis.
func TestValidate(t *testing.T) {
	f := fleetOf(t, "p/a:8,8")
	valid := func() *Request {
		return &Request{Groups: []Group{
			{Members: 1, Claim: Claim{GPUs: 1}, Classes: []topology.NodeClass{0}},
			{Members: 2, Claim: Claim{Share: Share{GPUMilli: 10, Owner: 1}}, Classes: []topology.NodeClass{0, 1}},
		}}
	}
	require.NoError(t, f.Validate(valid()))
	for _, c := range []struct {
		field  string
		kind   error
		change func(*Request)
	}{
		{"groups", ErrInvalid, func(r *Request) { r.Groups = nil }},
		{"within", ErrUnknown, func(r *Request) { r.Within = 99 }},
		{"within", ErrUnknown, func(r *Request) { r.Within = -1 }},
		{"required", ErrUnknown, func(r *Request) { r.Required = 4 }},
		{"required", ErrUnknown, func(r *Request) { r.Required = -1 }},
		{"preferred", ErrUnknown, func(r *Request) { r.Preferred = 4 }},
		{"preferred", ErrInvalid, func(r *Request) { r.Required, r.Preferred = 2, 1 }},
		{"groups[1].members", ErrInvalid, func(r *Request) { r.Groups[1].Members = 0 }},
		{"groups[1].members", ErrInvalid, func(r *Request) { r.Groups[1].Members = MaxMembers + 1 }},
		{"groups[1].minMembers", ErrInvalid, func(r *Request) { r.Groups[1].MinMembers = 3 }},
		{"groups[1].minMembers", ErrInvalid, func(r *Request) { r.Groups[1].MinMembers = -1 }},
		{"locality", ErrInvalid, func(r *Request) { r.Locality = LocalityLoose + 1 }},
		{"groups[1].segments[0].size", ErrInvalid, func(r *Request) { r.Groups[1].Segments = []Segment{{-1, 1}} }},
		{"groups[1].segments[0].size", ErrInvalid, func(r *Request) { r.Groups[1].Segments = []Segment{{3, 1}} }},
		{"groups[1].segments[0].size", ErrInvalid, func(r *Request) { r.Groups[1].MinMembers, r.Groups[1].Segments = 1, []Segment{{2, 1}} }},
		{"groups[1].segments[1].size", ErrInvalid, func(r *Request) { r.Groups[1].Members, r.Groups[1].Segments = 12, []Segment{{6, 1}, {4, 2}} }},
		{"groups[1].segments[1].level", ErrInvalid, func(r *Request) { r.Groups[1].Members, r.Groups[1].Segments = 12, []Segment{{6, 2}, {3, 1}} }},
		{"groups[1].segments[0].level", ErrUnknown, func(r *Request) { r.Groups[1].Segments = []Segment{{2, 9}} }},
		{"groups[1].balance", ErrUnknown, func(r *Request) { r.Groups[1].Balance = 9 }},
		{"groups[1].spread", ErrUnknown, func(r *Request) { r.Groups[1].Spread = -1 }},
		{"groups[1].railLevel", ErrUnknown, func(r *Request) { r.Groups[1].RailLevel = 9 }},
		{"groups[1].railLevel", ErrInvalid, func(r *Request) { r.Groups[1].RailLevel = 1 }},
		{"groups[0].railLevel", ErrInvalid, func(r *Request) { r.Groups[0].RailLevel, r.Groups[0].Spread, r.Groups[0].MaxSkew = 1, 1, 1 }},
		{"groups[1].maxSkew", ErrInvalid, func(r *Request) { r.Groups[1].MaxSkew = 1 }},
		{"groups[1].maxSkew", ErrInvalid, func(r *Request) { r.Groups[1].Spread = 1 }},
		{"groups[1].required", ErrUnknown, func(r *Request) { r.Groups[1].Required = 9 }},
		{"groups[1].preferred", ErrInvalid, func(r *Request) { r.Groups[1].Required, r.Groups[1].Preferred = 3, 2 }},
		{"groups[1].classes", ErrInvalid, func(r *Request) { r.Groups[1].Classes = nil }},
		{"groups[1].classes[0]", ErrInvalid, func(r *Request) { r.Groups[1].Classes = []topology.NodeClass{-1} }},
		{"groups[1].classes[0]", ErrInvalid, func(r *Request) { r.Groups[1].Classes = []topology.NodeClass{topology.MaxClasses} }},
		{"groups[1].classes[2]", ErrInvalid, func(r *Request) { r.Groups[1].Classes = []topology.NodeClass{5, 0, 5} }},
		{"groups[0].claim.gpus", ErrInvalid, func(r *Request) { r.Groups[0].Claim.GPUs = -1 }},
		{"groups[0].claim.gpus", ErrInvalid, func(r *Request) { r.Groups[0].Claim.GPUs = 65 }},
		{"groups[0].claim.share", ErrInvalid, func(r *Request) { r.Groups[0].Claim.Share.GPUMilli = 1 }},
		{"groups[1].claim.share.gpuMilli", ErrInvalid, func(r *Request) { r.Groups[1].Claim.Share.GPUMilli = 1000 }},
		{"groups[1].claim.share.gpuMilli", ErrInvalid, func(r *Request) { r.Groups[1].Claim.Share.GPUMilli = -1 }},
		{"groups[0].claim.share.gpuMilli", ErrInvalid, func(r *Request) { r.Groups[0].Claim.Share.Owner = 1 }},
		{"groups[1].claim.share.memoryMiB", ErrInvalid, func(r *Request) { r.Groups[1].Claim.Share.MemoryMiB = -1 }},
		{"groups[1].claim.share.owner", ErrInvalid, func(r *Request) { r.Groups[1].Claim.Share.Owner = MaxOwner + 1 }},
		{"groups[1].claim.share.owner", ErrInvalid, func(r *Request) { r.Groups[1].Claim.Share.Owner = 0 }},
		{"groups[1].claim.cpuMilli", ErrInvalid, func(r *Request) { r.Groups[1].Claim.Host[countable.CPUMilli] = -1 }},
		{"groups[1].claim.memoryMiB", ErrInvalid, func(r *Request) { r.Groups[1].Claim.Host[countable.MemoryMiB] = MaxAmount + 1 }},
	} {
		t.Run(c.field, func(t *testing.T) {
			r := valid()
			c.change(r)
			requireRefusal(t, f, c.kind, c.field, func() error { return f.Validate(r) })
			before := dump(f)
			p := Placement{Members: make([]Member, 3)}
			require.False(t, f.Place(r, &p))
			require.Empty(t, p.Members)
			require.Equal(t, before, dump(f))
			_, short := f.Diagnose(r)
			require.False(t, short)
		})
	}
	var e *Error
	require.True(t, errors.As(f.Validate(nil), &e))
	require.Equal(t, "gang: groups: there are none", e.Error())
	require.False(t, f.Fits(0, &Claim{GPUs: -1}) > 0)
}

// TestEdges: requests at the ends of what is valid neither panic nor run on.
func TestEdges(t *testing.T) {
	f := fleetOf(t, "p/a:8,8", "q/b:8")
	empty, err := NewFleet()
	require.NoError(t, err)
	all := []topology.NodeClass{0}
	huge := Claim{GPUs: 64, Host: countable.Amounts{countable.CPUMilli: MaxAmount, countable.MemoryMiB: MaxAmount}}
	for _, fleet := range []*Fleet{f, empty} {
		for _, g := range []Group{
			{Members: MaxMembers, Claim: huge, Classes: all},
			{Members: MaxMembers, Claim: Claim{GPUs: 1}, Classes: all},
			{Members: MaxMembers, Claim: Claim{GPUs: 1}, Classes: all, Segments: []Segment{{MaxMembers, 1}}},
			{Members: MaxMembers, Claim: Claim{Share: Share{GPUMilli: 999, MemoryMiB: MaxAmount, Owner: 1}}, Classes: all},
			{Members: MaxMembers, MinMembers: 1, Claim: huge, Classes: []topology.NodeClass{4095}},
		} {
			r := Request{Groups: []Group{g, g}}
			require.NoError(t, fleet.Validate(&r))
			var p Placement
			require.False(t, fleet.Place(&r, &p))
			require.NoError(t, fleet.Check())
		}
	}
	// A claim of nothing fits without end, on one node.
	r := Request{Groups: []Group{{Members: 5000, Classes: all}}}
	var p Placement
	require.True(t, f.Place(&r, &p))
	require.Len(t, p.Members, 5000)
	require.Equal(t, f.Tree().NodeLevel(), p.Level)
	require.False(t, empty.Place(&r, &p))
}

func TestPlaceDoesNotAllocate(t *testing.T) {
	f := loadedFleet(t, 8*2048)
	for _, s := range shapes() {
		t.Run(s.name, func(t *testing.T) {
			var p Placement
			placed := 0
			place := func() {
				if f.Place(&s.request, &p) {
					placed++
					if f.ReleaseAll(&p) != nil {
						placed = -1 << 30
					}
				}
			}
			place()
			require.Zero(t, testing.AllocsPerRun(20, place))
			require.Positive(t, placed)
		})
	}
	t.Run("refusal", func(t *testing.T) {
		r := Request{Groups: []Group{{Members: 1000, Claim: Claim{GPUs: 8}, Classes: []topology.NodeClass{0}}}}
		var p Placement
		require.Zero(t, testing.AllocsPerRun(20, func() { f.Place(&r, &p) }))
		require.Empty(t, p.Members)
	})
}

// TestWorkDoesNotGrow counts how many nodes are looked at, which Match shows: no more
// on a fleet 32 times as large, and hardly more than are taken.
func TestWorkDoesNotGrow(t *testing.T) {
	for _, gpus := range []int{4096, 131_072} {
		f := loadedFleet(t, gpus)
		for _, c := range []struct {
			members, most int
			claim         Claim
		}{
			{1, 1, Claim{GPUs: 1}},
			{1, 1, Claim{GPUs: 8}},
			{1, 1, Claim{Share: Share{GPUMilli: 500, Owner: 1}}},
			{1, maxHosts, Claim{Host: countable.Amounts{countable.CPUMilli: 1_000}}},
			{32, 33, Claim{GPUs: 8}},
		} {
			looked := 0
			match := func(topology.NodeIndex) bool { looked++; return true }
			r := Request{Groups: []Group{{Members: c.members, Claim: c.claim, Classes: []topology.NodeClass{0}, Match: match}}}
			var p Placement
			require.True(t, f.Place(&r, &p))
			require.LessOrEqual(t, looked, c.most, "%+v on %d GPUs", c.claim, gpus)
			require.NoError(t, f.ReleaseAll(&p))
		}
	}
}
