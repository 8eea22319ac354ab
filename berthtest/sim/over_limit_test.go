package sim_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// lowered is another world, in which limits are lowered below what runs, and kept.
func (g *generator) lowered() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*generator).world, (*generator).contended, (*generator).drained, (*generator).moving, (*generator).firm, (*generator).limited)
	config, options, list := draw(g)
	config.Policy.OverLimit = berth.OverLimit{Stop: g.chance(85), After: one(g, 0, 0, 20*berth.Second, berth.Minute, 10*berth.Minute)}
	end, queues := list[len(list)-1].At, []quota.Queue(nil)
	for _, a := range list {
		if e, told := a.Event.(berth.QueueSet); told && a.At == 0 {
			queues = append(queues, e.Queue)
		}
	}
	for range 4 + g.IntN(12) {
		q := one(g, queues...)
		q.Limit, q.BorrowingLimit = nil, nil
		if g.chance(70) {
			q.Guarantee, q.Limit = nil, one(g, gpus(0), gpus(1), gpus(2), gpus(4), gpus(8), quota.Amounts{quota.GPUMilliOf("H100"): 1000}, quota.Amounts{quota.CPUMilli: 4000})
		}
		at := berth.Time(g.Int64N(int64(end) + 1))
		list = append(list, sim.Arrival{At: at, Event: berth.QueueSet{Queue: q}})
		if g.chance(50) { // and raised soon
			q.Limit = one(g, nil, gpus(6))
			list = append(list, sim.Arrival{At: at.Add(one(g, berth.Second, 5*berth.Second, berth.Minute)), Event: berth.QueueSet{Queue: q}})
		}
	}
	for range g.IntN(3) {
		p := config.Policy
		p.OverLimit.Stop = g.chance(50)
		list = append(list, sim.Arrival{At: berth.Time(g.Int64N(int64(end) + 1)), Event: berth.PolicyChanged{Policy: p}})
	}
	slices.SortStableFunc(list, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
	return config, options, list
}

// Whatever else happens, what runs beyond a limit goes where the policy says so, no more of it than
// that, and no other promise is broken.
func TestOverLimit(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(10), (*generator).lowered,
		"stopped because of a limit", "shrinks within a limit", "within its limit before it was stopped", "release because over-limit",
		"over a limit, and nothing that may be stopped is left to be told",
	)
}
