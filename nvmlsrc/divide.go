package nvmlsrc

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// A Partitioner creates and destroys MIG instances. It is the only part of this package that
// changes anything, and needs the rights for it: root, or the capability files of MIG. It changes
// no modes: to switch MIG on or off can take a reset, and with it all that runs, so that stays with
// the operator.
type Partitioner struct{ source *Source }

// Partitioner returns the part of the session that changes how GPUs are divided.
func (s *Source) Partitioner() *Partitioner { return &Partitioner{s} }

// A PartitionError tells how far a Repartition came. It unwraps to the *Error that says why
// not further.
type PartitionError struct {
	// Destroyed and Created count the instances of the order that were.
	Destroyed, Created int
	// Unchanged: the GPU is as it was, so that Failed is the right report. Else take an
	// Inventory, report Failed, and tell what it finds as berth.GPUPartitioned.
	Unchanged bool
	Err       *Error
}

func (e *PartitionError) Error() string {
	if e.Unchanged {
		return e.Err.Error() + " (nothing was changed)"
	}
	return fmt.Sprintf("%v (after %d instances were destroyed and %d created)", e.Err, e.Destroyed, e.Created)
}

func (e *PartitionError) Unwrap() error { return e.Err }

// Apply carries out an order about a GPU of an inventory: it destroys and creates
// instances in the order given. Nil means Done. Else it has put back what it could, and
// the error is a *PartitionError; the kinds of what is below are those of Create and
// Destroy. ErrUnsupported is also for an order whose mode is not the GPU's.
func (d *Partitioner) Apply(gpu GPU, order berth.Repartition) error {
	var destroyed, created []mig.Placement
	fail := func(err error) error {
		e := &PartitionError{Destroyed: len(destroyed), Created: len(created), Err: err.(*Error)}
		e.Unchanged = d.undo(gpu, destroyed, created)
		return e
	}
	if gpu.MIG.Enabled != (order.Mode == berth.GPUModeMIG) {
		return fail(&Error{GPU: gpu.Index, Query: queryMIG, Kind: ErrUnsupported, Reason: fmt.Sprintf("mode %v takes an operator", order.Mode)})
	}
	for _, at := range order.Destroy {
		if err := d.destroy(gpu, at); err != nil {
			e := fail(err).(*PartitionError)
			// Of several compute instances some may be gone before the driver refused.
			e.Unchanged = e.Unchanged && e.Err.Query != queryMIGDestroy
			return e
		}
		destroyed = append(destroyed, at)
	}
	for _, at := range order.Create {
		if _, err := d.create(gpu, at); err != nil {
			return fail(err)
		}
		created = append(created, at)
	}
	return nil
}

// undo takes back what was done, in the reverse order, and reports whether all of it
// was.
func (d *Partitioner) undo(gpu GPU, destroyed, created []mig.Placement) bool {
	for i := range created {
		if d.destroy(gpu, created[len(created)-1-i]) != nil {
			return false
		}
	}
	for i := range destroyed {
		if _, err := d.create(gpu, destroyed[len(destroyed)-1-i]); err != nil {
			return false
		}
	}
	return true
}

// create creates the GPU instance at a placement, and one compute instance that has all
// of it, whose UUID is what CUDA opens. The error is an *Error: ErrInvalid for a placement
// that the GPU's table does not have, ErrInUse if others are in the way, ErrNoPermission,
// ErrUnknownGPU if the driver has another GPU at that index now, and what the driver
// says. After an error no instance is left.
func (d *Partitioner) create(gpu GPU, at mig.Placement) (Instance, error) {
	var made Instance
	err := d.with(gpu, func(dev device) *Error {
		profile, err := profileOf(gpu, at)
		if err != nil {
			return err
		}
		id, failed := dev.createInstance(profile, mig.ReportedPlacement{Start: int(at.Start), Size: int(at.Size)})
		if failed != nil {
			return about(failed, gpu.Index, queryMIGCreate)
		}
		if failed = dev.createCompute(id); failed != nil {
			e := about(failed, gpu.Index, queryMIGCompute)
			if failed = dev.destroyInstance(id); failed != nil {
				e.Reason += fmt.Sprintf("; and instance %d is left: %s", id, reason(failed))
			}
			return e
		}
		made = Instance{ID: id, Profile: profile, Start: int(at.Start), Size: int(at.Size), Placement: at}
		devices, failed := dev.migDevices()
		if failed != nil {
			return nil // it is there; an inventory may find its UUID
		}
		for _, c := range devices {
			if c.instance == id {
				made.UUIDs = append(made.UUIDs, c.uuid)
			}
		}
		return nil
	})
	return made, err
}

