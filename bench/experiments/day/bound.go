package day

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/sim"
)

// slot is the resolution in which the bound looks at a span.
const slot = 5 * berth.Minute

// A demand is what a workload asks for, and what there is, by slot, in GPU-milliseconds times a
// thousand.
type demand struct {
	until    berth.Time
	capacity []int64
	// services have to run when they are asked for: what they did not get is not made up for.
	services []int64
	jobs     []*asked
}

// An asked is a job with a run time.
type asked struct {
	milli    int64 // thousandths of a GPU, of all members
	at, gone berth.Time
	runtime  berth.Duration
}

// Most is the most thousandths of a GPU that any scheduler could hold with work that is worth
// something, on average until an instant, whatever it knows of the future: the demand is taken for
// a fluid. In some minutes, all that there is may be held; in the others, what services ask for
// then, and of each job no more than it has to run, and no more than it could in those minutes
// after its submission. Every choice of minutes, in steps of five, gives a bound (each is a cut of
// the flow from jobs to minutes); those chosen are the ones in which a fluid that serves the jobs
// with most left to do first fills the fleet. O(minutes x jobs).
func Most(arrivals []sim.Arrival, until berth.Time) float64 {
	d := newDemand(arrivals, until)
	sum := d.cut(d.full())
	return float64(min(sum, d.cut(make([]bool, len(d.capacity))))) / float64(until)
}

// cut is the bound that some slots give, which are taken to be full.
func (d *demand) cut(full []bool) (sum int64) {
	after := make([]int64, len(full)+1) // slots from here on that are not full
	for i := len(full) - 1; i >= 0; i-- {
		after[i] = after[i+1]
		if full[i] {
			sum += d.capacity[i]
		} else {
			sum += min(d.services[i], d.capacity[i])
			after[i]++
		}
	}
	for _, j := range d.jobs {
		from := d.slotOf(j.at)
		to := max(from, d.slotOf(j.gone-1)+1)
		free := berth.Duration(after[from]-after[to]) * slot
		sum += j.milli * int64(min(j.runtime, free))
	}
	return sum
}

// full lists the slots that a fluid fills.
func (d *demand) full() []bool {
	full := make([]bool, len(d.capacity))
	left := slices.Clone(d.jobs)
	rest := map[*asked]int64{} // of the work of each
	for i := range full {
		room := d.capacity[i] - min(d.services[i], d.capacity[i])
		var here []*asked
		for _, j := range left {
			if d.slotOf(j.at) == i {
				rest[j] = j.milli * int64(j.runtime)
			}
			if rest[j] > 0 && d.slotOf(j.gone-1) >= i {
				here = append(here, j)
			}
		}
		wanted := int64(0)
		for _, j := range here {
			wanted += min(rest[j], j.milli*int64(slot))
		}
		if wanted > room {
			slices.SortStableFunc(here, func(a, b *asked) int { return cmp.Compare(rest[b]/b.milli, rest[a]/a.milli) })
		}
		for _, j := range here {
			part := min(room, rest[j], j.milli*int64(slot))
			room -= part
			rest[j] -= part
		}
		full[i] = room == 0
		left = slices.DeleteFunc(left, func(j *asked) bool { return d.slotOf(j.at) <= i && rest[j] == 0 })
	}
	return full
}

func (d *demand) slotOf(at berth.Time) int {
	return int(min(at, d.until-1).Sub(0) / slot)
}

// newDemand reads what happens until an instant, which is a multiple of a slot.
func newDemand(arrivals []sim.Arrival, until berth.Time) *demand {
	n := int((until.Sub(0) + slot - 1) / slot)
	d := &demand{until: until, capacity: make([]int64, n), services: make([]int64, n)}
	nodes := map[berth.NodeID]int64{}
	type service struct{ milli, replicas int64 }
	services, jobs := map[berth.JobID]*service{}, map[berth.JobID]*asked{}
	for _, a := range arrivals {
		if a.At >= until {
			break
		}
		switch e := a.Event.(type) {
		case berth.NodeJoined:
			nodes[e.Node.ID] = int64(len(e.Node.GPUs)) * 1000
			d.add(d.capacity, a.At, nodes[e.Node.ID])
		case berth.NodeLost:
			d.add(d.capacity, a.At, -nodes[e.Node])
		case berth.GPUFailed:
			d.add(d.capacity, a.At, -1000)
		case berth.GPURepaired:
			d.add(d.capacity, a.At, 1000)
		case berth.JobSubmitted:
			milli := milliOf(&e.Job)
			if s := e.Job.Service; s != nil {
				services[e.Job.ID] = &service{milli, int64(s.Replicas)}
				d.add(d.services, a.At, milli*int64(s.Replicas))
			} else if milli > 0 {
				j := &asked{milli: milli, at: a.At, gone: until, runtime: a.Runtime}
				if j.runtime == 0 {
					j.runtime = until.Sub(a.At)
				}
				jobs[e.Job.ID] = j
				d.jobs = append(d.jobs, j)
			}
		case berth.JobScaled:
			s := services[e.Job]
			d.add(d.services, a.At, s.milli*(int64(e.Replicas)-s.replicas))
			s.replicas = int64(e.Replicas)
		case berth.JobCancelled:
			if j := jobs[e.Job]; j != nil {
				j.gone = a.At
			}
		}
	}
	return d
}

// add adds a rate from an instant on.
func (d *demand) add(slots []int64, from berth.Time, rate int64) {
	for i := int(from.Sub(0) / slot); i < len(slots); i++ {
		begin := berth.Time(0).Add(berth.Duration(i) * slot)
		end := min(begin.Add(slot), d.until)
		slots[i] += rate * int64(end.Sub(max(begin, from)))
	}
}

// milliOf is what one replica claims.
func milliOf(j *berth.Job) (sum int64) {
	for i := range j.Groups {
		sum += study.Milli(&j.Groups[i])
	}
	return sum
}
