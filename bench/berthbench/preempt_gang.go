package main

import "github.com/berth-sched/berth"

// A yieldGang is the true progress of a gang: what it has done, and what of it would
// survive. GPU time is in GPU-milliseconds.
type yieldGang struct {
	work, done, saved int64
	priority          int
	phase             yieldPhase
	// atWork are the GPUs that make progress; began is when this life did.
	atWork int64
	began  berth.Time
	// settled is until when the books have it.
	settled berth.Time
	// unsaved is how long it has made progress since its last checkpoint.
	unsaved berth.Duration
	// turn numbers what it does, so that what was planned for before is left alone.
	turn int
	// again: it had to yield before. dying: it is being stopped, and no order of the core
	// says so. ended: its work is done.
	again, dying, ended bool
}

// A yieldPhase is what the members of a gang do that run.
type yieldPhase uint8

const (
	yieldStarting  yieldPhase = iota // they come up and warm up
	yieldWorking                     // they make progress
	yieldWriting                     // they write a checkpoint that was asked for
	yieldRegrouped                   // they regroup, as there are more of them or fewer
	yieldStopping                    // the gang has to yield
)

// settle books what a job did since it was settled last.
func (r *yieldRun) settle(j *yieldJob) {
	g := j.yieldGang
	if g == nil {
		return
	}
	span, counted := r.now.Sub(g.settled), r.now.Sub(max(g.settled, min(r.from, r.now)))
	g.settled = r.now
	if span == 0 {
		return
	}
	coming, running, going := int64(j.in(yieldComing)*j.each), int64(j.in(yieldRunning)*j.each), int64(j.in(yieldGoing)*j.each)
	book := &r.book
	book.held += int64(counted) * (coming + running + going)
	book.column(yieldStarting, g.again, coming*int64(counted))
	if j.dying {
		book.column(g.phase, true, going*int64(counted))
	} else {
		book.column(yieldStopping, true, going*int64(counted))
	}
	book.column(g.phase, g.again, running*int64(counted))
	if g.phase == yieldWorking {
		g.done += running * int64(span)
		g.unsaved += span
	}
}

// enter has a gang do something else from now on; it was settled.
func (r *yieldRun) enter(j *yieldJob, phase yieldPhase) {
	j.phase = phase
	j.turn++
	r.book.level[yieldAtWork] -= j.atWork
	if j.atWork = 0; phase == yieldWorking {
		j.atWork = int64(j.in(yieldRunning) * j.each)
	}
	r.book.level[yieldAtWork] += j.atWork
}

// later has something happen to a gang unless it does something else before.
func (r *yieldRun) later(j *yieldJob, d berth.Duration, do func() error) {
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
func (r *yieldRun) begin(j *yieldJob) {
	j.settled, j.began, j.unsaved, j.dying = r.now, r.now, 0, false
	r.enter(j, yieldStarting)
}

// came tells that members have come up: all of them that a life begins with, or more.
func (r *yieldRun) came(j *yieldJob, fresh bool) {
	switch {
	case fresh:
		r.enter(j, yieldStarting)
		r.later(j, j.spec.Checkpoint.RestartCost, func() error { r.goOn(j); return nil })
	case j.phase != yieldStarting:
		r.regroup(j)
	}
}

// regroup has a gang go on with more members or fewer.
func (r *yieldRun) regroup(j *yieldJob) {
	r.enter(j, yieldRegrouped)
	r.later(j, berth.Span(r.b.regroup), func() error { r.goOn(j); return nil })
}

// goOn has a gang make progress, until its work is done or it writes a checkpoint, which
// takes it no time.
func (r *yieldRun) goOn(j *yieldJob) {
	r.settle(j)
	r.enter(j, yieldWorking)
	rate := int64(j.in(yieldRunning) * j.each)
	left := berth.Duration(max(j.work-j.done, 0) / rate)
	left += (berth.Second - (berth.Duration(r.now)+left)%berth.Second) % berth.Second // at a full second
	save := max(j.spec.Checkpoint.Interval-j.unsaved, 0)
	if save < left {
		r.later(j, save, func() error {
			r.written(j)
			r.goOn(j)
			return r.mention(berth.CheckpointWritten{Job: j.spec.ID, Incarnation: j.incarnation})
		})
		return
	}
	r.later(j, left, func() error { return r.finish(j) })
}

// write has a gang stand still until its checkpoint is written.
func (r *yieldRun) write(j *yieldJob) { r.enter(j, yieldWriting) }

// written notes that what a gang has done is safe.
func (r *yieldRun) written(j *yieldJob) { j.saved, j.unsaved = j.done, 0 }

// reduced tells that members have to go: all of them, or so many that the others go on.
func (r *yieldRun) reduced(j *yieldJob) {
	switch j.again = true; {
	case j.ended:
	case j.in(yieldRunning) == 0:
		r.halt(j)
	case j.phase == yieldStarting:
	default:
		r.regroup(j)
	}
}

// halt ends a life: what was not saved has to be done again.
func (r *yieldRun) halt(j *yieldJob) {
	r.enter(j, yieldStopping)
	if r.now >= r.from {
		r.book.redone += j.done - j.saved
	}
	j.done, j.again = j.saved, true
}

// finish tells that the work is done. What runs is gone; what is coming is stopped.
func (r *yieldRun) finish(j *yieldJob) error {
	r.enter(j, yieldStopping)
	j.ended, j.order = true, 0
	r.book.finished += r.counted(r.now)
	for i := range j.members {
		if j.members[i].state == yieldRunning {
			r.move(j, i, yieldAbsent, 0)
		}
	}
	return r.tell(berth.JobFinished{Job: j.spec.ID, Incarnation: j.incarnation})
}
