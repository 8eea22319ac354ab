package core_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// drawTree draws a fleet of a few nodes that two organisations share: x has own and a, and y has
// b and c; or x has b beside a team p of own and a, and y has c. Each queue that has others below
// it may be guaranteed more than these together.
func drawTree(t *testing.T, r *rand.Rand) (*divided, *smallFleet) {
	c, err := core.New(atOnce(berth.Config{}))
	require.NoError(t, err)
	d := &divided{T: t, Core: c}
	w := &smallFleet{guarantee: map[berth.QueueID]int{}, pools: 1}
	inner := []berth.QueueID{"x", "y"}
	if w.parent = map[berth.QueueID]berth.QueueID{"own": "x", "a": "x", "b": "y", "c": "y"}; r.IntN(2) > 0 {
		inner = append(inner, "p")
		w.parent = map[berth.QueueID]berth.QueueID{"own": "p", "a": "p", "p": "x", "b": "x", "c": "y"}
	}
	leaves := []berth.QueueID{"own", "a", "b", "c"}
	nodes, size := 1+r.IntN(4), 2+r.IntN(5)
	left := nodes * size
	for _, q := range append(leaves, inner...) {
		n := r.IntN(left + 1)
		left -= n
		for ; q != ""; q = w.parent[q] {
			w.guarantee[q] += n
		}
	}
	for _, q := range append(inner, leaves...) {
		w.queue(d, q)
	}
	w.draw(d, r, nodes, size, 13, false, "own", "a", "a", "b", "c")
	return d, w
}

// TestL1_AGuaranteeIsCollectedInATree: as TestL1_AGuaranteeIsCollected, where queues stand below
// others. Each queue keeps its amount up to the one that it has in common with the beneficiary. A
// queue gives what is asked if those above the beneficiary, as far as it is not below them too, are
// within their guarantees once what is nearer is gone.
func TestL1_AGuaranteeIsCollectedInATree(t *testing.T) {
	collected, opened, refused, more := 0, 0, 0, 0
	for seed := range drawn.Seeds(250) {
		r := rand.New(rand.NewPCG(seed, 3))
		d, w := drawTree(t, r)
		_, used := w.fill("own", nil)
		asked := w.members * w.each
		if used+asked > w.guarantee["own"] || w.fits(nil) {
			continue
		}
		d.tell(berth.JobSubmitted{Job: berth.Job{ID: "owed", Queue: "own", Groups: []berth.Group{{Members: w.members, Claim: berth.Claim{GPUs: w.each}}}}})
		within := func(giver berth.QueueID, gone choice) bool {
			for q := w.parent["own"]; q != "" && !w.below(giver, q); q = w.parent[q] {
				if _, has := w.fill(q, gone); has+asked > w.guarantee[q] {
					return false
				}
			}
			return true
		}
		gives := func(giver berth.QueueID, gone choice) bool {
			for q := giver; q != "" && !w.below("own", q); q = w.parent[q] {
				if !w.keeps(q, gone) {
					return false
				}
			}
			_, before := w.fill(giver, nil)
			_, after := w.fill(giver, gone)
			return after == before || within(giver, gone)
		}
		want := w.takesSome(nil, func(gone choice) bool { return gives("a", gone) && gives("b", gone) && gives("c", gone) })
		got := d.becomes("owed", berth.ReplicaRunning)
		switch {
		case want:
			require.True(t, got, "seed %d: %+v", seed, w)
			if collected++; !within("c", nil) {
				opened++
			}
		case within("c", nil): // else those above it may have fair shares that are more
			require.False(t, got, "seed %d: %+v", seed, w)
			refused++
		default:
			more++
		}
	}
	t.Logf("%d collected, %d of them with a queue above over its guarantee, %d not, %d beyond the guarantee above", collected, opened, refused, more)
	if drawn.Many() {
		require.Positive(t, min(collected, opened, refused))
	}
}
