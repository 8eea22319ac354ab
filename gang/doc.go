// Package gang places gangs: groups of members that start together or not at all.
//
// A [Fleet] knows what is free and what is held on every node. [Fleet.Place] finds
// room for a [Request] and holds it, in one step: afterwards either every group has
// its members, or nothing has changed. So no capacity is ever held by a gang that
// cannot start, and two gangs cannot block each other with halves.
//
// # Use
//
// The embedder's part:
//
//  1. Make a fleet with [NewFleet] and add nodes with [Fleet.AddNode]. Tell what
//     happens to them: [Fleet.SetSchedulable], [Fleet.SetHealthy], [Fleet.Resize].
//  2. After a restart tell what runs already with [Fleet.Adopt].
//  3. [Fleet.Place] requests. A [Request] holds no state and can be used again, as
//     can a [Placement].
//  4. When a member ends, [Fleet.Release] its hold; [Fleet.ReleaseAll] is for
//     a whole placement.
//  5. Ask [Fleet.Diagnose] why a request does not fit.
//
// In short:
//
//	request := gang.Request{
//		Groups: []gang.Group{{
//			Count: 64, Claim: gang.Claim{GPUs: 8}, Classes: []topology.Class{h100},
//		}},
//		Required: spine,
//	}
//	var placement gang.Placement
//	if fleet.Place(&request, &placement) {
//		for _, m := range placement.Members {
//			start(m.Index, m.Hold.Node, m.Hold.GPUs)
//		}
//	}
//
// # Where a member goes
//
// A member with whole GPUs goes where the fewest GPUs are left over: to a node with
// as few free GPUs as will do, and among those into the domain with the fewest free
// GPUs, level by level, so that whole nodes and whole domains stay whole.
//
// A member with a share of a GPU goes onto the fullest GPU of the same [Owner] that
// has enough compute and memory left, else onto a free GPU, chosen as above. A member
// that needs the host alone goes to the node with the fewest free GPUs.
//
// # Where a gang goes
//
// A gang with whole GPUs goes into the lowest domain that holds all of it: one node,
// else one domain of the narrowest level, and so on up to the level that is
// required, or the whole fleet. Preferred starts the search further up. Among the
// domains of one level it takes the tightest, the one in which the fewest more
// members would fit. Inside, it fills the roomiest children first and puts the
// remainder where it fits best, so that it spans few domains and few nodes.
//
// A gang of shares and host members alone gains nothing from being close: it goes
// member by member into one domain of the required level, or anywhere.
//
// All ties go to the smaller name. No answer depends on the order in which nodes
// joined or holds were taken.
//
// # What is found for certain
//
// A request with one group is placed exactly if there is a placement, and then in
// the lowest domain that there is (with Preferred: the lowest from there up),
// segments included.
//
// With several groups the domains are searched in the same order, and in each of
// them the groups are placed one after the other, the ones with more GPUs a member first.
// Each takes the room that suits it best, without looking ahead. If that fails the
// next of up to eight orders is tried, each with another group first. This finds a
// placement whenever one exists if the groups allow the same nodes, cannot get in
// each other's way but by number of GPUs, and every number of GPUs a member divides
// the next larger one (1, 2, 4, 8).
// Otherwise it is a heuristic: fitting groups of 3 and 2 GPUs into nodes is bin
// packing, host CPU and memory and groups with levels of their own make it harder,
// and a placement that needs a less obvious split may be missed. It never yields a
// wrong one.
//
// # Cost
//
// Domains know how many members they have room for (package topology), so what is not
// feasible is skipped without a visit. A single member costs O(levels x fan-out). A gang
// costs O(domains of the levels searched) to choose and O(levels) for each member.
// Where host CPU, memory or Match rule out nodes that have the GPUs, these nodes
// are looked at one by one, which at worst is all of them. Members that need the host
// alone are always looked for node by node. With segments the domains down to the
// level of the segments are counted in full. None of it allocates in the steady state.
//
// A Fleet is a plain value machine: not safe for concurrent use, and equal calls give
// equal answers.
package gang
