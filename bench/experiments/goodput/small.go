package goodput

import (
	"fmt"
	"math/rand/v2"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
)

// The background: jobs of a node each, such as evaluations, that write a checkpoint every half
// hour and one when asked. There are always more of them waiting than could start.
const (
	smallMedian  = 8 * berth.Hour
	smallLeast   = berth.Hour
	smallMost    = 2 * berth.Day
	smallEvery   = 30 * berth.Minute
	smallWrites  = 30 * berth.Second
	smallStarts  = 30 * berth.Second
	smallStops   = 10 * berth.Second
	smallBacklog = 8
)

// A small is a job of the background.
type small struct {
	id      berth.JobID
	runtime berth.Duration
	saved   berth.Duration // of that
	// node it holds, or -1; it makes progress since then, if it runs.
	node        int
	since       berth.Time
	runs        bool
	incarnation berth.Incarnation
	// binding is the Bind that is out; zero: none is.
	binding berth.OrderID
	// life numbers the stays on a node, so that what was to end one does not end another.
	life int
}

// smalls is the book of the background, in node-milliseconds.
type smalls struct {
	done, lost berth.Duration
	stopped    int // for the gang
}

// refill keeps the background waiting.
func (r *run) refill() {
	for r.queued < smallBacklog {
		random := rand.New(rand.NewPCG(r.seed, 1000+uint64(r.next)))
		j := &small{id: berth.JobID(fmt.Sprintf("small-%06d", r.next)), node: -1, runtime: study.LogNormal(random, smallMedian, 2, smallLeast, smallMost)}
		r.next++
		r.queued++
		r.jobs[j.id] = j
		r.tell(berth.JobSubmitted{Job: berth.Job{
			ID: j.id, Queue: backgroundQueue, ExpectedRuntime: j.runtime + smallStarts,
			Groups:     []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: machine.NodeGPUs}}},
			Checkpoint: berth.Checkpoint{Supported: true, Interval: smallEvery, Cost: smallWrites, RestartCost: smallStarts},
		}})
	}
}

// ordered takes an order about the job.
func (j *small) ordered(r *run, action berth.Order) {
	h := action.Header()
	j.incarnation = h.Incarnation
	switch a := action.(type) {
	case berth.Bind:
		r.queued--
		j.life++
		j.node, j.binding = r.byName[a.Members[0].Node], h.ID
		r.nodes[j.node].job = j
		j.later(r, smallStarts, func() { j.started(r, h.ID) })
	case berth.Release:
		j.halt(r, smallEvery)
		if a.Cause.Code == berth.CauseReclaimed || a.Cause.Code == berth.CausePreempted {
			r.small.stopped++
		}
		j.later(r, smallStops, func() {
			j.leave(r)
			r.queued++
			r.tell(berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone})
		})
	case berth.RequestCheckpoint:
		j.later(r, smallWrites, func() { j.written(r, h.ID) })
	}
}

// later has something happen in this life of the job.
func (j *small) later(r *run, d berth.Duration, do func()) {
	life := j.life
	r.after(d, func() {
		if j.life == life {
			do()
		}
	})
}

func (j *small) started(r *run, id berth.OrderID) {
	j.binding = 0
	r.tell(berth.OrderReported{Order: id, Outcome: berth.OutcomeDone})
	if r.nodes[j.node].fault == nil {
		j.since, j.runs = r.sim.Now(), true
		j.later(r, j.runtime-j.saved, func() { j.finish(r) })
	}
}

func (j *small) finish(r *run) {
	if !j.runs {
		return
	}
	j.halt(r, berth.Millisecond)
	j.leave(r)
	r.tell(berth.JobFinished{Job: j.id, Incarnation: j.incarnation})
	delete(r.jobs, j.id)
}

// written reports a checkpoint that was asked for.
func (j *small) written(r *run, id berth.OrderID) {
	outcome := berth.OutcomeFailed
	if j.runs {
		j.halt(r, berth.Millisecond)
		j.since, j.runs, outcome = r.sim.Now(), true, berth.OutcomeDone
	}
	r.tell(berth.OrderReported{Order: id, Outcome: outcome})
}

// hang notes that the node under the job has failed.
func (j *small) hang(r *run) { j.halt(r, smallEvery) }

// lose notes that the core knows that the node is lost: the job waits again.
func (j *small) lose(r *run) {
	binding := j.binding
	j.leave(r)
	r.queued++
	if binding != 0 {
		r.tell(berth.OrderReported{Order: binding, Outcome: berth.OutcomeFailed, Reason: "the node is lost"})
	}
}

// halt ends the progress of a job. What it keeps is a multiple of a unit.
func (j *small) halt(r *run, unit berth.Duration) {
	if !j.runs {
		return
	}
	progress := r.sim.Now().Sub(j.since)
	kept := progress / unit * unit
	j.saved += kept
	j.runs = false
	r.small.done += kept
	r.small.lost += progress - kept
}

// leave gives the node back.
func (j *small) leave(r *run) {
	r.nodes[j.node].job = nil
	j.node, j.binding = -1, 0
	j.life++
}
