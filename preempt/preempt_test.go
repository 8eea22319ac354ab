package preempt

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

func TestPrice(t *testing.T) {
	for _, c := range []struct {
		name      string
		candidate Candidate
		want      GPUMilliseconds
	}{
		{"nothing", Candidate{}, 0},
		{"work in vain", Candidate{GPUMilli: 8000, SinceCheckpoint: 1000, CheckpointCost: 30, RestartCost: 100}, 8800},
		{"checkpoint instead", Candidate{GPUMilli: 8000, SinceCheckpoint: 1000, CheckpointCost: 30, RestartCost: 100, Checkpointable: true}, 1040},
		{"rounded up", Candidate{GPUMilli: 1, SinceCheckpoint: 1001}, 2},
		{"and the queueing", Candidate{GPUMilli: 8000, CheckpointCost: 30, RestartCost: 100, Queueing: 70, Checkpointable: true}, 1600},
		{"of a share", Candidate{GPUMilli: 250, SinceCheckpoint: 1000}, 250},
		{"too large", Candidate{GPUMilli: math.MaxInt64, SinceCheckpoint: math.MaxInt64, RestartCost: math.MaxInt64}, math.MaxInt64},
		{"just too large", Candidate{GPUMilli: 1001, SinceCheckpoint: math.MaxInt64}, math.MaxInt64},
		{"largest", Candidate{GPUMilli: 1000, SinceCheckpoint: math.MaxInt64}, math.MaxInt64},
		{"a sum that carries", Candidate{GPUMilli: 1<<32 + 1, SinceCheckpoint: 1<<32 - 1}, 18446744073709552},
		{"three times longer than anything", Candidate{GPUMilli: 1, SinceCheckpoint: math.MaxInt64, RestartCost: math.MaxInt64, Queueing: math.MaxInt64}, 27670116110564328},
		{"and too large for it", Candidate{GPUMilli: 334, SinceCheckpoint: math.MaxInt64, RestartCost: math.MaxInt64, Queueing: math.MaxInt64}, math.MaxInt64},
		{"negative", Candidate{GPUMilli: -1, SinceCheckpoint: -5}, 0},
	} {
		require.Equal(t, c.want, c.candidate.Cost(), c.name)
	}
	require.Equal(t, GPUMilliseconds(math.MaxInt64), GPUMilliseconds(math.MaxInt64).plus(1))
}

func TestChooseRefuses(t *testing.T) {
	yes := func([]int) bool { return true }
	for _, c := range []struct {
		candidate Candidate
		fits      func([]int) bool
		options   Options
		text      string
	}{
		{Candidate{}, yes, Options{}, `candidate 0 (""): ID: is empty`},
		{Candidate{ID: "a", GPUMilli: -1}, yes, Options{}, `candidate 0 ("a"): GPUMilli: is negative: -1`},
		{Candidate{ID: "a", SinceCheckpoint: -1}, yes, Options{}, `SinceCheckpoint: is negative`},
		{Candidate{ID: "a", CheckpointCost: -1}, yes, Options{}, `CheckpointCost: is negative`},
		{Candidate{ID: "a", RestartCost: -1}, yes, Options{}, `RestartCost: is negative`},
		{Candidate{ID: "a", Queueing: -1}, yes, Options{}, `Queueing: is negative`},
		{Candidate{ID: "a", Domains: []int32{1}}, yes, Options{Requirement: Requirement{Members: 1, MemberMilli: 1}}, `candidate 0 ("a"): heldMilli: has 0 amounts for 1 domains`},
		{Candidate{ID: "a", Domains: []int32{1}, HeldMilli: []int64{-1}}, yes, Options{Requirement: Requirement{Members: 1, MemberMilli: 1}}, `heldMilli: is not within 0 and`},
		{Candidate{ID: "a"}, yes, Options{Requirement: Requirement{Members: -1}}, `preempt: requirement.members: is negative`},
		{Candidate{ID: "a"}, yes, Options{Requirement: Requirement{Members: 1}}, `preempt: requirement.memberMilli: is not within 1 and 1099511627776: 0`},
		{Candidate{ID: "a"}, yes, Options{Requirement: Requirement{Members: 1, MemberMilli: 1, Domains: []FreeDomain{{}, {FreeMilli: -1}}}}, `preempt: requirement.domains[1].freeMilli: is not within 0 and 1099511627776: -1`},
		{Candidate{ID: "a"}, yes, Options{Requirement: Requirement{Members: 1, MemberMilli: 1, Domains: []FreeDomain{{Domain: 7}, {Domain: 7}}}}, `preempt: requirement.domains: domain 7 is listed twice`},
		{Candidate{ID: "a"}, yes, Options{ToleranceMilli: -1}, `preempt: toleranceMilli: is negative: -1`},
		{Candidate{ID: "a"}, nil, Options{}, `preempt: fits: is nil`},
		{Candidate{ID: "a"}, yes, Options{NeedMilli: -1}, `preempt: needMilli: is negative`},
		{Candidate{ID: "a"}, yes, Options{MaxCalls: -1}, `preempt: maxCalls: is negative`},
	} {
		_, err := Choose([]Candidate{c.candidate}, c.fits, c.options)
		require.ErrorIs(t, err, ErrInvalid)
		var typed *Error
		require.ErrorAs(t, err, &typed)
		require.ErrorContains(t, err, c.text)
	}
}

