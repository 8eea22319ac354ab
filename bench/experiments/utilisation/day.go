package utilisation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
)

// longestGap is how many samples of a pod may be missing in between; it then goes on as in the
// sample before. A longer gap makes two pods of it.
const longestGap = 10

// A day is what the pods of a service did. Sample n lasts from n to n+1 steps.
type day struct {
	step    berth.Duration
	samples int
	// pods by their first sample.
	pods []*pod
	// execution has how long requests took, ascending, and how many of all took no longer.
	execution []atMost
	// gpus are those of a fleet in which each pod has one: the most pods at once.
	gpus int
	// told and filled count the samples of pods that are told, and that are missing.
	told, filled int
}

// A pod has one GPU from a sample on, until another.
type pod struct {
	id          string
	memoryMiB   int64
	from, until int
	active      []int16 // thousandths, from the first sample on
	stretches   []stretch
	requests    []workload.ServiceRequest
}

// A stretch is some samples after each other in which a pod worked, or was idle. They alternate.
type stretch struct {
	from, until int
	busy        bool
}

// An atMost is a time that a part of all requests did not exceed.
type atMost struct {
	time berth.Duration
	part float64
}

// length of a stretch is in milliseconds.
func (d *day) length(s stretch) berth.Duration { return berth.Duration(s.until-s.from) * d.step }

// at is the instant at which a sample begins.
func (d *day) at(sample int) berth.Time { return berth.Time(0).Add(berth.Duration(sample) * d.step) }

// total is the GPU time of a fleet.
func (d *day) total(gpus int) berth.Duration {
	return berth.Duration(gpus) * berth.Duration(d.samples) * d.step
}

// newDay takes over what is told of a service.
func newDay(told *workload.ServiceDay) (*day, error) {
	d := &day{step: told.Step, samples: told.Samples}
	if len(told.Execution) == 0 {
		return nil, errors.New("there is no request of which it is told how long it took")
	}
	for i, time := range told.Execution {
		if i > 0 && time == told.Execution[i-1] {
			d.execution = d.execution[:len(d.execution)-1]
		}
		d.execution = append(d.execution, atMost{time, float64(i+1) / float64(len(told.Execution))})
	}
	for i := range told.Pods {
		d.addPod(&told.Pods[i])
	}
	slices.SortStableFunc(d.pods, func(a, b *pod) int { return cmp.Compare(a.from, b.from) })
	alive := make([]int, d.samples)
	for _, p := range d.pods {
		for sample := p.from; sample < p.until; sample++ {
			alive[sample]++
			d.gpus = max(d.gpus, alive[sample])
		}
	}
	return d, nil
}

// addPod parts a pod at its long gaps, and fills the others.
func (d *day) addPod(told *workload.ServicePod) {
	var p *pod
	requests := told.Requests
	for sample, active := range told.Active {
		if active == workload.Unsampled {
			continue
		}
		d.told++
		if p == nil || sample-p.until > longestGap {
			id := told.ID
			if p != nil {
				id = fmt.Sprintf("%s-%d", told.ID, sample)
			}
			p = &pod{id: id, memoryMiB: told.MemoryMiB, from: sample, until: sample}
			d.pods = append(d.pods, p)
		}
		for ; p.until < sample; p.until++ {
			p.active = append(p.active, p.active[len(p.active)-1])
			d.filled++
		}
		p.active = append(p.active, active)
		p.until++
	}
	for _, p := range d.pods {
		if len(p.stretches) > 0 {
			continue // of another
		}
		for i, active := range p.active {
			at, busy := p.from+i, active > 0
			if n := len(p.stretches); n > 0 && p.stretches[n-1].busy == busy {
				p.stretches[n-1].until++
			} else {
				p.stretches = append(p.stretches, stretch{at, at + 1, busy})
			}
		}
		for len(requests) > 0 && requests[0].Sample <= p.until {
			p.requests, requests = append(p.requests, requests[0]), requests[1:]
		}
	}
}

// worked is the GPU time in which the service worked, and held that of its pods.
func (d *day) worked() (worked, held berth.Duration) {
	for _, p := range d.pods {
		for _, active := range p.active {
			worked += berth.Duration(active) * d.step
		}
		held += berth.Duration(len(p.active)) * d.step
	}
	return worked / 1000, held
}

// meanExecution is in milliseconds.
func (d *day) meanExecution() (mean float64) {
	before := 0.0
	for _, e := range d.execution {
		mean += float64(e.time) * (e.part - before)
		before = e.part
	}
	return mean
}
