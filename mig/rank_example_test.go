package mig_test

import (
	"fmt"

	"github.com/berth-sched/berth/mig"
)

// Two GPUs, and a demand for small and whole-GPU instances. The next small one goes to
// the GPU that is divided already.
func ExampleRanking() {
	product, _ := mig.Lookup("H100-80GB")
	lattice, err := mig.NewLattice(product)
	if err != nil {
		fmt.Println(err)
		return
	}
	small, _ := lattice.ProfileIndex(mig.ProfileName{ComputeSlices: 1, MemoryGB: 10})
	whole, _ := lattice.ProfileIndex(mig.ProfileName{ComputeSlices: 7, MemoryGB: 80})
	weights := make([]uint32, lattice.Profiles())
	weights[small], weights[whole] = 9, 1
	ranking := mig.NewRanking(lattice, weights)

	divided, _ := lattice.StateOf([]mig.Placement{{Profile: mig.ProfileName{ComputeSlices: 3, MemoryGB: 40}, Start: 4, Size: 4}})
	for _, state := range []mig.State{0, divided} {
		at, _, loss, _ := ranking.Best(state, small)
		fmt.Println(lattice.Layout(state), "+", at, "loses", loss)
	}
	// Output:
	// empty + 1g.10gb@6:1 loses 73
	// 3g.40gb@4:4 + 1g.10gb@0:1 loses 9
}
