package sim_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// A punctual executor does all at the last moment that is foreseen, and no later: a checkpoint is
// written and a gang is stopped at the deadline, a job ends when its expected run time is over.
// What is to be started or divided is so at once; a few gangs fail to start as long as it draws.
type punctual struct {
	*testing.T
	draw    *worlds.Generator
	core    *core.Core
	assumed berth.Duration
	jobs    map[berth.JobID]*berth.Job
	lives   map[berth.ReplicaRef]life
	due     []dueReport
	// evicted: a victim was asked to go. others counts the Binds of jobs but one.
	evicted bool
	asks    berth.JobID
	others  int
}

// A life of a replica began at an instant.
type life struct {
	berth.Incarnation
	since berth.Time
}

// A dueReport tells how an order ended, at an instant.
type dueReport struct {
	at      berth.Time
	order   berth.OrderID
	outcome berth.Outcome
}

// tell applies an event that may be refused.
func (x *punctual) tell(at berth.Time, e berth.Event) {
	x.Helper()
	if err := x.core.Apply(at, e); err != nil {
		var refused *berth.Error
		require.True(x, errors.As(err, &refused), "%v", err)
		return
	}
	switch e := e.(type) {
	case berth.JobSubmitted:
		x.jobs[e.Job.ID] = &e.Job
	case berth.PolicyChanged:
		x.assumed = cmp.Or(e.Policy.AssumedRuntime, berth.Day)
	}
}

// ends is when a life is over; false: it never is.
func (x *punctual) ends(ref berth.ReplicaRef) (berth.Time, bool) {
	j := x.jobs[ref.Job]
	if j == nil || j.Service != nil {
		return 0, false
	}
	return x.lives[ref].since.Add(cmp.Or(j.ExpectedRuntime, x.assumed)), true
}

// next is the next instant at which something is due.
func (x *punctual) next() (at berth.Time, some bool) {
	at, some = x.core.NextWake()
	sooner := func(t berth.Time) {
		if !some || t < at {
			at, some = t, true
		}
	}
	for _, d := range x.due {
		sooner(d.at)
	}
	for ref := range x.lives {
		if end, ever := x.ends(ref); ever {
			sooner(end)
		}
	}
	return max(at, x.core.Now()), some
}

// at has all happen that is due at an instant.
func (x *punctual) at(now berth.Time) {
	x.Helper()
	for range 100 {
		for _, d := range x.due {
			if d.at <= now {
				x.tell(now, berth.OrderReported{Order: d.order, Outcome: d.outcome})
			}
		}
		x.due = slices.DeleteFunc(x.due, func(d dueReport) bool { return d.at <= now })
		for _, ref := range slices.SortedFunc(maps.Keys(x.lives), compareRefs) {
			if end, ever := x.ends(ref); ever && end <= now {
				x.tell(now, berth.JobFinished{Job: ref.Job, Incarnation: x.lives[ref].Incarnation})
				delete(x.lives, ref)
			}
		}
		orders, err := x.core.Schedule(now)
		require.NoError(x, err)
		for _, o := range orders {
			x.take(o)
		}
		if next, some := x.next(); !some || next > now {
			return
		}
	}
}

// take notes when an order will be reported.
func (x *punctual) take(o berth.Order) {
	h := o.Header()
	at, outcome := h.Deadline, berth.OutcomeDone
	switch o := o.(type) {
	case berth.Drop, berth.Withdraw, berth.WarnIdle:
		return
	case berth.Bind:
		ref := berth.ReplicaRef{Job: h.Job, Replica: h.Replica}
		if h.Job != x.asks {
			x.others++
		}
		if at = h.At; x.draw != nil && x.draw.Chance(10) && o.Cause.Code != berth.CauseGrows {
			outcome = berth.OutcomeFailed
		} else if x.lives[ref].Incarnation != o.Incarnation {
			x.lives[ref] = life{o.Incarnation, h.At}
		}
	case berth.Repartition:
		at = h.At
	case berth.RequestCheckpoint:
		x.evicted = true
	case berth.Release:
		x.evicted = x.evicted || o.Cause.Code == berth.CausePreempted || o.Cause.Code == berth.CauseReclaimed
	}
	x.due = append(x.due, dueReport{at, h.ID, outcome})
}

// copy goes on from where this one is, by itself.
func (x *punctual) copy() *punctual {
	c := *x
	c.draw, c.core, c.jobs, c.lives, c.due = nil, copyOf(x.T, x.core), maps.Clone(x.jobs), maps.Clone(x.lives), slices.Clone(x.due)
	return &c
}

// waiting lists the jobs of one replica that wait.
func (x *punctual) waiting() (list []berth.JobID) {
	for _, id := range slices.Sorted(maps.Keys(x.jobs)) {
		if r := x.replica(id); r != nil && r.State == berth.ReplicaPending {
			list = append(list, id)
		}
	}
	return list
}

