package evict

import (
	"cmp"
	"math"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/packing"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/topology"
)

// A guarantee is collected by victims and moves together where victims alone do not do: what the
// queues keep, and what the beneficiary's own queue has, goes elsewhere, to places that are free or
// that victims leave. A gang moves as large as it is and is charged as much there; one that gives a
// part of its surplus moves with the rest. Package quota proves that this comes to an end.
//
// It is a choice as that of victims is, among the same candidates and, ranked above all of them,
// the gangs that may move. A choice fits if the beneficiary finds a place without all that are
// chosen, and those of them that move find one beside it. All places are set aside before the
// first job is asked to go, or none is and no job is asked.
//
// If there is such a choice it is found, as far as this goes:
//
//   - Among the gangs of one round, Bounds.Movers of them: those first that stand on the nodes that
//     cost the least to clear. The rounds take turns, one a bid. So on a fleet with no more gangs
//     that may move it is all of them, and moves of gangs of different rounds are not combined.
//   - With no more victims than those on the nodes that are the cheapest to clear, where more runs
//     than one search looks at.
//   - Of no more gangs than Policy.Defragmentation.MaxMoves.
//   - For gangs that ask for whole GPUs and for no topology, of one node or of several, on up to
//     packing.MaxNodes nodes with room. Any other gang is placed where a search for it alone puts
//     it, after the beneficiary and the gangs that ask for more a member; so are all, if one of
//     those that are chosen is such a gang, or there are more nodes. No other order and no other
//     place is tried.
//   - Within the bounds of one choice: its trials, the steps of package preempt for a part that may
//     go, and packSteps here.

// packSteps bounds the steps of all packings of one rearrangement.
const packSteps = 1 << 16

// A rearrangement looks for victims and moves for one beneficiary, or for moves alone.
type rearrangement struct {
	im *imagination
	*victim.Search
	// movers are the gangs that may move, candidates after those of the search.
	movers []*record.Replica
	all    []preempt.Candidate
	before record.Extent
	// places and moves are what the last choice that fits comes to.
	places []gang.Member
	moves  []search.Relocation
	// steps are left to pack members.
	steps int
}

// mayRearrange reports whether the policy lets gangs move for a guarantee.
func (ev *Evict) mayRearrange() bool {
	p := &ev.state.Config.Policy
	return p.Preemption.Mode != berth.PreemptionOff && p.Defragmentation.Mode != berth.DefragmentationOff
}

// BidToRearrange looks for victims and moves for an entry that is within the guarantee of its
// queue, and imagines them; nil: there are none among the gangs of a round. Next is the round
// after that; 0: it was the last. The search says until when gangs are protected.
func (im *imagination) BidToRearrange(e *record.Entry, chooser *preempt.Chooser, round int) (b *Bid, t *victim.Search, next int) {
	c := im.evict
	r := rearrangement{im: im, Search: c.victims.NewSearch(e, nil), before: im.extent(), steps: packSteps}
	if e.Grows || !c.mayRearrange() || r.Asked.GPUMilli > c.books.Owed(c.books.Queues[r.Queue]) {
		return nil, r.Search, 0
	}
	r.GatherLent()
	r.Cut = r.GatherOnce(im.VictimSearches) || r.Cut
	if _, within := c.state.Quota.Fits(r.Queue, r.Asked); !within || !r.mayDo() {
		return nil, r.Search, 0
	}
	if next = r.gatherMovers(round); len(r.movers) == 0 {
		return nil, r.Search, next
	}
	chosen, ok := r.choose(chooser)
	if !ok || !r.Pays(r.evicted(chosen)) {
		return nil, r.Search, next
	}
	return r.bid(e, chosen), r.Search, 0
}

// evicted lists the victims of a choice that do not move.
func (r *rearrangement) evicted(chosen []int) []int {
	return slices.DeleteFunc(r.victimsOf(chosen), func(i int) bool {
		return slices.ContainsFunc(r.moves, func(m search.Relocation) bool { return m.Rep == r.Offers[i].Rep })
	})
}

// mayDo reports whether what is free and what the victims could give is as much as the
// beneficiary asks for, wherever it is: as a rule nothing is, and no gang need be looked at.
func (r *rearrangement) mayDo() bool {
	free, asks := 1000*int64(r.im.evict.state.Fleet.Tree().FreeTotal(topology.RootDomain)), 1000*int64(r.Rep.Job.Shape().GPUs)
	return free+r.MostGiven() >= asks
}

