//go:build linux && cgo

package nvmlsrc

import (
	"errors"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/berth-sched/berth/mig"
)

// profile prefers the versioned question, which tells the name too. It has no
// answer while the GPU is not in MIG mode; the plain one has.
func (d boundDevice) profile(constant int) (mig.ReportedProfile, error) {
	if d.need(symProfileVersioned) == nil {
		info, code := d.handle.GetGpuInstanceProfileInfoV(constant).V2()
		err := outcome(notThere(code))
		if !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrMissingSymbol) {
			return mig.ReportedProfile{
				NVMLIndex: constant, Name: text(info.Name[:]), ID: int(info.Id),
				SliceCount: int(info.SliceCount), InstanceCount: int(info.InstanceCount),
				MultiprocessorCount: int(info.MultiprocessorCount), CopyEngineCount: int(info.CopyEngineCount),
				DecoderCount: int(info.DecoderCount), EncoderCount: int(info.EncoderCount),
				JPEGCount: int(info.JpegCount), OFACount: int(info.OfaCount), MemoryMiB: int64(info.MemorySizeMB),
			}, err
		}
	}
	if err := d.need(symProfile); err != nil {
		return mig.ReportedProfile{}, err
	}
	info, code := d.handle.GetGpuInstanceProfileInfo(constant)
	return mig.ReportedProfile{
		NVMLIndex: constant, ID: int(info.Id),
		SliceCount: int(info.SliceCount), InstanceCount: int(info.InstanceCount),
		MultiprocessorCount: int(info.MultiprocessorCount), CopyEngineCount: int(info.CopyEngineCount),
		DecoderCount: int(info.DecoderCount), EncoderCount: int(info.EncoderCount),
		JPEGCount: int(info.JpegCount), OFACount: int(info.OfaCount), MemoryMiB: int64(info.MemorySizeMB),
	}, outcome(notThere(code))
}

func (d boundDevice) placements(profile int) ([]mig.ReportedPlacement, error) {
	if err := d.need(symPlacements); err != nil {
		return nil, err
	}
	infos, code := d.handle.GetGpuInstancePossiblePlacements(&nvml.GpuInstanceProfileInfo{Id: uint32(profile)})
	if err := outcome(notThere(code)); err != nil {
		return nil, err
	}
	placements := make([]mig.ReportedPlacement, len(infos))
	for i := range infos {
		placements[i] = mig.ReportedPlacement{Start: int(infos[i].Start), Size: int(infos[i].Size)}
	}
	return placements, nil
}

// instances asks with room for more than there can be: what NVML says of how many
// there can be is not always right, and it writes as many as there are.
func (d boundDevice) instances(profile int) ([]instance, error) {
	if err := d.need(symInstances, symInstance); err != nil {
		return nil, err
	}
	room := nvml.GpuInstanceProfileInfo{Id: uint32(profile), InstanceCount: mig.MaxPlacements}
	handles, code := d.handle.GetGpuInstances(&room)
	if err := outcome(code); err != nil {
		return nil, err
	}
	instances := make([]instance, len(handles))
	for i, handle := range handles {
		info, code := handle.GetInfo()
		if err := outcome(code); err != nil {
			return nil, err
		}
		instances[i] = instance{int(info.Id), int(info.ProfileId), int(info.Placement.Start), int(info.Placement.Size)}
	}
	return instances, nil
}

// migDevices goes by the numbers that NVML gives out, of which some may be free.
func (d boundDevice) migDevices() ([]migDevice, error) {
	if err := d.need(symMIGDeviceCount, symMIGDevice, symInstanceID, symUUID); err != nil {
		return nil, err
	}
	count, code := d.handle.GetMaxMigDeviceCount()
	if err := outcome(code); err != nil {
		return nil, err
	}
	var devices []migDevice
	for i := range count {
		handle, code := d.handle.GetMigDeviceHandleByIndex(i)
		if errors.Is(outcome(notThere(code)), ErrUnsupported) {
			continue
		}
		if err := outcome(code); err != nil {
			return nil, err
		}
		id, code := handle.GetGpuInstanceId()
		if err := outcome(code); err != nil {
			return nil, err
		}
		uuid, code := handle.GetUUID()
		if err := outcome(code); err != nil {
			return nil, err
		}
		devices = append(devices, migDevice{uuid, id})
	}
	return devices, nil
}

// notThere turns the ways of saying that there is nothing with a number into one.
func notThere(code nvml.Return) nvml.Return {
	if code == nvml.ERROR_INVALID_ARGUMENT || code == nvml.ERROR_NOT_FOUND {
		return nvml.ERROR_NOT_SUPPORTED
	}
	return code
}

// text reads a C string.
func text(chars []int8) string {
	var b []byte
	for _, c := range chars {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}
