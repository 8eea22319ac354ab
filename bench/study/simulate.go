package study

import (
	"context"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Simulate takes a simulation to an instant. Often is called at the first instant, and then every
// so often before the end. It is there, too, that the bar is drawn, and that a context that is
// cancelled ends it.
func Simulate(ctx context.Context, out Output, s *sim.Simulation, until, first berth.Time, every berth.Duration, often func() error) error {
	bar := report.NewProgress(out.Progress, until.Sub(0))
	defer bar.Clear()
	moved := bar.Follow()
	var tick func() error
	tick = func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		moved(s.Now())
		if next := s.Now().Add(every); next < until {
			s.At(next, tick)
		}
		return often()
	}
	s.At(first, tick)
	return s.Run(until)
}
