package sim_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// A whim is a scorer without reason, and with books: what it says depends on its seed, and on all
// that it was ever told.
type whim struct {
	seed uint64
	told uint64
}

func (w *whim) Name() string { return "whim " + strconv.FormatUint(w.seed, 10) }

func (w *whim) fancy(place string) int64 {
	h := fnv.New64a()
	fmt.Fprint(h, w.seed, w.told, place)
	switch w.seed % 3 {
	case 0:
		return int64(h.Sum64())
	case 1: // the ends of the range, and much that is equal
		return []int64{math.MinInt64, 0, math.MaxInt64}[h.Sum64()%3]
	}
	return 42
}

func (w *whim) Score(g *berth.Group, places []berth.Place) {
	for i := range places {
		p := &places[i]
		p.Score = w.fancy(fmt.Sprint(g.Claim.GPUs, p.Node.ID, p.GPU, p.Left, p.HostLeft))
	}
}

func (w *whim) ScoreDomains(groups []berth.Group, domains []berth.Domain) {
	for i := range domains {
		domains[i].Score = w.fancy(fmt.Sprint(len(groups), domains[i]))
	}
}

func (w *whim) note(what ...any) {
	h := fnv.New64a()
	fmt.Fprint(h, w.told, what)
	w.told = h.Sum64()
}

func (w *whim) Submitted(j *berth.Job)   { w.note("submitted", j.ID) }
func (w *whim) Held(h berth.Holding)     { w.note("held", h.Node.ID, h.Group.Claim.GPUs, h.GPUs) }
func (w *whim) Released(h berth.Holding) { w.note("released", h.Node.ID, h.Group.Claim.GPUs, h.GPUs) }
func (w *whim) Save() []byte             { return binary.BigEndian.AppendUint64(nil, w.told) }

func (w *whim) Restore(books []byte) (berth.BookkeepingScorer, error) {
	own := &whim{seed: w.seed}
	switch len(books) {
	case 0:
	case 8:
		own.told = binary.BigEndian.Uint64(books)
	default:
		return nil, fmt.Errorf("%d bytes are no books", len(books))
	}
	return own, nil
}

// TestPromisesHoldWithAnyScorer runs worlds with faults and restores under scorers without reason,
// and under the checker: all that it holds of a core it holds of one with a scorer. Then what was
// told is told to a core that is never restored: it gives the same orders (D1, D2), and ends up
// in the same state.
func TestPromisesHoldWithAnyScorer(t *testing.T) {
	t.Parallel()
	restores := 0
	for seed := range drawn.Seeds(6) {
		scorer := &whim{seed: seed}
		draw := (*worlds.Generator).World
		if seed%4 == 3 {
			draw = (*worlds.Generator).Contended
		}
		config, options, list := draw(worlds.NewGenerator(seed))
		config.Scorer = scorer
		options.Faults.Restore = 0.1
		r := worlds.RunOf(config, options, list, func(o *sim.Options) {
			o.Restore = func(b []byte) (berth.Scheduler, error) {
				restores++
				return core.Restore(b, core.WithScorer(scorer))
			}
		})
		must(t, r, seed)
		require.Zero(t, scorer.told, "the scorer of the configuration is nobody's")
		again := fresh(t, config)
		for i := range r.Log {
			s := &r.Log[i]
			require.Equal(t, encode(t, s.Actions), tell(t, again, s), "seed %d, step %d", seed, i)
		}
		sameState(t, snapshot(t, r.Sim.Core()), snapshot(t, again), "seed %d", seed)
	}
	require.Positive(t, restores)
}

// TestEqualScoresAreTheCoresOwnRule: a scorer to which all is equal decides nothing. What is asked
// for does, once the core without one has seen 32 members; so the two are compared until then.
func TestEqualScoresAreTheCoresOwnRule(t *testing.T) {
	t.Parallel()
	orders := 0
	for seed := range drawn.Seeds(6) {
		config, log := recorded(t, seed)
		config.Scorer = &whim{seed: 2}
		sched := fresh(t, config)
		members := 0
		for i := range log {
			if members += membersOf(log[i].Event); members >= 32 {
				break
			}
			require.Equal(t, encode(t, log[i].Actions), tell(t, sched, &log[i]), "seed %d, step %d", seed, i)
			orders += len(log[i].Actions)
		}
	}
	require.Positive(t, orders)
}

// membersOf is how many members are asked for in a job that an event tells of.
func membersOf(e berth.Event) (n int) {
	var j berth.Job
	switch e := e.(type) {
	case berth.JobSubmitted:
		j = e.Job
	case berth.JobObserved:
		j = e.Job
	}
	for i := range j.Groups {
		n += j.Groups[i].Members
	}
	if j.Service != nil {
		n *= j.Service.Replicas
	}
	return n
}
