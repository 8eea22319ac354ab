package preempt

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/berth-sched/berth/internal/errtext"
)

// GPUMilliseconds is the unit of costs: one GPU, idle or busy in vain, for one
// millisecond.
type GPUMilliseconds int64

// A Candidate is a job, or a part of one, that may be evicted as a whole.
type Candidate struct {
	// ID names the job and breaks ties, so it should be unique.
	ID string
	// Class is the ordinal of its service class: a lower one goes first.
	Class int
	// Source says where it comes from in an order of the caller's, such as that of queues
	// by how much they have borrowed: a lower one goes first.
	Source int
	// Priority among those of one source: a lower one goes first.
	Priority int32
	// Started is when it began to run, on any clock: among equals the latest goes first.
	Started int64
	// Backfilled says that it runs only where others had left a gap, on the understanding
	// that it makes way. What is backfilled goes before all else.
	Backfilled bool
	// Borrowed says that its queue holds it beyond what it is guaranteed. Borrowers
	// go next.
	Borrowed bool
	// Surplus says that it is not a job but what an elastic one has above its minimum, so
	// that the job goes on without. Where the sources above are equal, these go before
	// anything that ends a job. The job as a whole may be another candidate, which
	// then includes these.
	Surplus bool
	// GPUMilli is what it holds, in thousandths of a GPU.
	GPUMilli int64
	// Checkpointable says that it can write a checkpoint now, before it is stopped.
	Checkpointable bool
	// SinceCheckpoint is how long it has worked since its last checkpoint (or its
	// start), CheckpointCost how long a checkpoint takes, RestartCost how long it
	// takes to be productive again after it is placed anew, and Queueing how long it is
	// expected to wait until then; all in milliseconds.
	SinceCheckpoint int64
	CheckpointCost  int64
	RestartCost     int64
	Queueing        int64
	// Domains are the places where it holds something, each named once, by numbers
	// of the caller's choosing: nodes or NVLink islands as a rule, whatever the
	// beneficiary would like to have for itself. Only their equality matters. They
	// are a hint to the search and may be left out.
	Domains []int32
	// HeldMilli is what it holds in each of the Domains, in thousandths of a GPU. It is needed
	// where Options state a Demand.
	HeldMilli []int64
	// Allowance is the number, from 1, of that of Options.Allowances which it counts for; 0: none
	// bounds it.
	Allowance int
}

// Cost is what is lost if the job goes now: its GPUs, for as long as their
// work is in vain. That is the checkpoint's duration if it can write one, all work
// since the last one if not, and in both cases the queueing and the restart. It is
// rounded up to a whole GPU-millisecond and stays at the largest value where it would
// exceed it.
func (c *Candidate) Cost() GPUMilliseconds {
	lost := c.SinceCheckpoint
	if c.Checkpointable {
		lost = c.CheckpointCost
	}
	milli := uint64(max(c.GPUMilli, 0))
	milliseconds, beyond := bits.Add64(uint64(max(lost, 0))+uint64(max(c.RestartCost, 0)), uint64(max(c.Queueing, 0)), 0)
	high, low := bits.Mul64(milli, milliseconds)
	low, carry := bits.Add64(low, 999, 0)
	high += beyond*milli + carry
	if high >= 1000 {
		return math.MaxInt64
	}
	cost, _ := bits.Div64(high, low, 1000)
	return GPUMilliseconds(min(cost, math.MaxInt64))
}

// plus adds two costs, neither negative, and stays at the largest value.
func (p GPUMilliseconds) plus(q GPUMilliseconds) GPUMilliseconds {
	if sum := p + q; sum >= 0 {
		return sum
	}
	return math.MaxInt64
}

// ErrInvalid is the kind of every refusal of this package.
var ErrInvalid = errors.New("invalid")

// An Error is a refusal of what Choose was given.
type Error struct {
	// Candidate is the ID of the candidate at fault, and Index its position; -1
	// where the options are at fault.
	Candidate string
	Index     int
	// Field is the name of the offending field.
	Field string
	// Reason says what is wrong, in a sentence without a full stop.
	Reason string
}

func (e *Error) Error() string {
	candidate := ""
	if e.Index >= 0 {
		candidate = "candidate " + strconv.Itoa(e.Index) + " (" + strconv.Quote(e.Candidate) + ")"
	}
	return errtext.Join("preempt", candidate, e.Field, e.Reason)
}

// Unwrap makes errors.Is find ErrInvalid.
func (e *Error) Unwrap() error { return ErrInvalid }

func (c *Candidate) check(index int) error {
	if c.ID == "" {
		return &Error{Index: index, Field: "ID", Reason: "is empty"}
	}
	for _, f := range [...]struct {
		field string
		value int64
	}{
		{"GPUMilli", c.GPUMilli},
		{"SinceCheckpoint", c.SinceCheckpoint},
		{"CheckpointCost", c.CheckpointCost},
		{"RestartCost", c.RestartCost},
		{"Queueing", c.Queueing},
	} {
		if f.value < 0 {
			return &Error{Candidate: c.ID, Index: index, Field: f.field, Reason: fmt.Sprintf("is negative: %d", f.value)}
		}
	}
	return nil
}

// invalidText refuses a text or number that is no value of a type.
func invalidText(name, reason string) error {
	return &Error{Index: -1, Field: name, Reason: reason}
}
