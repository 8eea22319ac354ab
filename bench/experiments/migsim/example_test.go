package migsim_test

import (
	"fmt"

	"github.com/berth-sched/berth/bench/experiments/migsim"
	"github.com/berth-sched/berth/mig"
)

// Two policies on the same requests, more than 20 GPUs can serve.
func Example() {
	product, _ := mig.Lookup("A100-80GB")
	lattice, err := migsim.Plain(product)
	if err != nil {
		fmt.Println(err)
		return
	}
	mix, _ := migsim.MixNamed("bimodal")
	setup := migsim.Setup{Lattice: lattice, GPUs: 20, Mix: mix, LoadPercent: 115}
	demand := setup.Draw(1)
	first := setup.Run(migsim.FirstFit(lattice), demand)
	berth := setup.Run(migsim.Berth(lattice, nil), demand)
	fmt.Println("asked:", first.Asked)
	fmt.Println("berth accepts more:", berth.Accepted > first.Accepted)
	fmt.Println("and is less fragmented:", berth.Score < first.Score)
	// Output:
	// asked: 279
	// berth accepts more: true
	// and is less fragmented: true
}
