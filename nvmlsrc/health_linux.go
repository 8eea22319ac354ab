//go:build linux && cgo

package nvmlsrc

import (
	"encoding/binary"
	"errors"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/berth-sched/berth/topology/nodegraph"
)

func (d boundDevice) ancestor(other device) (nodegraph.PathKind, error) {
	to, ours := other.(boundDevice)
	if !ours {
		return nodegraph.PathNone, errors.New("a device of another driver")
	}
	if err := d.need(symAncestor); err != nil {
		return nodegraph.PathNone, err
	}
	level, code := d.handle.GetTopologyCommonAncestor(to.handle)
	if err := outcome(code); err != nil {
		return nodegraph.PathNone, err
	}
	switch level {
	case nvml.TOPOLOGY_INTERNAL, nvml.TOPOLOGY_SINGLE: // two GPUs on one board have its bridge between them
		return nodegraph.PathPIX, nil
	case nvml.TOPOLOGY_MULTIPLE:
		return nodegraph.PathPXB, nil
	case nvml.TOPOLOGY_HOSTBRIDGE:
		return nodegraph.PathPHB, nil
	case nvml.TOPOLOGY_NODE:
		return nodegraph.PathNODE, nil
	}
	return nodegraph.PathSYS, nil
}

// recovery reads a field, as there is no function for it. Drivers that do not know the
// field say so in its own code.
func (d boundDevice) recovery() (RecoveryAction, error) {
	if err := d.need(symFields); err != nil {
		return RecoveryNone, err
	}
	fields := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	if err := outcome(d.handle.GetFieldValues(fields)); err != nil {
		return RecoveryNone, err
	}
	code := notThere(nvml.Return(int32(fields[0].NvmlReturn)))
	return recoveryOf(binary.NativeEndian.Uint32(fields[0].Value[:])), outcome(code)
}

func (d boundDevice) ecc() (ECC, error) {
	if err := d.need(symECC); err != nil {
		return ECC{}, err
	}
	volatile, code := d.handle.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC)
	if err := outcome(code); err != nil {
		return ECC{}, err
	}
	aggregate, code := d.handle.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.AGGREGATE_ECC)
	return ECC{volatile, aggregate}, outcome(code)
}

func (d boundDevice) rows() (RemappedRows, error) {
	if err := d.need(symRows); err != nil {
		return RemappedRows{}, err
	}
	corrected, uncorrected, pending, failed, code := d.handle.GetRemappedRows()
	return RemappedRows{corrected, uncorrected, pending, failed}, outcome(code)
}

// linkErrors adds up the counters that the link has: generations differ in them.
func (d boundDevice) linkErrors(i int) (uint64, error) {
	if err := d.need(symLinkErrors); err != nil {
		return 0, err
	}
	sum, told := uint64(0), false
	for counter := nvml.NVLINK_ERROR_DL_REPLAY; counter <= nvml.NVLINK_ERROR_DL_CRC_DATA; counter++ {
		count, code := d.handle.GetNvLinkErrorCounter(i, counter)
		err := outcome(notThere(code))
		if errors.Is(err, ErrUnsupported) {
			continue
		}
		if err != nil {
			return 0, err
		}
		sum, told = sum+count, true
	}
	if !told {
		return 0, outcome(nvml.ERROR_NOT_SUPPORTED)
	}
	return sum, nil
}

// clocks prefers the newer of two names for one question.
func (d boundDevice) clocks() (ClockReasons, error) {
	if d.need(symClockEvents) == nil {
		reasons, code := d.handle.GetCurrentClocksEventReasons()
		return ClockReasons(reasons), outcome(code)
	}
	if err := d.need(symClockThrottle); err != nil {
		return 0, err
	}
	reasons, code := d.handle.GetCurrentClocksThrottleReasons() //nolint:staticcheck // for drivers before the new name
	return ClockReasons(reasons), outcome(code)
}

func (d boundDevice) temperature() (int, error) {
	if err := d.need(symTemperature); err != nil {
		return 0, err
	}
	celsius, code := d.handle.GetTemperature(nvml.TEMPERATURE_GPU)
	return int(celsius), outcome(code)
}

func (d boundDevice) power() (int, error) {
	if err := d.need(symPower); err != nil {
		return 0, err
	}
	milliwatts, code := d.handle.GetPowerUsage()
	return int(milliwatts), outcome(code)
}
