package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// WholeGPU is a GPU in the unit of Milli.
const WholeGPU = 1000

// MaxTasks is the most tasks that a node takes: the experiment of bench/openb, on whose
// nodes 1001 pods may be, sets it.
const MaxTasks = 1001

// maxAmount bounds CPU and memory, so that no sum over tasks of a node overflows and
// float64 holds each exactly.
const maxAmount = 1 << 40

// The kinds of refusal. Test for them with errors.Is.
var (
	// ErrInvalid: a node or a request that makes no sense by itself.
	ErrInvalid = errors.New("invalid")
	// ErrUnknown: a node, a kind or a policy that there is not.
	ErrUnknown = errors.New("unknown")
	// ErrCapacity: more than a node or a GPU has left.
	ErrCapacity = errors.New("not enough left")
	// ErrNotHeld: a release of what is not held so.
	ErrNotHeld = errors.New("not held")
)

// An Error is a refusal. What was refused changed nothing.
type Error struct {
	// Subject is what was refused, such as "node n3" or "policy fgd".
	Subject string
	// Reason in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package.
	Kind error
}

func (e *Error) Error() string { return "bench: " + e.Subject + ": " + e.Reason }

// Unwrap makes errors.Is find the kind.
func (e *Error) Unwrap() error { return e.Kind }

// A Request is what a task asks for, all of it on one node. Requests are compared by value.
type Request struct {
	// CPUMilli is host CPU in thousandths of a core, MemoryMiB host memory.
	CPUMilli, MemoryMiB int64
	// GPUs is the number of GPUs; zero: the host alone.
	GPUs int
	// Milli is what is asked of each GPU, in thousandths: 1000, or less with a single
	// GPU. Zero without GPUs.
	Milli int
	// Models names the models of GPU that will do, separated by |. Empty: any.
	Models string
}

// Share reports whether the request is for a part of a GPU.
func (r *Request) Share() bool { return r.GPUs == 1 && r.Milli < WholeGPU }

// TotalMilli is all that is asked of GPUs, in thousandths.
func (r *Request) TotalMilli() int64 { return int64(r.GPUs) * int64(r.Milli) }

// Accepts reports whether a model will do.
func (r *Request) Accepts(model string) bool {
	return r.Models == "" || slices.Contains(strings.Split(r.Models, "|"), model)
}

// check returns why a request makes no sense, or nothing.
func (r *Request) check() string {
	if reason := checkAmounts(r.CPUMilli, r.MemoryMiB, r.GPUs); reason != "" {
		return reason
	}
	switch {
	case r.GPUs == 0 && r.Milli != 0:
		return fmt.Sprintf("%d milli of no GPU", r.Milli)
	case r.GPUs > 0 && (r.Milli < 1 || r.Milli > WholeGPU):
		return fmt.Sprintf("%d milli of a GPU are not in 1 to %d", r.Milli, WholeGPU)
	case r.GPUs > 1 && r.Milli != WholeGPU:
		return fmt.Sprintf("%d milli is a part, and of %d GPUs", r.Milli, r.GPUs)
	}
	return ""
}

// checkAmounts returns which amount no node has and no task can ask for, or nothing.
func checkAmounts(cpuMilli, memoryMiB int64, gpus int) string {
	switch {
	case cpuMilli < 0 || cpuMilli > maxAmount:
		return fmt.Sprintf("%d milli-CPU are not in 0 to %d", cpuMilli, int64(maxAmount))
	case memoryMiB < 0 || memoryMiB > maxAmount:
		return fmt.Sprintf("%d MiB are not in 0 to %d", memoryMiB, int64(maxAmount))
	case gpus < 0 || gpus > berth.MaxGPUs:
		return fmt.Sprintf("%d GPUs are not in 0 to %d", gpus, berth.MaxGPUs)
	}
	return ""
}

// A Kind is a request as a Session knows it: a small number, the same for equal requests.
// Kinds count from 0 in the order in which Session.Kind saw them first.
type Kind int32

// A Mix says how often each kind is asked for, as far as is known. It is not changed once a
// Session knows it.
type Mix []KindCount

// A KindCount is a kind and how many tasks asked for it.
type KindCount struct {
	Kind  Kind
	Count int64
}
