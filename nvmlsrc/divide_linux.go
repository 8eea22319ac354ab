//go:build linux && cgo

package nvmlsrc

import (
	"errors"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/berth-sched/berth/mig"
)

func (d boundDevice) createInstance(profile int, at mig.ReportedPlacement) (int, error) {
	if err := d.need(symInstanceCreate, symInstance); err != nil {
		return 0, err
	}
	handle, code := d.handle.CreateGpuInstanceWithPlacement(
		&nvml.GpuInstanceProfileInfo{Id: uint32(profile)}, &nvml.GpuInstancePlacement{Start: uint32(at.Start), Size: uint32(at.Size)},
	)
	if err := outcome(code); err != nil {
		return 0, err
	}
	info, code := handle.GetInfo()
	return int(info.Id), outcome(code)
}

// createCompute takes the profile with all slices of the instance. Of those with as many
// slices it takes the one with the most SMs: the first of a 1g.20gb of an H100 has 16 of
// its 26.
func (d boundDevice) createCompute(in int) error {
	if err := d.need(symInstanceByID, symComputeProfile, symComputeCreate); err != nil {
		return err
	}
	handle, code := d.handle.GetGpuInstanceById(in)
	if err := outcome(notThere(code)); err != nil {
		return err
	}
	var best nvml.ComputeInstanceProfileInfo
	err := eachComputeProfile(handle, func(info nvml.ComputeInstanceProfileInfo) error {
		if info.SliceCount > best.SliceCount || info.SliceCount == best.SliceCount && info.MultiprocessorCount > best.MultiprocessorCount {
			best = info
		}
		return nil
	})
	if err != nil {
		return err
	}
	if best.SliceCount == 0 {
		return outcome(nvml.ERROR_NOT_SUPPORTED)
	}
	_, code = handle.CreateComputeInstance(&best)
	return outcome(code)
}

func (d boundDevice) destroyInstance(id int) error {
	if err := d.need(symInstanceByID, symInstanceDestroy, symComputeProfile, symComputes, symComputeDestroy); err != nil {
		return err
	}
	handle, code := d.handle.GetGpuInstanceById(id)
	if err := outcome(notThere(code)); err != nil {
		return err
	}
	err := eachComputeProfile(handle, func(info nvml.ComputeInstanceProfileInfo) error {
		info.InstanceCount = mig.MaxMemorySlices // room for more than there can be
		computes, code := handle.GetComputeInstances(&info)
		if err := outcome(code); err != nil {
			return err
		}
		for _, compute := range computes {
			if err := outcome(compute.Destroy()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return outcome(handle.Destroy())
}

// eachComputeProfile calls a function with each of the profiles of compute instances that a GPU
// instance has, until one call fails.
func eachComputeProfile(in nvml.GpuInstance, do func(nvml.ComputeInstanceProfileInfo) error) error {
	for profile := range maxProfiles {
		info, code := in.GetComputeInstanceProfileInfo(profile, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
		err := outcome(notThere(code))
		if errors.Is(err, ErrUnsupported) {
			continue
		}
		if err == nil {
			err = do(info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
