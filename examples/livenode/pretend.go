package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/berth-sched/berth/examples/livenode/internal/durable"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/nvmlsrc"
)

// What a real machine does by itself, and one that is pretended has to be made to do.

// A Fault is what is to befall a GPU of a pretend box.
type Fault struct {
	GPU int `json:"gpu"`
	// Xid to raise; zero: the GPU falls off the bus.
	Xid int `json:"xid,omitempty"`
}

// fault is the command that has a GPU of a pretend box fail.
func fault(ctx context.Context, flags *flag.FlagSet, args []string, _ io.Writer) error {
	state := stateFlag(flags)
	var f Fault
	flags.IntVar(&f.GPU, "gpu", 0, "`index` of the GPU")
	flags.IntVar(&f.Xid, "xid", 0, "the `Xid` that its driver reports; default: it falls off the bus")
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	return newClient(*state).fault(ctx, f)
}

// errReal: what is real cannot be made to fail.
var errReal = errors.New("this machine is real; only with livenode serve -fake can GPUs be made to fail")

// befall has something befall a GPU. What comes of it the driver tells, as it would.
func (m *machine) befall(f Fault) error {
	switch {
	case m.pretend == nil:
		return errReal
	case f.Xid != 0:
		return m.pretend.Raise(f.GPU, f.Xid)
	}
	return m.pretend.Fail(f.GPU, "the GPU was pulled out")
}

// busyMilli is how busy a pretend GPU is made by a job that has all of it.
const busyMilli = 940

// begins has a pretend box see a program that was started.
func (o *orchestrator) begins(l *life) {
	if box := o.machine.pretend; box != nil && l.process.PID() != 0 {
		if err := box.Start(l.process.PID(), l.devices...); err != nil {
			o.note("%s: %v", l, err)
		}
		o.mimic(l)
	}
}

// ends has a pretend box see that a program has ended.
func (o *orchestrator) ends(l *life) {
	if box := o.machine.pretend; box != nil {
		box.End(l.process.PID())
	}
}

// mimic has a job keep its GPUs on a pretend box as busy as it says, or else as one that has work.
func (o *orchestrator) mimic(l *life) {
	box, busy := o.machine.pretend, busyMilli
	switch {
	case box == nil:
		return
	case l.says != nil:
		busy = *l.says
	case l.job.SharePercent != 0:
		busy = busyMilli * l.job.SharePercent / 100
	}
	if err := box.SetProcessActivity(l.process.PID(), busy); err != nil {
		o.note("%s: %v", l, err)
	}
}

// A pretend box is as new after each start, and what the core knows is not. So it is
// written down how it was divided.

func (m *machine) layoutFile() string { return filepath.Join(m.folder, "pretend.json") }

// layouts reads how GPUs of a pretend box were divided, by index.
func (m *machine) layouts() (map[int][]mig.Placement, error) {
	layouts := map[int][]mig.Placement{}
	err := durable.ReadJSON(m.layoutFile(), &layouts)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return layouts, err
}

// keepLayout writes down how a GPU of a pretend box is divided now.
func (m *machine) keepLayout(gpu int, inventory *nvmlsrc.Inventory) error {
	if m.pretend == nil || !inventory.GPUs[gpu].MIG.Enabled {
		return nil
	}
	layouts, err := m.layouts()
	if err != nil {
		return err
	}
	layouts[gpu] = []mig.Placement{}
	for _, instance := range inventory.GPUs[gpu].MIG.Instances {
		layouts[gpu] = append(layouts[gpu], instance.Placement)
	}
	return durable.WriteJSON(m.layoutFile(), layouts)
}

// restoreLayout divides the GPUs of a pretend box as they were.
func (m *machine) restoreLayout() error {
	layouts, err := m.layouts()
	if err != nil {
		return err
	}
	for gpu, layout := range layouts {
		if err := m.pretend.Partition(gpu, layout...); err != nil {
			return fmt.Errorf("%s: GPU %d: %w", m.layoutFile(), gpu, err)
		}
	}
	return nil
}