// gpus is a fits that wants so many GPUs in all.
func gpus(candidates []Candidate, milli int64) func([]int) bool {
	return func(chosen []int) bool {
		sum := int64(0)
		for _, i := range chosen {
			sum += candidates[i].GPUMilli
		}
		return sum >= milli
	}
}

func ids(candidates []Candidate, victims []int) []string {
	names := make([]string, len(victims))
	for i, v := range victims {
		names[i] = candidates[v].ID
	}
	return names
}

// TestSources: what was backfilled first, then borrowers, then elastic parts, then class, then
// size, then priority, then cost.
func TestSources(t *testing.T) {
	for _, c := range []struct {
		name       string
		candidates []Candidate
		want       []string
	}{
		{"what was backfilled before a borrower", []Candidate{
			{ID: "borrower", Class: 0, GPUMilli: 8000, Borrowed: true, Surplus: true},
			{ID: "backfilled", Class: 1, Priority: 9, GPUMilli: 8000, SinceCheckpoint: 9, Backfilled: true},
		}, []string{"backfilled"}},
		{"a borrower before an elastic part of what is not borrowed", []Candidate{
			{ID: "elastic", Class: 0, GPUMilli: 8000, Surplus: true},
			{ID: "borrower", Class: 1, GPUMilli: 8000, SinceCheckpoint: 9, Borrowed: true},
		}, []string{"borrower"}},
		{"elastic parts before a lower class", []Candidate{
			{ID: "batch", Class: 0, GPUMilli: 8000},
			{ID: "a part", Class: 1, GPUMilli: 4000, SinceCheckpoint: 9, Surplus: true},
			{ID: "another", Class: 2, GPUMilli: 4000, SinceCheckpoint: 9, Surplus: true},
		}, []string{"a part", "another"}},
		{"a borrower before a lower class", []Candidate{
			{ID: "batch", Class: 0, GPUMilli: 8000},
			{ID: "borrower", Class: 1, GPUMilli: 8000, SinceCheckpoint: 9, Borrowed: true},
		}, []string{"borrower"}},
		{"a lower class before a lower priority", []Candidate{
			{ID: "interactive", Class: 1, GPUMilli: 8000},
			{ID: "batch", Class: 0, Priority: 9, GPUMilli: 8000, SinceCheckpoint: 9},
		}, []string{"batch"}},
		{"a lower priority before a lower cost", []Candidate{
			{ID: "cheap", Priority: 1, GPUMilli: 8000},
			{ID: "low", Priority: 0, GPUMilli: 8000, SinceCheckpoint: 9},
		}, []string{"low"}},
		{"a lower cost before a lower ID", []Candidate{
			{ID: "a", GPUMilli: 8000, SinceCheckpoint: 9},
			{ID: "b", GPUMilli: 8000, SinceCheckpoint: 8},
		}, []string{"b"}},
		{"at last the ID", []Candidate{
			{ID: "b", GPUMilli: 8000, SinceCheckpoint: 9},
			{ID: "a", GPUMilli: 8000, SinceCheckpoint: 9},
		}, []string{"a"}},
		{"small ones spare the gang of 256, whatever they cost", []Candidate{
			{ID: "gang", GPUMilli: 256_000},
			{ID: "x", Priority: 3, GPUMilli: 4000, SinceCheckpoint: 1_000_000},
			{ID: "y", Priority: 3, GPUMilli: 4000, SinceCheckpoint: 1_000_000},
		}, []string{"x", "y"}},
		{"but not where they do not suffice", []Candidate{
			{ID: "gang", GPUMilli: 256_000},
			{ID: "x", GPUMilli: 4000},
		}, []string{"gang"}},
		{"one that gives enough rather than two at the same cost", []Candidate{
			{ID: "a", GPUMilli: 4000, SinceCheckpoint: 10},
			{ID: "b", GPUMilli: 4000, SinceCheckpoint: 10},
			{ID: "c", GPUMilli: 8000, SinceCheckpoint: 10},
		}, []string{"c"}},
		{"a small one is dropped once a large one is needed", []Candidate{
			{ID: "small", GPUMilli: 1000, SinceCheckpoint: 1},
			{ID: "large", GPUMilli: 8000, SinceCheckpoint: 10},
		}, []string{"large"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			choice, err := Choose(c.candidates, gpus(c.candidates, 8000), Options{NeedMilli: 8000})
			require.NoError(t, err)
			require.Equal(t, ResultChosen, choice.Result)
			require.Equal(t, c.want, ids(c.candidates, choice.Victims))
		})
	}
}

