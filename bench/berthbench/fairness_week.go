package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Jobs have 1 to 64 GPUs, but no more than an eighth of the fleet, and run for 75
// minutes in the median, two thirds of them within a factor of 2 of that.
var (
	fairSizes   = [...]int{1, 2, 4, 8, 16, 32, 64}
	fairOf100   = [...]int{28, 15, 20, 20, 9, 5, 3}
	fairMedian  = 75 * berth.Minute
	fairFactor  = 2.0
	fairLeast   = 15 * berth.Minute
	fairMost    = 8 * berth.Hour
	fairBurst   = 24 // jobs handed in at once, at the most
	fairDayFrom = 0.85
	fairDayTo   = 1.15 // a day asks for so much of what it does on average
)

// fairWarmUp is before the week that counts: a Sunday.
const fairWarmUp = berth.Day

// workingDay tells about the days from the warm-up on, which is day 0.
func workingDay(day int) bool { return day%7 != 0 && day%7 != 6 }

// arrivals draws what the teams hand in: day by day, a burst of jobs at a time. It
// depends on the seed alone, not on what becomes of the jobs.
func (b *fairness) arrivals(seed uint64) []sim.Arrival {
	var list []sim.Arrival
	for team := range fairTeams {
		random := rand.New(rand.NewPCG(seed, uint64(team)))
		for day := range b.days + 1 {
			list = append(list, b.drawDay(random, team, day)...)
		}
	}
	slices.SortStableFunc(list, func(x, y sim.Arrival) int { return cmp.Compare(x.At, y.At) })
	return list
}

// drawDay draws the jobs of a team on one day.
func (b *fairness) drawDay(random *rand.Rand, team, day int) []sim.Arrival {
	t := &fairTeams[team]
	budget := t.asks * float64(b.gpus()) * float64(berth.Day) * (fairDayFrom + (fairDayTo-fairDayFrom)*random.Float64())
	if !workingDay(day) {
		budget *= t.weekend
	}
	opens := berth.Time(0).Add(berth.Duration(day)*berth.Day + berth.Duration(t.from)*berth.Hour)
	seconds := int64(t.until-t.from) * int64(berth.Hour/berth.Second)
	var list []sim.Arrival
	for budget > 0 {
		at := opens.Add(berth.Duration(random.Int64N(seconds)) * berth.Second)
		for range 1 + random.IntN(fairBurst) {
			if budget <= 0 {
				break
			}
			gpus := b.drawSize(random)
			runtime := logNormal(random, fairMedian, fairFactor, fairLeast, fairMost) / berth.Second * berth.Second
			budget -= float64(gpus) * float64(runtime)
			list = append(list, sim.Arrival{At: at, Runtime: runtime, Event: berth.JobSubmitted{Job: berth.Job{
				ID:    berth.JobID(fmt.Sprintf("%s-%02d-%04d", t.name, day, len(list))),
				Queue: berth.QueueID(t.name), ExpectedRuntime: runtime, Groups: []berth.Group{fairGroup(gpus)},
			}}})
		}
	}
	return list
}

func (b *fairness) drawSize(random *rand.Rand) int {
	return min(pick(random, fairSizes[:], fairOf100[:]), b.nodes, b.largest)
}

// fairGroup is one member on a node or, of larger jobs, a member on each.
func fairGroup(gpus int) berth.Group {
	if gpus <= fairNodeGPUs {
		return berth.Group{Replicas: 1, Claim: berth.Claim{GPUs: gpus}}
	}
	return berth.Group{Replicas: gpus / fairNodeGPUs, Claim: berth.Claim{GPUs: fairNodeGPUs}}
}
