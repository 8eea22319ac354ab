// Package quota says who may have how much of a shared fleet, and who is served
// next. It keeps a tree of queues (an organisation, its teams, their projects),
// each with a guarantee, a limit and a weight, counts what they use, and answers
// three questions without looking at more than one path of the tree:
//
//   - May this run? Fits compares what is used with the limits, from a queue up
//     to the root, and names the limit in the way.
//   - Is it the queue's own? Within tells use under the guarantees from borrowed
//     use, which a scheduler takes back first.
//   - Whose turn is it? Next descends from the root to the leaf that has the
//     least for what it is entitled to.
//
// It knows nothing of jobs, nodes or time; a capacity planner can use it alone.
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
//  4. Activate a leaf when it has something to serve, Deactivate it when it has
//     not, or when nothing of it can be served for now.
//  5. Ask Next whose turn it is, pick a job of that queue, ask Fits, and Charge what
//     was placed. Discharge the same amounts when it ends.
//
// In short:
//
//	for leaf, ok := tree.Next(); ok; leaf, ok = tree.Next() {
//		job, waiting := firstJob(leaf)
//		if !waiting {
//			tree.Deactivate(leaf)
//			continue
//		}
//		if _, fits := tree.Fits(leaf, job.charge); !fits || !place(job) {
//			setAside(job)
//			continue
//		}
//		tree.Charge(leaf, job.charge)
//	}
//
// # Resources
//
// GPUs are counted in thousandths, so that a share of a GPU can be charged; host
// CPU in thousandths of a core, memory in MiB. GPUs of one product are a resource
// of their own (GPUOf) beside GPUs in all: a charge of H100s counts as both, and
// either may be guaranteed or limited. Each resource stands for itself: no rule
// ties a guarantee of one product to the limit on GPUs in all. The order of Next,
// and Within, look at GPUs in all.
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
// # Cost
//
// With d the depth of a queue and c the number of active children of a queue:
// Fits, Within and Next are O(d), Charge, Discharge, Activate and Deactivate
// O(d log c). None of them allocates in the steady state. A change of a queue by
// Set is O(d) for each resource. Memory is bounded by the queues and, for each of
// them, the products that it configures or uses, and by MaxProducts names.
package quota
