//go:build linux && cgo

package nvmlsrc

import (
	"errors"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// A boundDevice is a GPU of the real driver. Each method looks its functions up
// before it calls one.
type boundDevice struct {
	*binding
	handle nvml.Device
}

func (d boundDevice) product() (string, error) {
	if err := d.need(symProduct); err != nil {
		return "", err
	}
	name, code := d.handle.GetName()
	return name, outcome(code)
}

func (d boundDevice) uuid() (string, error) {
	if err := d.need(symUUID); err != nil {
		return "", err
	}
	uuid, code := d.handle.GetUUID()
	return uuid, outcome(code)
}

func (d boundDevice) address() (address, uint32, error) {
	if err := d.need(symPCI); err != nil {
		return address{}, 0, err
	}
	info, code := d.handle.GetPciInfo()
	return address{domain: info.Domain, bus: info.Bus, device: info.Device}, info.PciDeviceId, outcome(code)
}

// memory prefers the newer question, which does not count what the driver reserves for
// itself as used. So does nvidia-smi.
func (d boundDevice) memory() (size, used uint64, err error) {
	if d.need(symMemoryReserved) == nil {
		info, code := d.handle.GetMemoryInfo_v2()
		if err := outcome(code); !errors.Is(err, ErrMissingSymbol) && !errors.Is(err, ErrUnsupported) {
			return info.Total, info.Used, err
		}
	}
	if err := d.need(symMemory); err != nil {
		return 0, 0, err
	}
	info, code := d.handle.GetMemoryInfo()
	return info.Total, info.Used, outcome(code)
}

func (d boundDevice) computeCapability() (int, int, error) {
	if err := d.need(symComputeCapability); err != nil {
		return 0, 0, err
	}
	major, minor, code := d.handle.GetCudaComputeCapability()
	return major, minor, outcome(code)
}

func (d boundDevice) minor() (int, error) {
	if err := d.need(symMinor); err != nil {
		return 0, err
	}
	minor, code := d.handle.GetMinorNumber()
	return minor, outcome(code)
}

func (d boundDevice) mig() (current, pending bool, err error) {
	if err := d.need(symMIG); err != nil {
		return false, false, err
	}
	now, next, code := d.handle.GetMigMode()
	return now == nvml.DEVICE_MIG_ENABLE, next == nvml.DEVICE_MIG_ENABLE, outcome(code)
}

// link asks for the state first: the driver answers the rest for active links
// only.
func (d boundDevice) link(i int) (link, error) {
	if err := d.need(symLinkState, symLinkEnd, symLinkPCI); err != nil {
		return link{}, err
	}
	state, code := d.handle.GetNvLinkState(i)
	if code == nvml.ERROR_INVALID_ARGUMENT { // how it says that there is no link with the number
		code = nvml.ERROR_NOT_SUPPORTED
	}
	if err := outcome(code); err != nil || state != nvml.FEATURE_ENABLED {
		return link{}, err
	}
	end, code := d.handle.GetNvLinkRemoteDeviceType(i)
	if err := outcome(code); err != nil {
		// Not ErrUnsupported, which would say that there is no such link.
		return link{}, &Error{GPU: NoGPU, Kind: ErrDriver, Reason: "the far end of an active link is unknown: " + err.Error()}
	}
	switch end {
	case nvml.NVLINK_DEVICE_TYPE_SWITCH:
		return link{active: true, end: endSwitch}, nil
	case nvml.NVLINK_DEVICE_TYPE_GPU:
		info, code := d.handle.GetNvLinkRemotePciInfo(i)
		return link{active: true, end: endGPU, remote: address{domain: info.Domain, bus: info.Bus, device: info.Device}}, outcome(code)
	}
	return link{active: true}, nil
}

// fabric prefers the versioned question, which newer drivers answer in full. Its third version adds
// a summary of the second's health alone. nvmlDeviceGetGpuFabricInfo_v4, of NVML 615, lists cliques
// by the way in which memory is reached; the one that is told here is the first of its unicast by
// pointers (nvml.h of go-nvml v0.13.4-1), which is what NVLink between any two GPUs comes to.
func (d boundDevice) fabric() (fabric, error) {
	if d.need(symFabricVersioned) == nil {
		info, code := d.handle.GetGpuFabricInfoV().V2()
		if err := outcome(code); !errors.Is(err, ErrMissingSymbol) {
			f, err := fabricOf(info.State, info.Status, info.ClusterUuid, info.CliqueId, err)
			f.health = FabricHealth(info.HealthMask)
			return f, err
		}
	}
	if err := d.need(symFabric); err != nil {
		// Drivers older than the question know no GPU that registers.
		return fabric{}, &Error{GPU: NoGPU, Kind: ErrUnsupported, Reason: err.Error()}
	}
	info, code := d.handle.GetGpuFabricInfo()
	return fabricOf(info.State, info.Status, info.ClusterUuid, info.CliqueId, outcome(code))
}

func fabricOf(state uint8, status uint32, cluster [16]uint8, clique uint32, err error) (fabric, error) {
	if err == nil && state == nvml.GPU_FABRIC_STATE_NOT_SUPPORTED {
		err = outcome(nvml.ERROR_NOT_SUPPORTED)
	}
	return fabric{
		completed: state == nvml.GPU_FABRIC_STATE_COMPLETED,
		status:    outcome(nvml.Return(int32(status))),
		cluster:   cluster,
		clique:    clique,
	}, err
}

// processes adds the clients of MPS, which newer drivers list apart from the others.
func (d boundDevice) processes() ([]process, error) {
	if err := d.need(symProcesses); err != nil {
		return nil, err
	}
	infos, code := d.handle.GetComputeRunningProcesses()
	if err := outcome(code); err != nil {
		return nil, err
	}
	if d.need(symMPSProcesses) == nil {
		clients, code := d.handle.GetMPSComputeRunningProcesses()
		if err := outcome(code); err != nil && !errors.Is(err, ErrUnsupported) {
			return nil, err
		}
		infos = append(infos, clients...)
	}
	running := make([]process, len(infos))
	for i := range infos {
		running[i] = process{int(infos[i].Pid), int(int32(infos[i].GpuInstanceId))} // all ones: noInstance
	}
	return running, nil
}