// BothFor looks for victims and moves for an entry among all gangs, and imagines them; nil:
// there are none.
func (im *imagination) BothFor(e *record.Entry) (*Bid, *victim.Search) {
	for round := 0; ; {
		b, t, next := im.BidToRearrange(e, new(preempt.Chooser), round)
		if b != nil || next == 0 || im.VictimSearches <= 0 {
			return b, t
		}
		round = next
	}
}

// Going are the victims of a bid, with those that move.
func (b *Bid) Going() []record.Piece { return b.victims }

// Evicted are the victims of a bid that do not move.
func (b *Bid) Evicted() []record.Piece {
	return slices.DeleteFunc(slices.Clone(b.victims), func(p record.Piece) bool { return b.relocation(p.Rep) != nil })
}

// choose chooses the victims and moves of the least harm that suffice. All are back in place then.
func (r *rearrangement) choose(chooser *preempt.Chooser) (chosen []int, ok bool) {
	trials := max(r.im.VictimSearches, r.im.evict.state.Bounds.VictimSearches/8, 1)
	options := r.Options()
	options.MaxCalls, options.Permits = trials, r.permits
	r.listAll(&options)
	options.Requirement = r.Demand(r.all)
	choice, err := chooser.Choose(r.all, r.fits, options)
	invariant.Must(err)
	chosen = slices.Sorted(slices.Values(choice.Victims))
	ok = choice.Result == preempt.ResultChosen && r.fits(chosen)
	r.SetBack()
	return chosen, ok
}

// listAll lists the candidates, those that move after those that are evicted. What is of one
// allowance is alike to the chooser, if it holds as much on the same nodes: of victims, those
// that may move as well and ask for the same, and none of those that move, as each goes with a
// victim.
func (r *rearrangement) listAll(options *preempt.Options) {
	type kind struct {
		shape *record.Shape
		above int
	}
	kinds := map[kind]int{}
	limit := int64(math.MaxInt64)
	apart := func(above int) int {
		options.Allowances = append(options.Allowances, preempt.Allowance{GPUMilli: limit, Above: above})
		return len(options.Allowances)
	}
	r.all = slices.Clone(r.Candidates)
	for i := range r.Offers {
		y, k := &r.Offers[i], &r.all[i]
		if !y.Whole() || !slices.Contains(r.movers, y.Rep) {
			continue
		}
		alike := kind{y.Rep.Job.Shape(), k.Allowance}
		if kinds[alike] == 0 {
			kinds[alike] = apart(k.Allowance)
		}
		k.Allowance = kinds[alike]
	}
	if len(r.movers) > r.im.evict.state.Config.Policy.Defragmentation.MaxMoves { // so that they count as scarce
		limit = 0
		for _, rep := range r.movers {
			limit += record.Piece{Rep: rep}.GPUMilli()
		}
	}
	for _, rep := range r.movers {
		candidate := r.im.evict.victims.Candidate(record.Piece{Rep: rep}, 0)
		candidate.ID += " moves"
		candidate.Allowance = apart(0)
		r.all = append(r.all, candidate)
	}
}

// permits reports whether all of some candidates may be taken together: the victims leave the
// queues what they keep, no more gangs move than the policy lets move for one, and none of them
// gives or gets members just now.
func (r *rearrangement) permits(chosen []int) bool {
	victims := r.victimsOf(chosen)
	if slices.ContainsFunc(victims, func(i int) bool { return r.Offers[i].Busy }) {
		return false
	}
	return len(chosen)-len(victims) <= r.im.evict.state.Config.Policy.Defragmentation.MaxMoves && r.Permits(victims)
}

// victimsOf are those of some candidates that do not move.
func (r *rearrangement) victimsOf(chosen []int) []int {
	return slices.DeleteFunc(slices.Clone(chosen), func(i int) bool { return i >= len(r.Offers) })
}

// fits reports whether the beneficiary and all that move find a place. The victims stay imagined
// gone.
func (r *rearrangement) fits(chosen []int) bool {
	r.Imagine(r.victimsOf(chosen))
	defer r.im.backTo(r.before)
	moving := r.leave(chosen)
	r.im.VictimSearches -= 1 + len(moving)
	if _, within := r.im.evict.state.Quota.Fits(r.Queue, r.Asked); !within {
		return false
	}
	extent := r.im.extent()
	if r.placeInTurn(moving) {
		return true
	}
	r.im.backTo(extent)
	return r.pack(moving)
}

// leave imagines those gone that move, and lists them, those that ask for more first. A gang
// that goes as a victim does not move, and one that gives a part of its surplus moves with the
// rest.
func (r *rearrangement) leave(chosen []int) []*displaced {
	var list []*displaced
	for _, i := range chosen {
		if i < len(r.Offers) || r.movers[i-len(r.Offers)].Imagined {
			continue
		}
		d := r.displace(r.movers[i-len(r.Offers)])
		if r.im.leaveOut(d.rest); d.enough() {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b *displaced) int {
		return cmp.Or(cmp.Compare(mostOf(b.rest.Rep.Job.Shape()), mostOf(a.rest.Rep.Job.Shape())), record.CompareReplicas(a.rest.Rep, b.rest.Rep))
	})
	for _, d := range list {
		d.ask(r.im.evict)
	}
	return list
}

