package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// What is held and idle is lent: whatever happens to lenders and borrowers, a GPU is never given
// twice, a lender gets no order for it, and borrowers are gone in time; and the core that is
// restored in the middle is the same. Scripts play a borrower that is asked already when it has to
// give back: hardly a drawn one is.
func TestLending(t *testing.T) {
	t.Parallel()
	cases := map[string]int{}
	for seed := range drawn.Seeds(12) {
		config, options, list := worlds.NewGenerator(seed).Lending()
		r := worlds.RunOf(config, options, list)
		must(t, r, seed)
		for name, n := range r.Checker.Cases() {
			cases[name] += n
		}
		tellAgain(t, config, r.Log, seed)
	}
	t.Logf("%v", cases)
	covers(
		t, cases, "borrowed GPU placed", "a borrower has to give back while running", "a borrower has to give back while binding",
		"a borrower gives back before it runs", "release because given-back",
	)
}
