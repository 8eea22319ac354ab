package preempt

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/berth-sched/berth/internal/enum"
)

// DefaultMaxCalls is the bound on calls of fits where Options states none.
const DefaultMaxCalls = 4096

// Options of one choice.
type Options struct {
	// NeedMilli is what the beneficiary asks for, in thousandths of a GPU. A job
	// that holds more is spared where smaller ones of its kind suffice. Zero: size
	// does not matter.
	NeedMilli int64
	// MaxCalls bounds the calls of fits, which is where the time goes; zero means
	// DefaultMaxCalls. It is counted work, so that the answer does not depend on
	// how busy the machine is.
	MaxCalls int
	// ToleranceMilli ends the search for something cheaper once it is proven that the victims
	// of a rank cost at most so much more than the least that is possible, in thousandths.
	// Zero: it goes on to the end, or to MaxCalls.
	ToleranceMilli int
	// Requirement is what is known of what the beneficiary needs. It saves most of the calls
	// and proves better bounds; the zero value says nothing.
	Requirement Requirement
	// Allowances bound what candidates give together, and Permits says whether all of the chosen
	// may go, where that is known only of sets: with nil the allowances say it. What may go, any
	// part of it may. Permits must have no effect, give equal answers to equal sets, and allow
	// nothing that the allowances do not. It may not tell candidates apart that count for the same
	// allowance and hold the same in the same domains.
	Allowances []Allowance
	Permits    func(chosen []int) bool
}

// An Result says how a choice ended.
type Result uint8

const (
	// ResultInsufficient: the beneficiary would not fit if all of them went.
	ResultInsufficient Result = iota
	// ResultNotNeeded: the beneficiary fits without any victim.
	ResultNotNeeded
	// ResultChosen: the victims suffice, and none of them could be left out.
	ResultChosen
	// ResultExhausted: MaxCalls ended the search before it had victims of which none
	// could be left out. More calls would help.
	ResultExhausted
)

const resultNames enum.Names = "Result: insufficient|not-needed|chosen|exhausted"

func (o Result) String() string { return enum.Text(resultNames, o) }

func (o Result) MarshalText() ([]byte, error) { return enum.Marshal(resultNames, o, invalidText) }

func (o *Result) UnmarshalText(b []byte) error { return enum.Unmarshal(resultNames, o, b, invalidText) }

// A Choice is the answer of Choose.
type Choice struct {
	Result Result
	// Victims are indexes of candidates, the least harm first; empty unless the
	// outcome is Chosen. The slice belongs to the Chooser and is good until its next
	// choice.
	Victims []int
	// Cost of all victims together.
	Cost GPUMilliseconds
	// LowerBound is proven from below, if fits is monotone: rank by rank, victims that suffice
	// with those chosen in the ranks above and everybody below cost at least as much;
	// summed over the ranks. Where all victims are of one rank, no set that spares the ranks
	// above costs less than Bound. It is the Cost where that is exact, and never more.
	LowerBound GPUMilliseconds
	// Calls of fits that were made.
	Calls int
	// CutShort says that MaxCalls ended the search for less harm early. Where it is false,
	// fits is monotone and no Tolerance is stated, the victims are those of the least harm
	// that there are; see Chooser.Choose.
	CutShort bool
}

// Choose is Chooser.Choose for a single use.
func Choose(candidates []Candidate, fits func(chosen []int) bool, options Options) (Choice, error) {
	return new(Chooser).Choose(candidates, fits, options)
}

// A Chooser chooses victims. It keeps its buffers from one choice to the next and
// nothing else; the zero value is ready. It is not safe for concurrent use.
type Chooser struct {
	candidates []Candidate
	fits       func([]int) bool
	calls      int
	work       int  // calls, in parts of which callWork are one, and what was answered without
	limit      int  // of work, for now: lower while the search is for mere improvement
	over       bool // more was wanted beyond the limit

	tolerance  int
	ledger     ledger
	allowances allowanceState

	items []item // all candidates, least harm first
	fixed []item // victims of the ranks that are settled
	below []item // all of the ranks below the one being settled
	picks []item // victims tried in this rank
	best  []item // the best victims found in this rank, if any were
	found bool
	bound GPUMilliseconds // what the victims of this rank cost at least
	total GPUMilliseconds // and those of all ranks that are settled

	list   []item  // the rank in another order, or a part of it
	stays  []stay  // the candidates of the rank in each domain
	groups []group // stays by domain
	shares []share // of the rank in rooms
	parts  []part  // shares by room
	slots  []slot  // pieces that the rank could give
	covers []cover // what they cost, by region
	chosen []int   // the argument of fits

	spent, least []loss // by rank: of the picks, and of the best victims in all
}

