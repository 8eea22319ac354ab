package main

import (
	"errors"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/nvmlsrc"
)

// repartition has a GPU divided, and reports what came of it. Binds that come after it
// wait meanwhile.
func (o *orchestrator) repartition(order berth.Repartition) {
	o.dividing[order.ID] = true
	o.divisions++
	gpu := o.inventory.GPUs[order.GPU]
	o.background.Go(func() {
		err := o.machine.divide(&gpu, order)
		inventory, lost := o.machine.source.Inventory()
		o.post(func() { o.divided(order, err, inventory, lost) })
	})
}

// divided is what comes of repartition: its error, and an inventory with what was created,
// or the error of that.
func (o *orchestrator) divided(order berth.Repartition, err error, inventory nvmlsrc.Inventory, lost error) {
	delete(o.dividing, order.ID)
	if lost == nil {
		o.inventory = inventory
	}
	if err = errors.Join(err, lost); err == nil {
		o.fail(o.machine.keepLayout(order.GPU, &inventory))
		o.report(order.ID, berth.OutcomeDone, "")
		o.bindWaiting()
		return
	}
	o.note("GPU %d: %v", order.GPU, err)
	o.report(order.ID, berth.OutcomeFailed, err.Error())
	for _, b := range o.waiting {
		if slices.Contains(b.After, order.ID) {
			o.report(b.ID, berth.OutcomeFailed, "its GPU was not partitioned for it")
		}
	}
	o.forgetWaiting(func(b berth.Bind) bool { return slices.Contains(b.After, order.ID) })
	var part *nvmlsrc.PartitionError
	if lost == nil && errors.As(err, &part) && !part.Unchanged {
		o.tellPartitioning(order.GPU)
	}
}

// tellPartitioning tells the core how a GPU is divided.
func (o *orchestrator) tellPartitioning(gpu int) {
	node, err := o.inventory.Node(o.machine.name)
	if err != nil || node.GPUs[gpu].Failed {
		return // that is told otherwise
	}
	g := &node.GPUs[gpu]
	o.must(berth.GPUPartitioned{Node: node.ID, GPU: gpu, Mode: g.Mode, Instances: g.Instances})
}

// errNoMIG: somebody has to allow it.
var errNoMIG = errors.New("MIG stays as it is: livenode was not started with -mig-apply")

// divide puts a GPU in a mode. Between whole use and shares that is to have a daemon or
// not; the driver knows no difference.
func (m *machine) divide(gpu *nvmlsrc.GPU, order berth.Repartition) error {
	switch {
	case (order.Mode == berth.GPUModeMIG || gpu.MIG.Enabled) && !m.migApply:
		return errNoMIG
	case order.Mode == berth.GPUModeMIG || gpu.MIG.Enabled:
		return m.source.Partitioner().Apply(*gpu, order)
	case order.Mode == berth.GPUModeMPS:
		return m.mps.start(gpu.Index, gpu.UUID)
	}
	return m.mps.stop(gpu.Index)
}

// bindWaiting starts what has waited long enough; the rest waits on.
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
