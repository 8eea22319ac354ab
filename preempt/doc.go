// Package preempt says who must yield so that somebody else can run, and what
// that costs. It prices jobs by the GPU time that is lost when they stop now, and
// chooses, among those that may yield, victims that suffice, of whom none could be
// left out, with the least harm it can find in a bounded number of steps.
//
// It knows nothing of nodes, topology or queues: whether the beneficiary fits once
// some jobs are gone is a function that the caller supplies, usually a what-if on
// its own state. So a plug-in for another scheduler, or a planner with a table of
// jobs, can use it alone. It only chooses; asking for checkpoints, waiting for them
// and evicting is the caller's.
//
// # Use
//
// The embedder's part:
//
//  1. List the jobs that the beneficiary has the right to displace as Candidates.
//     Mark those that must be left alone as Protected. Say which of them hold
//     borrowed capacity, and in which domains each stands.
//  2. Supply fits: would the beneficiary fit, with its topology, if these were gone?
//  3. Keep a Chooser and call Choose. Act on the outcome Chosen alone.
//
// In short:
//
//	choice, err := chooser.Choose(candidates, func(chosen []int) bool {
//		return fleet.fitsWithout(beneficiary, chosen)
//	}, preempt.Options{NeedMilli: beneficiary.gpuMilli})
//	if err == nil && choice.Outcome == preempt.Chosen && gain(beneficiary) > choice.Price {
//		for _, i := range choice.Victims {
//			askForCheckpoint(candidates[i].ID)
//		}
//	}
//
// # What is proven, and what is measured
//
// Victims suffice and none of them can be left out, whatever fits answers, as long
// as equal sets get equal answers. If fits is monotone, no part of them would do.
// Where Choice.CutShort is false and fits is monotone, the victims of every rank of
// harm are the cheapest, given those of the ranks above. Among equally cheap ones
// in a rank the choice does not look ahead to the ranks below.
//
// Where the calls run out first, nothing is proven about the price. The tests
// compare it with the minimum: by brute force on 13 candidates and 120 calls, and on
// 500 full nodes with the default bound against what jobs would cost if they could
// yield in part. They fail above 1 and 5 percent.
//
// # Cost
//
// The calls of fits: a few times k log n for the first k victims out of n
// candidates, and the rest of Options.MaxCalls in search of cheaper ones, unless
// the search ends before. Beside that O(n log n) and, for each call, the length of
// its argument. A Chooser allocates nothing once its buffers have grown.
package preempt
