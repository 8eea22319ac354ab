package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/nvmlsrc"
)

// repartition has a GPU divided, and reports what came of it. Binds that come after it
// wait meanwhile.
func (o *orchestrator) repartition(order berth.Repartition) {
	o.dividing[order.ID] = true
	gpu := o.inventory.GPUs[order.GPU]
	o.background.Go(func() {
		err := o.machine.divide(&gpu, order)
		inventory, lost := o.machine.source.Inventory()
		o.post(func() {
			delete(o.dividing, order.ID)
			if lost == nil {
				o.inventory = inventory
			}
			if err = errors.Join(err, lost); err != nil {
				o.note("GPU %d stays as it is: %v", order.GPU, err)
				o.forgetWaiting(func(b berth.Bind) bool { return slices.Contains(b.After, order.ID) })
				o.report(order.ID, berth.Failed, err.Error())
				return
			}
			o.report(order.ID, berth.Done, "")
			o.bindWaiting()
		})
	})
}

// errNoMIG: somebody has to allow it.
var errNoMIG = errors.New("MIG stays as it is: livenode was not started with -mig-apply")

// divide puts a GPU in a mode. Between whole use and shares that is to have a daemon or
// not; the driver knows no difference.
func (m *machine) divide(gpu *nvmlsrc.GPU, order berth.Repartition) error {
	if order.Mode == berth.ModeMIG || gpu.MIG.Enabled {
		if !m.migApply {
			return errNoMIG
		}
		return fmt.Errorf("not yet")
	}
	if order.Mode == berth.ModeMPS {
		return m.mps.start(gpu.Index, gpu.UUID)
	}
	return m.mps.stop(gpu.Index)
}

// bindWaiting starts what waited for GPUs that are divided by now.
func (o *orchestrator) bindWaiting() {
	waiting := o.waiting
	o.waiting = nil
	for _, order := range waiting {
		o.bind(order)
	}
}

// forgetWaiting forgets Binds that are not to be carried out any more. What becomes of
// the jobs the core says.
func (o *orchestrator) forgetWaiting(which func(berth.Bind) bool) {
	o.waiting = slices.DeleteFunc(o.waiting, which)
}
