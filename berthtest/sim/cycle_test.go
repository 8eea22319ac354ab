package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// mostEvictions is how often anybody may be evicted at the most while demand stands still.
// In 4,000 worlds it was no more than 4.
const mostEvictions = 10

// Preemption does not go round in circles: where demand stands still, every job is
// evicted a few times at most, and then none any more. (Where the past counts, queues of
// equal right may take turns for ever, at longer and longer intervals.)
func TestL2_PreemptionComesToRest(t *testing.T) {
	t.Parallel()
	seen, worst := map[string]int{}, 0
	for seed := range drawn.Seeds(20) {
		r := worlds.RunOf(worlds.NewGenerator(seed).Steady())
		must(t, r, seed)
		for name, n := range r.Checker.Cases() {
			seen[name] += n
		}
		for pair := range r.Pairs {
			require.Zero(t, r.Pairs[[2]berth.ReplicaRef{pair[1], pair[0]}], "seed %d: %v and %v were evicted for each other", seed, pair[0], pair[1])
		}
		for ref, n := range r.Evicted {
			worst = max(worst, n)
			require.LessOrEqual(t, n, mostEvictions, "seed %d: %v was evicted %d times", seed, ref, n)
		}
	}
	t.Logf("nobody was evicted more than %d times; %v", worst, seen)
	covers(t, seen,
		"preempted", "reclaimed", "started where room was made", "room is enough", "none of the victims could be spared",
		"what is taken back leaves the guarantees", "what is taken back is for a queue within its share", "taken back as a whole",
	)
}
