// Package nvmlsrc reads the GPUs of a machine, their users and their health from its
// NVIDIA driver, and says it in the words of package berth.
//
// A node agent opens a [Source] once, takes an [Inventory] when it starts and
// whenever something may have changed (an Xid in the kernel's log, a new MIG
// mode), and sends the [berth.Node] made of it to wherever the core runs:
//
//	source, err := nvmlsrc.Open()
//	if errors.Is(err, nvmlsrc.ErrNoDriver) {
//		return nil // a machine without GPUs
//	}
//	if err != nil {
//		return err
//	}
//	defer source.Close()
//	inventory, err := source.Inventory()
//	if err != nil {
//		return err
//	}
//	for _, gap := range inventory.Gaps {
//		log.Print(gap) // what this driver, GPU or user could not answer
//	}
//	node, err := inventory.Node("node-17")
//	...
//	node.Domains = []string{"spine-1", "leaf-4"} // where it stands, NVML cannot know
//	for _, table := range inventory.Tables() {
//		sched.Apply(now, berth.MIGTableSet{Table: table}) // how its GPUs divide
//	}
//	sched.Apply(now, berth.NodeJoined{Node: node})
//
// # What can be missing
//
// NVML answers as much as the driver's version, the GPU's generation and the
// user's rights allow. A question without an answer is one of [Inventory.Gaps]
// and leaves its field at the value that says "unknown"; it never fails the
// rest. A GPU that fell over keeps its place in [Inventory.GPUs], with
// [GPU.Failure] saying why. Only a machine whose driver does not answer at all
// gives no inventory.
//
// # Paths and NICs
//
// [Inventory.Links] has the best path between any two GPUs, and [Inventory.PCIe] what
// their PCIe paths go through, from the driver or, where it does not say, from sysfs.
// [Inventory.NICs] are the RDMA adapters of sysfs, with how near each is to each GPU and
// the rail that it is on if the machine is cabled as usual. [Inventory.Node] tells the
// core both, so that members get GPUs that reach each other well.
//
// # What runs already
//
// What runs on a GPU and was not started by an order of the core must be told, or the
// core gives the GPU away a second time. After each inventory:
//
//	for _, event := range occupancy.Events(inventory, now, told) {
//		sched.Apply(now, event)
//	}
//
// [Occupancy] says how it becomes jobs that are never moved or preempted. PIDs are those of the
// driver's PID namespace: an agent in a container needs the machine's (hostPID in Kubernetes), or
// sees none.
//
// # Health and activity
//
// A [Monitor] waits for Xids and reads, at intervals, what the driver says about each
// GPU. It starts no goroutine: the caller lends it one, and it ends with the context.
//
//	monitor, err := source.Monitor(nvmlsrc.MonitorConfig{Node: "node-17", GPUs: inventory.GPUs})
//	...
//	for {
//		observation, err := monitor.Next(ctx)
//		if err != nil {
//			return err
//		}
//		for _, event := range observation.Events {
//			sched.Apply(now, event) // Xids, and GPUs that fail or are repaired
//		}
//		for _, finding := range observation.Findings {
//			log.Print(finding) // what an operator should know
//		}
//		for _, health := range observation.GPUs {
//			// health.Activity by UUID becomes berth.ActivityReported of the job that has it.
//		}
//	}
//
// How busy a GPU is comes from counters of its SMs (GPM) where it has them: Hopper and
// later, whole or for each MIG instance, between two samples at least 100 ms apart, so
// not at the first reading. GPUs before tell their utilization instead, which counts a
// kernel on one SM in full; in MIG mode they tell nothing. [Activity.Source] says which
// it is. [MonitorConfig.Processes] asks for each process, too: so a job that lends its GPU is
// told from one that runs over it ([berth.Lend]).
//
// # MIG
//
// A GPU that can be divided names a table of package mig: what its driver reports
// wins, and where that says nothing else, or nothing, the built-in table of the
// product serves. A GPU in MIG mode offers the GPU instances that exist. To list
// them takes a privileged user, as do the placements of profiles; without, a GPU in
// MIG mode takes no work. When the core has placed a member on an instance,
// [GPU.Instance] finds its UUIDs for CUDA_VISIBLE_DEVICES. To tell the core of a
// mode or instances that changed from outside, take a new inventory and send
// [GPU.Partitioned] of what differs.
//
// A [Partitioner] carries out the core's orders to repartition a GPU. It is the one part of
// the package that changes anything; a program that does not call [Source.Partitioner] only reads.
//
// # Reports
//
// [ParseSMI] reads what "nvidia-smi -q -x" printed, on any machine: an inventory with what such a
// report tells, the health of its GPUs, and findings. What it does not tell is one of the gaps. A
// topology of [nodegraph.ParseMatrix] or [nodegraph.ParseHwloc] has the paths and NICs beside it.
//
// # Without a GPU
//
// A [FakeMachine] is a machine to try all of this on, one of several [FakeMachines]. GPUs fail and
// are repaired on request, Xids are raised, processes come and go, instances are created
// and destroyed. It answers through the same small interface that the driver is behind.
//
// # How it is safe to link
//
// The package needs Linux and cgo; elsewhere everything compiles, [Open] answers
// [ErrUnsupportedPlatform], and a [FakeMachine] works as ever. The driver's library is loaded
// when [Open] is called, never linked, so the same binary runs where there is no driver.
// The binding underneath resolves each function of the library on its first
// call, and a function that an older driver lacks would end the process there.
// So each function is looked up by its name before it is called; a driver
// without it makes a gap with [ErrMissingSymbol]. This relies on lazy binding:
// do not link with -z now (Go's -bindnow, a hardened toolchain's default), or
// add -ldflags=-extldflags=-Wl,-z,lazy.
package nvmlsrc
