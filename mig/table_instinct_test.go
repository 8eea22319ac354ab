package mig

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A GPU in a partition mode has partitions of that mode alone.
func TestMI300XIsInOneMode(t *testing.T) {
	l := lattice(t, "MI300X")
	// Of each mode that makes n partitions any that are in use, and no layout of two
	// modes.
	require.Equal(t, 1+2*(1<<8-1)+2*(1<<4-1)+2*(1<<2-1)+1, l.States())
	var maximal []State
	for s := range State(l.States()) {
		if openInAll(l, s) == 0 {
			maximal = append(maximal, s)
		}
	}
	require.Len(t, maximal, 7)
	for _, s := range maximal {
		require.Equal(t, 8, sizeOf(l.Occupied(s)))
		require.Equal(t, Usage{ComputeSlices: 8, SMs: 304}, l.Used(s))
	}
	s, err := l.StateOf(placements(t, "cpx_nps4@0:1", "cpx_nps4@5:1"))
	require.NoError(t, err)
	require.Equal(t, 6, l.Free(s, profileIndex(t, l, "cpx_nps4")))
	require.Zero(t, l.Free(s, profileIndex(t, l, "cpx_nps1")))
	_, err = l.PlaceAt(s, placements(t, "qpx_nps4@2:2")[0])
	require.ErrorIs(t, err, ErrConflict)
	require.EqualError(t, err, `mig: product "MI300X": qpx_nps4@2:2: the GPU is divided into cpx_nps4, and holds one kind of instance at a time`)

	// Another mode needs all partitions gone, also those that are not in its way.
	counts := make([]int, l.Profiles())
	counts[profileIndex(t, l, "qpx_nps4")] = 1
	to, steps, ok := l.PlanFor(s, 0, counts)
	require.True(t, ok)
	require.Len(t, steps, 3)
	require.Equal(t, 1, l.Instances(to, profileIndex(t, l, "qpx_nps4")))
	held, err := l.StateOf(placements(t, "cpx_nps4@5:1"))
	require.NoError(t, err)
	_, _, ok = l.PlanFor(s, held, counts)
	require.False(t, ok)
}

// Every name in the tables is of one product, with its maker or without.
func TestLookupName(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Products() {
		require.NotEmpty(t, p.DeviceNames, p.Name)
		for _, name := range p.DeviceNames {
			require.False(t, seen[name], name)
			seen[name] = true
			found, ok := LookupDevice(name)
			require.True(t, ok)
			require.Equal(t, p, found)
		}
	}
	for device, product := range map[string]string{
		"A100-SXM4-40GB":                               "A100-40GB",
		"NVIDIA H100 80GB HBM3":                        "H100-80GB",
		"NVIDIA H100 NVL":                              "H100-94GB",
		"NVIDIA GH200 480GB":                           "H100-96GB", // named by the memory of its CPU
		"NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX PRO 6000",
		"AMD Instinct MI300X":                          "MI300X",
	} {
		found, ok := LookupDevice(device)
		require.True(t, ok, device)
		require.Equal(t, product, found.Name)
	}
	for _, device := range []string{"", "NVIDIA", "NVIDIA ", "H100", "NVIDIA L40S", "NVIDIA H100 80GB", "NVIDIA NVIDIA A30"} {
		_, ok := LookupDevice(device)
		require.False(t, ok, device)
	}
}