func TestExcess(t *testing.T) {
	for _, c := range []struct {
		milli, need int64
		want        int
	}{{9000, 0, 0}, {0, 8000, 0}, {8000, 8000, 0}, {8001, 8000, 1}, {16_000, 8000, 1}, {16_001, 8000, 2}, {32_000, 8000, 2}, {256_000, 8000, 5}, {math.MaxInt64, 1, 63}} {
		require.Equal(t, c.want, excess(c.milli, c.need), "%d for %d", c.milli, c.need)
	}
}

func TestOutcomes(t *testing.T) {
	candidates := []Candidate{
		{ID: "a", GPUMilli: 1000, SinceCheckpoint: 10},
		{ID: "b", GPUMilli: 1000, SinceCheckpoint: 20},
	}
	for _, c := range []struct {
		need    int64
		options Options
		want    Choice
	}{
		{0, Options{}, Choice{Result: ResultNotNeeded, Calls: 1}},
		{3000, Options{}, Choice{Result: ResultInsufficient, Calls: 2}},
		{2000, Options{MaxCalls: 1}, Choice{Result: ResultExhausted, Calls: 1, CutShort: true}},
		{2000, Options{MaxCalls: 5}, Choice{Result: ResultExhausted, Calls: 5, CutShort: true}},
		{2000, Options{MaxCalls: 100}, Choice{Result: ResultChosen, Victims: []int{0, 1}, Cost: 30, LowerBound: 30}},
	} {
		choice, err := Choose(candidates, gpus(candidates, c.need), c.options)
		require.NoError(t, err)
		if c.want.Result == ResultChosen {
			c.want.Calls = choice.Calls
		}
		require.Equal(t, c.want, choice, "%d", c.need)
		require.LessOrEqual(t, choice.Calls, max(c.options.MaxCalls, 100))
	}
	choice, err := Choose(nil, func([]int) bool { return false }, Options{})
	require.NoError(t, err)
	require.Equal(t, Choice{Result: ResultInsufficient, Calls: 2}, choice)
	require.Equal(t, "exhausted", ResultExhausted.String())
	require.Equal(t, "Result(9)", Result(9).String())
}

