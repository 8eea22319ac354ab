package scale

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// A Unit is what a figure counts, and whether less of it is better.
type Unit string

const (
	// Nanoseconds of time: the median, or the longest.
	Nanoseconds Unit = "ns"
	// Bytes that are held.
	Bytes Unit = "B"
	// PerSecond is a rate: more is better.
	PerSecond Unit = "/s"
)

// A Figure is what was measured of a state.
type Figure struct {
	// Point of the list in the package comment that it belongs to.
	Point int `json:"point"`
	// What was measured, and on how large a state. Both together are its name.
	What string `json:"what"`
	Size string `json:"size"`
	// Value is the median of many, the longest of all, or exact.
	Value float64 `json:"value"`
	Unit  Unit    `json:"unit"`
	// Target is what the value is to keep to; 0: none.
	Target float64 `json:"target,omitempty"`
	// Allocated bytes and Allocs are of one time, a mean; nil where they say nothing.
	Allocated *float64 `json:"allocated,omitempty"`
	Allocs    *float64 `json:"allocs,omitempty"`
}

// Met reports whether the figure keeps to its target, if it has one.
func (f *Figure) Met() bool {
	if f.Unit == PerSecond {
		return f.Value >= f.Target
	}
	return f.Target == 0 || f.Value <= f.Target
}

// A Case is a state, and the figures that are taken of it.
type Case struct {
	Name string
	take func(*Taker)
}

// A Taker takes the figures of a case.
type Taker struct {
	figures []Figure
	budget  time.Duration
	clock   stopwatch
}

// Take builds the state of a case and takes its figures: for each so many repetitions as the budget
// has time for, and a few where they do not take far more than that. The error says what the core
// did not do as it should; the figures are then those that were taken before.
func (c *Case) Take(budget time.Duration) (figures []Figure, err error) {
	t := &Taker{budget: budget}
	defer func() {
		figures = t.figures
		if r := recover(); r != nil {
			f, ok := r.(fatal)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("%s: %s", c.Name, string(f))
		}
	}()
	c.take(t)
	return
}

// fatal is how Fatal leaves a case, and Take alone catches it.
type fatal string

// Helper is a builder's.
func (t *Taker) Helper() {}

// Fatal ends the case.
func (t *Taker) Fatal(args ...any) { panic(fatal(fmt.Sprint(args...))) }

// StartTimer goes on measuring.
func (t *Taker) StartTimer() { t.clock.start() }

// StopTimer measures nothing until StartTimer.
func (t *Taker) StopTimer() { t.clock.stop() }

// A stopwatch adds up time, and what is allocated in it.
type stopwatch struct {
	spent         time.Duration
	bytes, allocs uint64
	began         time.Time
	before        runtime.MemStats
	running       bool
}

func (s *stopwatch) start() {
	runtime.ReadMemStats(&s.before)
	s.running, s.began = true, time.Now()
}

func (s *stopwatch) stop() {
	s.spent += time.Since(s.began)
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	s.bytes += after.TotalAlloc - s.before.TotalAlloc
	s.allocs += after.Mallocs - s.before.Mallocs
	s.running = false
}

// A sample is what many repetitions took.
type sample struct {
	median time.Duration
	// pass is the longest pass of all, and passMedian the median of the longest of each repetition.
	pass, passMedian time.Duration
	bytes, allocs    float64
}

// fewest and most repetitions of what is measured. What takes some budgets each time has no more
// than one.
const fewest, most, patience = 3, 1000, 20

// repeat measures something again and again. What returns the longest pass in it, or 0.
func (t *Taker) repeat(what func() time.Duration) sample { return t.repeatTimes(most, what) }

// repeatTimes is repeat for what cannot be done more often than so many times.
func (t *Taker) repeatTimes(times int, what func() time.Duration) sample {
	runtime.GC()
	var s sample
	var spans, passes []time.Duration
	began := time.Now()
	for len(spans) < min(times, most) && (time.Since(began) < t.budget || len(spans) < fewest && time.Since(began) < patience*t.budget) {
		t.clock = stopwatch{}
		t.StartTimer()
		passes = append(passes, what())
		t.StopTimer()
		s.bytes += float64(t.clock.bytes)
		s.allocs += float64(t.clock.allocs)
		spans = append(spans, t.clock.spent)
	}
	s.bytes /= float64(len(spans))
	s.allocs /= float64(len(spans))
	slices.Sort(spans)
	slices.Sort(passes)
	s.median, s.passMedian, s.pass = spans[len(spans)/2], passes[len(passes)/2], passes[len(passes)-1]
	return s
}

// repeatWhole is repeat for what has no passes.
func (t *Taker) repeatWhole(what func()) sample {
	return t.repeat(func() time.Duration {
		what()
		return 0
	})
}

// batch is how often what is short against the grain of a clock is done in a repetition.
const batch = 1000

// repeatShort is repeat for what takes less than some microseconds.
func (t *Taker) repeatShort(what func()) sample {
	return t.repeatWhole(func() {
		for range batch {
			what()
		}
	}).per(batch)
}

// per is a sample of one of the things of which so many were done in a repetition.
func (s sample) per(things int) sample {
	s.median /= time.Duration(things)
	s.bytes /= float64(things)
	s.allocs /= float64(things)
	return s
}

// add notes a figure.
func (t *Taker) add(f Figure) { t.figures = append(t.figures, f) }

// addMedian notes the median of a sample, and what it allocates. A target of 0 is none.
func (t *Taker) addMedian(point int, what, size string, s sample, target time.Duration) {
	t.add(Figure{
		Point: point, What: what, Size: size, Value: float64(s.median), Unit: Nanoseconds, Target: float64(target),
		Allocated: &s.bytes, Allocs: &s.allocs,
	})
}

// longestPass is what no pass may exceed in any of the states.
const longestPass = 20 * time.Millisecond

// addPass notes the longest pass.
func (t *Taker) addPass(point int, what, size string, longest, target time.Duration) {
	t.add(Figure{Point: point, What: what + ", longest pass", Size: size, Value: float64(longest), Unit: Nanoseconds, Target: float64(target)})
}
