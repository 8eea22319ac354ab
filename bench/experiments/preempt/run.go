package preempt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

// A run is one week under one policy: a core, an executor that does as it is told and
// never fails, and the books.
type run struct {
	b       *experiment
	policy  *policy
	core    *core.Core
	sim     *sim.Simulation
	jobs    map[berth.JobID]*job
	byName  map[berth.NodeID]int
	free    []int // GPUs of each node that nobody holds
	going   []int // and those that are becoming free
	gangs   []*job
	waiting []*job // replicas without a place, in the order of their arrival

	from, until berth.Time
	book        book
}

// A job is a gang or a replica, and what it holds.
type job struct {
	spec        *berth.Job
	each        int // GPUs of a member
	members     []member
	incarnation berth.Incarnation
	order       berth.OrderID // that is out; 0: none
	*gang                     // nil for replicas
	*replica
}

// A member is where a member is; in state absent it is nowhere.
type member struct {
	state state
	node  int
}

type state uint8

const (
	absent state = iota
	coming
	running
	going
)

// A replica is a replica of a service.
type replica struct {
	arrived, ends  berth.Time
	admitted, over bool
}

// newRun makes a run, of which the checker, unless it is nil, sees all.
func (b *experiment) newRun(policy *policy, arrivals []arrival, checker sim.Checker) (*run, error) {
	r := &run{
		b: b, policy: policy, jobs: map[berth.JobID]*job{}, byName: map[berth.NodeID]int{},
		from: berth.Time(0).Add(warmUp), until: berth.Time(0).Add(warmUp + berth.Duration(b.Days)*berth.Day),
	}
	var err error
	if r.core, err = core.New(policy.config); err != nil {
		return nil, err
	}
	r.sim = sim.New(r.core, sim.FromSlice(nil), sim.Options{Checker: checker, CarryOut: r.carryOut, Passed: r.evict})
	for i := range arrivals {
		a := arrivals[i]
		r.sim.At(a.at, func() error { return r.arrive(&a) })
	}
	return r, nil
}

// play is the week.
func (r *run) play() error {
	if err := r.setUp(); err != nil {
		return err
	}
	if err := r.run(); err != nil {
		return err
	}
	return r.close()
}

// setUp tells the core of the fleet and the queues.
func (r *run) setUp() error {
	for i := range r.b.Nodes {
		node := machine.H100(fmt.Sprintf("node-%04d", i))
		r.byName[node.ID] = i
		r.free, r.going = append(r.free, machine.NodeGPUs), append(r.going, 0)
		if err := r.tell(berth.NodeJoined{Node: node}); err != nil {
			return err
		}
	}
	for _, q := range r.b.queues() {
		if err := r.tell(berth.QueueSet{Queue: q}); err != nil {
			return err
		}
	}
	return nil
}

// run has everything happen until the week is over.
func (r *run) run() error {
	if err := r.sim.Run(r.until); err != nil {
		return fmt.Errorf("%s, at %v: %w", r.policy.name, r.sim.Now().Sub(0), err)
	}
	r.advance()
	return nil
}

// after has something happen later.
func (r *run) after(d berth.Duration, do func() error) { r.sim.At(r.sim.Now().Add(d), do) }

// tell tells the core a fact. It has no reason to refuse one.
func (r *run) tell(e berth.Event) error { return r.sim.Tell(sim.Arrival{Event: e}) }

func (r *run) arrive(a *arrival) error {
	a.job.Checkpoint.Supported = a.job.Checkpoint.Supported && !r.policy.deaf
	g := &a.job.Groups[0]
	j := &job{spec: &a.job, each: g.Claim.GPUs, members: make([]member, g.Members)}
	r.jobs[a.job.ID] = j
	if a.ends == 0 {
		j.gang = &gang{work: int64(a.work) * int64(j.gpus()), priority: a.priority}
		r.gangs = append(r.gangs, j)
	} else {
		j.replica = &replica{arrived: a.at, ends: a.ends}
		r.waiting = append(r.waiting, j)
		if r.policy.patience > 0 {
			r.after(r.policy.patience, r.evict)
		}
		r.sim.At(a.ends, func() error { return r.unwanted(j) })
	}
	return r.tell(berth.JobSubmitted{Job: a.job})
}

// unwanted ends a replica.
func (r *run) unwanted(j *job) error {
	j.over = true
	if j.in(going) == 0 {
		j.order = 0
	}
	r.unwait(j)
	if !j.admitted {
		r.admit(j)
		r.book.missed += r.counted(j.arrived)
	}
	return r.tell(berth.JobCancelled{Job: j.spec.ID})
}

func (r *run) unwait(j *job) {
	if i := slices.Index(r.waiting, j); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
}

// counted is 1 in the week, and 0 in the day before it.
func (r *run) counted(at berth.Time) int {
	if at < r.from {
		return 0
	}
	return 1
}

// admit notes how long a replica waited until it ran.
func (r *run) admit(j *job) {
	j.admitted = true
	if r.counted(j.arrived) > 0 {
		r.book.waits = append(r.book.waits, r.sim.Now().Sub(j.arrived))
		r.book.admitted += int64(j.gpus())
	}
}

