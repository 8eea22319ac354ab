package steady

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/sim"
)

// gangGPUs is how many GPUs the members of gangs have; leastMembers to mostMembers is how many
// members they have.
const (
	gangGPUs                  = 8
	leastMembers, mostMembers = 2, 4
)

// tasks are what arrivals are drawn from.
type tasks struct {
	jobs []sim.Arrival
	// gangs is the percent of the tasks of gangGPUs that are gangs, where there are nodes for the
	// largest: gangsFit, by task.
	gangs    int
	gangsFit []bool
	// leftOut counts the tasks that fit on no node.
	leftOut int
	// until is the sum of the run times up to each task, to draw by run time.
	until []int64
	// gpuTime is what a task takes on average, in thousandths of a GPU and milliseconds.
	gpuTime float64
}

// newTasks cuts run times to the longest, unless that is zero. Room counts the nodes of the empty
// fleet with room for a member of a group. A task without any would wait for ever: it is left out.
func newTasks(jobs []sim.Arrival, gangs int, longest berth.Duration, room func(*berth.Group) int) (*tasks, error) {
	t := &tasks{gangs: gangs}
	t.jobs = slices.DeleteFunc(slices.Clone(jobs), func(a sim.Arrival) bool { return room(&jobOf(&a).Groups[0]) == 0 })
	t.leftOut = len(jobs) - len(t.jobs)
	if jobs = t.jobs; len(jobs) == 0 {
		return nil, errors.New("no task fits on a node")
	}
	sum, gpuTime := int64(0), 0.0
	for i := range jobs {
		a := &jobs[i]
		if a.Runtime <= 0 {
			return nil, fmt.Errorf("task %s has no end", jobOf(a).ID)
		}
		if longest > 0 {
			a.Runtime = min(a.Runtime, longest)
		}
		sum += int64(a.Runtime)
		t.until = append(t.until, sum)
		many := 1.0
		g := &jobOf(a).Groups[0]
		t.gangsFit = append(t.gangsFit, g.Claim.GPUs == gangGPUs && room(g) >= mostMembers)
		if t.gangsFit[i] {
			many += float64(gangs) / 100 * ((leastMembers+mostMembers)/2.0 - 1)
		}
		gpuTime += many * float64(a.Runtime) * float64(study.Milli(g))
	}
	if gpuTime == 0 {
		return nil, errors.New("no task asks for a GPU")
	}
	t.gpuTime = gpuTime / float64(len(jobs))
	return t, nil
}

func jobOf(a *sim.Arrival) *berth.Job {
	job := a.Event.(berth.JobSubmitted).Job
	return &job
}

// queue is that of all tasks.
const queue = "all"

// draw has all arrivals of a seed, at a load in percent of so many GPUs: what runs at the start, a
// millisecond from each other, then those until the end.
func (t *tasks) draw(seed int64, load, gpus int, end berth.Time) []sim.Arrival {
	random := rand.New(rand.NewPCG(uint64(seed), uint64(load)))
	rate := float64(load) / 100 * float64(gpus) * 1000 / t.gpuTime // a millisecond
	all := t.until[len(t.until)-1]
	var list []sim.Arrival
	for range poisson(random, rate*float64(all)/float64(len(t.jobs))) {
		at := random.Int64N(all)
		i := sort.Search(len(t.until), func(i int) bool { return t.until[i] > at })
		left := t.until[i] - at // the point is anywhere in the task's run time
		list = append(list, t.arrival(random, i, berth.Time(len(list)), berth.Duration(left), len(list)))
	}
	for at := float64(len(list)) + random.ExpFloat64()/rate; at < float64(end); at += random.ExpFloat64() / rate {
		i := random.IntN(len(t.jobs))
		list = append(list, t.arrival(random, i, berth.Time(at), t.jobs[i].Runtime, len(list)))
	}
	return list
}

// arrival makes a job of a task, or a gang.
func (t *tasks) arrival(random *rand.Rand, task int, at berth.Time, runtime berth.Duration, number int) sim.Arrival {
	job := *jobOf(&t.jobs[task])
	job.ID, job.Queue, job.Class, job.ExpectedRuntime = berth.JobID(fmt.Sprintf("t%07d", number)), queue, berth.ClassBatch, runtime
	if t.gangsFit[task] && random.IntN(100) < t.gangs {
		job.Groups = slices.Clone(job.Groups)
		job.Groups[0].Members = leastMembers + random.IntN(mostMembers-leastMembers+1)
	}
	return sim.Arrival{At: at, Runtime: runtime, Event: berth.JobSubmitted{Job: job}}
}

// poisson draws a number with a mean by the gaps of a Poisson process, in O(mean).
func poisson(random *rand.Rand, mean float64) (n int) {
	for sum := random.ExpFloat64(); sum < mean && n < math.MaxInt32; sum += random.ExpFloat64() {
		n++
	}
	return n
}