// A displaced gang needs another place.
type displaced struct {
	// rest is the gang, but for what of it goes as a victim: so many members by group.
	rest    record.Piece
	members []int
	milli   int64
	// search is one for a place of as many members, once all that leaves is gone.
	search *victim.Search
}

// displace describes a gang as it would move.
func (r *rearrangement) displace(rep *record.Replica) *displaced {
	d := &displaced{rest: record.Piece{Rep: rep, Flats: []int{}}, members: make([]int, len(rep.Job.Spec.Groups))}
	for flat := range rep.Members {
		if m := &rep.Members[flat]; m.State.Holds() && !m.Imagined {
			d.rest.Flats = append(d.rest.Flats, flat)
			d.members[rep.Job.Group(flat)]++
		}
	}
	d.milli = d.rest.GPUMilli()
	return d
}

// enough reports whether a gang has its minimum. A choice that leaves it less is one that is not
// permitted, and fits as if it were gone.
func (d *displaced) enough() bool {
	for g, n := range d.members {
		if n < record.Least(&d.rest.Rep.Job.Spec.Groups[g]) {
			return false
		}
	}
	return true
}

// ask prepares a search for a place of all members that a gang has.
func (d *displaced) ask(c *Evict) {
	rep, s := d.rest.Rep, d.rest.Rep.Job.Shape()
	c.state.Compile(s)
	request := s.Request
	request.Groups = slices.Clone(s.Request.Groups)
	for g := range request.Groups {
		request.Groups[g].Members, request.Groups[g].MinMembers = d.members[g], d.members[g]
	}
	d.search = c.victims.NewSearchFor(rep, &s.Spec, s.Least, &request, rep.Retry.Get().Avoid, c.state.UntilVictimsGone(c.state.GraceOf(rep)))
}

// settles imagines a displaced gang in a place. It reports false where that is not free, or charged
// differently: what its queue keeps would change.
func (r *rearrangement) settles(d *displaced, where []gang.Member) bool {
	if where == nil || !r.im.putIn(d.rest.Rep, where) {
		return false
	}
	milli := int64(0)
	for i := range where {
		milli += record.ChargeOf(&where[i].Hold, r.im.evict.state.Nodes[where[i].Hold.Node]).GPUMilli
	}
	r.moves = append(r.moves, search.Relocation{Rep: d.rest.Rep, Where: where})
	return milli == d.milli
}

// placeInTurn imagines the beneficiary in a place, and then those that move, one after the other:
// none of them in domains that the beneficiary has for itself.
func (r *rearrangement) placeInTurn(moving []*displaced) bool {
	r.moves = r.moves[:0]
	if r.places = r.Place(); r.places == nil || !r.im.putIn(r.Rep, r.places) {
		return false
	}
	var enclosed []berth.NodeID
	if r.Rep.Job.Spec.Topology.Exclusive != "" {
		for _, n := range r.im.evict.state.NodesFor(r.Rep, r.places) {
			enclosed = append(enclosed, n.Spec.ID)
		}
	}
	for _, d := range moving {
		outside := *d.search
		outside.Request = r.im.evict.search.Avoiding(enclosed, d.search.Request)
		if !r.settles(d, outside.Place()) {
			return false
		}
	}
	return true
}

// bid imagines what was chosen.
func (r *rearrangement) bid(e *record.Entry, chosen []int) *Bid {
	b := &Bid{Entry: e, where: r.places, Moves: slices.Clone(r.moves)}
	slices.SortFunc(b.Moves, func(a, b search.Relocation) int { return record.CompareReplicas(a.Rep, b.Rep) })
	for _, m := range b.Moves {
		candidate := r.im.evict.victims.Candidate(record.Piece{Rep: m.Rep}, 0)
		b.Cost += min(candidate.Cost(), math.MaxInt64-b.Cost)
	}
	victims := r.victimsOf(chosen)
	b.gave = r.Floors(victims)
	for _, i := range victims {
		if y := &r.Offers[i]; b.relocation(y.Rep) == nil {
			b.victims = append(b.victims, y.Piece)
		}
	}
	b.victims = victim.MergeParts(b.victims)
	for _, m := range b.Moves {
		b.victims = append(b.victims, record.Piece{Rep: m.Rep})
	}
	slices.SortFunc(b.victims, func(a, b record.Piece) int { return record.CompareReplicas(a.Rep, b.Rep) })
	for _, v := range b.victims {
		r.im.leaveOut(v)
	}
	invariant.Hold(r.im.putIn(r.Rep, b.where), "what was found is not free") // it was a moment ago
	for _, m := range b.Moves {
		invariant.Hold(r.im.putIn(m.Rep, m.Where), "what was found is not free")
	}
	return b
}

