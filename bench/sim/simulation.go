package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/berth-sched/berth"
)

// maxPasses bounds the passes at one instant: a core that always finds more to do
// at once has lost its way.
const maxPasses = 100_000

// A Simulation is one run. Make it with New.
type Simulation struct {
	core     *berth.Core
	workload Workload
	options  Options
	random   *rand.Rand

	now   berth.Time
	queue queue
	// next is the arrival to come, if more is true.
	next Arrival
	more bool
	// dirty: something was told since the last pass, which was at lastPass.
	dirty    bool
	lastPass berth.Time

	executor executor
	hardware hardware
}

// New makes a simulation of a core, which it uses from now on alone.
func New(core *berth.Core, w Workload, o Options) *Simulation {
	if o.Faults.Outage == 0 {
		o.Faults.Outage = 10 * berth.Minute
	}
	s := &Simulation{
		core: core, workload: w, options: o,
		random: rand.New(rand.NewPCG(o.Seed, 0x6265727468)),
		now:    core.Now(), dirty: true, lastPass: core.Now() - 1,
	}
	s.executor.jobs = map[berth.JobID]*job{}
	s.executor.changes = map[berth.ActionID]*change{}
	s.hardware.unsure = map[place]bool{}
	s.hardware.byID = map[berth.NodeID]int{}
	s.next, s.more = w.Next()
	return s
}

// Core is the core as it is now: another one after each restore.
func (s *Simulation) Core() *berth.Core { return s.core }

// Now is the instant that the simulation has reached.
func (s *Simulation) Now() berth.Time { return s.now }

// Run goes on until nothing is left to happen up to and including an instant. It
// may be called again with a later one. An error means that the core refused a pass
// or its own snapshot, or that the workload is not in order.
func (s *Simulation) Run(until berth.Time) error {
	for {
		at, any := s.Next()
		if !any || at > until {
			s.now = max(s.now, until)
			return nil
		}
		s.now = at
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
	if s.queue.len() > 0 {
		earliest(s.queue.min().at)
	}
	if t, due := s.passDue(); due {
		earliest(t)
	}
	return at, any
}

// passDue is when the next pass is to be run.
func (s *Simulation) passDue() (berth.Time, bool) {
	at, due := s.core.NextWake()
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
	for s.queue.len() > 0 && s.queue.min().at <= s.now {
		if err := s.happen(s.queue.pop()); err != nil {
			return err
		}
	}
	return nil
}

// passes runs the passes that are due now.
func (s *Simulation) passes() error {
	for range maxPasses {
		if at, due := s.passDue(); !due || at > s.now {
			return nil
		}
		if err := s.trouble(); err != nil {
			return err
		}
		if err := s.pass(); err != nil {
			return err
		}
		if s.queue.len() > 0 && s.queue.min().at <= s.now {
			return nil // an executor without delays has something to report first
		}
	}
	return errors.New("sim: the core asks for pass after pass at one instant")
}

func (s *Simulation) pass() error {
	if err := s.restore(); err != nil {
		return err
	}
	s.dirty, s.lastPass = false, s.now
	actions, err := s.core.Schedule(s.now)
	if err != nil {
		return err
	}
	if s.options.Scheduled != nil {
		s.options.Scheduled(s.now, actions)
	}
	for _, a := range actions {
		s.carryOut(a)
	}
	return nil
}

// apply tells the core a fact. It reports whether the fact was accepted.
func (s *Simulation) apply(e berth.Event) (bool, error) {
	if err := s.restore(); err != nil {
		return false, err
	}
	err := s.core.Apply(s.now, e)
	if s.options.Applied != nil {
		s.options.Applied(s.now, e, err)
	}
	s.dirty = s.dirty || err == nil
	return err == nil, nil
}

// restore replaces the core by a copy made of its snapshot, now and then.
func (s *Simulation) restore() error {
	if !s.chance(s.options.Faults.Restore) {
		return nil
	}
	b, err := s.core.Snapshot()
	if err != nil {
		return fmt.Errorf("sim: snapshot at %d: %w", s.now, err)
	}
	core, err := berth.Restore(b)
	if err != nil {
		return fmt.Errorf("sim: restore at %d: %w", s.now, err)
	}
	s.core = core
	if s.options.Restored != nil {
		s.options.Restored(s.now)
	}
	return nil
}

// faulty reports whether faults still happen.
func (s *Simulation) faulty() bool {
	return s.options.Faults.Until == 0 || s.now < s.options.Faults.Until
}

// chance draws an event of the given probability, while faults happen.
func (s *Simulation) chance(p float64) bool {
	return p > 0 && s.faulty() && s.random.Float64() < p
}

// around draws a duration between half of d and one and a half.
func (s *Simulation) around(d berth.Duration) berth.Duration {
	return d/2 + berth.Duration(s.random.Int64N(int64(d)+1))
}
