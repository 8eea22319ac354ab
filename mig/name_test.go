package mig

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

func TestParseProfileName(t *testing.T) {
	for text, name := range map[string]ProfileName{
		"1g.10gb":        {ComputeSlices: 1, MemoryGB: 10},
		"1g.10gb+me":     {ComputeSlices: 1, MemoryGB: 10, Attribute: AttributeMedia},
		"1g.24gb+me.all": {ComputeSlices: 1, MemoryGB: 24, Attribute: AttributeMediaAll},
		"4g.96gb+gfx":    {ComputeSlices: 4, MemoryGB: 96, Attribute: AttributeGraphics},
		"2g.48gb-me":     {ComputeSlices: 2, MemoryGB: 48, Attribute: AttributeNoMedia},
		"1g.0gb":         {ComputeSlices: 1}, // an integrated GPU has no memory of its own
		"255g.65535gb":   {ComputeSlices: 255, MemoryGB: 65535},
		"spx_nps1":       {PartitionMode: PartitionModeSPXNPS1},
		"cpx_nps4":       {PartitionMode: PartitionModeCPXNPS4},
	} {
		parsed, err := ParseProfileName(text)
		require.NoError(t, err, text)
		require.Equal(t, name, parsed)
		require.Equal(t, text, parsed.String())
	}
}

func TestParseProfileNameRefuses(t *testing.T) {
	for text, reason := range map[string]string{
		"":                                  "g.",
		"3g":                                "g.",
		"1c.3g.40gb":                        "compute instance",
		"0g.10gb":                           "compute slices",
		"256g.10gb":                         "compute slices",
		"+1g.10gb":                          "compute slices",
		"01g.10gb":                          "compute slices",
		" 1g.10gb":                          "compute slices",
		"g.10gb":                            "compute slices",
		"mig-1g.10gb":                       "compute slices",
		"CPX_NPS4":                          "partition mode",
		"cpx_nps2":                          "partition mode",
		"mode_0":                            "partition mode",
		"cpx_nps4+me":                       "partition mode",
		"1g.10":                             `no "gb"`,
		"1g.10GB":                           `no "gb"`,
		"1g.gb":                             "65535",
		"1g.65536gb":                        "65535",
		"1g.05gb":                           "65535",
		"1g.-5gb":                           "65535",
		"1g.10gb+":                          "attribute",
		"1g.10gb+me+gfx":                    "attribute",
		"1g.10gb-gfx":                       "attribute",
		"1g.10gb ":                          "attribute",
		"1g.10gb+me.all ":                   "attribute",
		strings.Repeat("9", 1000) + "g.1gb": "compute slices",
	} {
		name, err := ParseProfileName(text)
		require.ErrorIs(t, err, ErrInvalid, text)
		require.Zero(t, name)
		require.ErrorContains(t, err, reason, text)
		require.Less(t, len(err.Error()), 200, "outside text must not blow up an error")
	}
}

func TestPlacementText(t *testing.T) {
	p := placements(t, "1g.24gb+me.all@9:3")[0]
	require.Equal(t, Placement{ProfileName{ComputeSlices: 1, Attribute: AttributeMediaAll, MemoryGB: 24}, 9, 3}, p)
	text, err := json.Marshal(Layout{p})
	require.NoError(t, err)
	require.Equal(t, `["1g.24gb+me.all@9:3"]`, string(text))
	var again Layout
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, Layout{p}, again)
	for text, reason := range map[string]string{
		"1g.5gb":       "@",
		"1g.5@0:1":     "gb",
		"1g.5gb@0":     ":",
		"1g.5gb@0:0":   "size",
		"1g.5gb@0:33":  "size",
		"1g.5gb@31:2":  "size",
		"1g.5gb@-1:1":  "size",
		"1g.5gb@00:1":  "size",
		"1g.5gb@0:1@":  "size",
		"1g.5gb@0:1:1": "size",
	} {
		_, err := ParsePlacement(text)
		require.ErrorIs(t, err, ErrInvalid, text)
		require.ErrorContains(t, err, reason, text)
	}
}

// What cannot be parsed back is not marshalled, and a text that does not parse
// leaves the value as it was.
func TestTextOfWhatIsNone(t *testing.T) {
	for _, name := range []ProfileName{
		{}, {ComputeSlices: 1, Attribute: attributes}, {PartitionMode: modes}, {ComputeSlices: 1, PartitionMode: PartitionModeCPXNPS4}, {MemoryGB: 1, PartitionMode: PartitionModeCPXNPS4},
	} {
		_, err := name.MarshalText()
		require.ErrorIs(t, err, ErrInvalid)
		_, err = Placement{Profile: name, Size: 1}.MarshalText()
		require.ErrorIs(t, err, ErrInvalid)
	}
	name := ProfileName{ComputeSlices: 1}
	for _, p := range []Placement{{Profile: name}, {Profile: name, Start: 31, Size: 2}, {Profile: name, Start: 255, Size: 255}} {
		_, err := p.MarshalText()
		require.ErrorIs(t, err, ErrInvalid)
		_ = p.Mask().String()
	}
	require.Error(t, name.UnmarshalText([]byte("1g")))
	require.Equal(t, ProfileName{ComputeSlices: 1}, name)
	p := Placement{Profile: name, Size: 1}
	require.Error(t, p.UnmarshalText([]byte("1g")))
	require.Equal(t, Placement{Profile: name, Size: 1}, p)
}

