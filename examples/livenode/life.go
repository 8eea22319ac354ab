package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/examples/livenode/internal/process"
)

// A life is one incarnation of a job on this machine, from the order to start it to the
// end of its program. It belongs to the loop of the orchestrator.
type life struct {
	job         *record
	incarnation berth.Incarnation
	state       lifeState
	process     *process.Process // nil while lifeStarting
	// Orders that wait for it to be reported; zero: none.
	bind, request, release berth.OrderID
	// by is when the time for the request is over.
	by berth.Time
	// early: it had ended by itself when it was to be stopped.
	early bool
	// devices that it holds, by UUID: GPUs, or a MIG device. Active is how busy they are, in
	// thousandths, as the core was told last, if it was told.
	devices []string
	active  int
	told    bool
	// says is how busy it is by its own word; nil: it says nothing. Unmeasured counts the readings
	// in a row that did not tell, with borrowers over it.
	says       *int
	unmeasured int
	// busySince is since when a lender is busy while borrowers run over it; zero: it is not.
	// Switched is how long it took the last time until none did. GivesBack: a borrower is stopped
	// for its lender.
	busySince berth.Time
	switched  berth.Duration
	givesBack bool
	// checkpoint is when it last wrote one.
	checkpoint time.Time
	// cancel ends what watches it.
	cancel context.CancelFunc
}

type lifeState int

const (
	lifeStarting lifeState = iota
	lifeRunning
	// lifeResigned: it ended by itself, and wants to be run again. That is the answer to
	// a request for a checkpoint, upon which a Release follows; if none does, it is told.
	lifeResigned
)

// filePoll is how often it is looked whether a program has written a checkpoint, or how busy it is.
const filePoll = 20 * time.Millisecond

// bind starts a job, or finds it running.
func (o *orchestrator) bind(order berth.Bind) {
	if o.notYet(&order) {
		o.waiting = append(o.waiting, order)
		return
	}
	one := o.records.find(string(order.Job))
	if one == nil {
		o.report(order.ID, berth.OutcomeFailed, "no command is recorded for this job")
		return
	}
	l := &life{job: one, incarnation: order.Incarnation, bind: order.ID}
	o.lives[l.id()] = l
	folder := one.life(l.incarnation)
	launch, err := o.launch(l, &order.Members[0])
	o.background.Go(func() {
		one.forgetLives(l.incarnation)
		p, openErr := process.Open(folder)
		if errors.Is(openErr, fs.ErrNotExist) {
			if openErr = err; err == nil {
				p, openErr = process.Start(folder, launch)
			}
		}
		o.post(func() { o.started(l, p, openErr) })
	})
}

// launch says what to run on what a member holds.
func (o *orchestrator) launch(l *life, m *berth.MemberPlacement) (launch process.Launch, err error) {
	if l.devices, err = devices(m, &o.inventory); err != nil {
		return launch, err
	}
	env := environment(l.job, l.incarnation)
	env = append(env, visible(l.devices)...)
	if m.ShareMilli > 0 {
		env = append(env, o.machine.mps.share(m)...)
	}
	return process.Launch{
		Path: l.job.Path, Args: l.job.Command, Dir: l.job.Dir, Output: l.job.outputFile(), Env: env,
	}, nil
}

// started is what comes of bind. The error is livenode's: whether the program could be
// started is told by how it ended.
func (o *orchestrator) started(l *life, p *process.Process, err error) {
	if o.lostStarted(l, p, err) {
		return
	}
	if err != nil {
		delete(o.lives, l.id())
		o.report(l.bind, berth.OutcomeFailed, err.Error())
		if l.release != 0 {
			o.report(l.release, berth.OutcomeDone, "")
		}
		return
	}
	o.watch(l, p)
	if p.PID() != 0 {
		o.note("%s runs as process %d", l, p.PID())
		o.report(l.bind, berth.OutcomeDone, "")
		l.bind = 0
	}
	if l.release != 0 {
		o.stop(l)
	}
}

