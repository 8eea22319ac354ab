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
//     happens to them: [Fleet.SetSchedulable], [Fleet.SetHealthy], [Fleet.SetHost].
//  2. After a restart tell what runs already with [Fleet.Adopt].
//  3. [Fleet.Place] requests. A [Request] holds no state and can be used again, as
//     can a [Placement].
//  4. When a member ends, [Fleet.Release] its hold; [Fleet.ReleaseAll] is for
//     a whole placement.
//  5. Ask [Fleet.Diagnose] why a request does not fit, and [Fleet.DiagnoseLevels] what every
//     level of the topology lacks for it.
//  6. Where it matters, say which of its free GPUs a node should give first
//     ([Fleet.SetChooser]), and what pending work wants ([Fleet.SetBreakCost]).
//  7. Where another rule than that below is to choose among places, say so ([Fleet.SetScorer], or
//     [Fleet.SetLoss], which asks about nodes that are alike once).
//  8. Where GPUs are divided into instances (package mig), say how nodes divide them
//     (Lattice of [NodeSpec]), which are divided now ([Fleet.SetPartitioning]), and what the places
//     on them are worth ([Fleet.SetRanking]).
//
// In short:
//
//	request := gang.Request{
//		Groups: []gang.Group{{
//			Members: 64, Claim: gang.Claim{GPUs: 8}, Classes: []topology.NodeClass{h100},
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
// A GPU that a member holds whole can be lent ([Fleet.Lend]): one member with a share [Over] it
// stands there then, beside its holder, with what that leaves of the memory. It goes to the node
// with the smallest name.
//
// A member with a share of a GPU goes onto the fullest GPU of the same [Owner] that
// has enough compute and memory left, else onto a free GPU, chosen as above.
//
// A member with an instance gets the first of the profiles of its claim that can be had:
// on a [PartitioningFixed] GPU one that exists and nobody holds, on one that is divided
// [PartitioningPerClaim] any that can exist beside those held. Of all GPUs and places it gets the
// one that takes the least from others, by the ranking of the lattice: what the held instances of
// the GPU leave open is worth the least less. So instances gather on GPUs that are in use, at the
// starts that are in nobody's way. A divided GPU is never free, and so nothing of it is broken.
// Instances are isolated from each other; their tenants do not matter.
//
// A member that needs the host alone goes to a node with the fewest free GPUs: of up to 256 such
// nodes that have room for it, to the one where the least is left over. A group of such members
// that asks for no level goes to nodes without GPUs, if they have room for all of it: there it
// takes nothing of the host that GPUs need. The groups with GPUs are placed first, by themselves.
//
// # Where a gang goes
//
// A gang with whole GPUs goes into the lowest domain that holds all of it: one node,
// else one domain of the narrowest level, and so on up to the level that is
// required, or the whole fleet. Preferred starts the search further up. Among the
// domains of one level it takes the tightest, the one in which the fewest more
// members would fit, and among equally tight ones the one in which it costs least (see
// below). Inside, it fills the roomiest children first and puts the remainder where it
// fits best, so that it spans few domains and few nodes.
//
// A gang of one group that needs the host alone is treated alike. Other gangs without
// whole GPUs are if they ask for a level in any way (Required, Preferred, Segments,
// Balance, Spread). If not, they gain nothing from being close: they go member by
// member wherever these fit best by themselves.
//
// All ties go to the smaller name. No answer depends on the order in which nodes
// joined or holds were taken.
//
// # What a group can ask for
//
//   - Segments: every so many members inside one domain of a level, nested: four on a
//     node, sixteen in an island. They are placed whole, at the start and as the gang
//     grows. The room of a domain is counted from the nodes up, each child rounded down
//     to whole segments.
//   - Balance: even parts in as few domains of a level as will do.
//   - Spread: over all domains of a level, with a limit on the skew. Such a group is not
//     squeezed: it is placed in a domain of exactly its required level, the tightest
//     first. A domain counts if some node of it may serve the group, full or not, so a
//     domain that is full holds all others back, as in a topology spread constraint of
//     Kubernetes that honours taints.
//   - Align: the same GPUs, and so the same rails, on every node. Of all masks the one
//     that takes the fewest nodes, then the one that leaves the fewest GPUs free on
//     these, then the lowest.
//   - Tiers: classes of nodes to be had if these hold all of the gang, before others.
//   - Kinds: all members on nodes of one kind, such as one product. And for the gang, Variant:
//     all members with GPUs on nodes that are alike, such as by the version of a driver.
//
// # Parts
//
// Groups that name one Part stay together, each copy of it in one domain of its level, and with
// Apart no two copies in one domain of that level. Each copy is placed as a gang of its own would
// be, the part with the hardest group first; the gang around them as above. [Shortfall] says of
// which part there is no room for by itself ([PartShortfall]).
//
// # Which kind
//
// A gang that may have one of several kinds or variants is searched for with one choice after the
// other, variants in the order of their texts and kinds in that of their classes. The choice is
// taken that places the most members, then by Level, Span and Broken (see below): in this order
// with Strict, by Level, Broken and Span with Balanced, by Broken, Level and Span with Loose. Of
// equals the first is taken, so classes are named the cheapest first. A kind of which too few GPUs
// are free is passed over by the counts, a variant by the walk that finds them; of what is left
// the first 128 choices are tried.
//
// # Cost, and the dial between communication and packing
//
// A [placementCost] has two numbers. Span is about communication: a node counts 1, a domain of the
// narrowest level 4, of the next wider one 16, and so on below the domain of the
// placement, where all is in one and nothing counts. Broken is about packing: a domain
// is whole while all of its GPUs are free, and a placement that uses some of them but
// not all breaks it; that costs its GPUs, times one more than the demand for whole
// domains of its level ([Fleet.SetBreakCost]), nodes included. A domain that is used up is
// not broken, nor is the fleet.
//
// [Locality] is the dial. Level, tightness, Span, Broken: in this order with Strict. With
// Balanced the level above the lowest one that fits is tried as well, and taken if less
// is broken there; with Loose all levels up to the required one are. In both Broken
// comes before tightness and Span. A single member goes to a node by the same rules: with
// Strict the fewest GPUs left over and then the least broken, else the other way round.
//
// # What is found for certain
//
// A request with one group is placed exactly if there is a placement, and then in the
// lowest domain that there is (with Preferred: the lowest from there up), whatever it
// asks for: segments, balance, spread, alignment. With kinds and variants that holds for each
// choice that is tried.
//
// With several groups the domains are searched in the same order, and in each of
// them the groups are first placed one after the other, the ones with more GPUs a member
// first, in up to eight orders. If that fails a systematic search follows: the solver, a
// dynamic programme over the nodes and domains, whose states are how many members of
// each group are there. It is exact, and given up after 1,048,576 steps in one Place
// (some milliseconds at worst; tenths of a second where thousands of shares are placed
// together with whole GPUs): so several groups are placed exactly if they can be
// as long as the steps do. On fleets, or below a Within or Required, of a dozen nodes they
// always did in the tests. It does not deal with more than 8 groups, more than 4096
// states (the product of members + 1 over the groups), two aligned groups at a time,
// and different shares, or instances, that have to be packed on one node, which it places
// the largest first.
//
// The same holds of a request with parts: they are placed one after the other, in up to eight
// orders, and then by the solver, to which parts, copies and Apart are conditions on its states,
// even if there is one group. Where all of the request is too much for the solver, it is asked for
// each copy that does not find room group by group, in each domain that is tried: so a gang of one
// part with one copy is placed exactly as far as that part alone would be, on a fleet of any size.
// In the tests, on fleets of up to 12 nodes, no placement was missed.
//
// A group of one profile for each class is placed exactly. If a claim has several
// profiles of a class, every member takes the first that is left, and larger ones may use up
// what would have done for more of the smaller ones: name the cheapest first.
//
// The same solver makes a placement that was found cheaper, in domains of up to 64 nodes and
// as far as that takes few steps (32,768 for a single group, 262,144 for others): there
// the cost is the least possible. In larger domains it is that of the first choice:
// fewest child domains, fewest nodes, and what is not broken before what is. Candidates
// that are equally tight are compared by cost as long as they have 64 nodes together,
// and of equally tight nodes the first 16. Of an aligned group nothing but the
// number of nodes, and what stays free on them, is minimised.
//
// # Complexity
//
// Domains know how many members they have room for (package topology), so what is not
// feasible is skipped without a visit. A single member costs O(levels x fan-out). A gang
// costs O(domains of the levels searched) to choose and O(levels) for each member.
// One member with an instance costs O(lots), where a lot is all GPUs of a class that are divided
// and held alike (a nanosecond or two each), and in a domain of up to 64 nodes
// O(GPUs x starts).
// Where host CPU, memory or Match rule out nodes that have the GPUs, these nodes
// are looked at one by one, which at worst is all of them. What the counts do not
// tell is found by a walk over the nodes at or below Within: the room for members that
// need the host alone, or shares that are to be close (some 10 ns a node); for members with host
// CPU, memory or Match, if they are balanced or spread; and the free masks of an aligned group, of
// each domain tried. Kinds take a search each; variants a walk over the nodes, a search each, and a
// few allocations. With segments the domains down to the level of the segments are counted in full.
// Parts take a search for each copy: O(copies x domains of the levels searched), up to eight times,
// and with Apart a sorted list of the domains of that level for each copy.
// None of it allocates in the steady state.
//
// A Fleet is a plain value machine: not safe for concurrent use, and equal calls give
// equal answers.
package gang
