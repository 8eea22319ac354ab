package berth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

func printJSON(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(b))
}

func ExampleWholeGPUs() {
	printJSON(berth.WholeGPUs(8).WithHost(96_000, 1<<20))
	// Output: {"gpus":8,"cpuMilli":96000,"memoryMiB":1048576}
}

func ExampleMIGInstance() {
	printJSON(berth.MIGInstance("3g.40gb"))
	// Output: {"mig":"3g.40gb"}
}

func ExampleInstanceWith() {
	printJSON(berth.InstanceWith(30, 18_000))
	// Output: {"minInstance":{"minSMs":30,"minMemoryMiB":18000}}
}

func ExampleSharedGPU() {
	printJSON(berth.SharedGPU(berth.ShareTimeSlice, 250))
	// Output: {"share":{"mode":"time-slice","gpuMilli":250}}
}

func ExampleHostOnly() {
	printJSON(berth.HostOnly(4000, 16_384))
	// Output: {"cpuMilli":4000,"memoryMiB":16384}
}

func ExampleEqualGPUs() {
	node := berth.Node{ID: "n1", GPUs: berth.EqualGPUs(8, berth.GPU{Product: "H100-80GB", MemoryMiB: 81_559, Clique: "n1"})}
	fmt.Println(len(node.GPUs), node.GPUs[7].Product)
	// Output: 8 H100-80GB
}

func ExampleConfig_DomainPath() {
	config := berth.Config{Levels: []string{"spine", "leaf"}}
	path, err := config.DomainPath(map[string]string{"leaf": "leaf-7", "spine": "east"})
	fmt.Println(path, err)
	_, err = config.DomainPath(map[string]string{"leaf": "leaf-7"})
	fmt.Println(err, errors.Is(err, berth.ErrInvalid))
	_, err = config.DomainPath(map[string]string{"leaf": "leaf-7", "spine": "east", "rack": "r1"})
	fmt.Println(err, errors.Is(err, berth.ErrUnknown))
	// Output:
	// [east leaf-7] <nil>
	// berth: domains: spine: has no name true
	// berth: domains: rack: is not one of the levels true
}

// Equal GPUs share no memory, and nothing that is one GPU's alone.
func TestEqualGPUs(t *testing.T) {
	gpus := berth.EqualGPUs(2, berth.GPU{Product: "A30", UUID: "u", PCI: "p", Mode: berth.GPUModeMIG, Instances: make([]mig.Placement, 1)})
	require.Equal(t, gpus[0], gpus[1])
	require.Empty(t, gpus[0].UUID+gpus[0].PCI)
	gpus[0].Instances[0].Start = 3
	require.Zero(t, gpus[1].Instances[0].Start)
	require.Empty(t, berth.EqualGPUs(-1, berth.GPU{}))
	require.Panics(t, func() { berth.EqualGPUs(berth.MaxGPUs+1, berth.GPU{}) })
}

func ExampleMemberPlacement_String() {
	worker := berth.MemberPlacement{Group: "workers", Node: "n1", GPUs: berth.GPUSetOf(0, 1, 2, 3)}
	fmt.Println(worker)
	half, _ := mig.ParsePlacement("3g.40gb@4:4")
	fmt.Println(berth.MemberPlacement{Index: 1, Node: "n1", GPUs: berth.GPUSetOf(4), Instance: half})
	fmt.Println(berth.MemberPlacement{Index: 2, Node: "n1", GPUs: berth.GPUSetOf(5), ShareMilli: 250})
	fmt.Println(berth.MemberPlacement{Group: "driver", Node: "n2"})
	fmt.Println(berth.ObservedMember{Job: "train", Incarnation: 2, MemberPlacement: worker})
	// Output:
	// workers[0] on n1, GPUs 0-3
	// [1] on n1, 3g.40gb@4:4 of GPU 4
	// [2] on n1, 250/1000 of GPU 5
	// driver[0] on n2
	// train/0 incarnation 2: workers[0] on n1, GPUs 0-3
}
