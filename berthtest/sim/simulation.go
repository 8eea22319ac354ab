package sim

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// maxPasses bounds the passes at one instant: a scheduler that always finds more to
// do at once has lost its way.
const maxPasses = 100_000

// A Simulation is one run. Make it with New.
type Simulation struct {
	scheduler berth.Scheduler
	workload  Workload
	options   Options
	random    *rand.Rand
	speed     Speed

	now   berth.Time
	queue queue
	// next is the arrival to come, if more is true.
	next Arrival
	more bool
	// dirty: something was told since the last pass, which was at lastPass.
	dirty    bool
	lastPass berth.Time
	// refusal of the event that was told last, or nil.
	refusal error
	// again counts the passes at that instant after the first.
	again int

	executor executor
	hardware hardware
	made     map[string]int // faults, by name
}

// New makes a simulation of a scheduler, which it uses from now on alone. It begins at
// the scheduler's instant if that tells one by a method Now, as *core.Core does, else
// at 0.
func New(scheduler berth.Scheduler, w Workload, o Options) *Simulation {
	if o.Faults.Outage == 0 {
		o.Faults.Outage = 10 * berth.Minute
	}
	s := &Simulation{
		scheduler: scheduler, workload: w, options: o,
		random: rand.New(rand.NewPCG(o.Seed, 0x6265727468)), dirty: true, queue: newQueue(),
	}
	if clock, tells := scheduler.(interface{ Now() berth.Time }); tells {
		s.now = clock.Now()
	}
	s.lastPass, s.speed.from, s.speed.now = s.now-1, s.now, s.now
	s.made = map[string]int{}
	s.executor.jobs = map[berth.JobID]*job{}
	s.executor.changes = map[berth.OrderID]*change{}
	s.executor.stopped = s.stopped
	s.hardware.unsure = map[place]bool{}
	s.hardware.byID = map[berth.NodeID]int{}
	s.next, s.more = w.Next()
	return s
}

// Scheduler is what decides, as it is now: another one after each restore.
func (s *Simulation) Scheduler() berth.Scheduler { return s.scheduler }

// Core is the scheduler if that is a *core.Core, else nil.
func (s *Simulation) Core() *core.Core {
	sched, _ := s.scheduler.(*core.Core)
	return sched
}

// Now is the instant that the simulation has reached.
func (s *Simulation) Now() berth.Time { return s.now }

// Run goes on until nothing is left to happen up to and including an instant. It
// may be called again with a later one. An error means that the scheduler refused a pass
// or its own snapshot, that it gave an order that nobody can carry out, that
// Options.Checker found something wrong, or that the workload is not in order. There is
// no way on after one.
func (s *Simulation) Run(until berth.Time) error {
	for {
		at, any := s.Next()
		if !any || at > until {
			s.now = max(s.now, until)
			return nil
		}
		s.now, s.speed.now = at, at
		if err := s.tell(); err != nil {
			return err
		}
		if err := s.passes(); err != nil {
			return err
		}
	}
}

// Next is when something happens next: an arrival, an occurrence, or a pass. It
// reports false when nothing is left to happen.
func (s *Simulation) Next() (at berth.Time, any bool) {
	earliest := func(t berth.Time) {
		if !any || t < at {
			at, any = max(t, s.now), true
		}
	}
	if s.more {
		earliest(s.next.At)
	}
	if s.queue.Len() > 0 {
		earliest(s.queue.Min().at)
	}
	if t, due := s.passDue(); due {
		earliest(t)
	}
	return at, any
}

// passDue is when the next pass is to be run.
func (s *Simulation) passDue() (berth.Time, bool) {
	at, due := s.scheduler.NextWake()
	if s.dirty {
		at, due = s.now, true
	}
	if interval := s.options.PassInterval; due && interval > 0 {
		if over := berth.Duration(at) % interval; over > 0 {
			at = at.Add(interval - over)
		}
		if at == s.lastPass { // what is left over waits for the next one
			at = at.Add(interval)
		}
	}
	return max(at, s.now), due
}

// tell makes everything happen that is due now, arrivals first.
func (s *Simulation) tell() error {
	for s.more && s.next.At <= s.now {
		if err := s.arrive(s.next); err != nil {
			return err
		}
		before := s.next.At
		s.next, s.more = s.workload.Next()
		if s.more && s.next.At < before {
			return fmt.Errorf("sim: the workload's arrival at %d follows one at %d", s.next.At, before)
		}
	}
	for s.queue.due(s.now) {
		if err := s.happen(s.queue.Pop()); err != nil {
			return err
		}
	}
	return nil
}