// destroy destroys the GPU instance at a placement with its compute instances. The error
// is an *Error: ErrInvalid if there is none, ErrInUse if somebody uses it, and else as
// for Create.
func (d *Partitioner) destroy(gpu GPU, at mig.Placement) error {
	return d.with(gpu, func(dev device) *Error {
		profile, err := profileOf(gpu, at)
		if err != nil {
			return err
		}
		existing, failed := dev.instances(profile)
		if failed != nil {
			return about(failed, gpu.Index, queryMIGInstances)
		}
		for _, i := range existing {
			if i.start != int(at.Start) || i.size != int(at.Size) {
				continue
			}
			if failed = dev.destroyInstance(i.id); failed != nil {
				return about(failed, gpu.Index, queryMIGDestroy)
			}
			return nil
		}
		return &Error{GPU: gpu.Index, Query: queryMIGDestroy, Kind: ErrInvalid, Reason: fmt.Sprintf("there is no instance %v", at)}
	})
}

// with does something with the device that a GPU of an inventory is, as its UUID proves.
func (d *Partitioner) with(gpu GPU, do func(device) *Error) error {
	s := d.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.driver == nil {
		return &Error{GPU: NoGPU, Query: queryDriver, Kind: ErrClosed}
	}
	count, err := s.driver.count()
	if err != nil {
		return about(err, NoGPU, queryCount)
	}
	if gpu.Index < 0 || gpu.Index >= count || gpu.UUID == "" {
		return &Error{GPU: gpu.Index, Query: queryDevice, Kind: ErrUnknownGPU, Reason: "the driver does not list it"}
	}
	dev, err := s.driver.device(gpu.Index)
	if err != nil {
		return about(err, gpu.Index, queryDevice)
	}
	uuid, err := dev.uuid()
	if err != nil {
		return about(err, gpu.Index, queryUUID)
	}
	if uuid != gpu.UUID {
		return &Error{GPU: gpu.Index, Query: queryUUID, Kind: ErrUnknownGPU, Reason: fmt.Sprintf("it is %s now, not %s: take a new inventory", uuid, gpu.UUID)}
	}
	if e := do(dev); e != nil {
		return e
	}
	return nil
}

// profileOf is the ID of a placement's profile, by what the GPU reports or the table that
// package mig has of it.
func profileOf(gpu GPU, at mig.Placement) (int, *Error) {
	table, err := mig.ProductFromReport(gpu.MIG.Report)
	if err != nil {
		known, ok := builtIn(&gpu)
		if !ok {
			return 0, &Error{GPU: gpu.Index, Query: queryMIGProfiles, Kind: ErrUnknownGPU, Reason: "no table says how the GPU divides"}
		}
		table = known
	}
	if p, ok := table.Profile(at.Profile); ok && p.MemorySlices == int(at.Size) {
		for _, start := range p.Starts {
			if start == int(at.Start) {
				return p.ID, nil
			}
		}
	}
	return 0, &Error{GPU: gpu.Index, Query: queryMIGProfiles, Kind: ErrInvalid, Reason: fmt.Sprintf("%s has no placement %v", table.Name, at)}
}
