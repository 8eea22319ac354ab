package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/nvmlsrc"
)

// A machine is the one node of the fleet: the one that livenode runs on, or one that it
// pretends to run on. It does not change, and may be used from any goroutine; what is
// learnt of it (inventory, health) belongs to the orchestrator.
type machine struct {
	name   berth.NodeID
	source *nvmlsrc.Source
	// box is the name of what it pretends to be, and pretend that; empty and nil: it is real.
	box     string
	pretend *nvmlsrc.FakeMachine
	// migApply: GPUs may be divided, and undivided.
	migApply bool
	mps      *mps
	// every is the time between readings of the GPUs; folder is for what is kept on disk.
	every  time.Duration
	folder string
}

// A machineConfig says which machine.
type machineConfig struct {
	name     string // empty: what the host or the box is called
	box      string // to pretend to be
	migApply bool
	every    time.Duration
	folder   string
}

// openMachine opens the machine's driver.
func openMachine(c machineConfig) (*machine, error) {
	m := &machine{box: c.box, migApply: c.migApply, every: c.every, folder: c.folder}
	m.mps = &mps{folder: filepath.Join(c.folder, "mps"), pretend: c.box != ""}
	name := c.name
	var err error
	if c.box == "" {
		if m.source, err = nvmlsrc.Open(); errors.Is(err, nvmlsrc.ErrNoDriver) {
			return nil, fmt.Errorf("%w; to see livenode without GPUs: -fake %s", err, strings.Join(nvmlsrc.FakeMachines(), ", or "))
		}
		if name == "" && err == nil {
			name, err = os.Hostname()
		}
	} else {
		if m.pretend, err = nvmlsrc.NewFakeMachine(c.box); err == nil {
			err = m.restoreLayout()
		}
		if err == nil {
			m.source, err = m.pretend.Open()
		}
		if name == "" {
			name = c.box
		}
	}
	if err != nil {
		return nil, err
	}
	m.name = berth.NodeID(name)
	return m, nil
}

func (m *machine) close() error { return m.source.Close() }

// takeUpMachine tells the core what machine this is. One that it knows may have changed
// since, but for what is held.
func (o *orchestrator) takeUpMachine() error {
	inventory, err := o.machine.source.Inventory()
	if err != nil {
		return err
	}
	o.inventory = inventory
	node, err := inventory.Node(o.machine.name)
	if err != nil {
		return err
	}
	known := true
	for _, d := range o.core.Diff(berth.World{Nodes: []berth.Node{node}}) {
		switch d.Kind {
		case berth.DifferenceNodeMissing:
			return fmt.Errorf("%s is the state of node %s, and this is node %s: give another -state, or -node %[2]s", o.folder, d.Node, node.ID)
		case berth.DifferenceNodeUnknown:
			known = false
		}
	}
	if known {
		if err := o.tell(berth.NodeUpdated{Node: node}); err != nil {
			return fmt.Errorf("the machine has changed under what runs on it: %w; cancel the jobs with the former livenode, or give another -state", err)
		}
		for i := range node.GPUs {
			if node.GPUs[i].Mode == berth.GPUModeMIG {
				o.tellPartitioning(i)
			}
			if err := o.machine.mps.resume(i, inventory.GPUs[i].UUID); err != nil {
				return fmt.Errorf("GPU %d is shared, and what shares it does not start: %w", i, err)
			}
		}
		return nil
	}
	for _, table := range inventory.Tables() {
		if err := o.tell(berth.MIGTableSet{Table: table}); err != nil {
			return err
		}
	}
	return o.tell(berth.NodeJoined{Node: node})
}
