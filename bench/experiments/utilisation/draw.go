package utilisation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
)

// draw makes a stand-in for the trace: fewer pods in less time, with figures near those of it.
// Some pods are busy and most are not; requests come in bursts.
func draw(seed uint64, pods, samples int) *workload.ServiceDay {
	random := rand.New(rand.NewPCG(seed, 0x7574696c))
	d := &workload.ServiceDay{Step: workload.GenAIStep, Samples: samples}
	for n := range pods {
		p := workload.ServicePod{ID: fmt.Sprintf("pod-%03d", n), MemoryMiB: int64(min(max(25+6*random.NormFloat64(), 11), 47) * 1024)}
		from, until := 0, samples
		if random.IntN(5) == 0 {
			from, until = random.IntN(samples/2), samples-random.IntN(samples/3)
		}
		work := make([]berth.Duration, samples) // of each sample
		gap := 10 * math.Exp(random.NormFloat64())
		for at := float64(from); at < float64(until); at += 1 + random.ExpFloat64()*gap {
			for range 1 + random.IntN(4) { // a burst
				took := study.LogNormal(random, 23*berth.Second, 1.9, berth.Second, 10*berth.Minute)
				d.Execution = append(d.Execution, took)
				sample := int(at)
				for left := took; left > 0 && sample < until; sample++ {
					part := min(left, d.Step*2/5-work[sample])
					work[sample] += part
					left -= part
				}
				done := min(sample, until) - 1
				if k := len(p.Requests) - 1; k >= 0 && p.Requests[k].Sample == done {
					p.Requests[k].Count++
				} else if k < 0 || p.Requests[k].Sample < done {
					p.Requests = append(p.Requests, workload.ServiceRequest{Sample: done, Count: 1, Queued: study.LogNormal(random, 200, 1.6, 78, 4300)})
				}
				at = max(at, float64(sample-1))
			}
		}
		for sample := range samples {
			active := int16(workload.Unsampled)
			if sample >= from && sample < until {
				active = int16(work[sample] * 1000 / d.Step)
			}
			p.Active = append(p.Active, active)
		}
		d.Pods = append(d.Pods, p)
	}
	slices.Sort(d.Execution)
	return d
}
