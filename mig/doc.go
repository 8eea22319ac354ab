// Package mig says how a GPU divides into Multi-Instance GPU (MIG) instances:
// which profiles a product has, where each may start, which sets of instances
// can exist together, and where to put the next one so that the most stays
// possible. It needs no driver and no GPU, and nothing else of berth: a capacity
// planner or a device plugin can use it alone.
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
//  1. Get a [Product]: [Lookup] by name, [LookupPCI] by what the GPU itself says,
//     or one that was filled from NVML. What a real GPU reports wins over the
//     table; drivers differ in names and in MiB.
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
// Asking whether a profile fits, how many more of it do, and where to place it
// are look-ups in tables by state: nanoseconds, and no allocation.
//
// # Names
//
// A [ProfileName] prints and parses as NVIDIA's tools write it: 1g.10gb,
// 1g.10gb+me (with the JPEG and OFA engines), 1g.24gb+me.all (with all media
// engines), 1g.24gb+gfx (with graphics), 1g.24gb-me (without media engines). A
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