// requireValid checks what every choice promises.
func requireValid(t require.TestingT, candidates []Candidate, fits func([]int) bool, options Options, choice Choice) {
	if limit := options.MaxCalls; limit > 0 {
		require.LessOrEqual(t, choice.Calls, limit)
	}
	var all []int
	for i := range candidates {
		all = append(all, i)
	}
	switch choice.Result {
	case ResultNotNeeded:
		require.True(t, fits(nil))
	case ResultInsufficient:
		require.False(t, fits(all))
	case ResultChosen:
		cost := GPUMilliseconds(0)
		for at, v := range choice.Victims {
			require.Contains(t, all, v)
			require.NotContains(t, choice.Victims[:at], v)
			require.False(t, fits(slices.Concat(choice.Victims[:at], choice.Victims[at+1:])), "%d could be left out", v)
			cost += candidates[v].Cost()
		}
		require.True(t, fits(choice.Victims))
		require.False(t, fits(nil))
		require.Equal(t, cost, choice.Cost)
	case ResultExhausted:
		require.True(t, choice.CutShort)
	}
	if choice.Result != ResultChosen {
		require.Empty(t, choice.Victims)
		require.Zero(t, choice.Cost)
	}
}

// TestS7_VictimsSufficeAndNoneCouldStay: on random fleets and with random bounds,
// also for a fits that is not monotone at all.
func TestS7_VictimsSufficeAndNoneCouldStay(t *testing.T) {
	var chooser Chooser
	seen := map[Result]int{}
	drawn.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		w := randomWorld(r, rapid.IntRange(0, 12).Draw(t, "candidates"), false)
		options := Options{NeedMilli: w.need(), MaxCalls: rapid.SampledFrom([]int{0, 0, 0, 1, 3, 10, 30}).Draw(t, "calls")}
		fits := w.fits
		if rapid.IntRange(0, 3).Draw(t, "wild") == 0 {
			fits = wild(r.Uint64())
		}
		choice, err := chooser.Choose(w.candidates, fits, options)
		require.NoError(t, err)
		requireValid(t, w.candidates, fits, options, choice)
		seen[choice.Result]++
	})
	if drawn.Many() {
		require.Len(t, seen, 4, "every outcome occurs")
	}
}

// wild is a fits without rhyme or reason, except that equal sets get equal answers.
func wild(salt uint64) func([]int) bool {
	return func(chosen []int) bool {
		mask := salt
		for _, i := range chosen {
			mask ^= 1 << i
		}
		return rand.New(rand.NewPCG(mask, 2)).IntN(3) == 0
	}
}

// TestWildFits: what is promised for every fits holds for one that makes no sense.
func TestWildFits(t *testing.T) {
	var chooser Chooser
	r := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		w := randomWorld(r, 2+r.IntN(9), false)
		fits := wild(r.Uint64())
		choice, err := chooser.Choose(w.candidates, fits, Options{})
		require.NoError(t, err)
		requireValid(t, w.candidates, fits, Options{}, choice)
	}
}