// watch begins to watch a program.
func (o *orchestrator) watch(l *life, p *process.Process) {
	l.state, l.process = lifeRunning, p
	o.begins(l)
	ctx, cancel := context.WithCancel(o.ending)
	l.cancel = cancel
	o.background.Go(func() {
		exit, err := p.Wait(ctx)
		if ctx.Err() == nil {
			o.post(func() { o.ended(l, exit, err) })
		}
	})
	o.background.Go(func() {
		var says *int
		for ctx.Err() == nil {
			if l.job.Lend != nil {
				if now := l.readActivity(says); (now == nil) != (says == nil) || now != nil && *now != *says {
					says = now
					o.post(func() { o.said(l, now) })
				}
			}
			if at, ok := l.takeCheckpoint(); ok {
				o.post(func() { o.checkpointed(l, at) })
			}
			select {
			case <-ctx.Done():
			case <-time.After(filePoll):
			}
		}
	})
}

// takeCheckpoint reports whether the program has told of a checkpoint since it was last
// asked, and when.
func (l *life) takeCheckpoint() (time.Time, bool) {
	path := checkpointDone(l.job, l.incarnation)
	info, err := os.Stat(path)
	if err != nil || os.Remove(path) != nil {
		return time.Time{}, false
	}
	return info.ModTime(), true
}

// checkpointed tells the core of a checkpoint.
func (o *orchestrator) checkpointed(l *life, at time.Time) {
	if o.lives[l.id()] != l {
		return
	}
	l.checkpoint = at
	if l.request != 0 {
		o.note("%s has written its checkpoint", l)
		o.report(l.request, berth.OutcomeDone, "")
		l.request = 0
		return
	}
	// The clock that stamps files may be behind, and the program may have begun before
	// the core was told so.
	when := min(berth.TimeOf(at), o.now())
	if e, err := o.core.Explain(l.id()); err == nil {
		when = max(when, e.Replicas[0].Since)
	}
	o.must(berth.CheckpointWritten{Job: l.id(), Incarnation: l.incarnation, At: when})
}

// requestCheckpoint asks a program for a checkpoint.
func (o *orchestrator) requestCheckpoint(order berth.RequestCheckpoint) {
	l := o.lives[order.Job]
	if l == nil || l.incarnation != order.Incarnation || l.state != lifeRunning {
		o.report(order.ID, berth.OutcomeFailed, "the program does not run")
		return
	}
	if at, ok := l.takeCheckpoint(); ok { // before it was asked
		o.checkpointed(l, at)
	}
	signal, err := process.ParseSignal(l.job.CheckpointSignal)
	if err == nil {
		err = l.process.Signal(signal)
	}
	if err != nil {
		o.report(order.ID, berth.OutcomeFailed, err.Error())
		return
	}
	grace := min(l.job.Grace, order.Deadline.Sub(o.now()))
	l.request, l.by = order.ID, o.now().Add(grace)
	o.note("%s got %s, and has %v to write its checkpoint", l, signal, grace)
	time.AfterFunc(grace.Std(), func() {
		o.post(func() {
			if l.request == order.ID {
				l.request = 0
				o.note("%s has written no checkpoint in %v", l, grace)
				o.report(order.ID, berth.OutcomeFailed, fmt.Sprintf("not written in %v", grace))
			}
		})
	})
}

// withdraw takes back a request. The program knows nothing of it, and goes on anyway.
func (o *orchestrator) withdraw(order berth.Withdraw) {
	if l := o.lives[order.Job]; l != nil && l.request == order.Request {
		l.request = 0
	}
}

// release stops a program.
func (o *orchestrator) release(order berth.Release) {
	o.forgetWaiting(func(b berth.Bind) bool { return b.Job == order.Job })
	l := o.lives[order.Job]
	if l == nil || l.state == lifeResigned {
		o.released(order.Job, order.ID)
		return
	}
	l.release, l.request, l.givesBack = order.ID, 0, order.Cause.Code == berth.CauseGivenBack
	switch {
	case l.state == lifeStarting: // when it has
	case order.Attempt > 1:
		_ = l.process.SignalGroup(process.Kill) // if it has ended, ended is called
	default:
		o.stop(l)
	}
}

// stop asks a program to end, and makes it end when its time is over. A mark in its folder says so
// first: the next livenode, if this one is killed before it hears of the end, would take that for
// one to which the program came by itself, and the job for done.
func (o *orchestrator) stop(l *life) {
	asked := l.job.markStopped(l.incarnation)
	if errors.Is(l.process.SignalGroup(process.Terminate), process.ErrGone) && !asked {
		l.early = true
		l.job.unmarkStopped(l.incarnation)
	}
	patience := o.patience(l)
	time.AfterFunc(patience.Std(), func() {
		o.post(func() {
			if o.lives[l.id()] == l && l.process.SignalGroup(process.Kill) == nil {
				o.note("%s did not end within %v of SIGTERM, and is killed", l, patience)
			}
		})
	})
}

