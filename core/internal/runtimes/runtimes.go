// Package runtimes learns how long jobs run, from those that finished.
//
// Asked for a run time, people tell a limit by habit, or nothing. So the core remembers the
// latest run times of each kind of job: as ratios to the times that were told or, of jobs that
// told nothing, as they are. A kind is the jobs of one program, those of as many GPUs, or all of
// them. The middle run time of a kind is expected of the next job. The mean would go by the one
// job that never ends.
//
// It owns the kinds, and these are its invariants:
//
//  1. At most limits.MaxRuntimeKinds kinds are remembered: those of which jobs finished last.
//  2. At most as many run times of a kind are remembered as the policy says: the latest.
//  3. The middle of a kind is that of the run times that are remembered.
//
// Source: D. Tsafrir, Y. Etsion and D. Feitelson, "Backfilling Using System-Generated Predictions
// Rather than User Runtime Estimates", TPDS 2007, where the mean of the last two jobs of a user
// takes the place of the time that is told.
package runtimes

import (
	"container/list"
	"fmt"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

const (
	// fewest run times of a kind tell something.
	fewest = 4
	// one is the ratio of a job that ran for exactly as long as it told, most the largest.
	one, most = 1 << 12, 16 * one
)

// A Subject is a job, as far as its run time depends on it.
type Subject struct {
	Program string
	// GPUMilli is what its gang asks for.
	GPUMilli int64
	// Told is the run time that it tells; 0: none.
	Told berth.Duration
}

// A Kind is a set of jobs of which run times are learned together: those of a program, those of an
// amount of GPUs, or all. Jobs that tell a run time are of other kinds than those that tell none.
type Kind struct {
	Program  string `json:"program,omitempty"`
	GPUMilli int64  `json:"gpuMilli,omitempty"`
	All      bool   `json:"all,omitempty"`
	Told     bool   `json:"told,omitempty"`
}

// kinds are those of a job, the narrowest first, which has no program if it names none.
func (s *Subject) kinds() [3]Kind {
	told := s.Told > 0
	return [...]Kind{{Program: s.Program, Told: told}, {GPUMilli: s.GPUMilli, Told: told}, {All: true, Told: told}}
}

// A Saved is a kind, and how it is saved.
type Saved struct {
	Kind
	// Ran are ratios or run times, the oldest first.
	Ran []int64 `json:"ran"`
}

// series is what is remembered of a kind.
type series struct {
	Saved
	// middle of what it has; 0: it has too few.
	middle int64
}

// Runtimes are what is remembered.
type Runtimes struct {
	samples int
	byKind  map[Kind]*list.Element
	byAge   list.List // of *series; that to which one was added last is the last
	sorted  []int64   // scratch
}

// New remembers nothing yet, and of each kind at most so many run times.
func New(samples int) *Runtimes {
	r := &Runtimes{byKind: map[Kind]*list.Element{}}
	r.Keep(samples)
	return r
}

// Keep says how many run times of a kind are remembered from now on; none, if that is not positive.
func (r *Runtimes) Keep(samples int) {
	if max(0, samples) == r.samples {
		return
	}
	r.samples = max(0, samples)
	if r.samples == 0 {
		clear(r.byKind)
		r.byAge.Init()
	}
	for e := r.byAge.Front(); e != nil; e = e.Next() {
		r.settle(e.Value.(*series))
	}
}

// Add remembers for how long a job ran. O(samples x log samples).
func (r *Runtimes) Add(s Subject, ran berth.Duration) {
	if r.samples == 0 {
		return
	}
	value := int64(min(max(ran, 1), limits.MaxSpan))
	if s.Told > 0 {
		value = ratio(value, int64(s.Told))
	}
	for _, k := range s.kinds() {
		if k != (Kind{Told: k.Told}) { // it names no program, or asks for no GPU
			r.add(k, value)
		}
	}
}

// ratio of a run time to what was told. Both are positive, and at most limits.MaxSpan.
func ratio(ran, told int64) int64 {
	if ran/told >= most/one {
		return most
	}
	return max(1, ran*one/told)
}

func (r *Runtimes) add(k Kind, value int64) {
	e := r.byKind[k]
	if e == nil {
		if r.byAge.Len() == limits.MaxRuntimeKinds {
			delete(r.byKind, r.byAge.Remove(r.byAge.Front()).(*series).Kind)
		}
		e = r.byAge.PushBack(&series{Saved: Saved{Kind: k}})
		r.byKind[k] = e
	}
	r.byAge.MoveToBack(e)
	s := e.Value.(*series)
	s.Ran = append(s.Ran, value)
	r.settle(s)
}

// settle drops what is too old of a kind, and finds the middle of the rest.
func (r *Runtimes) settle(s *series) {
	if old := len(s.Ran) - r.samples; old > 0 {
		s.Ran = slices.Delete(s.Ran, 0, old)
	}
	s.middle = r.middleOf(s.Ran)
}

func (r *Runtimes) middleOf(ran []int64) int64 {
	if len(ran) < min(fewest, max(1, r.samples)) {
		return 0
	}
	r.sorted = append(r.sorted[:0], ran...)
	slices.Sort(r.sorted)
	return rounded(r.sorted[len(ran)/2])
}

// rounded is a positive number to three binary digits: so that jobs of a kind are mostly expected
// to run equally long, and what waits has few lengths.
func rounded(x int64) int64 {
	drop := max(0, bits.Len64(uint64(x))-3)
	return (x + 1<<drop>>1) >> drop << drop
}

// Expect is how long a job is expected to run by what was learned; 0: nothing was, or no other than
// it tells. O(1).
func (r *Runtimes) Expect(s Subject) berth.Duration {
	if r.byAge.Len() == 0 {
		return 0
	}
	for _, k := range s.kinds() {
		e := r.byKind[k]
		if e == nil || e.Value.(*series).middle == 0 {
			continue
		}
		middle := e.Value.(*series).middle
		if s.Told == 0 {
			return berth.Duration(middle)
		}
		if middle == one {
			return 0
		}
		return min(max(1, berth.Duration(int64(s.Told)*middle/one)), limits.MaxSpan)
	}
	return 0
}

// Save lists the kinds; the one that was added to last comes last.
func (r *Runtimes) Save() []Saved {
	var all []Saved
	for e := r.byAge.Front(); e != nil; e = e.Next() {
		s := e.Value.(*series).Saved
		s.Ran = slices.Clone(s.Ran)
		all = append(all, s)
	}
	return all
}

// Restore takes back what was saved, into memory that remembers nothing.
func (r *Runtimes) Restore(all []Saved) *berth.Error {
	if len(all) > limits.MaxRuntimeKinds {
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("%d kinds are more than are remembered", len(all)))
	}
	for i := range all {
		s := all[i]
		if bad := r.bad(&s); bad != "" {
			return refusal.Of(berth.ErrInvalid, errtext.Index("", i), bad)
		}
		kept := &series{Saved: s}
		r.settle(kept)
		r.byKind[s.Kind] = r.byAge.PushBack(kept)
	}
	return nil
}

