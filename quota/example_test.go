package quota_test

import (
	"fmt"

	"github.com/berth-sched/berth/quota"
)

func Example() {
	tree := quota.NewTree()
	for _, q := range []quota.Queue{
		{Name: "research", Guarantee: quota.Amounts{quota.GPUMilli: 16_000}, Limit: quota.Amounts{quota.GPUMilli: 28_000}},
		{Name: "vision", Parent: "research", Guarantee: quota.Amounts{quota.GPUMilli: 8_000}},
		{Name: "speech", Parent: "research", Guarantee: quota.Amounts{quota.GPUMilli: 8_000}, Weight: 2},
	} {
		if _, err := tree.Set(q); err != nil {
			fmt.Println(err)
			return
		}
	}
	vision, _ := tree.Lookup("vision")
	speech, _ := tree.Lookup("speech")
	h100, err := tree.RetainProduct("H100-80GB")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tree.ReleaseProduct(h100)
	gang := quota.Charge{GPUMilli: 4_000, Product: h100}
	for _, leaf := range []quota.QueueIndex{vision, speech} { // each has many of these
		if err := tree.SetNext(leaf, gang); err != nil {
			fmt.Println(err)
			return
		}
	}
	for {
		leaf, _ := tree.Next()
		if verdict, ok := tree.Fits(leaf, gang); !ok {
			fmt.Printf("%s waits: %s uses %d of %d %s and %d more are asked for\n", tree.Name(leaf),
				tree.Name(verdict.At), verdict.Used, verdict.Limit, verdict.Resource, verdict.Asked)
			break
		}
		own := tree.Within(leaf, gang)
		if err := tree.Charge(leaf, gang); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s runs a gang, within its guarantee: %t\n", tree.Name(leaf), own)
	}

	_, err = tree.Set(quota.Queue{Name: "audio", Parent: "research", Guarantee: quota.Amounts{quota.GPUMilli: 1_000}})
	fmt.Println(err)
	// Output:
	// speech runs a gang, within its guarantee: true
	// vision runs a gang, within its guarantee: true
	// speech runs a gang, within its guarantee: true
	// vision runs a gang, within its guarantee: true
	// speech runs a gang, within its guarantee: false
	// speech runs a gang, within its guarantee: false
	// vision runs a gang, within its guarantee: false
	// speech waits: research uses 28000 of 28000 gpuMilli and 4000 more are asked for
	// quota: queue "audio": guarantee["gpuMilli"]: with its siblings' makes 17000 of the 16000 that "research" is guaranteed
}
