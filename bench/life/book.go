package life

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
)

// A Job is the life of one job.
type Job struct {
	ID    berth.JobID
	Queue berth.QueueID
	// GPUs of all members, and Runtime that it takes on them.
	GPUs    int
	Runtime berth.Duration
	// Submitted, first Started and Ended; Unset where that did not happen.
	Submitted, Started, Ended berth.Time
	// Evictions counts how often it was stopped before its end. Held is the GPU time that it
	// held, in GPU-milliseconds.
	Evictions int
	Held      int64

	least  int // GPUs of its smallest member
	since  berth.Time
	runs   bool
	places []berth.MemberPlacement
}

// Unset is the instant of what did not happen.
const Unset berth.Time = -1

// Wait is from the submission to the first start.
func (j *Job) Wait() berth.Duration { return j.Started.Sub(j.Submitted) }

// Delay is all the time in which the job did not get on: from its submission to its end, less
// its run time. It has the waits after evictions in it, and what checkpoints and restarts take.
func (j *Job) Delay() berth.Duration { return j.Ended.Sub(j.Submitted) - j.Runtime }

// shortest is the run time below which a slowdown says nothing.
const shortest = 10 * berth.Second

// Slowdown is the bounded slowdown: from submission to end for the run time, of which 10 seconds
// count at the least. Feitelson and others, "Theory and Practice in Parallel Job
// Scheduling", JSSPP 1997.
func (j *Job) Slowdown() float64 {
	return max(1, float64(j.Ended.Sub(j.Submitted))/float64(max(j.Runtime, shortest)))
}

// Lost is GPU time that was held and brought nothing, in GPU-milliseconds: work that was done
// again, checkpoints, starts and restarts.
func (j *Job) Lost() int64 { return j.Held - int64(j.Runtime)*int64(j.GPUs) }

// A Slot is what was on average in an interval of time, in GPUs.
type Slot struct {
	Held, Free float64
	// Idle GPUs are free, and a job waits that asks for as many. Stranded ones are free on
	// nodes on which no member of a waiting job fits by itself.
	Idle, Stranded float64
	// Waiting is the number of jobs that wait.
	Waiting float64
	// Queues has what each queue held and wanted: held, or waited for.
	Queues []QueueSlot
}

// A QueueSlot is the part of one queue in a Slot.
type QueueSlot struct{ Held, Wanted float64 }

// A Book keeps the lives of jobs, from what a scheduler was told and ordered alone: hang Applied
// and Scheduled into the options of a simulation. It is for gangs of whole GPUs.
type Book struct {
	// Jobs in the order of their submission.
	Jobs []*Job
	// Slots are Step long each; the first begins at 0.
	Slots []Slot
	Step  berth.Duration
	// GPUs of the fleet, and the instant of the last thing that happened.
	GPUs int
	End  berth.Time

	queues   map[berth.QueueID]int
	runtimes map[berth.JobID]berth.Duration
	jobs     map[berth.JobID]*Job
	releases map[berth.OrderID]*Job // that are out
	nodes    map[berth.NodeID]int
	free     []int // GPUs of each node
	// byFree counts the nodes by free GPUs, byLeast the jobs that wait by their smallest member.
	byFree, byLeast [berth.MaxGPUs + 1]int
	held, asked     int
	waiting         int
	of              []struct{ held, asked int } // by queue
	now             berth.Time
	broken          error
}

// NewBook makes a book for jobs of known run times. Queues give the order of Slot.Queues.
func NewBook(queues []berth.QueueID, runtimes map[berth.JobID]berth.Duration, step berth.Duration) *Book {
	b := &Book{
		Step: step, queues: map[berth.QueueID]int{}, runtimes: runtimes, jobs: map[berth.JobID]*Job{},
		releases: map[berth.OrderID]*Job{}, nodes: map[berth.NodeID]int{},
		of: make([]struct{ held, asked int }, len(queues)),
	}
	for i, q := range queues {
		b.queues[q] = i
	}
	return b
}

// Applied takes a fact, and what the scheduler said to it.
func (b *Book) Applied(now berth.Time, e berth.Event, refusal error) {
	if refusal != nil {
		b.fault("%s at %d was refused: %v", e.Kind(), now, refusal)
		return
	}
	b.advance(now)
	switch e := e.(type) {
	case berth.NodeJoined:
		b.nodes[e.Node.ID] = len(b.free)
		b.free = append(b.free, len(e.Node.GPUs))
		b.byFree[len(e.Node.GPUs)]++
		b.GPUs += len(e.Node.GPUs)
	case berth.JobSubmitted:
		b.submit(now, &e.Job)
	case berth.JobFinished:
		if j := b.jobs[e.Job]; j != nil && j.runs {
			b.stop(now, j)
			j.Ended = now
			delete(b.jobs, e.Job)
		}
	case berth.OrderReported:
		b.reported(now, e)
	}
}

