//go:build linux && cgo

package nvmlsrc

import (
	"fmt"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// The functions of NVML that this package calls, by the names that the driver's
// library must have. Where a function has versions this is the newest that the
// binding knows, because the binding picks one for the whole process: a driver
// that lacks it is too old for the question.
const (
	symInit              = "nvmlInit_v2"
	symShutdown          = "nvmlShutdown"
	symVersion           = "nvmlSystemGetDriverVersion"
	symCount             = "nvmlDeviceGetCount_v2"
	symDevice            = "nvmlDeviceGetHandleByIndex_v2"
	symProduct           = "nvmlDeviceGetName"
	symUUID              = "nvmlDeviceGetUUID"
	symPCI               = "nvmlDeviceGetPciInfo_v3"
	symMemory            = "nvmlDeviceGetMemoryInfo"
	symMemoryReserved    = "nvmlDeviceGetMemoryInfo_v2"
	symComputeCapability = "nvmlDeviceGetCudaComputeCapability"
	symMinor             = "nvmlDeviceGetMinorNumber"
	symMIG               = "nvmlDeviceGetMigMode"
	symLinkState         = "nvmlDeviceGetNvLinkState"
	symLinkEnd           = "nvmlDeviceGetNvLinkRemoteDeviceType"
	symLinkPCI           = "nvmlDeviceGetNvLinkRemotePciInfo_v2"
	symFabric            = "nvmlDeviceGetGpuFabricInfo"
	symFabricVersioned   = "nvmlDeviceGetGpuFabricInfoV"
	symProcesses         = "nvmlDeviceGetComputeRunningProcesses_v3"
	symMPSProcesses      = "nvmlDeviceGetMPSComputeRunningProcesses_v3"
	symProfile           = "nvmlDeviceGetGpuInstanceProfileInfo"
	symProfileVersioned  = "nvmlDeviceGetGpuInstanceProfileInfoV"
	symPlacements        = "nvmlDeviceGetGpuInstancePossiblePlacements_v2"
	symInstances         = "nvmlDeviceGetGpuInstances"
	symInstance          = "nvmlGpuInstanceGetInfo"
	symMIGDeviceCount    = "nvmlDeviceGetMaxMigDeviceCount"
	symMIGDevice         = "nvmlDeviceGetMigDeviceHandleByIndex"
	symInstanceID        = "nvmlDeviceGetGpuInstanceId"
	symAncestor          = "nvmlDeviceGetTopologyCommonAncestor"
)

// Those of health and activity.
const (
	symFields        = "nvmlDeviceGetFieldValues"
	symECC           = "nvmlDeviceGetTotalEccErrors"
	symRows          = "nvmlDeviceGetRemappedRows"
	symLinkErrors    = "nvmlDeviceGetNvLinkErrorCounter"
	symClockEvents   = "nvmlDeviceGetCurrentClocksEventReasons"
	symClockThrottle = "nvmlDeviceGetCurrentClocksThrottleReasons"
	symTemperature   = "nvmlDeviceGetTemperature"
	symPower         = "nvmlDeviceGetPowerUsage"
	symUtilization   = "nvmlDeviceGetUtilizationRates"
	symProcessUse    = "nvmlDeviceGetProcessUtilization"
	symGPMSupport    = "nvmlGpmQueryDeviceSupport"
	symGPMAlloc      = "nvmlGpmSampleAlloc"
	symGPMFree       = "nvmlGpmSampleFree"
	symGPMSample     = "nvmlGpmSampleGet"
	symGPMSampleMIG  = "nvmlGpmMigSampleGet"
	symGPMMetrics    = "nvmlGpmMetricsGet"
)

// Those of watches.
const (
	symWatchCreate    = "nvmlEventSetCreate"
	symWatchRegister  = "nvmlDeviceRegisterEvents"
	symWatchSupported = "nvmlDeviceGetSupportedEventTypes"
	symWatchWait      = "nvmlEventSetWait_v2"
	symWatchFree      = "nvmlEventSetFree"
)

// Those that change how a GPU is divided.
const (
	symInstanceCreate  = "nvmlDeviceCreateGpuInstanceWithPlacement"
	symInstanceByID    = "nvmlDeviceGetGpuInstanceById"
	symInstanceDestroy = "nvmlGpuInstanceDestroy"
	symComputeProfile  = "nvmlGpuInstanceGetComputeInstanceProfileInfo"
	symComputeCreate   = "nvmlGpuInstanceCreateComputeInstance"
	symComputes        = "nvmlGpuInstanceGetComputeInstances"
	symComputeDestroy  = "nvmlComputeInstanceDestroy"
)

const defaultLibrary = "libnvidia-ml.so.1"

// opening guards the binding, which keeps the versions of functions in variables
// of its package.
var opening sync.Mutex

// A binding is the real driver.
type binding struct {
	nvml    nvml.Interface
	library *dl.DynamicLibrary // our own handle, for looking functions up
	present map[string]bool    // what was looked up
}

// openDriver loads the library, looks up what a session needs, and starts one.
// The order matters: the binding's own Init calls functions before anybody can
// ask it whether they exist.
func openDriver(library string) (driver, error) {
	opening.Lock()
	defer opening.Unlock()
	if library == "" {
		library = defaultLibrary
	}
	b := &binding{
		nvml:    nvml.New(nvml.WithLibraryPath(library)),
		library: dl.New(library, dl.RTLD_LAZY|dl.RTLD_GLOBAL),
		present: map[string]bool{},
	}
	if err := b.library.Open(); err != nil {
		return nil, &Error{GPU: NoGPU, Kind: ErrNoDriver, Reason: err.Error()}
	}
	err := b.need(symInit, symShutdown, symCount, symDevice)
	if err == nil {
		err = outcome(b.nvml.Init())
	}
	if err != nil {
		_ = b.library.Close() // the reason for not opening matters more
		return nil, err
	}
	return b, nil
}

// need returns an error if the library lacks one of the functions.
func (b *binding) need(symbols ...string) error {
	for _, symbol := range symbols {
		present, known := b.present[symbol]
		if !known {
			present = b.library.Lookup(symbol) == nil
			b.present[symbol] = present
		}
		if !present {
			return &Error{GPU: NoGPU, Kind: ErrMissingSymbol, Reason: symbol}
		}
	}
	return nil
}

func (b *binding) close() error {
	opening.Lock()
	defer opening.Unlock()
	err := outcome(b.nvml.Shutdown())
	if closeErr := b.library.Close(); err == nil && closeErr != nil {
		err = &Error{GPU: NoGPU, Kind: ErrDriver, Reason: closeErr.Error()}
	}
	return err
}

func (b *binding) version() (string, error) {
	if err := b.need(symVersion); err != nil {
		return "", err
	}
	v, code := b.nvml.SystemGetDriverVersion()
	return v, outcome(code)
}

func (b *binding) count() (int, error) {
	n, code := b.nvml.DeviceGetCount()
	return n, outcome(code)
}

func (b *binding) device(index int) (device, error) {
	d, code := b.nvml.DeviceGetHandleByIndex(index)
	if err := outcome(code); err != nil {
		return nil, err
	}
	return boundDevice{b, d}, nil
}

// outcome turns a return code into an error. It does not use the binding's texts,
// which call into the library.
func outcome(code nvml.Return) error {
	fail := func(kind error, reason string) error {
		return &Error{GPU: NoGPU, Kind: kind, Reason: fmt.Sprintf("%s (NVML code %d)", reason, int32(code))}
	}
	switch code {
	case nvml.SUCCESS:
		return nil
	case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_DEPRECATED:
		return fail(ErrUnsupported, "not supported")
	case nvml.ERROR_NO_PERMISSION:
		return fail(ErrNoPermission, "the user may not ask this")
	case nvml.ERROR_GPU_IS_LOST, nvml.ERROR_GPU_NOT_FOUND:
		return fail(ErrLost, "the GPU fell off the bus or does not answer")
	case nvml.ERROR_RESET_REQUIRED:
		return fail(ErrLost, "the GPU needs a reset")
	case nvml.ERROR_DRIVER_NOT_LOADED, nvml.ERROR_LIBRARY_NOT_FOUND:
		return fail(ErrNoDriver, "the kernel module is not loaded")
	case nvml.ERROR_FUNCTION_NOT_FOUND, nvml.ERROR_ARGUMENT_VERSION_MISMATCH:
		return fail(ErrMissingSymbol, "the driver is too old for the question")
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return fail(ErrDriver, "the library and the kernel module have different versions")
	case nvml.ERROR_IN_USE:
		return fail(ErrInUse, "somebody uses it")
	case nvml.ERROR_INSUFFICIENT_RESOURCES:
		return fail(ErrInUse, "there is no room for it beside the others")
	case nvml.ERROR_TIMEOUT:
		return fail(ErrDriver, "the driver did not answer in time")
	}
	return fail(ErrDriver, "the driver failed")
}
