package workload

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// A Synthetic is a workload drawn from a seed so that its jobs have the figures of a
// published summary. It is no trace: it shows how a policy does on a mix of this
// kind, and not how it would have done there.
//
// Fitted, in the expectation over seeds: jobs a day, the mean of the GPUs of a job with a
// median of one, median and mean of run times, and the GPU time, and so the load. Few jobs
// have most of the GPU time, so samples scatter: among 100,000 jobs the mean run time
// is off by some 4 %, and the GPU time by some 20 %.
//
// Assumed, because no summary tells: numbers of GPUs are powers of two, 60 % of jobs have
// one, and from each size to the next the others fall at a constant ratio. Run times of each
// size are log-normal, cut at the most, and their median grows by a constant factor from each size
// to the next. Jobs arrive independently, most in office hours, like those of Reference. Each comes
// from a queue that is large enough for it, in proportion to its size. What users expect of run
// times is never too little and up to twice as much. All jobs are preemptible, of one priority, and
// fit anywhere. There are no jobs without GPUs, which are more than half at Helios, nor failures,
// nor sessions of one user.
type Synthetic struct {
	Profile Profile
	// Seed of everything that is drawn.
	Seed uint64
	// Span is how long jobs arrive; zero: the profile's.
	Span berth.Duration
	// LoadPercent scales the number of jobs a day; zero: 100.
	LoadPercent int
}

// Config is the configuration of a core for the fleet.
func (s Synthetic) Config() berth.Config { return berth.Config{} }

// Nodes lists the fleet: machines of eight GPUs of one product, the last of which may
// have fewer.
func (s Synthetic) Nodes() []berth.Node {
	var nodes []berth.Node
	for left := s.Profile.GPUs; left > 0; left -= gpusPerNode {
		nodes = append(nodes, berth.Node{
			ID:   berth.NodeID(number(s.Profile.Name+"-", len(nodes), 4)),
			GPUs: gpusOf("GPU", min(left, gpusPerNode)),
		})
	}
	return nodes
}

// Workload has the nodes join, sets the queues, each with a guarantee of its share of the
// fleet, and then draws one job after the other: O(log queues) and a few hundred
// bytes each. Errors are of the kind ErrOptions: a profile whose figures no distribution of this
// form has, or a load or span below zero.
func (s Synthetic) Workload() (sim.Workload, error) {
	f, err := s.Profile.fitted()
	switch {
	case err != nil:
		return nil, err
	case s.LoadPercent < 0:
		return nil, fmt.Errorf("workload: LoadPercent: %d is negative: %w", s.LoadPercent, ErrOptions)
	case s.Span < 0:
		return nil, fmt.Errorf("workload: Span: %v is negative: %w", s.Span, ErrOptions)
	}
	w := &synthetic{
		fit: f, name: s.Profile.Name, draw: draw{rand.New(rand.NewPCG(s.Seed, partSynthetic))},
		gap:  float64(s.Profile.Span) / float64(s.Profile.Jobs) * 100 / float64(cmp.Or(s.LoadPercent, 100)) * meanPresence,
		span: cmp.Or(s.Span, s.Profile.Span), queues: s.Profile.bySize(),
	}
	w.begin(s)
	return w, nil
}

// bySize lists the queues, the largest first.
func (p *Profile) bySize() []QueueShare {
	if len(p.Queues) == 0 {
		return []QueueShare{{p.Name, p.GPUs}}
	}
	return slices.SortedStableFunc(slices.Values(p.Queues), func(a, b QueueShare) int { return cmp.Compare(b.GPUs, a.GPUs) })
}

// meanPresence is the mean over a day of presence.
const meanPresence = 0.4 + 0.6*(9*1+6*0.5+9*0.1)/24

// presence is how many submit at a time of day, of the most that do.
func presence(t berth.Time) float64 { return 0.4 + 0.6*office(t) }

// A synthetic draws jobs.
type synthetic struct {
	draw
	fit   fit
	name  string
	start []sim.Arrival
	// queues, the largest first, and the GPUs of each and of those before it.
	queues []QueueShare
	sums   []int
	// gap is the mean time between jobs in milliseconds when most arrive.
	gap  float64
	span berth.Duration
	now  float64
	jobs int
}

// begin makes what is told before the jobs.
func (w *synthetic) begin(s Synthetic) {
	for _, n := range s.Nodes() {
		w.start = append(w.start, sim.Arrival{Event: berth.NodeJoined{Node: n}})
	}
	sum := 0
	for _, q := range w.queues {
		sum += q.GPUs
		w.sums = append(w.sums, sum)
	}
	for _, q := range w.queues {
		guarantee := int64(s.Profile.GPUs) * 1000 * int64(q.GPUs) / int64(sum)
		w.start = append(w.start, sim.Arrival{Event: berth.QueueSet{Queue: quota.Queue{
			Name: q.Name, Weight: max(guarantee, 1), Guarantee: quota.Amounts{quota.GPUMilli: guarantee},
		}}})
	}
}

// Next returns the nodes, the queues and then the jobs.
func (w *synthetic) Next() (sim.Arrival, bool) {
	if len(w.start) > 0 {
		a := w.start[0]
		w.start = w.start[1:]
		return a, true
	}
	for { // a Poisson process, thinned by the time of day
		w.now += w.ExpFloat64() * w.gap
		if w.now > float64(w.span) {
			return sim.Arrival{}, false
		}
		if at := berth.Time(w.now); w.Float64() < presence(at) {
			return w.job(at), true
		}
	}
}

func (w *synthetic) job(at berth.Time) sim.Arrival {
	w.jobs++
	size := w.size()
	runtime := w.runtime(size)
	r := record{
		at: at, id: number(w.name+"-", w.jobs, 6), gpus: 1 << size,
		runtime: runtime, expected: w.estimate(runtime), queue: w.queue(1 << size),
	}
	r.tenant = r.queue
	return r.arrival(gpusPerNode)
}

// size draws the exponent of a number of GPUs.
func (w *synthetic) size() int {
	at := w.Float64()
	for k, share := range w.fit.sizes {
		if at -= share; at < 0 {
			return k
		}
	}
	return 0 // what rounding left over
}

// runtime draws one for a size, in whole seconds.
func (w *synthetic) runtime(size int) berth.Duration {
	seconds := w.logNormal(math.Exp(w.fit.mu+w.fit.beta*float64(size)), w.fit.sigma)
	return berth.Duration(math.Round(min(max(seconds, 1), w.fit.most))) * berth.Second
}

// queue draws one that has the GPUs, in proportion to its size. If none has, the largest is it.
func (w *synthetic) queue(gpus int) string {
	large, _ := slices.BinarySearchFunc(w.queues, gpus, func(q QueueShare, gpus int) int {
		if q.GPUs >= gpus {
			return -1
		}
		return 1
	})
	at := w.IntN(w.sums[max(large, 1)-1])
	i, _ := slices.BinarySearch(w.sums, at+1)
	return w.queues[i].Name
}