// passes runs the passes that are due now.
func (s *Simulation) passes() error {
	for {
		if at, due := s.passDue(); !due || at > s.now {
			return nil
		}
		if s.again > maxPasses {
			return s.wrong(errors.New("the scheduler asks for pass after pass at one instant"))
		}
		if err := s.trouble(); err != nil {
			return err
		}
		if err := s.pass(); err != nil {
			return err
		}
		if s.queue.due(s.now) {
			return nil // an executor without delays has something to report first
		}
	}
}

func (s *Simulation) pass() error {
	if err := s.restore(); err != nil {
		return err
	}
	if s.again++; s.lastPass != s.now {
		s.again = 0
	}
	s.dirty, s.lastPass = false, s.now
	began := time.Now()
	actions, err := s.scheduler.Schedule(s.now)
	s.speed.passed(time.Since(began), len(actions))
	if err != nil {
		return err
	}
	if s.options.Scheduled != nil {
		s.options.Scheduled(s.now, actions)
	}
	if s.options.Checker != nil {
		if err := s.options.Checker.Scheduled(s.now, actions); err != nil {
			return s.wrong(err)
		}
	}
	for _, a := range actions {
		if err := s.executor.understands(a); err != nil {
			return s.wrong(err)
		}
		if s.options.CarryOut == nil {
			s.carryOut(a)
		} else if err := s.options.CarryOut(a); err != nil {
			return err
		}
	}
	if s.options.Passed != nil {
		return s.options.Passed()
	}
	return nil
}

// wrong says when the scheduler did what it must not.
func (s *Simulation) wrong(err error) error {
	return fmt.Errorf("sim: after %v (%d ms): %w", s.now.Sub(0), s.now, err)
}

// apply tells the scheduler an event. It reports whether the event was accepted.
func (s *Simulation) apply(e berth.Event) (bool, error) {
	if err := s.restore(); err != nil {
		return false, err
	}
	began := time.Now()
	refusal := s.scheduler.Apply(s.now, e)
	s.speed.told(time.Since(began))
	s.refusal = refusal
	if s.options.Applied != nil {
		s.options.Applied(s.now, e, refusal)
	}
	if err := s.check(e, refusal); err != nil {
		return false, s.wrong(err)
	}
	s.dirty = s.dirty || refusal == nil
	return refusal == nil, nil
}

// check shows the checker an event and what the scheduler said to it.
func (s *Simulation) check(e berth.Event, refusal error) error {
	switch {
	case s.options.Checker == nil:
		return nil
	case refusal != nil:
		return s.options.Checker.Rejected(s.now, e, refusal)
	}
	if err := s.options.Checker.Applied(s.now, e); err != nil {
		return err
	}
	return s.options.Checker.Lost(s.scheduler.Lost())
}

// restore replaces the scheduler by a copy made of its snapshot, now and then.
func (s *Simulation) restore() error {
	if !s.fault("Restore", s.options.Faults.Restore) {
		return nil
	}
	b, err := s.scheduler.Snapshot()
	if err != nil {
		return fmt.Errorf("sim: snapshot at %d: %w", s.now, err)
	}
	if s.scheduler, err = s.restored(b); err != nil {
		return fmt.Errorf("sim: restore at %d: %w", s.now, err)
	}
	if s.options.Checker != nil {
		s.options.Checker.Restored()
	}
	if s.options.Restored != nil {
		s.options.Restored(s.now)
	}
	return nil
}

// restored makes a scheduler of a snapshot.
func (s *Simulation) restored(snapshot []byte) (berth.Scheduler, error) {
	switch {
	case s.options.Restore != nil:
		return s.options.Restore(snapshot)
	case s.Core() == nil:
		return nil, fmt.Errorf("a %T is no *core.Core: Options.Restore has to say how it is restored", s.scheduler)
	}
	return core.Restore(snapshot)
}

// faulty reports whether faults still happen.
func (s *Simulation) faulty() bool {
	return s.options.Faults.Until == 0 || s.now < s.options.Faults.Until
}

// fault draws a fault of the given name and probability, while faults happen.
func (s *Simulation) fault(name string, p float64) bool {
	if p <= 0 || !s.faulty() || s.random.Float64() >= p {
		return false
	}
	s.made[name]++
	return true
}

// Made is how many faults were drawn so far, by the names of their fields of Faults. A few of them
// found nothing to befall.
func (s *Simulation) Made() map[string]int { return maps.Clone(s.made) }

// around draws a duration between half of d and one and a half.
func (s *Simulation) around(d berth.Duration) berth.Duration {
	return d/2 + berth.Duration(s.random.Int64N(int64(d)+1))
}
