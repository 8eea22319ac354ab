package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/etcd"
	"github.com/berth-sched/berth/journal"
)

// An audit reads the log as it grows, comes to the orders by a core of its own, and has the
// independent checker look at every event and every pass.
type audit struct {
	source         *etcd.Source
	core           *core.Core
	checker        *check.Checker
	number         uint64
	events, orders int
	binds          map[berth.OrderID]berth.Bind
	// stays are the jobs that have come to the pool, and when they left it.
	stays map[berth.JobID][]stay
}

// A stay is the time of a job in a pool; until 0, it is there.
type stay struct{ from, until berth.Time }

func newAudit(source *etcd.Source) (*audit, error) {
	c, err := core.New(coreConfig)
	return &audit{
		source: source, core: c, checker: check.New(coreConfig),
		binds: map[berth.OrderID]berth.Bind{}, stays: map[berth.JobID][]stay{},
	}, err
}

// readOn looks at the records that came. The log keeps those of one snapshot back, so it has to be
// called now and then.
func (a *audit) readOn(ctx context.Context) error {
	for record, err := range a.source.Records(ctx, a.number) {
		if errors.Is(err, journal.ErrCompacted) {
			return err
		}
		if err != nil {
			return nil // etcd does not answer: the next call goes on
		}
		if err := a.take(record); err != nil {
			return fmt.Errorf("record %d: %w", a.number+1, err)
		}
		a.number++
	}
	return nil
}

func (a *audit) take(record []byte) error {
	var line struct {
		Now    berth.Time
		Event  json.RawMessage
		Pass   bool
		Orders int
	}
	if err := json.Unmarshal(record, &line); err != nil {
		return err
	}
	switch {
	case line.Event != nil:
		event, err := berth.DecodeEvent(line.Event)
		if err == nil {
			err = a.core.Apply(line.Now, event)
		}
		if err != nil {
			return err
		}
		a.events++
		a.moves(line.Now, event)
		return a.checker.Applied(line.Now, event)
	case line.Pass:
		orders, err := a.core.Schedule(line.Now)
		if err != nil {
			return err
		}
		if len(orders) != line.Orders {
			return fmt.Errorf("%d orders, and the leader gave %d", len(orders), line.Orders)
		}
		a.orders += len(orders)
		for _, order := range orders {
			if bind, ok := order.(berth.Bind); ok {
				a.binds[bind.ID] = bind
			}
		}
		return a.checker.Scheduled(line.Now, orders)
	}
	return nil
}

// moves notes the jobs that come and go with an event.
func (a *audit) moves(now berth.Time, event berth.Event) {
	switch e := event.(type) {
	case berth.JobSubmitted:
		a.stays[e.Job.ID] = append(a.stays[e.Job.ID], stay{from: now})
	case berth.JobCancelled:
		a.left(e.Job, now)
	case berth.JobFinished:
		a.left(e.Job, now)
	case berth.OrderReported:
		if bind, ok := a.binds[e.Order]; ok {
			a.left(bind.Job, now)
		}
	}
}

// left notes that a job is gone, if the core knows it no more.
func (a *audit) left(job berth.JobID, now berth.Time) {
	_, known := a.core.Job(job)
	if list := a.stays[job]; !known && len(list) > 0 && list[len(list)-1].until == 0 {
		list[len(list)-1].until = now
	}
}

// A verdict is what the boxes show, once all is at rest.
type verdict struct {
	started, lost, doubled, disturbed, wentOn int
	firstFault                                string
}

func (v *verdict) fault(count *int, format string, args ...any) {
	*count++
	if v.firstFault == "" {
		v.firstFault = fmt.Sprintf(format, args...)
	}
}

// judge compares what happened in the boxes with the jobs that were accepted and with the orders of
// the log: each job ran once, to its end, where the log has it, on GPUs that nobody else used.
func judge(audits map[string]*audit, accepted []berth.JobID, boxes map[string][]happened) verdict {
	var v verdict
	v.stayed(audits, accepted)
	started, ended := map[berth.JobID]int{}, map[berth.JobID]int{}
	for node, lines := range boxes {
		busy := map[int]berth.JobID{}
		slices.SortStableFunc(lines, func(x, y happened) int { return cmp.Compare(x.At, y.At) })
		for _, h := range lines {
			switch h.What {
			case "started":
				started[h.Job]++
				v.started++
				bind, ok := audits[poolOf(node)].binds[h.Order]
				if !ok || bind.Job != h.Job || string(bind.Members[0].Node) != node || bind.Members[0].GPUs != h.GPUs {
					v.fault(&v.doubled, "%s was started on %s by order %d, which is in no log", h.Job, node, h.Order)
				}
				for _, gpu := range h.GPUs.Indexes() {
					if other, taken := busy[gpu]; taken {
						v.fault(&v.doubled, "GPU %d of %s is held by %s and by %s", gpu, node, other, h.Job)
					}
					busy[gpu] = h.Job
				}
			case "ended":
				ended[h.Job]++
				for _, gpu := range h.GPUs.Indexes() {
					delete(busy, gpu)
				}
			}
		}
	}
	for _, job := range accepted {
		switch {
		case started[job] == 0:
			v.fault(&v.lost, "%s was accepted, and never started", job)
		case started[job] > 1:
			v.fault(&v.doubled, "%s was started %d times", job, started[job])
		case ended[job] != 1:
			v.fault(&v.disturbed, "%s was started, and did not come to its end", job)
		}
	}
	return v
}

// stayed looks at where jobs were, by the clocks of the logs: in one pool at a time.
func (v *verdict) stayed(audits map[string]*audit, accepted []berth.JobID) {
	for _, job := range accepted {
		var all []stay
		for _, pool := range pools {
			all = append(all, audits[pool].stays[job]...)
		}
		slices.SortFunc(all, func(x, y stay) int { return cmp.Compare(x.from, y.from) })
		for i := 1; i < len(all); i++ {
			v.wentOn++
			if before := all[i-1]; before.until == 0 || before.until > all[i].from {
				v.fault(&v.doubled, "%s is in two pools", job)
			}
		}
	}
}
