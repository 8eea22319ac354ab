package gang

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/mig"
)

// worldLattices are those of the classes of a world, by class: one made up, whose places
// get in each other's way, a real one, and none.
var worldLattices = sync.OnceValue(func() []*mig.Lattice {
	row := func(size int, starts ...int) mig.Profile {
		return mig.Profile{
			Name: mig.ProfileName{ComputeSlices: uint8(size), MemoryGB: uint16(size)}, ID: size, NVMLIndex: size,
			ComputeSlices: size, MemorySlices: size, Starts: starts, MaxCount: 4 / size,
		}
	}
	odd, err := mig.NewLattice(mig.Product{
		Name: "odd", ComputeSlices: 4, MemorySlices: 4,
		Profiles: []mig.Profile{row(1, 0, 3), row(2, 0, 1, 2), row(3, 0, 1)},
	})
	if err != nil {
		panic(err)
	}
	product, _ := mig.Lookup("A30")
	a30, err := mig.NewLattice(product)
	if err != nil {
		panic(err)
	}
	return []*mig.Lattice{odd, a30, nil}
})

// coexist reports whether instances can exist on one GPU, from what the product says
// alone.
func coexist(product mig.Product, placements []mig.Placement) bool {
	var taken mig.Mask
	compute := 0
	var engines mig.Engines
	for _, p := range placements {
		profile, ok := product.Profile(p.Profile)
		if !ok || !slices.Contains(profile.Starts, int(p.Start)) || profile.MemorySlices != int(p.Size) || taken.Overlaps(p.Mask()) {
			return false
		}
		taken |= p.Mask()
		compute += profile.ComputeSlices
		engines.Copy += profile.Engines.Copy
		engines.NVDEC += profile.Engines.NVDEC
		engines.JPEG += profile.Engines.JPEG
		engines.OFA += profile.Engines.OFA
	}
	all := product.Engines
	return compute <= product.ComputeSlices && engines.Copy <= all.Copy && engines.NVDEC <= all.NVDEC && engines.JPEG <= all.JPEG && engines.OFA <= all.OFA
}

// admits reports whether an instance of a GPU can be held beside what is.
func (r *room) admits(gpu int, p mig.Placement) bool {
	switch r.node.division[gpu] {
	case PartitioningFixed:
		return slices.Contains(r.node.exist[gpu], p) && !slices.Contains(r.held[gpu], p)
	case PartitioningPerClaim:
		return coexist(r.node.Lattice.Product(), append(slices.Clip(r.held[gpu]), p))
	}
	return false
}

// sharable reports whether there may be one more share of a GPU.
func (r *room) sharable(gpu int) bool {
	return r.node.MaxShares == 0 || r.shares[gpu] < r.node.MaxShares
}

// place numbers the places of a node.
func place(h *Hold) int {
	return 1 + bits.TrailingZeros64(h.GPUs)*mig.MaxMemorySlices + int(h.Instance.Start)
}

// instances are the options of a claim of an instance.
func (r *room) instances(h Hold, c *Claim) []Hold {
	var list []Hold
	for gpu := range r.node.GPUs {
		if r.node.failed>>gpu&1 != 0 || r.node.division[gpu] == PartitioningNone {
			continue
		}
		for _, p := range c.Instances {
			if p.Class != r.node.Class {
				continue
			}
			profile, _ := r.node.Lattice.Profile(p.Index)
			for _, start := range profile.Starts {
				h.GPUs = 1 << gpu
				h.Instance = mig.Placement{Profile: profile.Name, Start: uint8(start), Size: uint8(profile.MemorySlices)}
				if place(&h) >= r.floor && r.admits(gpu, h.Instance) {
					list = append(list, h)
				}
			}
		}
	}
	return list
}

// state is what Divide takes as the instances that exist on a GPU.
func (n *worldNode) state(gpu int) mig.State {
	if n.division[gpu] != PartitioningFixed {
		return 0
	}
	s, err := n.Lattice.StateOf(n.exist[gpu])
	if err != nil {
		panic(err)
	}
	return s
}

// requireDivided asserts what the fleet says of a GPU.
func (r *room) requireDivided(t require.TestingT, f *Fleet, gpu int) {
	d, exist, held := f.Partitioning(r.node.index, gpu)
	require.Equal(t, r.node.division[gpu], d)
	if d == PartitioningNone {
		require.Zero(t, exist|held)
		return
	}
	slices.SortFunc(r.held[gpu], mig.Placement.Compare)
	require.Equal(t, r.held[gpu], []mig.Placement(r.node.Lattice.Layout(held)))
	want := mig.Layout(r.held[gpu])
	if d == PartitioningFixed {
		want = r.node.exist[gpu]
	}
	require.Equal(t, want, r.node.Lattice.Layout(exist))
}

// divide divides a GPU of a node anew, or tries to: it is refused if and only if that
// takes something from a holder.
func (w *world) divide(t *rapid.T, n *worldNode) {
	gpu := rapid.IntRange(0, n.GPUs-1).Draw(t, "gpu")
	d := Partitioning(rapid.SampledFrom([]int{2, 1, 1, 0}).Draw(t, "division"))
	var exist mig.State
	if d == PartitioningFixed {
		exist = mig.State(rapid.IntRange(0, n.Lattice.States()-1).Draw(t, "exist"))
	}
	layout := n.Lattice.Layout(exist)
	r := &w.rooms()[slices.IndexFunc(w.nodes, func(o worldNode) bool { return o.index == n.index })]
	ok := d == PartitioningNone && len(r.held[gpu]) == 0
	if d != PartitioningNone {
		free := !slices.ContainsFunc(w.holds, func(h Hold) bool {
			return h.Node == n.index && h.GPUs>>gpu&1 != 0 && h.Instance == mig.Placement{}
		})
		ok = free && (d == PartitioningPerClaim || !slices.ContainsFunc(r.held[gpu], func(p mig.Placement) bool { return !slices.Contains(layout, p) }))
	}
	err := w.fleet.SetPartitioning(n.index, gpu, d, exist)
	require.Equal(t, ok, err == nil, "%v", err)
	if ok {
		n.division[gpu], n.exist[gpu] = d, layout
	} else {
		require.ErrorIs(t, err, ErrHeld)
	}
}

// seat lets some instances of a node be held.
func (w *world) seat(t *rapid.T, n *worldNode) {
	for range rapid.IntRange(0, 2).Draw(t, "instances") {
		h := Hold{Node: n.index, GPUs: 1 << rapid.IntRange(0, n.GPUs-1).Draw(t, "gpu")}
		h.Instance = rapid.SampledFrom(n.Lattice.Placements()).Draw(t, "placement")
		if w.fleet.Hold(h) == nil {
			w.holds = append(w.holds, h)
		}
	}
}