// gatherMovers lists the gangs of a round that may move, and returns the next round; 0: that was
// the last. First come those on nodes that the beneficiary may use and that the victims and
// moves there would clear for a member.
func (r *rearrangement) gatherMovers(round int) (next int) {
	c, most := r.im.evict, r.im.evict.state.Bounds.Movers
	given, each := map[*record.Node]int64{}, 1000*int64(mostOf(r.Rep.Job.Shape()))
	for i := range r.Offers {
		if r.Offers[i].Whole() {
			r.Offers[i].EachHold(func(h *gang.Hold, n *record.Node) { given[n] += record.ChargeOf(h, n).GPUMilli })
		}
	}
	aside := func(n *NodeToClear) bool {
		cleared := given[n.Node] + n.Milli + 1000*int64(c.state.Fleet.Tree().Free(n.Index))
		return cleared < each || !slices.ContainsFunc(r.Request.Groups, func(g gang.Group) bool { return n.Suits(&g) })
	}
	nodes := r.nodesToClear(r.mayMove)
	slices.SortStableFunc(nodes, func(a, b NodeToClear) int { return values.CompareBool(aside(&a), aside(&b)) })
	listed := map[*record.Replica]bool{}
	var list []*record.Replica
	for _, n := range nodes {
		for _, rep := range n.Movers {
			if !listed[rep] {
				listed[rep] = true
				list = append(list, rep)
			}
		}
	}
	if round < 0 || round > len(list) || round*most >= len(list) { // some of them are gone since
		round = 0
	}
	r.movers = list[round*most : min((round+1)*most, len(list))]
	if (round+1)*most < len(list) {
		return round + 1
	}
	return 0
}

// mayMove reports whether a gang may move for a guarantee, of whichever queue it is: one that
// loses no work by it, is not latency-critical and has no domains for itself.
func (r *rearrangement) mayMove(rep *record.Replica) bool {
	spec := &rep.Job.Spec
	return spec.Checkpoint.Supported && spec.Class != berth.ClassLatencyCritical && spec.Topology.Exclusive == "" && r.im.evict.mayMove(rep) && r.MayBeVictim(rep)
}

// relocation is where a victim of a bid goes that only moves; nil: it does not.
func (b *Bid) relocation(rep *record.Replica) *search.Relocation {
	if i := slices.IndexFunc(b.Moves, func(m search.Relocation) bool { return m.Rep == rep }); i >= 0 {
		return &b.Moves[i]
	}
	return nil
}

// mostOf is how many whole GPUs a member of a shape asks for at the most.
func mostOf(s *record.Shape) int {
	most := 0
	for i := range s.Request.Groups {
		most = max(most, s.Request.Groups[i].Claim.GPUs)
	}
	return most
}

// pack imagines the beneficiary and those that move in places that are found for all of them at
// once. It reports false where there are none, or more to it than counting.
func (r *rearrangement) pack(moving []*displaced) bool {
	var gangs []packing.Unplaced
	for _, d := range moving {
		gangs = append(gangs, packing.Unplaced{Rep: d.rest.Rep, Request: d.search.Request})
	}
	at := packing.Nodes(r.im.evict.state, append(gangs, packing.Unplaced{Rep: r.Rep, Request: r.Request}), &r.steps)
	if at == nil {
		return false
	}
	r.moves = r.moves[:0]
	for i, d := range moving {
		if !r.settles(d, r.realise(d.search, at[i])) {
			return false
		}
	}
	r.places = r.realise(r.Search, at[len(moving)])
	return r.places != nil && r.im.putIn(r.Rep, r.places)
}

// realise finds the members of a gang, by group, their GPUs on nodes; nil: there is more to it than
// counting.
func (r *rearrangement) realise(t *victim.Search, at [][]*record.Node) (where []gang.Member) {
	extent := r.im.extent()
	defer r.im.backTo(extent)
	for g, nodes := range at {
		for i, n := range nodes {
			one := *t
			one.Request = packing.OnNode(t.Request, g, n)
			member := one.Place()
			if member == nil || !r.im.putIn(t.Rep, member) {
				return nil
			}
			member[0].Group, member[0].Index = g, i
			where = append(where, member...)
		}
	}
	return where
}
