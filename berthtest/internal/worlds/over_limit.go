package worlds

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// Lowered is another world, in which limits are lowered below what runs, and kept.
func (g *Generator) Lowered() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Drained, (*Generator).Moving, (*Generator).Firm, (*Generator).Limited, (*Generator).Lending)
	config, options, list := draw(g)
	config.Policy.OverLimit = berth.OverLimit{Stop: g.Chance(85), After: one(g, 0, 0, 20*berth.Second, berth.Minute, 10*berth.Minute)}
	end, queues := list[len(list)-1].At, []quota.Queue(nil)
	for _, a := range list {
		if e, told := a.Event.(berth.QueueSet); told && a.At == 0 {
			queues = append(queues, e.Queue)
		}
	}
	for range 4 + g.IntN(12) {
		q := one(g, queues...)
		q.Limit, q.BorrowingLimit = nil, nil
		if g.Chance(70) {
			q.Guarantee, q.Limit = nil, one(g, gpus(0), gpus(1), gpus(2), gpus(4), gpus(8), quota.Amounts{quota.GPUMilliOf("H100"): 1000}, quota.Amounts{quota.CPUMilli: 4000})
		}
		at := berth.Time(g.Int64N(int64(end) + 1))
		list = append(list, sim.Arrival{At: at, Event: berth.QueueSet{Queue: q}})
		if g.Chance(50) { // and raised soon
			q.Limit = one(g, nil, gpus(6))
			list = append(list, sim.Arrival{At: at.Add(one(g, berth.Second, 5*berth.Second, berth.Minute)), Event: berth.QueueSet{Queue: q}})
		}
	}
	for range g.IntN(3) {
		p := config.Policy
		p.OverLimit.Stop = g.Chance(50)
		list = append(list, sim.Arrival{At: berth.Time(g.Int64N(int64(end) + 1)), Event: berth.PolicyChanged{Policy: p}})
	}
	slices.SortStableFunc(list, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
	return config, options, list
}

// Together is a world in which limits are lowered, jobs are idle, lend, are never preempted for a
// time of their queue, and come back only so often.
func (g *Generator) Together() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.Lowered()
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
		if j.Service == nil && g.Chance(40) {
			j.MaxRequeues = []berth.RequeueCap{{Cause: berth.CauseOverLimit, Requeues: g.IntN(3)}}
		}
	})
	g.list = append(g.list, list...)
	g.sort()
	return config, options, g.list
}
