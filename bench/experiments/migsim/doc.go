// Package migsim plays requests for MIG instances against a fleet of GPUs and counts
// what a policy of placing accepts. [Run] is the experiment that compares policies.
//
// The setting is that of M. Zambianco, L. Fasol and R. Doriguzzi-Corin, "An Online
// Fragmentation-Aware GPU Scheduler for Multi-Tenant MIG-based Clouds", arXiv
// 2511.18906 (2025): GPUs of one product, one request in each time slot, for one
// profile, that holds its instance for a number of slots drawn evenly from 1 to a
// longest. A request that fits nowhere at once is refused and does not return; nothing
// is ever moved. Four mixes of profiles and a rising load are compared.
//
// What had to be assumed, because only part of the paper's text was at hand:
//   - The shares of the profiles in the mixes that the paper names uniform, skew-small,
//     skew-big and bimodal; see [Mixes].
//   - What a load is: the memory slices that all requests of the last slots would hold
//     if none were refused, as a part of those of the fleet. The longest duration
//     follows from it. If the paper means the slices asked for since the start, with
//     durations no longer than that takes, then a fleet is never more than half full at
//     100 % and every sensible policy accepts everything, as this package shows too.
//   - The fragmentation score and the policy made from it, MFI; see [Scores].
//   - That best fit and worst fit, having chosen the GPU, take the start which leaves
//     the most placements open.
//
// A run begins with an empty fleet. The slots until the longest duration is over warm
// it up and are not counted; three times as many are.
//
// For instance:
//
//	product, _ := mig.Lookup("A100-80GB")
//	lattice, err := migsim.Plain(product)
//	...
//	mix, _ := migsim.MixNamed("bimodal")
//	setup := migsim.Setup{Lattice: lattice, GPUs: 100, Mix: mix, LoadPercent: 115}
//	demand := setup.Draw(1)
//	first := setup.Run(migsim.FirstFit(lattice), demand)
//	berth := setup.Run(migsim.Berth(lattice, nil), demand)
//	fmt.Println(first.Accepted, berth.Accepted, first.Asked)
package migsim
