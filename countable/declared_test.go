package countable

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeclarationsAreChecked(t *testing.T) {
	for _, good := range []Register{nil, {{Name: "rdma/vf"}}, {{Name: "scratch", Unit: "GiB"}, {Name: "example.com/fpga"}, {Name: "a-b_c.9"}}} {
		_, _, reason := good.Check()
		require.Empty(t, reason, good)
	}
	for _, bad := range []struct {
		list  Register
		index int
		field string
	}{
		{make(Register, MaxDeclared+1), -1, ""},
		{Register{{Name: ""}}, 0, "name"},
		{Register{{Name: strings.Repeat("a", MaxNameBytes+1)}}, 0, "name"},
		{Register{{Name: "a b"}}, 0, "name"},
		{Register{{Name: "gpuMilli:H100"}}, 0, "name"},
		{Register{{Name: "/vf"}}, 0, "name"},
		{Register{{Name: "vf."}}, 0, "name"},
		{Register{{Name: "v\x00f"}}, 0, "name"},
		{Register{{Name: "bücher"}}, 0, "name"},
		{Register{{Name: "gpuMilli"}}, 0, "name"},
		{Register{{Name: "vf"}, {Name: "cpuMilli"}}, 1, "name"},
		{Register{{Name: "memoryMiB"}}, 0, "name"},
		{Register{{Name: "vf"}, {Name: "vf", Unit: "x"}}, 1, "name"},
		{Register{{Name: "vf", Unit: "G B"}}, 0, "unit"},
	} {
		index, field, reason := bad.list.Check()
		require.NotEmpty(t, reason, bad.list)
		require.Equal(t, bad.index, index, bad.list)
		require.Equal(t, bad.field, field, bad.list)
	}
}

func TestARegisterReads(t *testing.T) {
	g := Register{{Name: "scratch", Unit: "GiB"}, {Name: "vf"}}
	require.Nil(t, g.Read(nil))
	require.Nil(t, g.Read(map[string]int64{"vf": 0, "other": 7}))
	require.Equal(t, &Declared{3, 4}, g.Read(map[string]int64{"vf": 4, "scratch": 3}))
	require.Equal(t, "3 GiB of scratch", g[0].Words(3))
	require.Equal(t, "4 vf", g[1].Words(4))
}

func TestDeclared(t *testing.T) {
	a, b := &Declared{3, 5}, &Declared{1, 7}
	var none *Declared
	require.Equal(t, &Declared{4, 12}, a.Plus(b))
	require.Equal(t, &Declared{2, -2}, a.Minus(b))
	require.Equal(t, &Declared{2}, a.Minus(b).Floor())
	require.Equal(t, &Declared{9, 15}, a.Times(3))
	require.Equal(t, &Declared{1, 2}, a.DividedBy(2))
	require.Equal(t, &Declared{3, 7}, a.Most(b))
	require.Equal(t, &Declared{3}, a.First(1))
	require.Equal(t, &Declared{3, 5}, a, "the operands stay as they are")

	require.Equal(t, a, none.Plus(a))
	require.Equal(t, a, a.Plus(none))
	require.Equal(t, &Declared{-3, -5}, none.Minus(a))
	require.Equal(t, a, none.Most(a))
	for _, nothing := range []*Declared{
		a.Minus(a), none.Plus(none), none.Minus(none), none.Times(3), a.Times(0), none.DividedBy(2), none.Floor(), none.Minus(a).Floor(),
		none.Most(none), none.First(2), a.First(0), a.DividedBy(9),
	} {
		require.Nil(t, nothing)
	}
	require.Zero(t, none.Of(1))

	require.Equal(t, 0, a.Beyond(b))
	require.Equal(t, 1, b.Beyond(a))
	require.Equal(t, 1, b.Beyond(&Declared{1}))
	require.Equal(t, -1, none.Beyond(a))
	require.Equal(t, 0, none.Beyond(&Declared{-1}), "less than nothing")
	require.True(t, a.Within(a))
	require.True(t, a.Equal(&Declared{3, 5}))
	require.False(t, a.Equal(nil))
	require.True(t, none.Equal(&Declared{}))
	require.Equal(t, 1, a.Compare(b))
	require.Equal(t, -1, none.Compare(b))
	require.Zero(t, none.Compare(nil))
}

// Amounts that are all 0 are none, also where they are not nil.
func TestNothingDeclaredIsNone(t *testing.T) {
	var none *Declared
	require.Nil(t, none.Plus(&Declared{}))
	require.Nil(t, none.Plus(&Declared{}).Minus(&Declared{}))
	some := &Declared{1}
	require.Same(t, some, some.Plus(&Declared{}))
}
