package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/examples/livenode/internal/durable"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/nvmlsrc"
)

// A Reading is what was measured of a GPU.
type Reading struct {
	// ActiveMilli is how busy it is, in thousandths; nil: that is not known.
	ActiveMilli     *int  `json:"activeMilli,omitempty"`
	MemoryMiB       int64 `json:"memoryMiB"`
	TemperatureC    int   `json:"temperatureC,omitempty"`
	PowerMilliwatts int   `json:"powerMilliwatts,omitempty"`
}

// How often the GPUs are read, and how many readings come for each look at the whole
// machine, which asks the driver some hundred questions a GPU.
const (
	readEvery       = time.Second
	readingsForLook = 10
)

// observe begins to watch the GPUs.
func (o *orchestrator) observe() {
	m, err := o.machine.source.Monitor(nvmlsrc.MonitorConfig{Node: o.machine.name, GPUs: o.inventory.GPUs, Interval: o.machine.every, Processes: true})
	if err != nil {
		o.note("the GPUs are not watched: %v", err)
		return
	}
	o.background.Go(func() {
		defer m.Close()
		for n := 1; ; n++ {
			seen, err := m.Next(o.ending)
			switch {
			case errors.Is(err, nvmlsrc.ErrClosed), o.ending.Err() != nil:
				return
			case err != nil: // the driver is being replaced, say; it may come back
				o.post(func() {
					o.find([]string{err.Error()})
					o.health = nil
					o.tellActivity()
				})
				select {
				case <-o.ending.Done():
				case <-time.After(o.machine.every):
				}
				continue
			}
			o.post(func() { o.observed(&seen) })
			if n%readingsForLook == 0 {
				o.post(o.look)
			}
		}
	})
}

// observed tells the core what befell the GPUs, and keeps what was measured.
func (o *orchestrator) observed(seen *nvmlsrc.Reading) {
	for _, e := range seen.Events {
		o.befell(e)
		o.must(e)
	}
	o.health = seen.GPUs
	var found []string
	for _, f := range seen.Findings {
		if !f.Condemns { // that is an event too
			found = append(found, f.String())
		}
	}
	for _, gap := range seen.Gaps {
		found = append(found, gap.Error())
	}
	o.find(found)
	o.tellActivity()
}

// befell notes what an event says of a GPU.
func (o *orchestrator) befell(e berth.Event) {
	switch e := e.(type) {
	case berth.XidReported:
		known := berth.LookupXid(e.Xid)
		text := fmt.Sprintf("Xid %d", e.Xid)
		if known.Name != "" {
			text += " (" + known.Name + ")"
		}
		o.note("GPU %d reports %s: %s", e.GPU, text, known.Effect)
		if known.Effect == berth.XidCondemns {
			o.keepFailure(e.GPU, text)
		}
	case berth.GPUFailed:
		o.note("GPU %d has failed: %s", e.GPU, e.Reason)
		o.keepFailure(e.GPU, e.Reason)
	case berth.GPURepaired:
		o.note("GPU %d is repaired", e.GPU)
		o.keepFailure(e.GPU, "")
	}
}

// failuresFile says why GPUs are out of service. The core remembers that they are, also when
// the driver finds nothing wrong with them any more; the status has to show that.
func (o *orchestrator) failuresFile() string { return filepath.Join(o.folder, "failures.json") }

// keepFailure notes why a GPU is out of service; empty: it is not.
func (o *orchestrator) keepFailure(gpu int, reason string) {
	if o.failures[gpu] == reason {
		return
	}
	if o.failures[gpu] = reason; reason == "" {
		delete(o.failures, gpu)
	}
	o.fail(durable.WriteJSON(o.failuresFile(), o.failures))
}

// find notes findings when they appear; they are told again and again for as long as they
// are so.
func (o *orchestrator) find(found []string) {
	for _, text := range found {
		if !slices.Contains(o.findings, text) {
			o.note("%s", text)
		}
	}
	o.findings = found
}

// reading is what was measured of a GPU last; nil: nothing was.
func (o *orchestrator) reading(gpu int) *Reading {
	if gpu >= len(o.health) || o.health[gpu].Failure != nil {
		return nil
	}
	h := &o.health[gpu]
	r := &Reading{MemoryMiB: h.MemoryUsedMiB, TemperatureC: h.TemperatureC, PowerMilliwatts: h.PowerMilliwatts}
	if len(h.Activity) > 0 {
		sum := 0
		for _, a := range h.Activity { // of a divided GPU, the mean of its instances
			sum += a.Milli
		}
		sum /= len(h.Activity)
		r.ActiveMilli = &sum
	}
	return r
}

// look takes an inventory in the background. One that was taken while a GPU was being
// divided says nothing.
func (o *orchestrator) look() {
	divisions := o.divisions
	o.background.Go(func() {
		inventory, err := o.machine.source.Inventory()
		o.post(func() {
			if err == nil && divisions == o.divisions && len(o.dividing) == 0 {
				o.looked(inventory)
			}
		})
	})
}

// looked tells the core what changed about the machine without it: instances that
// somebody made or destroyed by hand, and processes that are not ours.
func (o *orchestrator) looked(inventory nvmlsrc.Inventory) {
	was := o.inventory
	o.inventory = inventory
	for i := range inventory.GPUs {
		if i < len(was.GPUs) && !slices.Equal(layout(&was.GPUs[i]), layout(&inventory.GPUs[i])) {
			o.note("GPU %d was partitioned outside livenode", i)
			o.tellPartitioning(i)
		}
	}
	o.tellOthers()
}

// layout lists the instances of a GPU by their placements; one in MIG mode has an entry
// more than those, so that it differs from one that is not.
func layout(g *nvmlsrc.GPU) []mig.Placement {
	var list []mig.Placement
	for _, instance := range g.MIG.Instances {
		list = append(list, instance.Placement)
	}
	slices.SortFunc(list, mig.Placement.Compare)
	if g.MIG.Enabled {
		list = append(list, mig.Placement{})
	}
	return list
}