// An item is a candidate in the search.
type item struct {
	index int   // among the candidates
	place int32 // in the order of harm: the last tie-break of every other order
	rank  int32 // of harm, see Choose
	group int32 // the place of the cheapest domain it is in
	// heldFrom and heldTo are where its holds are in the ledger.
	heldFrom, heldTo int32
	milli            int64
	cost             GPUMilliseconds
}

// Choose says which candidates should be evicted so that a beneficiary fits. The
// function fits says whether it would if the chosen ones, given by index in no
// particular order, were gone; it must have no effect, give equal answers to equal
// sets, and neither keep nor change its argument. It should be monotone: what
// fits still fits when more are gone.
//
// Victims are always sufficient and minimal: the beneficiary fits without them, and
// would not if any one of them stayed (with a monotone fits: if any of them
// stayed). No victim is chosen for a beneficiary that would not fit even so.
//
// Candidates are ranked: backfilled jobs first; borrowers before others; the surplus of elastic
// jobs before whole jobs; then the lower class; then size, where all that hold no more than the
// beneficiary needs are equal, followed by those up to twice, four times, eight times as large;
// then the source; then the lower priority. No set takes from a rank what those below it could have
// given: the victims in the highest rank that is needed are settled first, as cheaply as they can
// be found if all ranks below would go entirely, and so on down. Within a rank the lower total
// cost counts, then fewer victims. The input order does not matter as long as the IDs are unique.
//
// Within a rank the problem is a knapsack cover, or worse, with an opaque test.
// The search first shrinks the rank along several orders (cost, cost for a GPU,
// cheapest domain), each the way QuickXplain does (Junker, 2004, "Preferred
// explanations and relaxations for over-constrained problems"): the shortest
// sufficient prefix, found by galloping and bisection, names one victim, and so on with the rest
// of the prefix. Then it looks in single domains, and at last it searches the rank
// by branch and bound over the costliest victim. The bound is the cost of the
// last one in the shortest sufficient prefix by cost: all cheaper ones together
// do not suffice. Where MaxCalls does not end that search, its result is exact.
//
// Refused with an *Error: an empty ID, a negative amount, a nil fits.
//
// O(n log n) and at most MaxCalls calls, of which k log n suffice for a choice of k
// victims out of n candidates. No allocation once the buffers have grown.
func (c *Chooser) Choose(candidates []Candidate, fits func(chosen []int) bool, options Options) (Choice, error) {
	if err := check(candidates, fits, options); err != nil {
		return Choice{}, err
	}
	if double, ok := c.ledger.open(&options.Requirement); !ok {
		return Choice{}, &Error{Index: -1, Field: "requirement.domains", Reason: fmt.Sprintf("domain %d is listed twice", double)}
	}
	c.begin(candidates, fits, options)
	c.openAllowances(&options)
	defer func() { c.candidates, c.fits, c.allowances.permits = nil, nil, nil }()
	if c.test(nil, nil) {
		return Choice{Result: ResultNotNeeded, Calls: c.calls}, nil
	}
	enough := c.enough()
	if enough < 0 && !c.over && !c.allowances.cut {
		return Choice{Result: ResultInsufficient, Calls: c.calls}, nil
	}
	if enough < 0 {
		return Choice{Result: ResultExhausted, Calls: c.calls, CutShort: true}, nil
	}
	cut := c.settleAll(enough)
	if !cut && c.breakTies() {
		cut = true
	}
	c.minimise()
	if c.over {
		return Choice{Result: ResultExhausted, Calls: c.calls, CutShort: true}, nil
	}
	choice := Choice{Result: ResultChosen, Calls: c.calls, CutShort: cut || c.allowances.cut}
	c.chosen = c.chosen[:0]
	for _, v := range c.fixed {
		c.chosen = append(c.chosen, v.index)
		choice.Cost = choice.Cost.plus(v.cost)
	}
	choice.Victims, choice.LowerBound = c.chosen, min(c.total, choice.Cost)
	return choice, nil
}