func (j *job) gpus() int { return j.each * len(j.members) }

// in counts the members in some states.
func (j *job) in(states ...state) int {
	n := 0
	for i := range j.members {
		if slices.Contains(states, j.members[i].state) {
			n++
		}
	}
	return n
}

// move has a member change its state. What it holds is free again when it is absent.
func (r *run) move(j *job, index int, to state, node int) {
	m := &j.members[index]
	gone := func(s state) int { // of what it holds, what will be free soon
		if s == going {
			return j.each
		}
		return 0
	}
	if m.state == absent {
		m.node = node
		r.free[node] -= j.each
	}
	if to == absent {
		r.free[m.node] += j.each
	}
	r.going[m.node] += gone(to) - gone(m.state)
	if j.replica != nil {
		r.change(replicating, int64(j.each)*(is(to != absent)-is(m.state != absent)))
	}
	m.state = to
}

// is counts something that is so.
func is(so bool) int64 {
	if so {
		return 1
	}
	return 0
}

// carryOut does what an order says, after a while.
func (r *run) carryOut(a berth.Order) error {
	h := a.Header()
	j := r.jobs[h.Job]
	r.settle(j)
	switch a := a.(type) {
	case berth.Bind:
		r.start(j, &a)
	case berth.Release:
		r.stop(j, &a)
	case berth.RequestCheckpoint:
		r.write(j)
		r.carriedOut(j, h.ID, j.spec.Checkpoint.Cost, func() { r.written(j) })
	case berth.Withdraw:
		j.order = 0
		r.goOn(j)
	}
	return nil
}

// carriedOut has something done about an order after a while, and reported, unless there is another
// order by then.
func (r *run) carriedOut(j *job, order berth.OrderID, takes berth.Duration, do func()) {
	j.order = order
	r.after(takes, func() error {
		if j.order != order {
			return nil
		}
		j.order = 0
		r.settle(j)
		do()
		return r.tell(berth.OrderReported{Order: order, Outcome: berth.OutcomeDone})
	})
}

// start has members come up.
func (r *run) start(j *job, b *berth.Bind) {
	if j.gang != nil && j.dying { // it is not to grow
		r.after(0, func() error { return r.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeFailed}) })
		return
	}
	fresh := j.in(absent) == len(j.members)
	j.incarnation = b.Incarnation
	for i := range b.Members {
		r.move(j, b.Members[i].Index, coming, r.byName[b.Members[i].Node])
	}
	if j.replica != nil {
		r.unwait(j)
	} else if fresh {
		r.begin(j)
	}
	r.carriedOut(j, b.ID, startTakes, func() {
		for i := range b.Members {
			r.move(j, b.Members[i].Index, running, 0)
		}
		switch {
		case j.gang != nil:
			r.came(j, fresh)
		case !j.admitted:
			r.admit(j)
		}
	})
}

// stop has members go. A gang is stopped because it is evicted, or because it has ended
// while some were still coming.
func (r *run) stop(j *job, a *berth.Release) {
	if j.gang != nil && !j.ended {
		r.noteEviction(j, len(a.Members)*j.each, r.jobs[a.Cause.Beneficiary.Job])
	} else if j.replica != nil && !j.over {
		r.book.dropped += r.counted(r.sim.Now())
	}
	for i := range a.Members {
		r.move(j, a.Members[i].Index, going, 0)
	}
	if j.gang != nil {
		r.reduced(j)
	}
	r.carriedOut(j, a.ID, stopTakes, func() {
		for i := range a.Members {
			r.move(j, a.Members[i].Index, absent, 0)
		}
		if j.replica != nil && !j.over {
			r.waiting = append(r.waiting, j)
		}
	})
}

// close ends the books.
func (r *run) close() error {
	for _, j := range r.gangs {
		r.settle(j)
	}
	for _, j := range r.waiting {
		if !j.admitted {
			r.admit(j) // it waited until now at least
		}
	}
	return errors.Join(r.audit(), r.core.Check())
}

// audit compares what the books have with each other and with the core.
func (r *run) audit() error {
	b, columns, held := &r.book, int64(0), int64(0)
	for p := range b.first {
		columns += b.sum(phase(p))
	}
	for _, free := range r.free {
		held += int64(machine.NodeGPUs - free)
	}
	switch sched := r.core.Report().GPUs.HeldMilli; {
	case columns != b.held:
		return fmt.Errorf("gangs held %d GPU-milliseconds, and the columns add up to %d", b.held, columns)
	case r.book.over[atWork] != b.sum(working):
		return fmt.Errorf("gangs worked for %d GPU-milliseconds, over time %d", b.sum(working), r.book.over[atWork])
	case held*1000 != sched:
		return fmt.Errorf("%d GPUs are held, and by the core %d thousandths", held, sched)
	}
	return nil
}

// forget drops what the figures do not need.
func (r *run) forget() {
	r.core, r.sim, r.jobs, r.gangs, r.waiting = nil, nil, nil, nil, nil
}
