package main

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/examples/livenode/internal/durable"
	"github.com/berth-sched/berth/examples/livenode/internal/process"
	"github.com/berth-sched/berth/quota"
)

// DefaultQueue is there from the first start.
const DefaultQueue = "default"

// takeUp makes one of what the core remembers and what there is: the machine as it is now,
// and the programs that went on, or ended, while no orchestrator looked.
func (o *orchestrator) takeUp(policy berth.Policy) error {
	fresh := o.core.Now() == 0
	if !reflect.DeepEqual(wholePolicy(policy), o.core.Config().Policy) {
		if err := o.tell(berth.PolicyChanged{Policy: policy}); err != nil {
			return err
		}
	}
	if fresh {
		for _, name := range []string{DefaultQueue, othersQueue} {
			if err := o.tell(berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(name)}}); err != nil {
				return err
			}
		}
	}
	if err := durable.ReadJSON(o.failuresFile(), &o.failures); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := o.takeUpMachine(); err != nil {
		return err
	}
	for _, one := range o.records.list {
		if err := o.takeUpJob(one); err != nil {
			return err
		}
	}
	o.takeUpMissing()
	o.tellOthers()
	return nil
}

// wholePolicy is a policy as a core that has it tells it, with all defaults.
func wholePolicy(p berth.Policy) berth.Policy {
	sched, err := core.New(berth.Config{Policy: p})
	if err != nil {
		return p // the core will say why
	}
	return sched.Config().Policy
}

// takeUpJob finds the programs of a job: the one that is to run, and others, which are
// stopped.
func (o *orchestrator) takeUpJob(one *record) error {
	e, err := o.core.Explain(berth.JobID(one.Name))
	known := err == nil
	if known && one.end != nil && e.Replicas[0].State == berth.ReplicaPending {
		o.must(berth.JobCancelled{Job: e.Job}) // its end was noted, and not told yet
		return nil
	}
	lives, err := one.lives()
	if err != nil {
		return err
	}
	for _, incarnation := range lives {
		p, err := process.Open(one.life(incarnation))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // it was not started
		case err != nil:
			return fmt.Errorf("job %s, incarnation %d: %w", one.Name, incarnation, err)
		case known && e.Replicas[0].Incarnation == incarnation && e.Replicas[0].State == berth.ReplicaBinding:
			// The Bind is outstanding, and will find it.
		case known && e.Replicas[0].Incarnation == incarnation && len(e.Replicas[0].Members) > 0:
			o.takeUpLife(&life{job: one, incarnation: incarnation}, p, &e.Replicas[0].Members[0])
		case p.Runs():
			l := &life{job: one, incarnation: incarnation}
			o.note("%s should not run, and is killed: process %d", l, p.PID())
			o.watch(l, p)
			o.lose(l)
		}
	}
	return nil
}

// endUnknown notes the end of jobs that the core does not know. It comes after the first pass: a
// job that was given up is not known either, and that pass gives the Drop again that says so.
func (o *orchestrator) endUnknown() {
	for _, one := range slices.Clone(o.records.list) {
		if _, err := o.core.Explain(berth.JobID(one.Name)); err != nil {
			o.finish(berth.JobID(one.Name), false, "livenode ended before the job was accepted")
		}
	}
}

// takeUpLife watches a program that was found where it is to be, or has ended.
func (o *orchestrator) takeUpLife(l *life, p *process.Process, at *berth.MemberPlacement) {
	var err error
	if l.devices, err = devices(at, &o.inventory); err != nil {
		o.note("%s holds what is gone: %v", l, err)
	}
	o.lives[l.id()] = l
	if p.Runs() {
		o.note("%s is process %d, as before", l, p.PID())
	}
	o.watch(l, p)
}

// takeUpMissing tells the core of jobs that should run and of which there is no trace.
func (o *orchestrator) takeUpMissing() {
	world := berth.World{Nodes: []berth.Node{{ID: o.machine.name}}}
	for _, one := range o.records.list {
		l := o.lives[berth.JobID(one.Name)]
		if l == nil {
			continue
		}
		if e, err := o.core.Explain(l.id()); err == nil {
			for _, m := range e.Replicas[0].Members {
				world.Running = append(world.Running, berth.ObservedMember{Job: l.id(), Incarnation: l.incarnation, MemberPlacement: m})
			}
		}
	}
	for _, d := range o.core.Diff(world) {
		if d.Kind != berth.DifferenceMemberMissing {
			continue
		}
		if o.occupancy().Owns(d.Job) {
			o.others = append(o.others, d.Job) // as before, until it is looked at
			continue
		}
		o.note("%s, and is not there", d.Text)
		o.must(d.Event)
	}
}