func check(candidates []Candidate, fits func([]int) bool, options Options) error {
	switch {
	case fits == nil:
		return &Error{Index: -1, Field: "fits", Reason: "is nil"}
	case options.NeedMilli < 0:
		return &Error{Index: -1, Field: "needMilli", Reason: fmt.Sprintf("is negative: %d", options.NeedMilli)}
	case options.ToleranceMilli < 0:
		return &Error{Index: -1, Field: "toleranceMilli", Reason: fmt.Sprintf("is negative: %d", options.ToleranceMilli)}
	case options.MaxCalls < 0:
		return &Error{Index: -1, Field: "maxCalls", Reason: fmt.Sprintf("is negative: %d", options.MaxCalls)}
	}
	for i := range candidates {
		if err := candidates[i].check(i); err != nil {
			return err
		}
	}
	if err := options.checkAllowances(candidates); err != nil {
		return err
	}
	return options.Requirement.check(candidates)
}

// begin ranks all candidates.
func (c *Chooser) begin(candidates []Candidate, fits func([]int) bool, options Options) {
	c.fits, c.tolerance = fits, options.ToleranceMilli
	c.calls, c.work, c.over, c.total = 0, 0, false, 0
	if c.limit = callWork * min(options.MaxCalls, math.MaxInt/callWork); c.limit == 0 {
		c.limit = callWork * DefaultMaxCalls
	}
	c.items, c.fixed, c.below, c.picks = c.items[:0], c.fixed[:0], nil, c.picks[:0]
	for i := range candidates {
		k := &candidates[i]
		c.items = append(c.items, item{index: i, milli: k.GPUMilli, cost: k.Cost()})
	}
	slices.SortFunc(c.items, func(x, y item) int {
		a, b := &candidates[x.index], &candidates[y.index]
		if d := compareRanks(a, b, options.NeedMilli); d != 0 {
			return d
		}
		if x.cost != y.cost {
			return cmp.Compare(x.cost, y.cost)
		}
		return cmp.Or(
			cmp.Compare(x.milli, y.milli),
			cmp.Compare(b.Started, a.Started),
			strings.Compare(a.ID, b.ID),
			cmp.Compare(x.index, y.index),
		)
	})
	for i := range c.items {
		c.items[i].place = int32(i)
		if i > 0 {
			c.items[i].rank = c.items[i-1].rank
			if compareRanks(&candidates[c.items[i-1].index], &candidates[c.items[i].index], options.NeedMilli) != 0 {
				c.items[i].rank++
			}
		}
	}
	for i := range c.items {
		c.ledger.list(&c.items[i], &candidates[c.items[i].index])
	}
	c.ledger.begin()
	c.candidates, c.stays = candidates, c.stays[:0]
}

// compareRanks is the order of harm between sources, where the cost does not
// count yet.
func compareRanks(a, b *Candidate, need int64) int {
	switch {
	case a.Backfilled != b.Backfilled:
		return first(a.Backfilled)
	case a.Borrowed != b.Borrowed:
		return first(a.Borrowed)
	case a.Surplus != b.Surplus:
		return first(a.Surplus)
	case a.Class != b.Class:
		return cmp.Compare(a.Class, b.Class)
	}
	if a, b := excess(a.GPUMilli, need), excess(b.GPUMilli, need); a != b {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Priority, b.Priority))
}

// first is how one compares with another that differs in a flag, if it has it or not.
func first(has bool) int {
	if has {
		return -1
	}
	return 1
}

// excess is how often a need must be doubled to be as large as what is held.
func excess(milli, need int64) int {
	if need == 0 || milli <= need {
		return 0
	}
	return bits.Len64(uint64((milli - 1) / need))
}
