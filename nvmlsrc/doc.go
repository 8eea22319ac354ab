// Package nvmlsrc reads what GPUs a machine has from its NVIDIA driver, and says
// it in the words of package berth.
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
//		core.Apply(now, berth.MIGTableSet{Table: table}) // how its GPUs divide
//	}
//	core.Apply(now, berth.NodeJoined{Node: node})
//
// # What can be missing
//
// NVML answers as much as the driver's version, the GPU's generation and the
// user's rights allow. A question without an answer is a [Gap] of the inventory
// and leaves its field at the value that says "unknown"; it never fails the
// rest. A GPU that fell over keeps its place in [Inventory.GPUs], with
// [GPU.Failure] saying why. Only a machine whose driver does not answer at all
// gives no inventory.
//
// # MIG
//
// A GPU that can be divided names a table of package mig: what its driver reports
// wins, and where that says nothing else, or nothing, the built-in table of the
// product serves. A GPU in MIG mode offers the GPU instances that exist. To list
// them takes a privileged user, as do the placements of profiles; without, a GPU in
// MIG mode takes no work. When the core has placed a member on an instance,
// [GPU.Instance] finds its UUIDs for CUDA_VISIBLE_DEVICES. To tell the core of a
// mode or instances that somebody else changed, take a new inventory and send what
// differs in its node as [berth.GPUPartitioned].
//
// # How it is safe to link
//
// The package needs Linux and cgo; elsewhere everything compiles and [Open]
// answers [ErrUnsupportedPlatform]. The driver's library is loaded when [Open]
// is called, never linked, so the same binary runs where there is no driver.
// The binding underneath resolves each function of the library on its first
// call, and a function that an older driver lacks would end the process there.
// So each function is looked up by its name before it is called; a driver
// without it makes a gap with [ErrMissingSymbol]. This relies on lazy binding:
// do not link with -z now (Go's -bindnow, a hardened toolchain's default), or
// add -ldflags=-extldflags=-Wl,-z,lazy.
//
// The package reads; it changes no setting of any GPU.
package nvmlsrc
