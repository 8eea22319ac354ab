//go:build linux && cgo

package nvmlsrc

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func (d boundDevice) utilization() (int, error) {
	if err := d.need(symUtilization); err != nil {
		return 0, err
	}
	percent, code := d.handle.GetUtilizationRates()
	return int(percent.Gpu) * 10, outcome(code)
}

func (d boundDevice) processActivity(since uint64) (busy []ProcessActivity, latest uint64, err error) {
	if err := d.need(symProcessUse); err != nil {
		return nil, 0, err
	}
	// The binding asks for the number of samples, and then for these. Where processes have come
	// meanwhile it slices beyond what it has room for.
	defer func() {
		if recover() != nil {
			err = &Error{GPU: NoGPU, Kind: ErrDriver, Reason: "processes came while it told of them"}
		}
	}()
	samples, code := d.handle.GetProcessUtilization(since)
	if code == nvml.ERROR_NOT_FOUND { // none was at work
		return nil, since, nil
	}
	if err := outcome(code); err != nil {
		return nil, 0, err
	}
	most := map[int]int{}
	for _, s := range samples {
		if s.TimeStamp <= since || s.SmUtil > 100 { // what it had no sample for it leaves as it was
			continue
		}
		pid := int(s.Pid)
		most[pid], latest = max(most[pid], 10*int(s.SmUtil)), max(latest, s.TimeStamp)
	}
	for _, pid := range slices.Sorted(maps.Keys(most)) {
		busy = append(busy, ProcessActivity{PID: pid, Milli: most[pid]})
	}
	return busy, latest, nil
}

// A boundSample is a sample of the real driver.
type boundSample struct {
	*binding
	sample nvml.GpmSample
}

func (s boundSample) free() { _ = s.nvml.GpmSampleFree(s.sample) }

func (d boundDevice) sample(of int) (sample, error) {
	if err := d.need(symGPMSupport, symGPMAlloc, symGPMFree, symGPMSample, symGPMSampleMIG, symGPMMetrics); err != nil {
		return nil, err
	}
	support, code := d.handle.GpmQueryDeviceSupport()
	if err := outcome(code); err != nil {
		return nil, err
	}
	if support.IsSupportedDevice == 0 {
		return nil, outcome(nvml.ERROR_NOT_SUPPORTED)
	}
	handle, code := d.nvml.GpmSampleAlloc()
	if err := outcome(code); err != nil {
		return nil, err
	}
	taken := boundSample{d.binding, handle}
	if of == noInstance {
		code = d.handle.GpmSampleGet(handle)
	} else {
		code = d.handle.GpmMigSampleGet(of, handle)
	}
	if err := outcome(code); err != nil {
		taken.free()
		return nil, err
	}
	return taken, nil
}

func (d boundDevice) smActivity(from, to sample) (int, error) {
	first, ours := from.(boundSample)
	second, too := to.(boundSample)
	if !ours || !too {
		return 0, errors.New("samples of another driver")
	}
	question := nvml.GpmMetricsGetType{NumMetrics: 1, Sample1: first.sample, Sample2: second.sample}
	question.Metrics[0].MetricId = uint32(nvml.GPM_METRIC_SM_UTIL)
	if err := outcome(d.nvml.GpmMetricsGet(&question)); err != nil {
		return 0, err
	}
	if err := outcome(nvml.Return(int32(question.Metrics[0].NvmlReturn))); err != nil {
		return 0, err
	}
	percent := question.Metrics[0].Value
	if math.IsNaN(percent) {
		return 0, errors.New("the driver says that the activity is no number")
	}
	return int(math.Round(min(max(percent, 0), 100) * 10)), nil
}
