// Package topo asks where gangs go on four fleets that are 70 % full: gangs of
// 1 to 1,024 GPUs without a required level, so that the dial
// Policy.Locality decides. Members are as large as the nodes allow: 8 GPUs, or 4 on
// trays; trays in segments of up to 16, each on one island. Fleets are in
// fleets.go.
//
// Each fleet is filled by the core itself with the jobs of fillSizes, drawn from the
// seed, until 90 % of its GPUs are held; then jobs end at random until 70 % are. So the
// holes are those that a fleet has after a while. Every gang is measured on this same
// fill, and leaves it as it was.
//
// What is told: the lowest level with all members in one domain; how many nodes, and domains of
// each level, it spans; how many islands and wider domains it breaks, which were wholly free and
// are now used in part; and the bandwidth of an all-reduce that the core expects, and the best that
// it could be on whole islands of the hardware it is on. How fast that is decided, berthbench scale
// tells.
package topo

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study"
)

// Options say what is measured.
type Options struct {
	study.Output
	Fleet, Lingjun string
	Seed           uint64
}

// Defaults are the options that berthbench has by default, but for the file.
func Defaults() Options { return Options{Seed: 1} }

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.Text(&o.Fleet, "fleet", "only this fleet: h100, nvl72, lingjun or mixed")
	f.Text(&o.Lingjun, "lingjun", "topo.csv of the Lingjun trace of https://github.com/alibaba/clusterdata; without, that fleet is left out")
	f.Seed(&o.Seed, "seed of the jobs that fill the fleet beforehand")
	f.Refuse(func() error {
		if o.Fleet != "" && !slices.ContainsFunc(makers, func(m maker) bool { return m.name == o.Fleet }) {
			return flagline.Misused("-fleet: there is no fleet %q; there are h100, nvl72, lingjun and mixed", o.Fleet)
		}
		if o.Fleet == lingjun && o.Lingjun == "" {
			return flagline.Misused("-lingjun is missing: topo.csv of the Lingjun trace of https://github.com/alibaba/clusterdata")
		}
		return nil
	})
}

// Run makes the experiment, and writes its results to w.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	out := o.To(w)
	for _, maker := range makers {
		if o.Fleet != "" && maker.name != o.Fleet {
			continue
		}
		if maker.name == lingjun && o.Lingjun == "" {
			out.Say("the fleet %s is left out without -lingjun", lingjun)
			continue
		}
		f, err := maker.fleet(&o)
		if err == nil {
			err = o.measure(ctx, out, f)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", maker.name, err)
		}
	}
	return nil
}

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
	columns = append(columns, "islands broken", "wider broken", "all-reduce GB/s", "best here GB/s", "% of best")
	t := study.NewTable("Where gangs go on "+f.name, columns...)
	for _, gpus := range sizes {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, dial := range []berth.Locality{berth.LocalityStrict, berth.LocalityBalanced, berth.LocalityLoose} {
			row, err := f.row(gpus, dial)
			if err != nil {
				return err
			}
			t.Add(row...)
		}
	}
	return out.Print(t)
}

// row measures one gang under one dial.
func (f *fleet) row(gpus int, dial berth.Locality) ([]any, error) {
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
		for range len(f.config.Levels) + 6 {
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
	return append(row, bandwidthCells(e.Replicas[0].Bandwidth)...), nil
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
