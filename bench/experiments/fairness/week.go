package fairness

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Jobs have 1 to 64 GPUs, but no more than an eighth of the fleet, and run for 75
// minutes in the median, two thirds of them within a factor of 2 of that.
var (
	sizes   = [...]int{1, 2, 4, 8, 16, 32, 64}
	of100   = [...]int{28, 15, 20, 20, 9, 5, 3}
	median  = 75 * berth.Minute
	factor  = 2.0
	least   = 15 * berth.Minute
	most    = 8 * berth.Hour
	burst   = 24 // jobs handed in at once, at the most
	dayFrom = 0.85
	dayTo   = 1.15 // a day asks for so much of what it does on average
)

// warmUp is before the week that counts: a Sunday.
const warmUp = berth.Day

// workingDay tells about the days from the warm-up on, which is day 0.
func workingDay(day int) bool { return day%7 != 0 && day%7 != 6 }

// arrivals draws what the teams hand in: day by day, a burst of jobs at a time. It
// depends on the seed alone, not on what becomes of the jobs.
func (b *experiment) arrivals(seed uint64) []sim.Arrival {
	var list []sim.Arrival
	for team := range teams {
		random := rand.New(rand.NewPCG(seed, uint64(team)))
		for day := range b.Days + 1 {
			list = append(list, b.drawDay(random, team, day)...)
		}
	}
	slices.SortStableFunc(list, func(x, y sim.Arrival) int { return cmp.Compare(x.At, y.At) })
	return list
}

// drawDay draws the jobs of a team on one day.
func (b *experiment) drawDay(random *rand.Rand, team, day int) []sim.Arrival {
	t := &teams[team]
	budget := t.asks * float64(b.gpus()) * float64(berth.Day) * (dayFrom + (dayTo-dayFrom)*random.Float64())
	if !workingDay(day) {
		budget *= t.weekend
	}
	opens := berth.Time(0).Add(berth.Duration(day)*berth.Day + berth.Duration(t.from)*berth.Hour)
	seconds := int64(t.until-t.from) * int64(berth.Hour/berth.Second)
	var list []sim.Arrival
	for budget > 0 {
		at := opens.Add(berth.Duration(random.Int64N(seconds)) * berth.Second)
		for range 1 + random.IntN(burst) {
			if budget <= 0 {
				break
			}
			gpus := b.drawSize(random)
			runtime := study.LogNormal(random, median, factor, least, most) / berth.Second * berth.Second
			budget -= float64(gpus) * float64(runtime)
			list = append(list, sim.Arrival{At: at, Runtime: runtime, Event: berth.JobSubmitted{Job: berth.Job{
				ID:    berth.JobID(fmt.Sprintf("%s-%02d-%04d", t.name, day, len(list))),
				Queue: berth.QueueID(t.name), ExpectedRuntime: runtime, Groups: []berth.Group{machine.Gang(gpus)},
			}}})
		}
	}
	return list
}

func (b *experiment) drawSize(random *rand.Rand) int {
	return min(study.Pick(random, sizes[:], of100[:]), b.Nodes, b.Largest)
}
