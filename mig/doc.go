// Package mig says how a GPU divides into Multi-Instance GPU (MIG) instances, or
// into the partitions of an AMD Instinct: which profiles a product has, where each may start, which
// sets of instances can exist together, and where to put the next one so that the most stays
// possible. It needs no driver and no GPU, and nothing else of berth: a capacity planner or a
// device plugin can use it alone.
//
// # What decides
//
// Instances lie on an axis of memory slices. A profile takes a fixed number of
// them, at one of a few starts that the product's table lists. Two instances can
// exist together if and only if their ranges of memory slices are disjoint and
// the compute slices, SMs and engines of all instances on the GPU sum to no more
// than those of the instance that takes the whole GPU. That is the model which
// NVIDIA's driver for Kubernetes dynamic resource allocation publishes. Nothing
// is computed from slice counts: a 3g of an H100 starts at 0 or 4 and at no other
// slice, four 1g.20gb fit and a fifth does not, and an RTX PRO 6000 has twelve
// memory slices for its four compute slices.
//
// # How to use it
//
//  1. Get a [Product]: [Lookup] by name, [LookupPCI] or [LookupDevice] by what the GPU
//     itself says, or [ProductFromReport] with the answers of NVML. What a real GPU
//     reports wins over the table; drivers differ in names and in MiB.
//  2. Build its [Lattice] once, with [NewLattice], and share it: it never changes,
//     so any number of goroutines may ask at once.
//  3. Keep one [State] for each GPU, two bytes. Its zero value is the GPU without
//     instances. [Lattice.Place] and [Lattice.Remove] give the next one;
//     [Lattice.StateOf] takes over what a GPU already runs.
//
// For instance:
//
//	h100, _ := mig.Lookup("H100-80GB")
//	lattice, err := mig.NewLattice(h100)
//	...
//	profile, ok := lattice.ProfileIndex(mig.ProfileName{ComputeSlices: 3, MemoryGB: 40})
//	...
//	placement, next, ok := lattice.Place(gpu.State, profile)
//	if ok {
//		gpu.State = next // and have an instance created at placement
//	}
//
// Asking whether a profile fits, how many more of it do, where to place it, and
// whether and where a whole set of claims fits together ([Lattice.Arrange]) are
// look-ups in tables by state: nanoseconds, and no allocation.
//
// # Another layout
//
// [Lattice.Plan] leads from one layout to another, and [Lattice.PlanFor] to some
// layout in which the instances that are wanted exist and are idle. Both destroy as
// few instances as can be, none that is in use, and pass through valid layouts
// alone. Their [Step] values are for the embedder to carry out one by one;
// [Lattice.Apply] follows. In a layout where no more fits, [Lattice.OpenSet] is empty.
//
// # What an instance is worth
//
// A request need not name a profile: [Lattice.AppendServing] gives those that have
// the SMs and the memory of a [Need], the cheapest first. [Lattice.GPUMilli] is what
// part of a GPU an instance counts as. Its part of the SMs is another number,
// [Product.MilliSMs], for dividing a GPU costs throughput: seven 1g of an A100 have
// 98 of its 108 SMs, and a 3g of an H100 has 60 of 132.
//
// # Partition modes
//
// An AMD Instinct GPU is not divided instance by instance: it is in one partition
// mode, which makes all its partitions at once. Here such a product is
// [Product.Uniform]. Its profiles are the modes; an instance is a partition that is
// in use; the axis is that of the accelerator dies; and the instances of a layout
// are all of one mode. So the empty state is a GPU that may take any mode, the first
// instance chooses it, and as long as one is in use the mode stays. To create an
// instance on a GPU that is in the right mode costs nothing; the embedder changes
// the mode when the state goes from empty to an instance of another. MemoryMiB is
// an equal share of the memory domain, and where partitions share a domain (all of
// them under NPS1) nothing keeps one from taking more: they do not isolate.
//
// # Names
//
// A [ProfileName] prints and parses as NVIDIA's tools write it: 1g.10gb,
// 1g.10gb+me (with the JPEG and OFA engines), 1g.24gb+me.all (with all media
// engines), 1g.24gb+gfx (with graphics), 1g.24gb-me (without media engines). A
// partition mode is written as AMD's device plugin for Kubernetes does: cpx_nps4. A
// [Placement] prints as 3g.40gb@4:4: the profile, the first memory slice and the
// number of them, as in the listings of nvidia-smi.
//
// # How sure the tables are
//
// Not every product could be looked at. Each profile carries an [Evidence], a
// [Confidence] for each of its facts, and [Product.Confidence] tells how sure the
// lattice as a whole is. Each product names its sources. The RTX PRO 5000 and
// 4500 and the Thor iGPU divide too, but no listing was seen of where their
// instances may start, so they are left out rather than guessed.
package mig
