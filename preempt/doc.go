// Package preempt chooses the victims of a preemption, and says what it costs. The
// cost of a job is the GPU time that is lost when it stops now. Victims are chosen
// among candidates: they suffice, none of them could be left out, and they are the
// cheapest that a bounded number of steps finds.
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
//  3. Keep a Chooser and call Choose. Act on ResultChosen alone.
//
// In short:
//
//	choice, err := chooser.Choose(candidates, func(chosen []int) bool {
//		return fleet.fitsWithout(beneficiary, chosen)
//	}, preempt.Options{NeedMilli: beneficiary.gpuMilli})
//	if err == nil && choice.Result == preempt.ResultChosen && scale.Gain(&beneficiary) > choice.Cost {
//		for _, i := range choice.Victims {
//			askForCheckpoint(candidates[i].ID)
//		}
//	}
//
// # Where not all may go
//
// What others have to keep is stated as Allowances: the most that those may hold together that go,
// in a tree, as of queues. Nobody is protected by name. Victims are found whenever some that may go
// together suffice, whichever they are; of these they do the least harm. So a queue whose
// guarantee is an amount gives what lies in the right place, and keeps the rest.
//
// An allowance by itself does not end exchanges: if what is displaced may displace in its turn, the
// caller has to show something that rises. With u the use of a queue and G its guarantee, an
// allowance of u - min(u, G) for each queue that gives, and beneficiaries that stay within G, it is
//
//	sum of min(u, G) over all queues,
//
// which an exchange raises by what the beneficiary holds and a start on idle capacity does not
// lower; it is at most the capacity. Package quota proves the same of what the core allows, which
// is a little more: a gang larger than G counts for nothing there.
//
// # What is proven, and what is measured
//
// The order of harm is that of ranks (see Chooser.Choose), each with the cost of the victims
// in it and then their number: of two sets the one that is worse in the highest rank in which
// they differ does more harm.
//
// Victims suffice and none of them can be left out, whatever fits answers, as long
// as equal sets get equal answers. If fits is monotone, no part of them would do. Where
// besides Choice.CutShort is false and no tolerance was stated, no set that suffices
// does less harm in that order.
//
// Choice.LowerBound is what is known from below where the search ended early: the most expensive
// victim, in order of cost, without which nothing suffices, and what the demand costs if
// candidates could go in part. With a tolerance the search for something cheaper ends as
// soon as the cost of a rank is within it of that.
//
// The tests compare all that with brute force over every set, on fleets of up to ten
// candidates (BERTH_VICTIM_CASES says how many, BERTH_SEEDS where not all may go together), and the
// cost on 500 full nodes with the bound: it is within 1 percent there.
//
// # Cost
//
// The calls of fits: a few times k log n for the first k victims out of n
// candidates, and the rest of Options.MaxCalls in search of cheaper ones, unless
// the search ends before. Where a Demand says all that matters, and a tolerance is stated,
// a handful of calls does. Beside that O(n log n) and, for each call, the length of
// its argument. A Chooser allocates nothing once its buffers have grown. Allowances that do not
// bind cost nothing. Where they do, the question is whether a part of a set may go that suffices,
// which is a knapsack with places: a search with a bound, exact on a handful of domains, and along
// a few orders of domains beyond that; Choice.CutShort says where it may have missed something.
package preempt
