// Package quota divides a shared fleet among queues, and says which of them is served
// next. It keeps a tree of queues (an organisation, its teams, their projects),
// each with a guarantee, a limit and a weight, counts what they use, and answers
// five questions:
//
//   - May this run? Fits compares what is used with the limits, from a queue up
//     to the root, and names the limit in the way; InTheWay names all of them.
//   - Is it the queue's own? Within tells use under the guarantees from borrowed
//     use, which a scheduler takes back first.
//   - Which queue is next? Next descends from the root to the leaf that would have the
//     least for what it is entitled to with its next job, and Positions explains it.
//   - What is each queue's fair share? A Shares divides the capacity among those
//     that want some of it.
//   - Which queue gives back? Shares.MayReclaim and Shares.Borrowers say what may be
//     reclaimed for which queue, so that no guarantee is touched and nothing goes
//     round in circles.
//
// A Ledger keeps the books of GPU time. The package knows nothing of jobs or nodes,
// and of time only what it is told; a capacity planner can use it alone.
//
// # Use
//
// The embedder's part:
//
//  1. Describe the queues with Set, parents first. A refusal changes nothing, and
//     every later change is another Set, even while jobs run.
//  2. Retain a queue for every job that names it and Unretain it when the job is
//     over, so that the queue does not vanish under the job.
//  3. RetainProduct each GPU product as often as there is something that has it or
//     asks for it, and ReleaseProduct it as often; charge by the index.
//  4. SetNext a leaf when it has something to serve, with what the first of it would
//     be charged, and again when another comes first. Deactivate it when it has
//     nothing, or when nothing of it can be served for now.
//  5. Ask Next for a queue, take the first job of that queue, ask Fits, and Charge
//     what was placed. Discharge the same amounts when it ends.
//  6. Tell the capacity of the fleet with SetCapacity whenever it changes, if lending
//     limits, shares or past use are to count.
//     Where queues state shares, SetFleet and FollowFleet tell of what these are.
//  7. Tell the time with Advance before the changes that happen at it, and SetHalfLife
//     once, if past use is to count.
//  8. SetDemand of a leaf when jobs of it come and go: what they use and what they
//     wait for, together. Starting or displacing a job changes no demand.
//  9. When a job that fits its quota finds no place, ask Borrowers, and MayReclaim (or
//     Stakes and Fill, for jobs of any size) for what is to go; Discharge that.
//  10. Store Past and Ledger.State with the queues, and give them to SetPast and
//     RestoreLedger when the queues and charges are there again.
//
// In short:
//
//	for leaf, ok := tree.Next(); ok; leaf, ok = tree.Next() {
//		job := firstJob(leaf)
//		if _, fits := tree.Fits(leaf, job.charge); fits && place(job) {
//			tree.Charge(leaf, job.charge)
//		} else {
//			setAside(job)
//		}
//		if job := firstJob(leaf); job != nil {
//			tree.SetNext(leaf, job.charge)
//		} else {
//			tree.Deactivate(leaf)
//		}
//	}
//
// # Resources
//
// GPUs are counted in thousandths, so that a share of a GPU can be charged; host
// CPU in thousandths of a core, memory in MiB. GPUs of one product are a resource
// of their own (GPUMilliOf) beside GPUs in all: a charge of H100s counts as both, and
// either may be guaranteed or limited. Each resource stands for itself: no rule
// ties a guarantee of one product to the limit on GPUs in all. The order of Next,
// Within, past use and the ledger look at GPUs in all; a Shares at the resource that
// it was made for.
//
// The tree knows a product while it is retained, while a queue guarantees or limits
// it, or while some of it is charged: at most MaxProducts at one time. Then it
// forgets the name and gives the index to another. What was forgotten leaves no
// trace: a tree that has lived long answers as one built today with the same
// queues, products and charges. To build one, retain every product until the
// charges are in.
//
// # Guarantees
//
// Guarantees are promises that can be kept side by side: at every queue that
// states one, those of its children add up to no more, and none exceeds a limit
// on the way to the root. Whether the fleet is large enough for what the topmost
// queues are guaranteed is not checked here, as the fleet changes while
// guarantees stand.
//
// The unused part of a guarantee may be borrowed, up to the BorrowingLimit of the
// borrower and but for what the LendingLimit of the lender withholds. It is always
// given back: use over a guarantee is reclaimable, whatever job uses it. Whether a job may be
// preempted for one of higher priority in its own queue is another matter, which the embedder
// decides; here are no priorities of jobs. What is never to be reclaimed is charged so
// ([Charge].NonPreemptible): such charges of a queue have to fit into its guarantee together,
// whatever else it uses, and so all that it has beyond the guarantee can be reclaimed.
//
// A guarantee is for jobs that fit in it. One that asks for more than is left of it is
// borrowed for in part, and stands behind those within the guarantee of their queues: see
// Next. While such jobs are first in a queue, what is left of its guarantee waits with
// them, or is lent.
//
// What jobs that run use within a guarantee is an amount, and no set of jobs: any jobs may be taken
// back that leave it, whichever they are (entitlement.go says which use counts). It is never taken
// back, and nothing is taken for a queue that would be over its fair share; see Shares and
// MayReclaim for the rules. All limits may be lowered below what is used: nothing is taken by that,
// and nothing more fits until use has fallen.
//
// A guarantee, and a limit, may be a share of what there is instead (Queue.GuaranteeShare,
// LimitShare), and then follows the fleet: see SetFleet. Which shares go together is the same for
// any fleet, so that Set sees it; fleet_shares.go says why.
//
// # Past use
//
// With a half-life, the weight of a queue counts less the more it has borrowed of
// late, for what it was entitled to; see Advance. It counts in the order among those
// that borrow and in the division of what is over, and never touches a guarantee.
//
// # Cost
//
// With d the depth of a queue and c the number of active children of a queue:
// Fits, InTheWay, Within and Next are O(d), Charge, Discharge, SetNext and Deactivate
// O(d log c). None of them allocates in the steady state. A change of a queue by
// Set is O(d) for each resource, and O(c) for a new queue or priority; one of the
// capacity is O(1). Advance is O(queues) once in 1/64 of the half-life, and O(1)
// otherwise. A share is O(d), and after a change of demand O(c) at each level; all
// shares are O(queues). Memory is bounded by the queues and, for each of them, the
// products that it configures or uses, by MaxProducts names, and by the keys that a
// Ledger is not told to forget.
package quota
