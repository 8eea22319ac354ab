package day

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Executor says how the pretend executor carries out the day: members take ten seconds to start and
// five to stop, and a gang that was stopped goes on from its last checkpoint.
func Executor(seed uint64) sim.Options {
	return sim.Options{StartDelay: 10 * berth.Second, StopDelay: 5 * berth.Second, Seed: seed, Resume: true}
}

// play runs a workload under a scheduler until an instant. Passed, if any, hears of each pass.
func play(s berth.Scheduler, arrivals []sim.Arrival, until berth.Time, passed func(berth.Time)) (*report.Run, error) {
	c := report.NewCollector(func() berth.Scheduler { return s })
	o := Executor(0)
	o.Applied, o.Stopped = c.Applied, c.Stopped
	o.Scheduled = func(now berth.Time, orders []berth.Order) {
		c.Scheduled(now, orders)
		passed(now)
	}
	if err := sim.New(s, sim.FromSlice(arrivals), o).Run(until); err != nil {
		return nil, err
	}
	return c.Finish(until)
}

// schedulers are those that are compared on the plain day.
func schedulers() []study.Line {
	return []study.Line{study.Core("berth", Policy()), study.Rival("EASY", baseline.EASY{}), study.Rival("FIFO", baseline.FIFO{})}
}
