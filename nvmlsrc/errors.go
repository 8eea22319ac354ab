package nvmlsrc

import (
	"errors"
	"fmt"

	"github.com/berth-sched/berth/internal/errtext"
)

// The kinds of failure. Test for them with errors.Is; get the details with
// errors.As and an *Error.
var (
	// ErrNoDriver: the machine has no NVIDIA driver, or it is not loaded.
	ErrNoDriver = errors.New("no NVIDIA driver")
	// ErrUnsupportedPlatform: the program was built without cgo or not for
	// Linux. It is an ErrNoDriver too: such a program sees no GPU.
	ErrUnsupportedPlatform = fmt.Errorf("built without NVML: %w", ErrNoDriver)
	// ErrMissingSymbol: the driver is too old to have the function.
	ErrMissingSymbol = errors.New("missing in this driver")
	// ErrUnsupported: this GPU, or the mode it is in, has no answer to that.
	ErrUnsupported = errors.New("not supported by this GPU")
	// ErrNoPermission: the driver answers only somebody with more rights.
	ErrNoPermission = errors.New("no permission")
	// ErrLost: the GPU does not answer any more (it fell off the bus, or needs a
	// reset), and takes no work until it is repaired.
	ErrLost = errors.New("lost")
	// ErrNotReady: the GPU is not, or could not be, registered with the fabric
	// manager of its NVSwitch fabric. It takes no work before.
	ErrNotReady = errors.New("not ready")
	// ErrDriver: the driver answered in another way that helps nobody, such as
	// a library and a kernel module of different versions.
	ErrDriver = errors.New("driver failure")
	// ErrSysfs: the kernel's files about a device could not be read.
	ErrSysfs = errors.New("sysfs unreadable")
	// ErrClosed: the Source is closed.
	ErrClosed = errors.New("closed")
	// ErrUnknownGPU: a GPU cannot be offered, because what it is is not known.
	ErrUnknownGPU = errors.New("unknown GPU")
	// ErrUnknownMachine: there is no machine of that name to pretend.
	ErrUnknownMachine = errors.New("unknown machine")
	// ErrUntold: a report of nvidia-smi does not have it, which says nothing of the machine.
	ErrUntold = errors.New("not in the report")
	// ErrSyntax: a text that is no report of nvidia-smi.
	ErrSyntax = errors.New("syntax")
	// ErrTooLarge: a report beyond all bounds.
	ErrTooLarge = errors.New("too large")
	// ErrInvalid: what is asked for makes no sense.
	ErrInvalid = errors.New("invalid")
	// ErrInUse: an instance cannot be destroyed while somebody uses it, or created
	// beside those that are there.
	ErrInUse = errors.New("in use")
)

// NoGPU is the index in an Error about the machine as a whole.
const NoGPU = -1

// An Error is a question without an answer.
type Error struct {
	// File and Line, from 1, are those of a report of nvidia-smi; empty and 0 for a driver's
	// answer.
	File string
	Line int
	// GPU is the index of the GPU that was asked about, or NoGPU.
	GPU int
	// Query names what was asked for, such as "memory".
	Query Query
	// Reason says what the driver, the loader or the kernel answered.
	Reason string
	// Kind is one of the sentinels of this package.
	Kind error
}

func (e *Error) Error() string {
	gpu := ""
	if e.GPU != NoGPU {
		gpu = errtext.Index("gpus", e.GPU)
	}
	return errtext.Join("nvmlsrc", errtext.Place(e.File, e.Line, 0), gpu, string(e.Query), e.Kind.Error(), e.Reason)
}

// Unwrap makes errors.Is find the kind of the failure.
func (e *Error) Unwrap() error { return e.Kind }

// about returns the error as one about a GPU and a query. What a driver says comes
// without either; what is no *Error is a driver failure.
func about(err error, gpu int, query Query) *Error {
	e := Error{GPU: gpu, Query: query, Reason: reason(err), Kind: ErrDriver}
	if known := (*Error)(nil); errors.As(err, &known) {
		e.File, e.Line, e.Kind = known.File, known.Line, known.Kind
	}
	return &e
}

// reason returns the innermost words of an error.
func reason(err error) string {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known.Reason
	}
	return err.Error()
}

// invalidText refuses a text or number that is no value of a type.
func invalidText(name, reason string) error {
	return &Error{GPU: NoGPU, Kind: ErrInvalid, Reason: name + ": " + reason}
}