// Scheduled takes the orders of a pass.
func (b *Book) Scheduled(now berth.Time, actions []berth.Order) {
	b.advance(now)
	for _, a := range actions {
		if b.broken != nil {
			return
		}
		switch a := a.(type) {
		case berth.Bind:
			b.start(now, a)
		case berth.Release:
			if j := b.jobs[a.Job]; j != nil {
				j.Evictions++
				b.releases[a.ID] = j
			}
		}
	}
}

// Err is the first thing that made no sense: then no figure is to be believed.
func (b *Book) Err() error { return b.broken }

func (b *Book) fault(format string, args ...any) {
	if b.broken == nil {
		b.broken = fmt.Errorf("life: "+format, args...)
	}
}

func (b *Book) submit(now berth.Time, spec *berth.Job) {
	j := &Job{ID: spec.ID, Queue: spec.Queue, Runtime: b.runtimes[spec.ID], Submitted: now, Started: Unset, Ended: Unset, least: berth.MaxGPUs}
	for i := range spec.Groups {
		g := &spec.Groups[i]
		j.GPUs += g.Members * g.Claim.GPUs
		j.least = min(j.least, g.Claim.GPUs)
	}
	if _, known := b.queues[j.Queue]; !known || j.Runtime == 0 {
		b.fault("job %s is of a queue or a run time that is not known", j.ID)
		return
	}
	b.jobs[j.ID] = j
	b.Jobs = append(b.Jobs, j)
	b.waits(j, 1)
}

// waits counts a job among those that wait, or no longer.
func (b *Book) waits(j *Job, sign int) {
	b.waiting += sign
	b.asked += sign * j.GPUs
	b.byLeast[j.least] += sign
	b.of[b.queues[j.Queue]].asked += sign * j.GPUs
}

func (b *Book) start(now berth.Time, bind berth.Bind) {
	j := b.jobs[bind.Job]
	if j == nil || j.runs {
		b.fault("order %d binds %s, which is not known or runs", bind.ID, bind.Job)
		return
	}
	for i := range bind.Members {
		p := &bind.Members[i]
		if n, known := b.nodes[p.Node]; !known || b.free[n] < p.GPUs.Len() {
			b.fault("order %d gives more of node %s than is free", bind.ID, p.Node)
			return
		}
	}
	b.waits(j, -1)
	if j.Started == Unset {
		j.Started = now
	}
	j.runs, j.since, j.places = true, now, bind.Members
	b.hold(j, 1)
}

// stop ends a life of a job.
func (b *Book) stop(now berth.Time, j *Job) {
	b.hold(j, -1)
	j.Held += int64(now.Sub(j.since)) * int64(j.GPUs)
	j.runs, j.places = false, nil
}

// hold counts what a job holds, or no longer.
func (b *Book) hold(j *Job, sign int) {
	b.held += sign * j.GPUs
	b.of[b.queues[j.Queue]].held += sign * j.GPUs
	for i := range j.places {
		n := b.nodes[j.places[i].Node]
		b.byFree[b.free[n]]--
		b.free[n] -= sign * j.places[i].GPUs.Len()
		b.byFree[b.free[n]]++
	}
}

func (b *Book) reported(now berth.Time, e berth.OrderReported) {
	j := b.releases[e.Order]
	delete(b.releases, e.Order)
	switch {
	case j == nil:
	case e.Outcome != berth.OutcomeDone:
		b.fault("order %d ended %s", e.Order, e.Outcome)
	case j.runs: // else it ended by itself
		b.stop(now, j)
		b.waits(j, 1)
	}
}

// advance enters what is so until an instant into the slots.
func (b *Book) advance(now berth.Time) {
	for b.now < now {
		slot := int(b.now.Sub(0) / b.Step)
		for len(b.Slots) <= slot {
			b.Slots = append(b.Slots, Slot{Queues: make([]QueueSlot, len(b.of))})
		}
		until := min(now, berth.Time(0).Add(berth.Duration(slot+1)*b.Step))
		b.enter(&b.Slots[slot], float64(until.Sub(b.now))/float64(b.Step))
		b.now = until
	}
	b.End = max(b.End, now)
}

// enter adds what is so for a part of a slot.
func (b *Book) enter(s *Slot, part float64) {
	free := b.GPUs - b.held
	s.Held += part * float64(b.held)
	s.Free += part * float64(free)
	s.Waiting += part * float64(b.waiting)
	if b.waiting > 0 {
		s.Idle += part * float64(min(free, b.asked))
		s.Stranded += part * float64(b.stranded())
	}
	for i, q := range b.of {
		s.Queues[i].Held += part * float64(q.held)
		s.Queues[i].Wanted += part * float64(q.held+q.asked)
	}
}

// stranded counts the free GPUs of nodes that have fewer than the smallest member asks for.
func (b *Book) stranded() (gpus int) {
	least := slices.IndexFunc(b.byLeast[:], func(n int) bool { return n > 0 })
	for free, nodes := range b.byFree[:max(least, 0)] {
		gpus += free * nodes
	}
	return gpus
}
