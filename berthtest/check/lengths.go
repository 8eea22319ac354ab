package check

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
)

// What the comment of Policy.RuntimeSamples states: how long a job is expected to run by those of
// its kind that finished.

// ranAs names the jobs with which a job is told apart, and whether they told a run time.
type ranAs struct {
	program string
	milli   int64
	all     bool
	told    bool
}

// A pastRun is how long a job ran, in quarters of a thousand and twenty-fourth of what it told;
// where it told nothing, in milliseconds.
type pastRun = int64

// lengths is what is known of jobs that finished.
type lengths struct {
	runs map[ranAs][]pastRun
	// order has those of runs; that of the job that finished last is the last.
	order []ranAs
}

// The most kinds, the fewest runs that tell something, and what a run as long as told counts.
const mostKinds, fewestRuns, asTold = 4096, 4, 4096

// sortsOf are the jobs by which one is judged, in order.
func sortsOf(j *berth.Job) []ranAs {
	var milli int64
	for i := range j.Groups {
		g := &j.Groups[i]
		milli += int64(g.Members) * int64(g.Claim.GPUs*1000)
		if s := g.Claim.Share; s != nil {
			milli += int64(g.Members) * int64(s.GPUMilli)
		}
	}
	told := toldBy(j) > 0
	var sorts []ranAs
	if j.Program != "" {
		sorts = append(sorts, ranAs{program: j.Program, told: told})
	}
	if milli > 0 {
		sorts = append(sorts, ranAs{milli: milli, told: told})
	}
	return append(sorts, ranAs{all: true, told: told})
}

// toldBy is how long a job tells that it runs; 0: it tells nothing.
func toldBy(j *berth.Job) berth.Duration {
	return min(cmp.Or(j.ExpectedRuntime, j.MaxRuntime), cmp.Or(j.MaxRuntime, j.ExpectedRuntime))
}

// learn takes note of how long a gang ran that was never started anew.
func (c *Checker) learn(rep *replica) {
	if c.policy.RuntimeSamples <= 0 || rep.state != berth.ReplicaRunning || rep.incarnation != 1 {
		return
	}
	ran := min(max(int64(c.now.Sub(rep.started)), 1), 1<<43)
	if told := int64(toldBy(&rep.job.spec)); told > 0 {
		if ran >= 16*told {
			ran = 16 * asTold
		} else {
			ran = max(ran*asTold/told, 1)
		}
	}
	l := &c.lengths
	for _, k := range sortsOf(&rep.job.spec) {
		if at := slices.Index(l.order, k); at >= 0 {
			l.order = slices.Delete(l.order, at, at+1)
		} else if len(l.order) == mostKinds {
			delete(l.runs, l.order[0])
			l.order = l.order[1:]
		}
		l.order, l.runs[k] = append(l.order, k), append(l.runs[k], ran)
	}
	l.forget(c.policy.RuntimeSamples)
	c.saw("a run time was learned")
}

// forget drops all but the latest runs of each kind.
func (l *lengths) forget(samples int) {
	if samples <= 0 {
		*l = newLengths()
	}
	for k, runs := range l.runs {
		l.runs[k] = runs[max(0, len(runs)-samples):]
	}
}

func newLengths() lengths { return lengths{runs: map[ranAs][]pastRun{}} }

// expect is how long a job is expected to run; 0: as long as the policy assumes.
func (c *Checker) expect(j *berth.Job) berth.Duration {
	told := toldBy(j)
	for _, k := range sortsOf(j) {
		runs := slices.Sorted(slices.Values(c.lengths.runs[k]))
		if len(runs) == 0 || len(runs) < min(fewestRuns, c.policy.RuntimeSamples) {
			continue
		}
		middle := threeDigits(runs[len(runs)/2])
		if !k.told {
			return berth.Duration(middle)
		}
		if middle != asTold {
			c.saw("expected to run as others did")
			return min(max(told*berth.Duration(middle)/asTold, 1), cmp.Or(j.MaxRuntime, 1<<43))
		}
		break
	}
	return told
}

// threeDigits rounds to three binary digits, halves up.
func threeDigits(x int64) int64 {
	unit := int64(1)
	for x/unit >= 8 {
		unit *= 2
	}
	return (x + unit/2) / unit * unit
}

// lengthOf is how long a job is expected to run.
func (c *Checker) lengthOf(j *job) berth.Duration { return cmp.Or(j.length, c.policy.AssumedRuntime) }
