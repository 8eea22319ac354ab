package nvmlsrc

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// A Divider creates and destroys MIG instances. It is the only part of this package that
// changes anything, and takes a user who may: root, or who has the capability files of
// MIG. It changes no modes: to switch MIG on or off can take a reset, and with it all
// that runs, so that stays with the operator.
type Divider struct{ source *Source }

// Divider returns the part of the session that changes how GPUs are divided.
func (s *Source) Divider() *Divider { return &Divider{s} }

// A DivideError tells how far a Repartition came. It unwraps to the *Error that says why
// not further.
type DivideError struct {
	// Destroyed and Created count the instances of the order that were.
	Destroyed, Created int
	// Unchanged: the GPU is as it was, so that Failed is the right report. Else take an
	// Inventory, report Failed, and tell what it finds as berth.GPUPartitioned.
	Unchanged bool
	Err       *Error
}

func (e *DivideError) Error() string {
	if e.Unchanged {
		return e.Err.Error() + " (nothing was changed)"
	}
	return fmt.Sprintf("%v (after %d instances were destroyed and %d created)", e.Err, e.Destroyed, e.Created)
}

func (e *DivideError) Unwrap() error { return e.Err }

// Apply carries out an order about a GPU of an inventory: it destroys and creates
// instances in the order given. Nil means Done. Else it has put back what it could, and
// the error is a *DivideError; the kinds of what is below are those of Create and
// Destroy. ErrUnsupported is also for an order whose mode is not the GPU's.
func (d *Divider) Apply(gpu GPU, order berth.Repartition) error {
	var destroyed, created []mig.Placement
	fail := func(err error) error {
		e := &DivideError{Destroyed: len(destroyed), Created: len(created), Err: err.(*Error)}
		e.Unchanged = d.undo(gpu, destroyed, created)
		return e
	}
	if gpu.MIG.Enabled != (order.Mode == berth.ModeMIG) {
		return fail(&Error{GPU: gpu.Index, Fact: FactMIG, Kind: ErrUnsupported, Reason: fmt.Sprintf("mode %v takes an operator", order.Mode)})
	}
	for _, at := range order.Destroy {
		if err := d.Destroy(gpu, at); err != nil {
			e := fail(err).(*DivideError)
			// Of several compute instances some may be gone before the driver refused.
			e.Unchanged = e.Unchanged && e.Err.Fact != FactMIGDestroy
			return e
		}
		destroyed = append(destroyed, at)
	}
	for _, at := range order.Create {
		if _, err := d.Create(gpu, at); err != nil {
			return fail(err)
		}
		created = append(created, at)
	}
	return nil
}

// undo takes back what was done, in the reverse order, and reports whether all of it
// was.
func (d *Divider) undo(gpu GPU, destroyed, created []mig.Placement) bool {
	for i := range created {
		if d.Destroy(gpu, created[len(created)-1-i]) != nil {
			return false
		}
	}
	for i := range destroyed {
		if _, err := d.Create(gpu, destroyed[len(destroyed)-1-i]); err != nil {
			return false
		}
	}
	return true
}

// Create creates the GPU instance at a placement, and one compute instance that has all
// of it, whose UUID is what CUDA opens. The error is an *Error: ErrInvalid for a placement
// that the GPU's table does not have, ErrInUse if others are in the way, ErrNoPermission,
// ErrUnknownGPU if the driver has another GPU at that index now, and what the driver
// says. After an error no instance is left.
func (d *Divider) Create(gpu GPU, at mig.Placement) (Instance, error) {
	var made Instance
	err := d.with(gpu, func(dev device) *Error {
		profile, err := profileOf(gpu, at)
		if err != nil {
			return err
		}
		id, failed := dev.createInstance(profile, mig.ReportedPlacement{Start: int(at.Start), Size: int(at.Size)})
		if failed != nil {
			return about(failed, gpu.Index, FactMIGCreate)
		}
		if failed = dev.createCompute(id); failed != nil {
			e := about(failed, gpu.Index, FactMIGCompute)
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

// Destroy destroys the GPU instance at a placement with its compute instances. The error
// is an *Error: ErrInvalid if there is none, ErrInUse if somebody uses it, and else as
// for Create.
func (d *Divider) Destroy(gpu GPU, at mig.Placement) error {
	return d.with(gpu, func(dev device) *Error {
		profile, err := profileOf(gpu, at)
		if err != nil {
			return err
		}
		existing, failed := dev.instances(profile)
		if failed != nil {
			return about(failed, gpu.Index, FactMIGInstances)
		}
		for _, i := range existing {
			if i.start != int(at.Start) || i.size != int(at.Size) {
				continue
			}
			if failed = dev.destroyInstance(i.id); failed != nil {
				return about(failed, gpu.Index, FactMIGDestroy)
			}
			return nil
		}
		return &Error{GPU: gpu.Index, Fact: FactMIGDestroy, Kind: ErrInvalid, Reason: fmt.Sprintf("there is no instance %v", at)}
	})
}

// with does something with the device that a GPU of an inventory is, as its UUID proves.
func (d *Divider) with(gpu GPU, do func(device) *Error) error {
	s := d.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.driver == nil {
		return &Error{GPU: NoGPU, Fact: FactDriver, Kind: ErrClosed}
	}
	count, err := s.driver.count()
	if err != nil {
		return about(err, NoGPU, FactCount)
	}
	if gpu.Index < 0 || gpu.Index >= count || gpu.UUID == "" {
		return &Error{GPU: gpu.Index, Fact: FactDevice, Kind: ErrUnknownGPU, Reason: "the driver does not list it"}
	}
	dev, err := s.driver.device(gpu.Index)
	if err != nil {
		return about(err, gpu.Index, FactDevice)
	}
	uuid, err := dev.uuid()
	if err != nil {
		return about(err, gpu.Index, FactUUID)
	}
	if uuid != gpu.UUID {
		return &Error{GPU: gpu.Index, Fact: FactUUID, Kind: ErrUnknownGPU, Reason: fmt.Sprintf("it is %s now, not %s: take a new inventory", uuid, gpu.UUID)}
	}
	if e := do(dev); e != nil {
		return e
	}
	return nil
}

// profileOf is the ID of a placement's profile, by what the GPU reports or the table that
// package mig has of it.
func profileOf(gpu GPU, at mig.Placement) (int, *Error) {
	table, err := mig.FromReport(gpu.MIG.Report)
	if err != nil {
		known, ok := builtIn(&gpu)
		if !ok {
			return 0, &Error{GPU: gpu.Index, Fact: FactMIGProfiles, Kind: ErrUnknownGPU, Reason: "no table says how the GPU divides"}
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
	return 0, &Error{GPU: gpu.Index, Fact: FactMIGProfiles, Kind: ErrInvalid, Reason: fmt.Sprintf("%s has no placement %v", table.Name, at)}
}
