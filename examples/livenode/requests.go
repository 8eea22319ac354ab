package main

import (
	"errors"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// What clients ask for. Each is called by the loop, with ask.

// errUnknownJob: there is no job of that name.
var errUnknownJob = errors.New("no such job")

// submit takes a job on and returns its name.
func (o *orchestrator) submit(s Submission) (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	taken := func(name string) bool { return o.records.find(name) != nil }
	switch {
	case s.Name == "":
		s.Name = s.nameFrom(taken)
	case taken(s.Name):
		return "", fmt.Errorf("there is a job %s already; take another name, or none", s.Name)
	}
	one, err := o.records.add(s)
	if err != nil {
		return "", err
	}
	if err := o.tell(berth.JobSubmitted{Job: one.job()}); err != nil {
		return "", errors.Join(o.refusal(s, err), o.records.remove(one))
	}
	return s.Name, nil
}

// refusal says what to do about a job that the core refuses.
func (o *orchestrator) refusal(s Submission, err error) error {
	if !errors.Is(err, berth.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w; to make the queue: livenode queue %s", err, s.Queue)
}

// cancelJob ends a job. One that waits is over at once.
func (o *orchestrator) cancelJob(name string) error {
	one := o.records.find(name)
	switch {
	case one == nil:
		return fmt.Errorf("%s: %w", name, errUnknownJob)
	case one.end != nil:
		return fmt.Errorf("job %s is over: %s", name, one.end.Text)
	}
	id := berth.JobID(name)
	if e, err := o.core.Explain(id); err == nil && e.Replicas[0].State == berth.ReplicaPending {
		o.finish(id, false, "cancelled")
	}
	return o.tell(berth.JobCancelled{Job: id})
}

// setQueue makes a queue, or changes it.
func (o *orchestrator) setQueue(q quota.Queue) error { return o.tell(berth.QueueSet{Queue: q}) }

// removeQueue removes a queue. Without that of others the core could not be told what they
// have taken, and would give it away again.
func (o *orchestrator) removeQueue(name string) error {
	if name == othersQueue {
		return fmt.Errorf("queue %s is charged with processes outside livenode, and stays", name)
	}
	return o.tell(berth.QueueRemoved{Queue: berth.QueueID(name)})
}

// repaired takes an operator's word that a GPU that failed is fit for work again, if its
// driver does not say otherwise.
func (o *orchestrator) repaired(gpu int) error {
	if gpu < 0 || gpu >= len(o.inventory.GPUs) {
		return fmt.Errorf("there is no GPU %d; there are %d, from 0", gpu, len(o.inventory.GPUs))
	}
	if o.machine.pretend != nil {
		if err := o.machine.pretend.Repair(gpu); err != nil {
			return err
		}
	}
	inventory, err := o.machine.source.Inventory()
	if err != nil {
		return err
	}
	if failure := inventory.GPUs[gpu].Failure; failure != nil {
		return fmt.Errorf("its driver does not agree: %w", failure)
	}
	o.inventory = inventory
	o.fail(o.machine.keepLayout(gpu, &inventory))
	if inventory.GPUs[gpu].MIG.Capable { // a reset leaves no instances
		o.tellPartitioning(gpu)
	}
	event := berth.GPURepaired{Node: o.machine.name, GPU: gpu}
	if err := o.tell(event); err != nil {
		return err
	}
	o.befell(event)
	return nil
}