// replica explains the first replica of a job; nil: it has none.
func (x *punctual) replica(id berth.JobID) *berth.ReplicaExplanation {
	e, err := x.core.Explain(id)
	if err != nil || len(e.Replicas) == 0 {
		return nil
	}
	return &e.Replicas[0]
}

// An expected start is what can be. Where one job alone waits, and all runs as long as it said and
// takes for each order as long as it may, it starts at the instant that it was told, and at none
// before where nothing was: never after it, and before it only where less use of one queue has
// another keep more for itself, so that what fits at one instant does not at the next. That does
// not hold where another gang grows before it, where a running job is asked to go that was not
// before, and where nodes become hot spares.
func TestExpectedStartIsWhatCanBe(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, g := range []struct {
		name string
		draw worlds.Drawing
	}{{"steady", (*worlds.Generator).Steady}, {"world", (*worlds.Generator).World}} {
		for seed := range drawn.Seeds(8) {
			punctually(t, fmt.Sprintf("%s %d", g.name, seed), worlds.NewGenerator(seed), g.draw, seen)
		}
	}
	t.Logf("%v", seen)
	covers(t, seen, "as told", "as told: victims on their way out", "as told: victims to be", "as told: backoff", "as told: quota", "never, as told")
	if drawn.Many() {
		require.LessOrEqual(t, 10*seen["before"], seen["as told"], "many start before they were told to")
	}
}

// punctually has a punctual executor play a world, and compares now and then what is told.
func punctually(t *testing.T, world string, g *worlds.Generator, draw worlds.Drawing, seen map[string]int) {
	t.Helper()
	config, _, list := draw(g)
	config.Policy.HotSpares = nil
	sched, err := core.New(config)
	require.NoError(t, err)
	x := &punctual{
		T: t, draw: g, core: sched, assumed: cmp.Or(config.Policy.AssumedRuntime, berth.Day),
		jobs: map[berth.JobID]*berth.Job{}, lives: map[berth.ReplicaRef]life{},
	}
	for i, asked := 0, 0; i < len(list); i++ {
		event := list[i].Event
		switch e := event.(type) {
		case berth.JobObserved, berth.CheckpointWritten:
			continue
		case berth.PolicyChanged:
			e.Policy.HotSpares = nil
			event = e
		case berth.JobSubmitted:
			if e.Job.Service == nil && e.Job.ExpectedRuntime == 0 {
				e.Job.ExpectedRuntime = berth.Duration(1+g.IntN(60)) * berth.Minute
			}
			event = e
		}
		for next, some := x.next(); some && next <= list[i].At; next, some = x.next() {
			x.at(next)
		}
		x.tell(list[i].At, event)
		x.at(list[i].At)
		if g.Chance(10) && asked < 8 {
			asked++
			x.ask(fmt.Sprintf("%s, step %d", world, i), seen)
		}
	}
}

// ask compares what is told to each job that waits, if no other does, with what comes.
func (x *punctual) ask(where string, seen map[string]int) {
	x.Helper()
	waiting := x.waiting()
	for _, id := range waiting {
		c := x.copy()
		for _, other := range waiting {
			if other != id {
				c.tell(c.core.Now(), berth.JobCancelled{Job: other})
			}
		}
		c.at(c.core.Now())
		r := c.replica(id)
		if r == nil || r.State != berth.ReplicaPending || c.jobs[id].Service != nil {
			continue
		}
		c.evicted, c.asks, c.others = false, id, 0
		came := c.starts(id)
		switch told := r.Reason.ExpectedStart.Earliest; {
		case c.others > 0:
			seen["others came first"]++
		case c.evicted && r.Reason.Weighing == nil && len(r.Reason.PotentialVictims) > 0 && told == came:
			seen["as told: victims to be"]++
		case c.evicted:
			seen["victims asked later"]++
		case told == 0 && came == 0:
			seen["never, as told"]++
		case told == 0:
			seen["not told"]++
		case came != 0 && came < told:
			seen["before"]++
		default:
			require.Equal(x, told, came, "%s: job %s was told when it would start, and %v", where, id, r.Reason)
			seen["as told"]++
			seen["as told: "+string(r.Reason.Code)]++
			if len(r.Reason.Victims) > 0 {
				seen["as told: victims on their way out"]++
			}
		}
	}
}

// starts goes on until a job is placed, and returns when; 0: it is not within a week.
func (x *punctual) starts(id berth.JobID) berth.Time {
	x.Helper()
	for end := x.core.Now().Add(7 * berth.Day); ; {
		next, some := x.next()
		if !some || next > end {
			return 0
		}
		x.at(next)
		if r := x.replica(id); r == nil || r.State != berth.ReplicaPending {
			return x.core.Now()
		}
	}
}
