package mig_test

import (
	"fmt"

	"github.com/berth-sched/berth/mig"
)

// Divide an H100: place what is asked for, one after the other, and see what is
// left. The 3g goes to the upper half, where it is the least in the way.
func Example() {
	product, _ := mig.Lookup("H100-80GB")
	lattice, err := mig.NewLattice(product)
	if err != nil {
		fmt.Println(err)
		return
	}
	var state mig.State // nothing there yet
	for _, text := range []string{"3g.40gb", "2g.20gb", "1g.10gb+me", "4g.40gb"} {
		name, err := mig.ParseProfileName(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		profile, _ := lattice.ProfileIndex(name)
		placement, next, ok := lattice.Place(state, profile)
		if !ok {
			fmt.Println(name, "does not fit any more")
			continue
		}
		state = next
		fmt.Println(placement)
	}
	fmt.Println("memory slices taken:", lattice.Occupied(state))
	for p, profile := range product.Profiles {
		if free := lattice.Free(state, p); free > 0 {
			fmt.Printf("free: %d x %s\n", free, profile.Name)
		}
	}
	// Output:
	// 3g.40gb@4:4
	// 2g.20gb@0:2
	// 1g.10gb+me@2:1
	// 4g.40gb does not fit any more
	// memory slices taken: 0-2,4-7
	// free: 1 x 1g.10gb
}

// A start that the product does not have is refused, and so is one that is taken;
// the error says why.
func ExampleLattice_StateOf() {
	product, _ := mig.Lookup("A100-40GB")
	lattice, err := mig.NewLattice(product)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, texts := range [][]string{
		{"3g.20gb@4:4", "2g.10gb@0:2", "1g.5gb@2:1"},
		{"3g.20gb@4:4", "1g.10gb@6:2"},
		{"3g.20gb@2:4"},
	} {
		var layout mig.Layout
		for _, text := range texts {
			placement, err := mig.ParsePlacement(text)
			if err != nil {
				fmt.Println(err)
				return
			}
			layout = append(layout, placement)
		}
		if state, err := lattice.StateOf(layout); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("valid:", lattice.Layout(state))
		}
	}
	// Output:
	// valid: 2g.10gb@0:2 1g.5gb@2:1 3g.20gb@4:4
	// mig: product "A100-40GB": 1g.10gb@6:2: memory slices 6-7 are taken by 3g.20gb@4:4
	// mig: product "A100-40GB": 3g.20gb@2:4: the product has no such start for the profile
}

// A 4g is wanted of a GPU whose 3g is in use. The plan destroys what is idle and in
// the way, leaves the rest, and creates the instance.
func ExampleLattice_PlanFor() {
	product, _ := mig.Lookup("H100-80GB")
	lattice, err := mig.NewLattice(product)
	if err != nil {
		fmt.Println(err)
		return
	}
	state := func(texts ...string) mig.State {
		var layout mig.Layout
		for _, text := range texts {
			placement, err := mig.ParsePlacement(text)
			if err != nil {
				fmt.Println(err)
			}
			layout = append(layout, placement)
		}
		s, err := lattice.StateOf(layout)
		if err != nil {
			fmt.Println(err)
		}
		return s
	}
	now := state("3g.40gb@4:4", "2g.20gb@0:2", "1g.10gb@3:1")
	used := state("3g.40gb@4:4")
	four, _ := lattice.ProfileIndex(mig.ProfileName{ComputeSlices: 4, MemoryGB: 40})
	counts := make([]int, lattice.Profiles())
	counts[four] = 1
	next, steps, ok := lattice.PlanFor(now, used, counts)
	fmt.Println(ok, steps)
	fmt.Println(lattice.Layout(next))
	// Output:
	// true [-1g.10gb@3:1 -2g.20gb@0:2 +4g.40gb@0:4]
	// 4g.40gb@0:4 3g.40gb@4:4
}

// A request for throughput and memory, not for a profile. A 3g of an H100 has half
// of the GPU's slices and less than half of its SMs.
func ExampleLattice_AppendServing() {
	product, _ := mig.LookupDevice("NVIDIA H100 80GB HBM3")
	lattice, err := mig.NewLattice(product)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range lattice.AppendServing(nil, mig.Need{SMs: 30, MemoryMiB: 18 << 10}) {
		profile, _ := lattice.Profile(p)
		fmt.Printf("%s: %d thousandths of the GPU, %d of its SMs\n", profile.Name, lattice.GPUMilli(p), product.MilliSMs(profile))
	}
	// Output:
	// 2g.20gb: 250 thousandths of the GPU, 242 of its SMs
	// 3g.40gb: 500 thousandths of the GPU, 454 of its SMs
	// 4g.40gb: 500 thousandths of the GPU, 484 of its SMs
	// 7g.80gb: 1000 thousandths of the GPU, 1000 of its SMs
}

// What the driver of a GPU reports wins over the table: this one has no 1g.6gb+me.
func ExampleProductFromReport() {
	product, err := mig.ProductFromReport(mig.Report{
		Device: "NVIDIA A30",
		Profiles: []mig.ReportedProfile{
			{
				NVMLIndex: 0, Name: "MIG 1g.6gb", ID: 14, SliceCount: 1, InstanceCount: 4, MultiprocessorCount: 14,
				CopyEngineCount: 1, MemoryMiB: 5952,
				Placements: []mig.ReportedPlacement{{0, 1}, {1, 1}, {2, 1}, {3, 1}},
			},
			{
				NVMLIndex: 1, Name: "MIG 2g.12gb", ID: 5, SliceCount: 2, InstanceCount: 2, MultiprocessorCount: 28,
				CopyEngineCount: 2, DecoderCount: 2, MemoryMiB: 11968,
				Placements: []mig.ReportedPlacement{{0, 2}, {2, 2}},
			},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	lattice, err := mig.NewLattice(product)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(product.Name, product.Confidence(), lattice.States(), "layouts")
	// Output:
	// A30 measured 25 layouts
}
