package nvmlsrc_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/nvmlsrc"
)

// An agent on a machine without a driver offers it for its host CPU and memory
// alone; on any other it says what is in it.
func Example() {
	var inventory nvmlsrc.Inventory
	source, err := nvmlsrc.Config{Library: "/does/not/exist/libnvidia-ml.so.1"}.Open()
	switch {
	case errors.Is(err, nvmlsrc.ErrNoDriver):
		fmt.Println("no driver")
	case err != nil:
		log.Fatal(err)
	default:
		defer func() { _ = source.Close() }()
		if inventory, err = source.Inventory(); err != nil {
			log.Fatal(err)
		}
	}
	node, err := inventory.Node("node-17")
	if err != nil {
		log.Fatal(err)
	}
	node.CPUMilli, node.MemoryMiB = 64_000, 262_144
	fmt.Println(node.ID, "has", len(node.GPUs), "GPUs")
	// Output:
	// no driver
	// node-17 has 0 GPUs
}

// What an inventory becomes in the core's words.
func ExampleInventory_Node() {
	inventory := nvmlsrc.Inventory{GPUs: []nvmlsrc.GPU{
		{
			Product: "NVIDIA H200", MemoryMiB: 143_771, ComputeMajor: 9, NUMANode: berth.OrdinalOf(0),
			NVLink: nvmlsrc.NVLink{Peers: []int{1}},
		},
		{
			Product: "NVIDIA H200", MemoryMiB: 143_771, ComputeMajor: 9, NUMANode: berth.OrdinalOf(1),
			NVLink: nvmlsrc.NVLink{Peers: []int{0}},
		},
	}}
	node, err := inventory.Node("node-17")
	if err != nil {
		log.Fatal(err)
	}
	line, err := berth.EncodeEvent(berth.NodeJoined{Node: node})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(node.GPUs[1].Product, node.GPUs[1].ComputeCapability, node.GPUs[1].Clique, len(line) > 0)
	// Output:
	// NVIDIA H200 9.0 node-17.nvlink0 true
}

// An agent tells its core what befalls the GPUs, on a machine that is not there.
func ExampleMonitor() {
	machine, err := nvmlsrc.NewFakeMachine("hgx-h100")
	if err != nil {
		log.Fatal(err)
	}
	source, err := machine.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	monitor, err := source.Monitor(nvmlsrc.MonitorConfig{Node: "node-17"})
	if err != nil {
		log.Fatal(err)
	}
	for _, err := range []error{machine.Raise(3, 31), machine.Fail(5, "fell off the bus")} {
		if err != nil {
			log.Fatal(err)
		}
	}
	observation, err := monitor.Next(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, event := range observation.Events {
		line, err := berth.EncodeEvent(event)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", line)
	}
	// Output:
	// {"xidReported":{"node":"node-17","gpu":3,"xid":31}}
	// {"gpuFailed":{"node":"node-17","gpu":5,"reason":"lost: fell off the bus"}}
}

// Somebody is at work on two instances of a machine, which is told as jobs that run.
func ExampleOccupancy() {
	machine, err := nvmlsrc.NewFakeMachine("mig-h100")
	if err != nil {
		log.Fatal(err)
	}
	source, err := machine.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	inventory, err := source.Inventory()
	if err != nil {
		log.Fatal(err)
	}
	others := nvmlsrc.Occupancy{Node: "node-17", Queue: "others", Tenant: "others"}
	for _, event := range others.Events(inventory, 0, nil) {
		job := event.(berth.JobObserved)
		fmt.Println(job.Running[0].Members[0].GPUs, job.Running[0].Members[0].Instance)
	}
	// Output:
	// 0 2g.20gb@0:2
	// 0 3g.40gb@4:4
}

// What a report that somebody sent says of a machine: here of one with a GPU that needs a reset.
func ExampleParseSMI() {
	report, err := nvmlsrc.ParseSMI("node-17.xml", `<nvidia_smi_log>
  <driver_version>570.86.15</driver_version>
  <attached_gpus>1</attached_gpus>
  <gpu id="00000000:19:00.0">
    <product_name>NVIDIA H200</product_name>
    <uuid>GPU-0b5c8a2e-0000-0000-0000-000000000001</uuid>
    <gpu_recovery_action>Reset</gpu_recovery_action>
    <fb_memory_usage><total>143771 MiB</total></fb_memory_usage>
    <fabric><state>Completed</state><status>Success</status></fabric>
  </gpu>
</nvidia_smi_log>`)
	if err != nil {
		log.Fatal(err)
	}
	gpu := report.Inventory.GPUs[0]
	fmt.Println(gpu.Product, gpu.PCI, gpu.MemoryMiB, "MiB")
	for _, finding := range report.Findings {
		fmt.Println(finding)
	}
	for _, gap := range report.Inventory.Gaps[:2] {
		fmt.Println(gap)
	}
	// Output:
	// NVIDIA H200 0000:19:00.0 143771 MiB
	// gpus[0]: recoveryAction: the driver says: gpu-reset (condemned)
	// nvmlsrc: gpus[0]: numaNode: not in the report: nvidia-smi -q -x has no element for it
	// nvmlsrc: gpus[0]: computeCapability: not in the report: nvidia-smi -q -x has no element for it
}
