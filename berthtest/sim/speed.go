package sim

import (
	"fmt"
	"time"

	"github.com/berth-sched/berth"
)

// A Speed says how much was simulated, and how long the scheduler took for it.
type Speed struct {
	// Events that were told, Passes that were run and Orders that were given.
	Events, Passes, Orders int
	// Deciding is the time on the wall inside the scheduler. What the simulator and its
	// observers take is not in it.
	Deciding time.Duration

	from, now berth.Time
}

// Speed is how fast the simulation has been so far.
func (s *Simulation) Speed() Speed { return s.speed }

// Simulated is how long the simulation went on, in its own time: to the last instant at
// which something happened.
func (s Speed) Simulated() berth.Duration { return s.now.Sub(s.from) }

// DaysPerSecond is the days simulated for each second inside the scheduler.
func (s Speed) DaysPerSecond() float64 {
	return float64(s.Simulated()) / float64(berth.Day) / s.seconds()
}

// EventsPerSecond is the events and orders for each second inside the scheduler.
func (s Speed) EventsPerSecond() float64 { return float64(s.Events+s.Orders) / s.seconds() }

// seconds inside the scheduler; a nanosecond at least, so that it divides.
func (s Speed) seconds() float64 { return max(s.Deciding, 1).Seconds() }

func (s Speed) String() string {
	return fmt.Sprintf("%.1f simulated days and %.0f events a second", s.DaysPerSecond(), s.EventsPerSecond())
}

func (s *Speed) told(took time.Duration) {
	s.Events++
	s.Deciding += took
}

func (s *Speed) passed(took time.Duration, orders int) {
	s.Passes++
	s.Orders += orders
	s.Deciding += took
}
