package mig

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewLatticeRefusesBadProducts(t *testing.T) {
	for _, test := range []struct {
		field  string
		kind   error
		change func(*Product)
	}{
		{"name", ErrInvalid, func(p *Product) { p.Name = "" }},
		{"memorySlices", ErrInvalid, func(p *Product) { p.MemorySlices = 0 }},
		{"memorySlices", ErrInvalid, func(p *Product) { p.MemorySlices = MaxMemorySlices + 1 }},
		{"computeSlices", ErrInvalid, func(p *Product) { p.ComputeSlices = 0 }},
		{"SMs", ErrInvalid, func(p *Product) { p.SMs = -1 }},
		{"OFA engines", ErrInvalid, func(p *Product) { p.Engines.OFA = MaxUnits + 1 }},
		{"profiles", ErrInvalid, func(p *Product) { p.Profiles = nil }},
		{"profiles", ErrInvalid, func(p *Product) { p.Profiles = make([]Profile, MaxProfiles+1) }},
		{"profiles[1].name", ErrInvalid, func(p *Product) { p.Profiles[1].Name = p.Profiles[0].Name }},
		{"profiles[1].name", ErrInvalid, func(p *Product) { p.Profiles[1].Name = ProfileName{} }},
		{"profiles[2].memorySlices", ErrInvalid, func(p *Product) { p.Profiles[2].MemorySlices = 5 }},
		{"profiles[2].memorySlices", ErrInvalid, func(p *Product) { p.Profiles[2].MemorySlices = 0 }},
		{"profiles[2].memoryMiB", ErrInvalid, func(p *Product) { p.Profiles[2].MemoryMiB = -1 }},
		{"profiles[2].computeSlices", ErrInvalid, func(p *Product) { p.Profiles[2].ComputeSlices = 0 }},
		{"profiles[2].compute slices", ErrInvalid, func(p *Product) { p.Profiles[2].ComputeSlices = 5 }},
		{"profiles[2].NVDEC engines", ErrInvalid, func(p *Product) { p.Profiles[2].Engines.NVDEC = -1 }},
		{"profiles[2].NVENC engines", ErrInvalid, func(p *Product) { p.Profiles[2].Engines.NVENC = 1 }},
		{"profiles[2].starts", ErrInvalid, func(p *Product) { p.Profiles[2].Starts = nil }},
		{"profiles[2].starts", ErrInvalid, func(p *Product) { p.Profiles[2].Starts = []int{2, 0} }},
		{"profiles[2].starts", ErrInvalid, func(p *Product) { p.Profiles[2].Starts = []int{0, 0} }},
		{"profiles[2].starts[1]", ErrInvalid, func(p *Product) { p.Profiles[2].Starts = []int{0, 3} }},
		{"profiles[2].starts[0]", ErrInvalid, func(p *Product) { p.Profiles[2].Starts[0] = math.MinInt }},
	} {
		p, _ := Lookup("A30")
		test.change(&p)
		_, err := NewLattice(p)
		require.ErrorIs(t, err, test.kind, test.field)
		var refusal *Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, test.field, refusal.Field)
		require.Equal(t, p.Name, refusal.Product)
		require.NotEmpty(t, refusal.Reason)
	}
}

// slabs is a product with n profiles that may start at each of m memory slices
// and take one.
func slabs(n, m int) Product {
	p := Product{Name: "slabs", ComputeSlices: MaxMemorySlices, MemorySlices: m}
	for i := range n {
		profile := Profile{Name: ProfileName{ComputeSlices: 1, MemoryGB: uint16(i)}, ComputeSlices: 1, MemorySlices: 1}
		for start := range m {
			profile.Starts = append(profile.Starts, start)
		}
		p.Profiles = append(p.Profiles, profile)
	}
	return p
}

func TestNewLatticeRefusesTooMuch(t *testing.T) {
	_, err := NewLattice(slabs(3, 22))
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "66 starts")
	_, err = NewLattice(slabs(1, 16)) // 65,536 layouts, one too many
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = NewLattice(slabs(2, 32)) // 3^32 of them, refused as fast
	require.ErrorIs(t, err, ErrTooLarge)

	l, err := NewLattice(slabs(1, 15))
	require.NoError(t, err)
	require.Equal(t, 1<<15, l.States())
	require.Equal(t, 15, l.Free(0, 0))
}

func TestUnknownSMsBoundNothing(t *testing.T) {
	p, _ := Lookup("H100-80GB")
	p.SMs = 0
	l, err := NewLattice(p)
	require.NoError(t, err)
	require.Equal(t, 2319, l.States())
	p.SMs = 132
	p.Profiles[0].SMs = 30 // five of these would take 150 SMs
	l, err = NewLattice(p)
	require.NoError(t, err)
	require.Equal(t, 4, l.Free(0, 0))
}
