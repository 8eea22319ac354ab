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
	"time"

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
	quietFor := flags.Duration("quiet-for", time.Minute, "`time` for which a job leaves its GPUs idle before they are lent")
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
	policy := policyFor(c.migApply)
	if policy.Lending.QuietFor = berth.DurationOf(*quietFor); *quietFor == 0 {
		policy.Lending.QuietFor = berth.Off
	}
	o, err := newOrchestrator(folder, m, policy, nil, stdout)
	if err != nil {
		return err
	}
	listener, err := listen(folder)
	if err != nil {
		return errors.Join(err, o.store.Close())
	}
	fmt.Fprintf(stdout, "livenode serves %d GPUs of %s in %s\n", len(o.inventory.GPUs), m.name, folder)
	err = o.serveUntil(ctx, listener)
	if n := len(o.running()); err == nil && n > 0 {
		fmt.Fprintf(stdout, "livenode ends; %d jobs keep running, and the next livenode serve finds them\n", n)
	}
	return err
}

// serveUntil runs the loop, with clients and telemetry around it, until the context is
// done.
func (o *orchestrator) serveUntil(ctx context.Context, listener net.Listener) error {
	around, stopAround := context.WithCancel(context.Background())
	defer stopAround()
	go o.post(o.observe)
	served := make(chan error, 1)
	go func() { served <- o.serve(around, listener) }()
	err := o.run(ctx)
	stopAround()
	return errors.Join(err, <-served)
}
