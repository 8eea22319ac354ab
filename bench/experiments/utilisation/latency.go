package utilisation

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
)

// This file is what the requests of the service notice. The files do not say which request took
// how long on which pod, so the response time of a request is a sum of three: its queueing time
// as recorded; an execution time, which has the distribution of all that are recorded and
// depends on nothing else; and what an arrangement adds. What is added:
//
//   - The first request of a busy stretch comes as that begins, and waits until the borrower is
//     gone. Any other waits from the beginning of its sample. That is the worst case: the pod
//     does nothing as long as a borrower is on its GPU. A service that stays loaded works at
//     half the speed then, as two processes take turns; a request is late by half as much.
//   - Pods that share a GPU take turns: a request executes longer by the part of its sample in
//     which the others work.
//   - On a MIG instance a request executes longer by the ratio of the SMs.
//
// A request belongs to the busy stretch of its sample, else of the sample before, as requests
// are counted when they are done, else of the next. A busy stretch without any counts as one
// request.

// A request is some requests that have the same added to their execution.
type request struct {
	count         int
	queued, waits berth.Duration
	slow          float64 // times the execution
}

// A delay is the time in which a pod waits for its GPU, or shares it with a borrower that
// leaves.
type delay struct{ at, until berth.Time }

// An addition is what an arrangement does to requests.
type addition struct {
	delays map[*pod][]delay // in order of time
	// slow is how many times as long requests of a pod execute in a sample; nil: once.
	slow func(p *pod, sample int) float64
}

// requests are those of all pods with what is added to them.
func (d *day) requests(a *addition) []request {
	var list []request
	for _, p := range d.pods {
		first := make([]bool, len(p.stretches)) // a request was met
		add := func(r workload.ServiceRequest, at int) {
			own := request{count: r.Count, queued: r.Queued, slow: 1}
			if a.slow != nil {
				own.slow = a.slow(p, min(max(r.Sample, p.from), p.until-1))
			}
			if at < 0 {
				list = append(list, own)
				return
			}
			begins := d.at(p.stretches[at].from)
			for _, w := range a.delays[p] {
				if w.at < begins || w.at >= d.at(p.stretches[at].until) {
					continue
				}
				if !first[at] {
					one := own
					one.count, one.waits = 1, w.until.Sub(w.at)
					list = append(list, one)
					own.count--
				}
				own.waits = max(0, w.until.Sub(max(begins, d.at(r.Sample))))
				break
			}
			first[at] = true
			if own.count > 0 {
				list = append(list, own)
			}
		}
		for _, r := range p.requests {
			add(r, p.stretchOf(r.Sample))
		}
		for i, s := range p.stretches {
			if s.busy && !first[i] {
				add(workload.ServiceRequest{Sample: s.from, Count: 1}, i)
			}
		}
	}
	return list
}

// stretchOf is the busy stretch that a request of a sample belongs to, or -1.
func (p *pod) stretchOf(sample int) int {
	for _, near := range [...]int{sample, sample - 1, sample + 1} {
		i, found := slices.BinarySearchFunc(p.stretches, near, func(s stretch, sample int) int {
			switch {
			case s.until <= sample:
				return -1
			case s.from > sample:
				return 1
			}
			return 0
		})
		if found && p.stretches[i].busy {
			return i
		}
	}
	return -1
}

// p99 is the response time that 99 of 100 requests do not exceed, in milliseconds; part is how
// much of each wait counts. It is found between two bounds, in O(log) passes over the requests.
func (d *day) p99(requests []request, part float64) float64 {
	total := 0
	for _, r := range requests {
		total += r.count
	}
	over := func(most float64) (over float64) { // the requests that take longer
		for _, r := range requests {
			left := (most - float64(r.queued) - part*float64(r.waits)) / r.slow
			longer, _ := slices.BinarySearchFunc(d.execution, left, func(e atMost, left float64) int {
				if float64(e.time) <= left {
					return -1
				}
				return 1
			})
			within := 0.0
			if longer > 0 {
				within = d.execution[longer-1].part
			}
			over += float64(r.count) * (1 - within)
		}
		return over
	}
	low, high := 0.0, float64(berth.Day)
	for high-low > 1 {
		if middle := (low + high) / 2; over(middle) > float64(total)/100 {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
