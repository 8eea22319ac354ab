package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/script"
	"github.com/berth-sched/berth/core"
)

// How long the executor takes. A checkpoint takes what its job says.
const (
	startTime       = 20 * berth.Second
	stopTime        = 10 * berth.Second
	repartitionTime = 30 * berth.Second
)

// never is behind all instants of a scenario.
const never = berth.Time(1<<63 - 1)

// An executor carries out orders in time, and nothing goes wrong with it: what goes wrong are
// lines of the scenario. It never changes what was saved of it: see state.clone.
type executor struct {
	// dirty: an event was told since the last pass.
	dirty bool
	// tasks in the order in which they are due, and of those that are due together in the
	// order in which they came.
	tasks []task
	// orders that are out, and the work of jobs that end by themselves.
	orders map[berth.OrderID]berth.Order
	work   map[berth.JobID]work
}

// A task is a report or the end of a job.
type task struct {
	at    berth.Time
	order berth.OrderID // of a report; else
	job   berth.JobID   // ends in this incarnation
	life  berth.Incarnation
}

// work is how far a job has come.
type work struct {
	runtime, interval, cost berth.Duration
	// kept is what a restart goes on from. The present life, if there is one, has gone on from
	// there since an instant.
	kept  berth.Duration
	life  berth.Incarnation
	since berth.Time
}

// due is the line to do now, if there is one, and otherwise the instant of the next.
func (e *executor) due(s *script.Session) (line string, at berth.Time) {
	now := s.Now()
	for len(e.tasks) > 0 && e.tasks[0].at <= now {
		t := e.tasks[0]
		if line := t.line(s.Core()); line != "" {
			return line, now
		}
		e.tasks = e.tasks[1:]
	}
	at = never
	if len(e.tasks) > 0 {
		at = e.tasks[0].at
	}
	wake, wakes := s.Core().NextWake()
	if e.dirty || wakes && wake <= now {
		return passLine, now
	}
	if wakes {
		at = min(at, wake)
	}
	return "", at
}

// taken strikes off what due gave, also if the core refuses it: an order may be over by then.
func (e *executor) taken(line string) {
	if line == passLine {
		e.dirty = false
	} else {
		e.tasks = e.tasks[1:]
	}
}

const passLine = "pass"

// line is what the task does; empty: it is over.
func (t *task) line(c *core.Core) string {
	if t.order != 0 {
		if !slices.ContainsFunc(c.Outstanding(), func(o berth.Order) bool { return o.Header().ID == t.order }) {
			return ""
		}
		return fmt.Sprintf("report %d done", t.order)
	}
	if r, runs := running(t.job, c); !runs || r.Incarnation != t.life {
		return ""
	}
	return fmt.Sprintf("finish %s incarnation=%d", t.job, t.life)
}

func (e *executor) add(t task) {
	at, _ := slices.BinarySearchFunc(e.tasks, t, func(a, b task) int { return cmp.Or(cmp.Compare(a.at, b.at), -1) })
	e.tasks = slices.Insert(e.tasks, at, t)
}

// ordered takes on the orders of a pass.
func (e *executor) ordered(now berth.Time, orders []berth.Order, c *core.Core) {
	e.dirty = false
	for _, order := range orders {
		h := order.Header()
		var takes berth.Duration
		switch order := order.(type) {
		case berth.Bind:
			takes = startTime
		case berth.Release:
			takes = stopTime
			e.stopped(h.Job, now, c)
		case berth.RequestCheckpoint:
			takes = e.work[h.Job].cost
		case berth.Repartition:
			takes = repartitionTime
		case berth.Withdraw:
			delete(e.orders, order.Request)
			continue
		default: // a Drop or a warning has no report
			continue
		}
		e.orders[h.ID] = order
		e.add(task{at: now.Add(takes), order: h.ID})
	}
}

// told follows an event that the core took.
func (e *executor) told(now berth.Time, event berth.Event, c *core.Core) {
	e.dirty = true
	switch event := event.(type) {
	case berth.JobSubmitted:
		e.submitted(&event.Job)
	case berth.JobObserved:
		e.submitted(&event.Job)
		e.started(event.Job.ID, c)
	case berth.JobFinished:
		delete(e.work, event.Job)
	case berth.OrderReported:
		order, out := e.orders[event.Order]
		delete(e.orders, event.Order)
		if !out {
			return
		}
		if _, asked := order.(berth.RequestCheckpoint); asked && event.Outcome == berth.OutcomeDone {
			e.keep(order.Header().Job, now)
		}
		e.started(order.Header().Job, c)
	case berth.CheckpointWritten:
		e.keep(event.Job, cmp.Or(event.At, now))
	case berth.MemberFailed:
		e.stopped(event.Job, now, c)
	case berth.NodeLost, berth.GPUFailed, berth.XidReported:
		for _, loss := range c.Lost() {
			e.stopped(loss.Job, now, c)
		}
	}
}

func (e *executor) submitted(j *berth.Job) {
	w := work{interval: j.Checkpoint.Interval, cost: j.Checkpoint.Cost}
	if j.Service == nil {
		w.runtime = j.ExpectedRuntime
	}
	e.work[j.ID] = w
}

// started sees to the end of a job that came to run, if it has one.
func (e *executor) started(id berth.JobID, c *core.Core) {
	w, known := e.work[id]
	r, runs := running(id, c)
	if !known || !runs || w.runtime == 0 || w.life == r.Incarnation {
		return
	}
	w.life, w.since = r.Incarnation, r.Since
	e.work[id] = w
	e.add(task{at: r.Since.Add(w.runtime - w.kept), job: id, life: r.Incarnation})
}

// running is the only replica of a job, if it runs.
func running(id berth.JobID, c *core.Core) (berth.ReplicaStatus, bool) {
	job, there := c.Job(id)
	if !there || job.Cancelled || len(job.Replicas) == 0 || job.Replicas[0].State != berth.ReplicaRunning {
		return berth.ReplicaStatus{}, false
	}
	return job.Replicas[0], true
}

// keep notes a checkpoint that has what the job had done at an instant.
func (e *executor) keep(id berth.JobID, at berth.Time) {
	w, known := e.work[id]
	if !known || w.life == 0 || at < w.since {
		return
	}
	w.kept = min(w.runtime, w.kept+at.Sub(w.since))
	w.since = at
	e.work[id] = w
}

// stopped ends a life, if it is over. What the job did since it last wrote a checkpoint is lost.
func (e *executor) stopped(id berth.JobID, now berth.Time, c *core.Core) {
	w, known := e.work[id]
	if r, runs := running(id, c); !known || w.life == 0 || runs && r.Incarnation == w.life {
		return
	}
	if did := now.Sub(w.since); w.interval > 0 {
		w.kept = min(w.kept+did-did%w.interval, w.runtime)
	}
	w.life = 0
	e.work[id] = w
}

// clone is a copy of which neither changes the other.
func (e *executor) clone() executor {
	c := *e
	c.tasks = slices.Clone(e.tasks)
	c.orders = maps.Clone(e.orders)
	c.work = maps.Clone(e.work)
	return c
}
