package scale

import (
	"fmt"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// placeCases are the searches alone, by package gang: they do not grow with the fleet.
func placeCases(short bool) (list []Case) {
	fleets := []int{small, 4 * small, large, 8 * large}
	if short {
		fleets = fleets[:2]
	}
	for _, l := range lives {
		for _, gpus := range fleets {
			size := fmt.Sprintf("gpus=%d", gpus)
			what := "placement of " + l.name
			list = append(list, Case{what + "/" + size, func(t *Taker) {
				t.decisions(0, what, size, placing(t, gpus, l.members, l.each))
			}})
		}
	}
	return list
}

// decisions are short, each a place found and given back.
func (t *Taker) decisions(point int, what, size string, decide decision) {
	s := t.repeatShort(func() { decide.must(t) })
	t.addMedian(point, what, size, s, 0)
}

// peerCases are what was measured of other schedulers, too.
func peerCases(short bool) (list []Case) {
	for _, nodes := range blockFleets {
		list = append(list, Case{fmt.Sprintf("block/nodes=%d", nodes), func(t *Taker) {
			size := fmt.Sprintf("nodes=%d, 70 %% held", nodes)
			t.decisions(0, "512 GPUs in a required block, search", size, searchingBlocks(t, fillBlocks(nodes, true)))
			live, passes := livingInBlocks(t, fillBlocks(nodes, true))
			s := t.repeat(func() time.Duration {
				*passes = 0
				live.must(t)
				return *passes
			})
			t.add(Figure{What: "512 GPUs in a required block, pass", Size: size, Value: float64(s.passMedian), Unit: Nanoseconds})
		}})
	}
	list = append(list, Case{"hopeless", func(t *Taker) { t.hopeless() }})
	for _, l := range lives {
		list = append(list, Case{"life/" + l.name, func(t *Taker) {
			live := living(t, small, l.members, l.each)
			s := t.repeatWhole(func() {
				for range 50 {
					live.must(t)
				}
			}).per(50)
			size := fmt.Sprintf("gpus=%d", small)
			t.addMedian(0, "a whole life of "+l.name, size, s, 0)
			if l.members == 1 && l.each == 1 {
				t.add(Figure{What: "whole lives, jobs", Size: size, Value: 1 / s.median.Seconds(), Unit: PerSecond})
			}
		}})
	}
	return list
}

// hopeless has a thousand gangs of distinct demands wait that fit in no block.
func (t *Taker) hopeless() {
	const nodes, gangs = 4000, 1000
	var sched *core.Core
	first := t.repeatTimes(fewest, func() time.Duration {
		t.StopTimer()
		sched = newBlocks(t, fillBlocks(nodes, true))
		all := quota.Amounts{quota.GPUMilli: nodes * gpusPerNode * 1000} // nothing is to be taken from what runs
		tell(t, sched, berth.QueueSet{Queue: quota.Queue{Name: "running", Guarantee: all}})
		tell(t, sched, berth.QueueSet{Queue: quota.Queue{Name: "waiting"}})
		for i := range gangs {
			job := jobOf(fmt.Sprintf("hopeless-%04d", i), "waiting", nodesPerRack*racksPerBlock, 8)
			job.Groups[0].Claim.CPUMilli += int64(i)
			job.Topology.Required = "block"
			tell(t, sched, berth.JobSubmitted{Job: job})
		}
		t.StartTimer()
		_, longest := rest(t, sched)
		return longest
	})
	size := fmt.Sprintf("nodes=%d/gangs=%d", nodes, gangs)
	t.addMedian(0, "hopeless gangs, once", size, first, 0)
	t.addMedian(0, "hopeless gangs, a pass after", size, t.repeatShort(func() { pass(t, sched) }), 0)
}
