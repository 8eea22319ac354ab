package preempt

import "github.com/berth-sched/berth"

// A gang is the true progress of a gang: what it has done, and what of it would
// survive. GPU time is in GPU-milliseconds.
type gang struct {
	work, done, saved int64
	priority          int
	phase             phase
	// atWork are the GPUs that make progress; began is when this life did.
	atWork int64
	began  berth.Time
	// settled is until when the books have it.
	settled berth.Time
	// unsaved is how long it has made progress since its last checkpoint.
	unsaved berth.Duration
	// turn numbers what it does, so that what was planned for before is left alone.
	turn int
	// again: it was evicted before. dying: it is being stopped, and no order of the core
	// says so. ended: its work is done.
	again, dying, ended bool
}

// A phase is what the members of a gang do that run.
type phase uint8

const (
	starting  phase = iota // they come up and warm up
	working                // they make progress
	writing                // they write a checkpoint that was asked for
	regrouped              // they regroup, as there are more of them or fewer
	stopping               // the gang is evicted
)

// settle books what a job did since it was settled last.
func (r *run) settle(j *job) {
	g := j.gang
	if g == nil {
		return
	}
	span, counted := r.sim.Now().Sub(g.settled), r.sim.Now().Sub(max(g.settled, min(r.from, r.sim.Now())))
	g.settled = r.sim.Now()
	if span == 0 {
		return
	}
	coming, running, going := int64(j.in(coming)*j.each), int64(j.in(running)*j.each), int64(j.in(going)*j.each)
	book := &r.book
	book.held += int64(counted) * (coming + running + going)
	book.column(starting, g.again, coming*int64(counted))
	if j.dying {
		book.column(g.phase, true, going*int64(counted))
	} else {
		book.column(stopping, true, going*int64(counted))
	}
	book.column(g.phase, g.again, running*int64(counted))
	if g.phase == working {
		g.done += running * int64(span)
		g.unsaved += span
	}
}

// enter has a gang do something else from now on; it was settled.
func (r *run) enter(j *job, phase phase) {
	j.phase = phase
	j.turn++
	before := j.atWork
	if j.atWork = 0; phase == working {
		j.atWork = int64(j.in(running) * j.each)
	}
	r.change(atWork, j.atWork-before)
}

// later has something happen to a gang unless it does something else before.
func (r *run) later(j *job, d berth.Duration, do func() error) {
	turn := j.turn
	r.after(d, func() error {
		if j.turn != turn {
			return nil
		}
		r.settle(j)
		return do()
	})
}

// begin starts a life.
func (r *run) begin(j *job) {
	j.settled, j.began, j.unsaved, j.dying = r.sim.Now(), r.sim.Now(), 0, false
	r.enter(j, starting)
}

// came tells that members have come up: all of them that a life begins with, or more.
func (r *run) came(j *job, fresh bool) {
	switch {
	case fresh:
		r.enter(j, starting)
		r.later(j, j.spec.Checkpoint.RestartCost, func() error { r.goOn(j); return nil })
	case j.phase != starting:
		r.regroup(j)
	}
}

// regroup has a gang go on with more members or fewer.
func (r *run) regroup(j *job) {
	r.enter(j, regrouped)
	r.later(j, berth.DurationOf(r.b.Regroup), func() error { r.goOn(j); return nil })
}

// goOn has a gang make progress, until its work is done or it writes a checkpoint, which
// takes it no time.
func (r *run) goOn(j *job) {
	r.settle(j)
	r.enter(j, working)
	rate := int64(j.in(running) * j.each)
	left := berth.Duration(max(j.work-j.done, 0) / rate)
	left += (berth.Second - (berth.Duration(r.sim.Now())+left)%berth.Second) % berth.Second // at a full second
	save := max(j.spec.Checkpoint.Interval-j.unsaved, 0)
	if save < left {
		r.later(j, save, func() error {
			r.written(j)
			r.goOn(j)
			return r.tell(berth.CheckpointWritten{Job: j.spec.ID, Incarnation: j.incarnation})
		})
		return
	}
	r.later(j, left, func() error { return r.finish(j) })
}

// write has a gang stand still until its checkpoint is written.
func (r *run) write(j *job) { r.enter(j, writing) }

// written notes that what a gang has done is safe.
func (r *run) written(j *job) { j.saved, j.unsaved = j.done, 0 }

// reduced tells that members have to go: all of them, or so many that the others go on.
func (r *run) reduced(j *job) {
	switch j.again = true; {
	case j.ended:
	case j.in(running) == 0:
		r.halt(j)
	case j.phase == starting:
	default:
		r.regroup(j)
	}
}

// halt ends a life: what was not saved has to be done again.
func (r *run) halt(j *job) {
	r.enter(j, stopping)
	if r.sim.Now() >= r.from {
		r.book.redone += j.done - j.saved
	}
	j.done, j.again = j.saved, true
}

// finish tells that the work is done. What runs is gone; what is coming is stopped.
func (r *run) finish(j *job) error {
	r.enter(j, stopping)
	j.ended, j.order = true, 0
	r.book.finished += r.counted(r.sim.Now())
	for i := range j.members {
		if j.members[i].state == running {
			r.move(j, i, absent, 0)
		}
	}
	return r.tell(berth.JobFinished{Job: j.spec.ID, Incarnation: j.incarnation})
}
