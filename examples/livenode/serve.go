package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/nvmlsrc"
)

// releaseTimeout is how long an attempt to stop a program may take.
const releaseTimeout = 2 * berth.Minute

// policyFor is how the core decides here.
func policyFor(migApply bool) berth.Policy {
	p := berth.Policy{
		ReleaseTimeout: releaseTimeout,
		Preemption: berth.Preemption{
			// Each job says how long it may take; this bounds what they say.
			CheckpointTimeout: 10 * berth.Minute,
			// On one machine somebody looks: a victim may be one again soon.
			Cooldown: berth.Minute,
		},
	}
	if migApply {
		p.Geometry = []berth.Geometry{{
			Kind: berth.GeometryAdaptive,
			// To create an instance takes the driver a second or so, and an order that comes
			// to nothing, such as one for another mode, is soon forgotten.
			Cost: 2 * berth.Second, Interval: 5 * berth.Second, PerHour: 600,
		}}
	}
	return p
}

// serve is the command that runs the orchestrator.
func serve(ctx context.Context, flags *flag.FlagSet, args []string, stdout io.Writer) error {
	state := stateFlag(flags)
	c := machineConfig{}
	flags.StringVar(&c.box, "fake", "", "simulate a `machine` instead of reading this one: "+strings.Join(nvmlsrc.FakeMachines(), ", "))
	flags.StringVar(&c.name, "node", "", "`name` of the node; default: the host's, or the box's")
	flags.BoolVar(&c.migApply, "mig-apply", false, "let livenode create and destroy MIG instances for jobs that wait")
	flags.DurationVar(&c.every, "every", readEvery, "`time` between two readings of the GPUs")
	stopJobs := flags.Bool("stop-jobs", false, "on SIGINT or SIGTERM, cancel all jobs before ending; else they keep running")
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	if c.every < nvmlsrc.MinInterval {
		return flagline.Misused("-every: the GPUs cannot be read every %v; the least is %v", c.every, nvmlsrc.MinInterval)
	}
	folder, err := filepath.Abs(*state)
	if err != nil {
		return err
	}
	c.folder = folder
	m, err := openMachine(c)
	if err != nil {
		return err
	}
	defer m.close()
	o, err := newOrchestrator(folder, m, policyFor(c.migApply), nil, stdout)
	if err != nil {
		return err
	}
	listener, err := listen(folder)
	if err != nil {
		return errors.Join(err, o.store.Close())
	}
	fmt.Fprintf(stdout, "livenode serves %d GPUs of %s in %s\n", len(o.inventory.GPUs), m.name, folder)
	err = o.serveUntil(ctx, listener, *stopJobs)
	if n := len(o.running()); err == nil && n > 0 {
		fmt.Fprintf(stdout, "livenode ends; %d jobs keep running, and the next livenode serve finds them\n", n)
	}
	return err
}

// serveUntil runs the loop, with clients and telemetry around it, until the context is
// done, and then, if that is wanted, until all jobs are stopped.
func (o *orchestrator) serveUntil(ctx context.Context, listener net.Listener, stopJobs bool) (err error) {
	around, stopAround := context.WithCancel(context.Background())
	defer stopAround()
	failed := make(chan error, 1)
	loop, stopLoop := context.WithCancel(context.Background())
	defer stopLoop()
	go func() { failed <- o.run(loop) }()
	go o.post(o.observe)
	served := make(chan error, 1)
	go func() { served <- o.serve(around, listener) }()
	select {
	case <-ctx.Done():
		if stopJobs {
			o.stopAll(loop)
		}
		stopLoop()
		err = <-failed
	case err = <-failed:
	}
	stopAround()
	return errors.Join(err, <-served)
}

// stopAll cancels all jobs and waits until none is left.
func (o *orchestrator) stopAll(ctx context.Context) {
	empty := make(chan struct{})
	o.post(func() {
		for _, one := range o.records.list {
			if one.end == nil {
				o.fail(o.cancelJob(one.Name))
			}
		}
		o.whenEmpty, o.changed = func() { close(empty) }, true // also if there is none
	})
	select {
	case <-empty:
	case <-o.ending.Done():
	case <-ctx.Done():
	}
}
