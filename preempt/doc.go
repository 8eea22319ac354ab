// Package preempt says who must yield so that somebody else can run, and what
// that costs. It prices jobs by the GPU time that is lost when they stop now, and
// chooses, among those that may yield, victims that suffice, of whom none could be
// left out, with the least harm it can find in a bounded number of steps.
//
// It knows nothing of nodes, topology or queues: whether the beneficiary fits once
// some jobs are gone is a function that the caller supplies, usually a what-if on
// its own state. So a plug-in for another scheduler, or a planner with a table of
// jobs, can use it alone. It only chooses; asking for checkpoints, waiting for them
// and evicting is the caller's. The manual of package berth tells how the core does it.
//
// # Use
//
// The embedder's part:
//
//  1. List the jobs that the beneficiary has the right to displace as Candidates,
//     without those that must be left alone now: within their minimum run time, or
//     past a rate limit. Say which of them hold borrowed capacity, and in which domains
//     each stands.
//  2. Supply fits: would the beneficiary fit, with its topology, if these were gone? If
//     it is dear, state a Demand as well, which answers most of that beforehand.
//  3. Keep a Chooser and call Choose. Act on the outcome Chosen alone.
//
// In short:
//
//	choice, err := chooser.Choose(candidates, func(chosen []int) bool {
//		return fleet.fitsWithout(beneficiary, chosen)
//	}, preempt.Options{NeedMilli: beneficiary.gpuMilli})
//	if err == nil && choice.Outcome == preempt.ResultChosen && scale.Gain(&beneficiary) > choice.Price {
//		for _, i := range choice.Victims {
//			askForCheckpoint(candidates[i].ID)
//		}
//	}
//
// # What is proven, and what is measured
//
// The order of harm is that of ranks (see Chooser.Choose), each with the price of the victims
// in it and then their number: of two sets the one that is worse in the highest rank in which
// they differ does more harm.
//
// Victims suffice and none of them can be left out, whatever fits answers, as long
// as equal sets get equal answers. If fits is monotone, no part of them would do. Where
// besides Choice.CutShort is false and no tolerance was stated, no set that suffices
// does less harm in that order.
//
// Choice.LowerBound is what is known from below where the search ended early: the most expensive
// victim, in order of price, without which nothing suffices, and what the demand costs if
// candidates could yield in part. With a tolerance the search for something cheaper ends as
// soon as the price of a rank is within it of that.
//
// The tests compare all that with brute force over every set, on fleets of up to ten
// candidates (BERTH_VICTIM_CASES says how many), and the price on 500 full nodes with
// the bound: it is within 1 percent there.
//
// # Cost
//
// The calls of fits: a few times k log n for the first k victims out of n
// candidates, and the rest of Options.MaxCalls in search of cheaper ones, unless
// the search ends before. Where a Demand says all that matters, and a tolerance is stated,
// a handful of calls does. Beside that O(n log n) and, for each call, the length of
// its argument. A Chooser allocates nothing once its buffers have grown.
package preempt