// TestTwin: on small fleets, where the search comes to its end, the victims are those of
// the least harm by brute force, in every rank, and the bound is their cost. With few
// calls both are on either side of the exact one. BERTH_VICTIM_CASES says in how many.
func TestTwin(t *testing.T) {
	cases := 2500
	if s := os.Getenv("BERTH_VICTIM_CASES"); s != "" {
		var err error
		cases, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	var chooser Chooser
	r := rand.New(rand.NewPCG(1, 2))
	chosen, cut := 0, 0
	for n := range cases {
		w := randomWorld(r, r.IntN(10), n%2 == 0)
		options := Options{NeedMilli: w.need()}
		if n%3 > 0 {
			options.Requirement = w.demand()
		}
		best, found := bruteForce(w.candidates, w.fits, w.need())
		exact := losses(w.candidates, best, w.need())
		for _, options.MaxCalls = range [...]int{0, 20 + r.IntN(40)} {
			choice, err := chooser.Choose(w.candidates, w.fits, options)
			require.NoError(t, err)
			requireValid(t, w.candidates, w.fits, options, choice)
			require.True(t, choice.Result == ResultExhausted || found == (choice.Result != ResultInsufficient))
			if choice.Result != ResultChosen {
				require.True(t, choice.Result != ResultExhausted || options.MaxCalls > 0)
				continue
			}
			ours := losses(w.candidates, choice.Victims, w.need())
			if !choice.CutShort {
				require.Equal(t, exact, ours, "case %d", n)
				require.Equal(t, choice.Cost, choice.LowerBound, "case %d", n)
			} else {
				require.NotZero(t, options.MaxCalls)
				require.LessOrEqual(t, choice.LowerBound, w.leastGiven(choice.Victims), "case %d", n)
				cut++
			}
			chosen++
		}
	}
	t.Logf("%d choices of the least harm, %d of them cut short", chosen, cut)
	require.Greater(t, chosen, cases/2)
	require.Greater(t, cut, cases/20)
}

// TestGap measures the cost against the exact minimum where there are too many
// candidates for the small bound on calls, so that the search is cut short.
func TestGap(t *testing.T) {
	var chooser Chooser
	r := rand.New(rand.NewPCG(3, 4))
	ours, exact, cut, over := GPUMilliseconds(0), GPUMilliseconds(0), 0, 0
	const rounds = 70
	for range rounds {
		w := randomWorld(r, 13, true)
		choice, err := chooser.Choose(w.candidates, w.fits, Options{MaxCalls: 120})
		require.NoError(t, err)
		if choice.Result != ResultChosen {
			continue
		}
		best, _ := bruteForce(w.candidates, w.fits, 0)
		least := GPUMilliseconds(0)
		for _, i := range best {
			least += w.candidates[i].Cost()
		}
		require.GreaterOrEqual(t, choice.Cost, least)
		ours, exact = ours+choice.Cost, exact+least
		if choice.CutShort {
			cut++
		}
		if choice.Cost > least {
			over++
		}
	}
	t.Logf("%d rounds, %d cut short, %d above the minimum: %.3f of it in all", rounds, cut, over, float64(ours)/float64(exact))
	require.Positive(t, cut)
	require.LessOrEqual(t, ours*100, exact*101)
}

// TestInputOrderDoesNotMatter: nor do the numbers of the domains.
func TestInputOrderDoesNotMatter(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		w := randomWorld(r, 12, false)
		options := Options{NeedMilli: w.need(), MaxCalls: rapid.SampledFrom([]int{0, 60}).Draw(t, "calls")}
		other := options
		demanded := rapid.Bool().Draw(t, "demand")
		if demanded {
			options.Requirement = w.demand()
		}
		want, err := Choose(w.candidates, w.fits, options)
		require.NoError(t, err)

		order := r.Perm(len(w.candidates))
		domains := r.Perm(len(w.free))
		if demanded {
			other.Requirement = w.demand()
			for i := range other.Requirement.Domains {
				room := &other.Requirement.Domains[i]
				room.Domain = int32(domains[room.Domain])
			}
		}
		shuffled := make([]Candidate, len(order))
		for i, from := range order {
			shuffled[i] = w.candidates[from]
			shuffled[i].Domains = nil
			for _, d := range w.candidates[from].Domains {
				shuffled[i].Domains = append(shuffled[i].Domains, int32(domains[d]))
			}
		}
		got, err := Choose(shuffled, func(chosen []int) bool {
			back := make([]int, len(chosen))
			for i, v := range chosen {
				back[i] = order[v]
			}
			return w.fits(back)
		}, other)
		require.NoError(t, err)
		require.Equal(t, ids(w.candidates, want.Victims), ids(shuffled, got.Victims))
		want.Victims, got.Victims = nil, nil
		require.Equal(t, want, got)
	})
}

// Of victims that are alike in all that counts, the one that began last goes first.
func TestOfEqualVictimsTheLastToStartGoes(t *testing.T) {
	candidates := []Candidate{{ID: "a", GPUMilli: 1000, Started: 10}, {ID: "b", GPUMilli: 1000, Started: 30}, {ID: "c", GPUMilli: 1000, Started: 20}}
	choice, err := Choose(candidates, func(chosen []int) bool { return len(chosen) > 0 }, Options{NeedMilli: 1000})
	require.NoError(t, err)
	require.Equal(t, []int{1}, choice.Victims)
}