// released is the end of a Release: nothing of the job is left on this machine.
func (o *orchestrator) released(job berth.JobID, order berth.OrderID) {
	delete(o.lives, job)
	if e, err := o.core.Explain(job); err == nil && e.Cancelled {
		o.finish(job, false, "cancelled")
	}
	o.report(order, berth.OutcomeDone, "")
}

// ended is the end of a program.
func (o *orchestrator) ended(l *life, exit process.Exit, err error) {
	l.cancel()
	if o.lostEnded(l) || o.lives[l.id()] != l {
		return
	}
	o.leaves(l)
	reason := exit.String()
	switch {
	case l.release != 0 && !l.early:
		o.note("%s is stopped (%s)", l, reason)
	case errors.Is(err, process.ErrUnknownEnd):
		o.died(l, err.Error())
	case err != nil:
		o.fail(err) // its folder cannot be read
	case exit.Code == exitAgain && l.request != 0:
		o.note("%s has written its checkpoint, and ended", l)
		l.state = lifeResigned
		o.lives[l.id()] = l
		o.report(l.request, berth.OutcomeDone, "")
	case exit.Code == exitAgain:
		o.died(l, "it asks to be run again")
	case l.request != 0 && exit.Signal != "" && exit.Signal == l.job.CheckpointSignal:
		o.died(l, fmt.Sprintf("%s requested a checkpoint, and the program had no handler for it yet", exit.Signal))
	default:
		o.note("%s has ended: %s", l, reason)
		o.finish(l.id(), exit.OK(), reason)
		o.must(berth.JobFinished{Job: l.id(), Incarnation: l.incarnation, Failed: !exit.OK(), Reason: reason})
	}
	o.givenBack(l)
	if l.release != 0 {
		o.released(l.id(), l.release)
	}
}

// died tells of a program that ended and is to be run again.
func (o *orchestrator) died(l *life, reason string) {
	o.note("%s has ended, and will be run again: %s", l, reason)
	delete(o.lives, l.id())
	if l.bind != 0 { // it was never said to run
		o.report(l.bind, berth.OutcomeFailed, reason)
		return
	}
	o.must(berth.MemberFailed{
		Job: l.id(), Incarnation: l.incarnation, Members: []berth.MemberRef{{}}, Reason: reason,
	})
}

// resign tells of programs that ended upon a request after which no Release came: nobody
// needed their place any more, and the core takes them to be running.
func (o *orchestrator) resign() {
	for _, id := range slices.Sorted(maps.Keys(o.lives)) {
		if l := o.lives[id]; l.state == lifeResigned {
			o.died(l, "it ended with its checkpoint, and the preemption had been withdrawn")
		}
	}
}

// drop notes that a job was given up.
func (o *orchestrator) drop(order berth.Drop) {
	o.others = slices.DeleteFunc(o.others, func(id berth.JobID) bool { return id == order.Job })
	o.finish(order.Job, false, "given up: "+string(order.Cause.Code))
}

// finish notes how a job ended. What cannot be written down must not be told.
func (o *orchestrator) finish(job berth.JobID, ok bool, text string) {
	if one := o.records.find(string(job)); one != nil && one.end == nil {
		o.fail(o.records.finish(one, ok, text))
	}
}

// leaves takes a life off the books. One that is still being started has no process to remember.
func (o *orchestrator) leaves(l *life) {
	delete(o.lives, l.id())
	if l.state == lifeStarting {
		return
	}
	o.former = append(o.former[max(0, len(o.former)-keptFormer+1):], l.process.PID())
	o.ends(l)
}

// running lists the lives whose programs run, in order of name.
func (o *orchestrator) running() []*life {
	var list []*life
	for _, id := range slices.Sorted(maps.Keys(o.lives)) {
		if l := o.lives[id]; l.state == lifeRunning {
			list = append(list, l)
		}
	}
	return list
}

func (l *life) id() berth.JobID { return berth.JobID(l.job.Name) }

func (l *life) String() string {
	if l.incarnation == 1 {
		return l.job.Name
	}
	return fmt.Sprintf("%s, incarnation %d,", l.job.Name, l.incarnation)
}
