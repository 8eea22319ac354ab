package philly

import (
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/quota"
)

// sizes are the classes of jobs by GPUs; the last has no bound.
var sizes = []struct {
	name        string
	least, most int
}{{"1", 1, 1}, {"2-4", 2, 4}, {"5-8", 5, 8}, {"9-16", 9, 16}, {">16", 17, 1 << 30}}

// join makes a run of the books of its parts: one, or those of the private clusters.
func (b *experiment) join(p *policy, parts []lifePart) *run {
	r := &run{policy: p, gpus: b.fleet.gpus()}
	byID := map[berth.JobID]*life.Job{}
	for _, part := range parts {
		for _, j := range part.book.Jobs {
			byID[j.ID] = j
		}
		r.end = max(r.end, part.book.End)
	}
	for _, a := range b.whole.Jobs {
		r.jobs = append(r.jobs, byID[a.Event.(berth.JobSubmitted).Job.ID])
	}
	if len(parts) > 1 {
		return r
	}
	r.speed = parts[0].speed
	r.slots = parts[0].book.Slots
	r.slots = r.slots[:min(len(r.slots), max(1, int(b.length/parts[0].book.Step)))]
	return r
}

// figures are about a shared fleet. Parts of the fleet are until the last submission.
func (b *experiment) figures() []study.Figure[*run] {
	mean := func(span func(*life.Job) berth.Duration) func(*run) float64 {
		return func(r *run) float64 { return stat.Mean(life.Minutes(r.jobs, span), nil) }
	}
	quantile := func(span func(*life.Job) berth.Duration, q float64) func(*run) float64 {
		return func(r *run) float64 { return study.Quantile(life.Minutes(r.jobs, span), q) }
	}
	slowdowns := func(r *run) []float64 { return study.Each(r.jobs, (*life.Job).Slowdown) }
	part := func(gpus func(*life.Slot) float64) func(*run) float64 {
		return func(r *run) float64 { return life.PercentOf(r.gpus, r.slots, gpus) }
	}
	return []study.Figure[*run]{
		{Name: "wait mean, min", Of: mean((*life.Job).Wait)},
		{Name: "wait p50, min", Of: quantile((*life.Job).Wait, 0.5)},
		{Name: "wait p90, min", Of: quantile((*life.Job).Wait, 0.9)},
		{Name: "wait p99, min", Of: quantile((*life.Job).Wait, 0.99)},
		{Name: "delay mean, min", Of: mean((*life.Job).Delay)},
		{Name: "delay p99, min", Of: quantile((*life.Job).Delay, 0.99)},
		{Name: "slowdown mean", Of: func(r *run) float64 { return stat.Mean(slowdowns(r), nil) }},
		{Name: "slowdown p50", Of: func(r *run) float64 { return study.Quantile(slowdowns(r), 0.5) }},
		{Name: "in use, %", Of: part(func(s *life.Slot) float64 { return s.Held })},
		{Name: "idle though wanted, %", Of: part(func(s *life.Slot) float64 { return s.Idle })},
		{Name: "stranded, %", Of: part(func(s *life.Slot) float64 { return s.Stranded })},
		{Name: "fairness, %", Of: b.fairness},
		{Name: "evictions", Of: func(r *run) float64 { return life.Evictions(r.jobs) }},
		{Name: "GPU-hours lost", Of: func(r *run) float64 { return life.LostGPUHours(r.jobs) }},
		{Name: "makespan, days", Of: func(r *run) float64 { return float64(r.end) / float64(berth.Day) }},
	}
}

// fairness is Jain's index, in percent, of what the virtual clusters had of what they were
// entitled to on a day: their weighted max-min fair share of the fleet, given what they ran and
// waited for that day on average. It is the mean over the days on which several wanted something.
func (b *experiment) fairness(r *run) float64 {
	const perDay = int(berth.Day / berth.Hour)
	tree := quota.NewTree()
	leaves := make([]quota.QueueIndex, len(b.whole.Queues))
	for i, q := range b.whole.Queues {
		leaves[i], _ = tree.Set(q)
	}
	_ = tree.SetCapacity(quota.GPUMilli, int64(r.gpus)*1000)
	shares, err := quota.NewShares(tree, quota.GPUMilli, 1)
	if err != nil {
		return 0
	}
	var days []float64
	for from := 0; from < len(r.slots); from += perDay {
		slots := r.slots[from:min(from+perDay, len(r.slots))]
		had := make([]float64, len(leaves))
		for i, leaf := range leaves {
			wanted := 0.0
			for k := range slots {
				had[i] += slots[k].Queues[i].Held * 1000 / float64(len(slots))
				wanted += slots[k].Queues[i].Wanted * 1000 / float64(len(slots))
			}
			_ = shares.SetDemand(leaf, int64(wanted))
		}
		var normalised []float64
		for i, leaf := range leaves {
			if entitled := shares.Of(leaf); entitled >= 100 { // a tenth of a GPU
				normalised = append(normalised, had[i]/float64(entitled))
			}
		}
		if len(normalised) > 1 {
			days = append(days, 100*study.Jain(normalised))
		}
	}
	return stat.Mean(days, nil)
}

// ofSize lists the jobs of a class.
func (r *run) ofSize(class int) []*life.Job {
	c := sizes[class]
	return slices.DeleteFunc(slices.Clone(r.jobs), func(j *life.Job) bool { return j.GPUs < c.least || j.GPUs > c.most })
}

// weeks are the mean delays, in minutes, of the jobs submitted in each week of at least a hundred.
func (r *run) weeks() []float64 {
	byWeek := map[int][]*life.Job{}
	last := 0
	for _, j := range r.jobs {
		week := int(j.Submitted.Sub(0) / (7 * berth.Day))
		byWeek[week] = append(byWeek[week], j)
		last = max(last, week)
	}
	var means []float64
	for week := range last + 1 {
		if list := byWeek[week]; len(list) >= 100 {
			means = append(means, stat.Mean(life.Minutes(list, (*life.Job).Delay), nil))
		}
	}
	return means
}

// A versus compares the delays of a virtual cluster, in minutes, in a shared fleet and in private.
type versus struct {
	jobs            int
	shared, private struct{ mean, p99 float64 }
	// later is how many of 100 jobs end later by more than the tolerance, worst by how much at
	// the most.
	later, worst float64
}

func (v *versus) mean() float64 { return v.shared.mean - v.private.mean }
func (v *versus) p99() float64  { return v.shared.p99 - v.private.p99 }

// versus compares the runs of a policy for one virtual cluster.
func (b *experiment) versus(runs []*run, share int) *versus {
	v := &versus{}
	var delays [runKinds][]float64
	for i, j := range runs[inShared].jobs {
		if j.Queue != b.shares[share].Queue {
			continue
		}
		v.jobs++
		private := runs[inPrivate].jobs[i]
		delays[inShared] = append(delays[inShared], float64(j.Delay())/float64(berth.Minute))
		delays[inPrivate] = append(delays[inPrivate], float64(private.Delay())/float64(berth.Minute))
		more := float64(j.Ended.Sub(private.Ended)) / float64(berth.Minute)
		v.worst = max(v.worst, more)
		if more > b.Tolerance.Minutes() {
			v.later++
		}
	}
	v.later *= 100 / float64(max(v.jobs, 1))
	v.shared.mean, v.private.mean = stat.Mean(delays[inShared], nil), stat.Mean(delays[inPrivate], nil)
	v.shared.p99, v.private.p99 = study.Quantile(delays[inShared], 0.99), study.Quantile(delays[inPrivate], 0.99)
	return v
}