func TestMask(t *testing.T) {
	for text, mask := range map[string]Mask{
		"none": 0, "0": 1, "31": 1 << 31, "0-31": 1<<32 - 1, "0-3,6": 0x4f, "1,3,5-7": 0xea,
	} {
		require.Equal(t, text, mask.String())
	}
	require.Equal(t, Mask(0xf0), placements(t, "3g.40gb@4:4")[0].Mask())
	require.True(t, Mask(6).Overlaps(4))
	require.False(t, Mask(6).Overlaps(1))
}

// Any valid value prints to a text that parses back to it, and the order of names
// and placements is total.
func TestTextRoundTrip(t *testing.T) {
	values := rapid.Custom(func(t *rapid.T) Placement {
		size := rapid.Uint8Range(1, MaxMemorySlices).Draw(t, "size")
		name := ProfileName{PartitionMode: PartitionMode(rapid.IntRange(0, modes-1).Draw(t, "mode"))}
		if name.PartitionMode == PartitionModeNone {
			name.ComputeSlices = rapid.Uint8Range(1, 255).Draw(t, "slices")
			name.Attribute = Attribute(rapid.IntRange(0, attributes-1).Draw(t, "attribute"))
			name.MemoryGB = rapid.Uint16().Draw(t, "memory")
		}
		return Placement{name, rapid.Uint8Range(0, MaxMemorySlices-size).Draw(t, "start"), size}
	})
	drawn.Check(t, func(t *rapid.T) {
		p, q := values.Draw(t, "p"), values.Draw(t, "q")
		name, err := ParseProfileName(p.Profile.String())
		require.NoError(t, err)
		require.Equal(t, p.Profile, name)
		parsed, err := ParsePlacement(p.String())
		require.NoError(t, err)
		require.Equal(t, p, parsed)
		require.Equal(t, int(p.Size), sizeOf(p.Mask()))
		require.Equal(t, p == q, p.Compare(q) == 0)
		require.Equal(t, p.Compare(q), -q.Compare(p))
		require.Equal(t, p.Profile == q.Profile, p.Profile.Compare(q.Profile) == 0)
	})
}

// Any bytes: a value that prints as it was read, or a typed error.
func FuzzParseProfileName(f *testing.F) {
	for _, text := range []string{"1g.10gb", "7g.141gb", "1g.24gb+me.all", "2g.48gb-me", "1c.3g.40gb", "0g.0gb", "1g.010gb", "g.gb", "cpx_nps4", "qpx_nps1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, err := ParseProfileName(text)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			require.Zero(t, name)
			return
		}
		require.Equal(t, text, name.String())
	})
}

func FuzzParsePlacement(f *testing.F) {
	for _, text := range []string{"1g.10gb@0:1", "7g.141gb@0:8", "1g.24gb+me.all@9:3", "1g.5gb@31:2", "@:", "1g.5gb@:1", "cpx_nps4@7:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		placement, err := ParsePlacement(text)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			require.Zero(t, placement)
			return
		}
		require.Equal(t, text, placement.String())
	})
}

// Any JSON that is a product gives a lattice, or a typed error. What a lattice
// tells of the whole product is then looked at a little.
func FuzzNewLattice(f *testing.F) {
	for _, p := range Products() {
		text, err := json.Marshal(p)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var p Product
		if json.Unmarshal(text, &p) != nil {
			return
		}
		l, err := NewLattice(p)
		if err != nil {
			var refusal *Error
			require.ErrorAs(t, err, &refusal)
			require.NotEmpty(t, refusal.Reason)
			return
		}
		last := State(l.States() - 1)
		require.Empty(t, l.Layout(0))
		require.NotEmpty(t, l.Layout(last))
		w := newTwin(l.Product())
		require.True(t, w.holds(l.Layout(last)))
		again, err := l.StateOf(l.Layout(last))
		require.NoError(t, err)
		require.Equal(t, last, again)
		counts := countsOf(l, last)
		want, _ := l.search(0, counts)
		got, ok := l.Arrange(0, counts)
		require.True(t, ok)
		require.Equal(t, want, got)
	})
}

// sizeOf is the number of slices in a set.
func sizeOf(m Mask) int { return bits.OnesCount32(uint32(m)) }

// Placements are in the order of their starts, and of one start in that of their sizes.
func TestPlacementsAreInOrder(t *testing.T) {
	large := Placement{Profile: ProfileName{ComputeSlices: 1, MemoryGB: 20}, Start: 2, Size: 2}
	small := Placement{Profile: ProfileName{ComputeSlices: 2, MemoryGB: 10}, Start: 2, Size: 1}
	first := Placement{Profile: ProfileName{ComputeSlices: 7, MemoryGB: 80}, Start: 0, Size: 8}
	list := []Placement{large, small, first}
	slices.SortFunc(list, Placement.Compare)
	require.Equal(t, []Placement{first, small, large}, list)
	require.Zero(t, large.Compare(large))
}
