package spec

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
)

// CheckClaim refuses a claim that makes no sense for a job of the class, where these resources are
// declared.
func CheckClaim(cl *berth.Claim, class berth.Class, declared countable.Register) *berth.Error {
	if cl.GPUs < 0 || cl.GPUs > berth.MaxGPUs {
		return refusal.Of(berth.ErrInvalid, "gpus", fmt.Sprintf("%d is outside 0..%d, what a node can carry", cl.GPUs, berth.MaxGPUs))
	}
	if err := checkHost(cl.Host()); err != nil {
		return err
	}
	if err := checkResources(cl.Resources, declared, 1); err != nil {
		return err
	}
	if !values.WantsDevice(cl) && len(cl.Resources) == 0 && cl.Host() == (countable.Amounts{}) {
		return refusal.Of(berth.ErrInvalid, "", "asks for nothing")
	}
	if err := checkDevice(cl, class); err != nil {
		return err
	}
	if cl.NVLink && cl.GPUs == 0 {
		return refusal.Of(berth.ErrInvalid, "nvlink", "needs whole GPUs: instances and shares have no NVLink of their own")
	}
	return nil
}

// checkDevice checks what the claim wants of the GPUs.
func checkDevice(cl *berth.Claim, class berth.Class) *berth.Error {
	for _, part := range []struct {
		field  string
		wanted bool
		beside bool
	}{
		{"share", cl.Share != nil, cl.GPUs > 0 || cl.WantsInstance()},
		{"mig", cl.MIG != "", cl.GPUs > 0 || cl.MinInstance != nil},
		{"minInstance", cl.MinInstance != nil, cl.GPUs > 0},
		{"borrow", cl.Borrow != nil, cl.GPUs > 0 || cl.Share != nil || cl.WantsInstance()},
	} {
		if part.wanted && part.beside {
			return refusal.Of(berth.ErrInvalid, part.field, "a claim is for whole GPUs, an instance, a share or a borrowed GPU: one of them")
		}
	}
	switch {
	case cl.Share != nil:
		return refusal.In(checkShare(cl.Share, class), "share")
	case cl.MIG != "":
		if _, err := mig.ParseProfileName(cl.MIG); err != nil {
			return refusal.Of(berth.ErrInvalid, "mig", fmt.Sprintf("%q is not the name of a profile", errtext.Short(cl.MIG)))
		}
	case cl.MinInstance != nil:
		return refusal.In(checkMinInstance(cl.MinInstance), "minInstance")
	case cl.Borrow != nil:
		return refusal.In(LentMemory(cl.Borrow.MemoryMiB), "borrow.memoryMiB")
	}
	return nil
}

// LentMemory refuses an amount of memory of a lent GPU that is none, or out of range.
func LentMemory(amount int64) *berth.Error {
	if amount < 1 {
		return refusal.Of(berth.ErrInvalid, "", fmt.Sprintf("%d is not positive", amount))
	}
	return refusal.Amount(amount)
}

func checkMinInstance(f *berth.MinInstance) *berth.Error {
	switch {
	case f.MinSMs < 0 || f.MinSMs > limits.MaxOrdinal:
		return refusal.Of(berth.ErrInvalid, "minSMs", fmt.Sprintf("%d is outside 0..%d", f.MinSMs, limits.MaxOrdinal))
	case f.MinSMs == 0 && f.MinMemoryMiB == 0:
		return refusal.Of(berth.ErrInvalid, "", "asks for nothing")
	}
	return refusal.In(refusal.Amount(f.MinMemoryMiB), "minMemoryMiB")
}

func checkShare(s *berth.Share, class berth.Class) *berth.Error {
	switch {
	case s.Mode > berth.ShareTimeSlice:
		return refusal.Of(berth.ErrInvalid, "mode", fmt.Sprintf("%d is out of range", s.Mode))
	case s.Mode == berth.ShareTimeSlice && class != berth.ClassInteractive:
		return refusal.Of(berth.ErrInvalid, "mode", "time slices are for interactive jobs")
	case s.GPUMilli < 1 || s.GPUMilli > 999:
		return refusal.Of(berth.ErrInvalid, "gpuMilli", fmt.Sprintf("%d is outside 1..999", s.GPUMilli))
	}
	return refusal.In(refusal.Amount(s.MemoryMiB), "memoryMiB")
}

// checkHost refuses amounts of a host out of range.
func checkHost(a countable.Amounts) *berth.Error {
	for r, amount := range a {
		if err := refusal.Amount(amount); err != nil {
			return refusal.In(err, countable.Resource(r).Field())
		}
	}
	return nil
}

// checkResources refuses resources that are not declared, and amounts out of range or below the
// least.
func checkResources(named map[string]int64, declared countable.Register, least int64) *berth.Error {
	switch {
	case len(named) == 0:
		return nil // without an iterator that is allocated
	case len(named) > countable.MaxDeclared:
		return refusal.Of(berth.ErrLimit, "resources", fmt.Sprintf("%d resources; the most is %d", len(named), countable.MaxDeclared))
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		field := fmt.Sprintf("resources[%q]", errtext.Short(name))
		if _, known := declared.Find(name); !known {
			return refusal.Of(berth.ErrUnknown, field, "is not one of Config.Resources")
		}
		if named[name] < least {
			return refusal.Of(berth.ErrInvalid, field, fmt.Sprintf("%d is less than %d", named[name], least))
		}
		if err := refusal.Amount(named[name]); err != nil {
			return refusal.In(err, field)
		}
	}
	return nil
}
