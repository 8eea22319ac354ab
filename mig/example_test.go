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
