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
	draw := one(g, (*generator).world, (*generator).contended, (*generator).drained, (*generator).moving, (*generator).firm, (*generator).limited, (*generator).lending)
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

// together is a world in which limits are lowered, jobs are idle, lend, are never preempted for a
// time of their queue, and come back only so often.
func (g *generator) together() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.lowered()
	config.Policy.Idle = g.idlePolicy()
	preemption := &config.Policy.Preemption
	preemption.MaxMinRuntime = one(g, 0, berth.Off, berth.Second, berth.Minute)
	g.list = nil
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.PolicyChanged:
			e.Policy.Idle = one(g, config.Policy.Idle, g.idlePolicy())
			list[i].Event = e
		case berth.JobSubmitted:
			g.tellsActivity(e.Job.ID, 1, list[i].At)
		}
	}
	eachJob(list, func(j *berth.Job) {
		if j.Service == nil && g.chance(40) {
			j.MaxRequeues = []berth.RequeueCap{{Cause: berth.CauseOverLimit, Requeues: g.IntN(3)}}
		}
	})
	g.list = append(g.list, list...)
	g.sort()
	return config, options, g.list
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

// What is idle, lends, is over a limit, is never preempted, or came back too often may all be so at
// once: each is dealt with as if it were the only one.
func TestOverLimitAndIdle(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(10), (*generator).together,
		"stopped because of a limit", "within its limit before it was stopped", "told to end as it is idle", "warned while asked",
	)
}
