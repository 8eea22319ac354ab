//go:build linux && cgo

package nvmlsrc

import (
	"errors"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// watched are the events that a watch asks for, of those that a GPU can report. All but
// the first say no more than that something is worth a look.
const watched = nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError | nvml.EventTypeFatalPoisonError |
	nvml.EventTypeGpuUnavailableError | nvml.EventTypeGpuRecoveryAction

// A boundWatch is an event set of the real driver.
type boundWatch struct {
	*binding
	set  nvml.EventSet
	gpus map[nvml.Device]int
}

// watch registers for the events of each GPU that can report them. One that does not
// answer is passed over: others may.
func (b *binding) watch() (watch, error) {
	if err := b.need(symWatchCreate, symWatchRegister, symWatchSupported, symWatchWait, symWatchFree); err != nil {
		return nil, err
	}
	count, err := b.count()
	if err != nil {
		return nil, err
	}
	set, code := b.nvml.EventSetCreate()
	if err := outcome(code); err != nil {
		return nil, err
	}
	w := &boundWatch{binding: b, set: set, gpus: map[nvml.Device]int{}}
	for i := range count {
		handle, code := b.nvml.DeviceGetHandleByIndex(i)
		if code != nvml.SUCCESS {
			continue
		}
		events, code := handle.GetSupportedEventTypes()
		if code != nvml.SUCCESS || events&nvml.EventTypeXidCriticalError == 0 {
			continue
		}
		if handle.RegisterEvents(events&watched, set) == nvml.SUCCESS {
			w.gpus[handle] = i
		}
	}
	if len(w.gpus) == 0 {
		return nil, errors.Join(outcome(nvml.ERROR_NOT_SUPPORTED), w.close())
	}
	return w, nil
}

func (w *boundWatch) wait(atMost time.Duration) (event, bool, error) {
	data, code := w.nvml.EventSetWait(w.set, uint32(max(atMost.Milliseconds(), 1)))
	if code == nvml.ERROR_TIMEOUT {
		return event{}, false, nil
	}
	if err := outcome(code); err != nil {
		return event{}, false, err
	}
	e := event{gpu: NoGPU}
	if gpu, known := w.gpus[data.Device]; known {
		e.gpu = gpu
	}
	if data.EventType == nvml.EventTypeXidCriticalError {
		e.xid = int(data.EventData)
	}
	return e, true, nil
}

func (w *boundWatch) close() error { return outcome(w.nvml.EventSetFree(w.set)) }
