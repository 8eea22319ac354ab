// Package scale is the experiment that measures the core on fleets of up to a million GPUs and
// prints every figure beside its target, an earlier run, and what other schedulers need. The
// states are those of the benchmarks of bench/scale.
package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/scale"
	"github.com/berth-sched/berth/bench/study"
)

// Help is what its figures mean, and what they do not measure.
const Help = `berthbench scale measures the core on busy fleets. A figure is the median of as many
repetitions as -time allows, the longest of all, or exact where it counts. It does not measure
orchestrators: what carries orders out, and how long that takes, is no part of it. Times depend
on the machine and on what else it does: compare runs of one quiet machine.

`

// Options say what is measured.
type Options struct {
	study.Output
	Short         bool
	Only          []string
	Time          time.Duration
	Save, Against string
	Markdown      bool
}

// Defaults are the options that berthbench has by default.
func Defaults() Options { return Options{Time: time.Second} }

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.Yes(&o.Short, "short", "small fleets alone, in some seconds")
	f.Words(&o.Only, "only", "only states with one of these in the name")
	f.Time(&o.Time, "time", time.Nanosecond, time.Hour, "how long to measure each figure")
	f.Text(&o.Save, "save", "write the figures to this file, for -against")
	f.Text(&o.Against, "against", "compare with the figures of this file")
	f.Yes(&o.Markdown, "markdown", "print the table alone, in Markdown")
}

// Run takes all figures, and writes them to w as one table. The error says which states did not
// do what they should, or how many targets were missed.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	earlier, err := read(o.Against)
	if err != nil {
		return flagline.Misused("-against: %v", err)
	}
	out := o.To(w)
	figures, failed := o.take(ctx, out)
	if len(figures) == 0 && failed == nil {
		return flagline.Misused("-only: no state has one of %q in its name", o.Only)
	}
	if err := o.print(out, w, tableOf(figures, earlier)); err != nil {
		return err
	}
	if err := errors.Join(failed, save(o.Save, figures)); err != nil {
		return err
	}
	return study.Found(verdict(figures))
}

// take goes through the states, one after the other.
func (o *Options) take(ctx context.Context, out *study.Printer) (figures []scale.Figure, failed error) {
	budget := o.Time
	if o.Short {
		budget = min(budget, 50*time.Millisecond)
	}
	for _, c := range scale.Cases(o.Short) {
		if len(o.Only) > 0 && !slices.ContainsFunc(o.Only, func(part string) bool { return strings.Contains(c.Name, part) }) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return figures, errors.Join(failed, err)
		}
		taken, err := patiently(out, c, budget)
		figures, failed = append(figures, taken...), errors.Join(failed, err)
	}
	return figures, failed
}

// patiently takes the figures of one state, and tells every few seconds that it is at it.
func patiently(out *study.Printer, c scale.Case, budget time.Duration) (figures []scale.Figure, err error) {
	began, done := time.Now(), make(chan struct{})
	go func() {
		defer close(done)
		figures, err = c.Take(budget)
	}()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			out.Say("%s: %.0f s so far", c.Name, time.Since(began).Seconds())
		case <-done:
			out.Say("%s: %.1f s", c.Name, time.Since(began).Seconds())
			return figures, err
		}
	}
}

// verdict counts the targets that were missed.
func verdict(figures []scale.Figure) error {
	missed := 0
	for i := range figures {
		if !figures[i].Met() {
			missed++
		}
	}
	if missed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d figures miss their target", missed, len(figures))
}
