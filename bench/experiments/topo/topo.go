// Package topo asks where gangs go on four fleets that are 70 % full, and how
// fast: gangs of 1 to 1,024 GPUs without a required level, so that the dial
// Policy.Locality decides. Members are as large as the nodes allow: 8 GPUs, or 4 on
// trays; trays in segments of up to 16, each on one island. Fleets are in
// fleets.go.
//
// Each fleet is filled by the core itself with the jobs of fillSizes, drawn from the
// seed, until 90 % of its GPUs are held; then jobs end at random until 70 % are. So the
// holes are those that a fleet has after a while. Every gang is measured on this same
// fill, and leaves it as it was.
//
// What is told: the lowest level with all members in one domain; how many nodes, and
// domains of each level, it spans; how many islands and wider domains it breaks, which
// were wholly free and are now used in part; the bandwidth of an all-reduce that the core
// expects, and the best that it could be on whole islands of the hardware it is on; and the median
// time of a gang's whole life through the core: submitted, placed by a pass, reported to run, which
// another pass follows, and to have finished.
package topo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study"
)

// Options say what is measured.
type Options struct {
	study.Output
	// Fleet is the only one: h100, nvl72, lingjun or mixed. Empty: all of them.
	Fleet string
	// Seed of the fill.
	Seed uint64
	// Time is how long to measure each gang.
	Time time.Duration
	// Lingjun is the file of the Lingjun topology. Empty, or absent: that fleet is left out.
	Lingjun string
}

// Defaults are the options that berthbench has by default, but for the file.
func Defaults() Options { return Options{Seed: 1, Time: 100 * time.Millisecond} }

// Run makes the experiment, and writes its results to w.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.AtLeast("time", o.Time, 0); err != nil {
		return err
	}
	out, found := o.To(w), false
	for _, maker := range fleets(o.Lingjun) {
		if o.Fleet != "" && maker.name != o.Fleet {
			continue
		}
		found = true
		if maker.name == lingjun && o.Lingjun == "" {
			out.Say("the fleet %s is left out without -lingjun: topo.csv of the Lingjun trace of https://github.com/alibaba/clusterdata", lingjun)
			if o.Fleet == "" {
				continue
			}
			return study.Missing("lingjun", "the file topo.csv", "it is in the Lingjun trace of https://github.com/alibaba/clusterdata")
		}
		f, err := maker.fleet()
		if errors.Is(err, fs.ErrNotExist) {
			out.Say("the fleet %s is left out: %v", maker.name, err)
			continue
		}
		if err == nil {
			err = o.measure(ctx, out, f)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", maker.name, err)
		}
	}
	if !found {
		return flagline.Misused("-fleet: there is no fleet %q; there are h100, nvl72, lingjun and mixed", o.Fleet)
	}
	return nil
}

// lingjun is the fleet that is read from a file.
const lingjun = "lingjun"

// sizes are the GPUs of the gangs.
var sizes = [...]int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}

// measure fills a fleet and places all gangs under all dials.
func (o *Options) measure(ctx context.Context, out *study.Printer, f *fleet) error {
	out.Say("filling %s", f.name)
	if err := f.fill(o.Seed); err != nil {
		return err
	}
	out.Note("%s: %s\n  %s", f.name, f.about, f.describeFill())
	columns := []string{"GPUs", "dial", "placed at", "node"}
	for i := len(f.config.Levels) - 1; i >= 0; i-- {
		columns = append(columns, f.config.Levels[i])
	}
	columns = append(columns, "islands broken", "wider broken", "all-reduce GB/s", "best here GB/s", "% of best", "us/gang")
	t := study.NewTable("Where gangs go on "+f.name+", and how fast", columns...)
	for _, gpus := range sizes {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, dial := range []berth.Locality{berth.LocalityStrict, berth.LocalityBalanced, berth.LocalityLoose} {
			row, err := o.row(f, gpus, dial)
			if err != nil {
				return err
			}
			t.Add(row...)
		}
	}
	return out.Print(t)
}

// row measures one gang under one dial.
func (o *Options) row(f *fleet, gpus int, dial berth.Locality) ([]any, error) {
	policy := f.config.Policy
	policy.Locality = dial
	if err := f.tell(berth.PolicyChanged{Policy: policy}); err != nil {
		return nil, err
	}
	row := []any{gpus, dial.String()}
	job := f.gang(gpus)
	bind, err := f.place(job)
	if err != nil {
		return nil, err
	}
	if bind == nil {
		reason, err := f.withdraw(job.ID)
		if err != nil {
			return nil, err
		}
		row = append(row, "no place: "+reason)
		for range len(f.config.Levels) + 7 {
			row = append(row, nil)
		}
		return row, nil
	}
	effect := f.effect(bind)
	e, err := f.core.Explain(job.ID)
	if err != nil {
		return nil, err
	}
	if err := f.finish(bind); err != nil {
		return nil, err
	}
	row = append(row, effect.level, effect.nodes)
	for i := len(f.config.Levels) - 1; i >= 0; i-- {
		row = append(row, effect.spanned[i])
	}
	row = append(row, effect.islandsBroken, effect.widerBroken)
	row = append(row, bandwidthCells(e.Replicas[0].Bandwidth)...)
	micros, err := f.time(job, o.Time)
	return append(row, micros), err
}

// bandwidthCells are all-reduce, best, and their ratio. A single GPU has none.
func bandwidthCells(b *berth.Bandwidth) []any {
	if b == nil || b.AllReduce == 0 {
		return []any{nil, nil, nil}
	}
	cells := []any{float64(b.AllReduce) / 1000, float64(b.Best) / 1000, nil}
	if b.Best > 0 {
		cells[2] = 100 * float64(b.AllReduce) / float64(b.Best)
	}
	return cells
}

// time is the median of what the core takes for a gang's life, of many, in microseconds.
func (f *fleet) time(job berth.Job, budget time.Duration) (float64, error) {
	const least, most = 5, 1000
	var spans []time.Duration
	for began := time.Now(); len(spans) < least || len(spans) < most && time.Since(began) < budget; {
		before := f.sim.Speed().Deciding
		bind, err := f.place(job)
		if err != nil {
			return 0, err
		}
		if bind == nil {
			return 0, fmt.Errorf("%s has lost its place", job.ID)
		}
		if err := f.finish(bind); err != nil {
			return 0, err
		}
		spans = append(spans, f.sim.Speed().Deciding-before)
	}
	return float64(study.Quantile(spans, 0.5).Nanoseconds()) / 1000, nil
}