// bad says why a kind that was saved is none.
func (r *Runtimes) bad(s *Saved) string {
	size := Kind{GPUMilli: s.GPUMilli, Told: s.Told}
	program, all := Kind{Program: s.Program, Told: s.Told}, Kind{All: true, Told: s.Told}
	largest := int64(limits.MaxSpan)
	if s.Told {
		largest = most
	}
	switch {
	case s.Kind != program && s.Kind != size && s.Kind != all || s.Kind == (Kind{Told: s.Told}):
		return "is not of a program, an amount of GPUs, or all"
	case limits.BadText(s.Program) != "":
		return "names a program that " + limits.BadText(s.Program)
	case s.GPUMilli < 0:
		return "is of fewer GPUs than none"
	case r.byKind[s.Kind] != nil:
		return "comes twice"
	case len(s.Ran) == 0 || len(s.Ran) > r.samples:
		return fmt.Sprintf("has %d run times; the policy remembers %d", len(s.Ran), r.samples)
	case slices.Min(s.Ran) < 1 || slices.Max(s.Ran) > largest:
		return fmt.Sprintf("has a run time outside 1..%d", largest)
	}
	return ""
}

// Check checks the invariants.
func (r *Runtimes) Check() error {
	if len(r.byKind) != r.byAge.Len() || len(r.byKind) > limits.MaxRuntimeKinds {
		return fmt.Errorf("%d kinds are remembered, %d in order", len(r.byKind), r.byAge.Len())
	}
	for e := r.byAge.Front(); e != nil; e = e.Next() {
		s := e.Value.(*series)
		if r.byKind[s.Kind] != e || len(s.Ran) == 0 || len(s.Ran) > r.samples || s.middle != r.middleOf(s.Ran) {
			return fmt.Errorf("what is remembered of %+v is not where it says, of another number than the policy says, or has another middle", s.Kind)
		}
	}
	return nil
}
