package preempt

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A world is a small fleet that is full of candidates, with a beneficiary that
// wants replicas of some GPUs on one node each.
type world struct {
	candidates []Candidate
	holds      []map[int]int64 // by candidate: milli-GPU by node
	free       []int64         // by node
	replicas   int
	each       int64 // milli-GPU of one replica on one node; of all nodes together if anywhere
	anywhere   bool
}

// fits is the direct test: count what is free where if the chosen go.
func (w *world) fits(chosen []int) bool {
	free := slices.Clone(w.free)
	for _, i := range chosen {
		for node, milli := range w.holds[i] {
			free[node] += milli
		}
	}
	if w.anywhere {
		sum := int64(0)
		for _, f := range free {
			sum += f
		}
		return sum >= w.each
	}
	replicas := int64(0)
	for _, f := range free {
		replicas += f / w.each
	}
	return replicas >= int64(w.replicas)
}

func (w *world) need() int64 { return int64(max(w.replicas, 1)) * w.each }

// demand is what is known of it, or nothing.
func (w *world) demand() Requirement {
	if w.anywhere {
		return Requirement{}
	}
	d := Requirement{Members: w.replicas, MemberMilli: w.each}
	for node, free := range w.free {
		d.Domains = append(d.Domains, FreeDomain{Domain: int32(node), FreeMilli: free})
	}
	return d
}

// randomWorld draws a world with n candidates. With one rank, all candidates are
// equal but for cost.
func randomWorld(r *rand.Rand, n int, oneRank bool) *world {
	coarse := r.IntN(3) == 0 // equal costs are common
	w := &world{free: make([]int64, 1+r.IntN(5))}
	for i := range w.free {
		w.free[i] = int64(r.IntN(2)) * 1000
	}
	for i := range n {
		c := Candidate{
			ID:              string(rune('a'+i%26)) + string(rune('a'+i/26)),
			Checkpointable:  r.IntN(2) == 0,
			SinceCheckpoint: r.Int64N(3_600_000), CheckpointCost: r.Int64N(60_000), RestartCost: r.Int64N(120_000),
		}
		if coarse {
			c.SinceCheckpoint, c.CheckpointCost, c.RestartCost = r.Int64N(3)*1000, r.Int64N(3)*1000, 0
		}
		if !oneRank {
			c.Class, c.Priority = r.IntN(2), int32(r.IntN(2))
			c.Borrowed, c.Backfilled, c.Surplus = r.IntN(4) == 0, r.IntN(8) == 0, r.IntN(8) == 0
		}
		holds := map[int]int64{}
		for range 1 + r.IntN(2)*r.IntN(2) { // one in four tries a second node
			holds[r.IntN(len(w.free))] = 1000 * (1 + r.Int64N(8))
		}
		for node := range w.free {
			if milli, ok := holds[node]; ok {
				c.GPUMilli += milli
				c.Domains, c.HeldMilli = append(c.Domains, int32(node)), append(c.HeldMilli, milli)
			}
		}
		w.candidates, w.holds = append(w.candidates, c), append(w.holds, holds)
	}
	switch r.IntN(3) {
	case 0: // enough GPUs in all
		w.anywhere, w.each = true, 1000*(1+r.Int64N(24))
	case 1: // enough on one node
		w.replicas, w.each = 1, 1000<<r.IntN(4)
	case 2: // several on one node each
		w.replicas, w.each = 1+r.IntN(4), 1000<<r.IntN(4)
	}
	return w
}

// losses lists what a set costs, rank by rank, the most harmful rank first.
func losses(candidates []Candidate, set []int, need int64) []loss {
	order := make([]int, len(candidates))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compareRanks(&candidates[b], &candidates[a], need) })
	var all []loss
	for at, i := range order {
		if at == 0 || compareRanks(&candidates[order[at-1]], &candidates[i], need) != 0 {
			all = append(all, loss{})
		}
		if slices.Contains(set, i) {
			l := &all[len(all)-1]
			l.cost, l.count = l.cost.plus(candidates[i].Cost()), l.count+1
		}
	}
	return all
}

func compareLosses(a, b []loss) int { return slices.CompareFunc(a, b, loss.compare) }

// bruteForce looks at every set and returns the one of least harm, or false.
func bruteForce(candidates []Candidate, fits func([]int) bool, need int64) (best []int, found bool) {
	var bestLosses []loss
	for mask := range uint(1) << len(candidates) {
		set := unmask(mask)
		if !fits(set) {
			continue
		}
		if l := losses(candidates, set, need); !found || compareLosses(l, bestLosses) < 0 {
			best, bestLosses, found = set, l, true
		}
	}
	return best, found
}

// leastGiven sums up over the ranks what the victims of each cost at least, by brute force,
// given those of the ranks above, and with all below gone.
func (w *world) leastGiven(victims []int) GPUMilliseconds {
	sum := GPUMilliseconds(0)
	need := w.need()
	for done := []int(nil); len(done) < len(victims); {
		highest := -1
		for _, v := range victims {
			if !slices.Contains(done, v) && (highest < 0 || compareRanks(&w.candidates[v], &w.candidates[highest], need) > 0) {
				highest = v
			}
		}
		given := slices.Clone(done)
		var rank []int
		for i := range w.candidates {
			switch d := compareRanks(&w.candidates[i], &w.candidates[highest], need); {
			case d < 0:
				given = append(given, i)
			case d == 0:
				rank = append(rank, i)
			}
		}
		least := GPUMilliseconds(math.MaxInt64)
		for mask := range uint(1) << len(rank) {
			cost, set := GPUMilliseconds(0), given
			for _, i := range unmask(mask) {
				cost, set = cost.plus(w.candidates[rank[i]].Cost()), append(slices.Clip(set), rank[i])
			}
			if cost < least && w.fits(set) {
				least = cost
			}
		}
		sum = sum.plus(least)
		for _, v := range victims {
			if slices.Contains(rank, v) {
				done = append(done, v)
			}
		}
	}
	return sum
}

func unmask(mask uint) []int {
	var set []int
	for ; mask != 0; mask &= mask - 1 {
		set = append(set, bits.TrailingZeros(mask))
	}
	return set
}
