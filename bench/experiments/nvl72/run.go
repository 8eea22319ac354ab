package nvl72

import (
	"context"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

// A run is one simulation, in which members start and stop at once and nothing fails, and the books
// about it: from facts and orders alone.
type run struct {
	o           *Options
	constrained bool
	core        *core.Core
	sim         *sim.Simulation
	broken      error // the first thing that makes no sense

	from, until berth.Time // of what is measured
	next        int        // number of the next job
	waiting     map[berth.JobID]*job
	running     map[berth.JobID]*place
	free        []int // GPUs by tray
	large       []int // trays by block that jobs of 64 GPUs and more hold

	held    int64 // GPUs
	heldFor int64 // GPU-milliseconds, since from
	last    berth.Time

	segments, split int
	started         int
	idle            idle
	totals          berth.Totals
}

// A place is what a job holds.
type place struct {
	trays []int
	gpus  int // of each tray
}

func newRun(o *Options, constrained bool) (*run, error) {
	sched, err := o.core()
	if err != nil {
		return nil, err
	}
	r := &run{
		o: o, constrained: constrained, core: sched,
		from:    berth.Time(o.Warmup * float64(berth.Day)),
		until:   berth.Time((o.Warmup + o.Days) * float64(berth.Day)),
		waiting: map[berth.JobID]*job{}, running: map[berth.JobID]*place{},
		free:  make([]int, o.Trays),
		large: make([]int, (o.Trays+machine.BlockTrays-1)/machine.BlockTrays),
	}
	for i := range r.free {
		r.free[i] = machine.TrayGPUs
	}
	r.sim = sim.New(sched, sim.FromSlice(nil), sim.Options{Applied: r.applied, Scheduled: r.scheduled, Passed: r.passed})
	return r, nil
}

// simulate goes on to the end, and looks at what is idle every hour from the first pass on.
func (r *run) simulate(ctx context.Context) error {
	if err := r.refill(); err != nil {
		return err
	}
	if err := study.Simulate(ctx, r.o.Output, r.sim, r.until, max(r.from, 1), berth.Hour, r.sample); err != nil {
		return err
	}
	r.hold(0)
	r.totals = r.core.Report().Totals
	return r.broken
}

// passed keeps the backlog full after every pass.
func (r *run) passed() error {
	if r.broken != nil {
		return r.broken
	}
	return r.refill()
}

func (r *run) refill() error {
	for len(r.waiting) < r.o.Backlog {
		j := r.o.job(r.next, r.constrained)
		r.next++
		r.waiting[j.spec.ID] = &j
		if err := r.sim.Tell(sim.Arrival{Event: berth.JobSubmitted{Job: j.spec}, Runtime: j.actual}); err != nil {
			return err
		}
	}
	return nil
}

// fault keeps the first thing that makes no sense.
func (r *run) fault(err error) {
	if r.broken == nil {
		r.broken = err
	}
}

// applied sees every fact.
func (r *run) applied(_ berth.Time, e berth.Event, refusal error) {
	if refusal != nil {
		r.fault(refusal)
	} else if e, ends := e.(berth.JobFinished); ends {
		r.book(r.running[e.Job], -1)
		delete(r.running, e.Job)
	}
}

// scheduled sees the orders of every pass. Nobody is evicted, so there is nothing but places.
func (r *run) scheduled(now berth.Time, actions []berth.Order) {
	for _, action := range actions {
		bind, ok := action.(berth.Bind)
		if !ok {
			r.fault(fmt.Errorf("an unexpected order: %s of %s", action.Kind(), action.Header().Job))
			continue
		}
		if err := r.start(now, &bind); err != nil {
			r.fault(err)
		}
	}
}

// start notes that a job runs from now on.
func (r *run) start(now berth.Time, bind *berth.Bind) error {
	j := r.waiting[bind.Job]
	delete(r.waiting, bind.Job)
	p := &place{gpus: j.spec.Groups[0].Claim.GPUs}
	for i := range bind.Members {
		tray, err := trayOf(bind.Members[i].Node)
		if err != nil {
			return err
		}
		p.trays = append(p.trays, tray)
	}
	r.running[bind.Job] = p
	r.book(p, 1)
	if now < r.from {
		return nil
	}

	r.started++
	if g := group(mix[j.kind].gpus, true); len(g.Topology.Segments) > 0 {
		r.countSegments(p.trays, g.Topology.Segments[0].Size)
	}
	return nil
}

// book notes that a place is taken, or given back.
func (r *run) book(p *place, sign int) {
	for _, tray := range p.trays {
		if r.free[tray] -= sign * p.gpus; r.free[tray] < 0 {
			r.fault(fmt.Errorf("tray %d is held twice", tray))
		}
		if len(p.trays) >= machine.SegmentTrays {
			r.large[tray/machine.BlockTrays] += sign
		}
	}
	r.hold(sign * len(p.trays) * p.gpus)
}

// hold accounts for what was held until now, and changes it.
func (r *run) hold(gpus int) {
	now := r.sim.Now()
	if since := max(r.last, r.from); now > since {
		r.heldFor += r.held * int64(now-since)
	}
	r.last = now
	r.held += int64(gpus)
}

// countSegments counts the segments of a job, and those that are in several blocks.
// Without constraints the trays, in order of index, are cut into segments as well as
// possible: by block.
func (r *run) countSegments(trays []int, size int) {
	for at := 0; at < len(trays); at += size {
		r.segments++
		for _, tray := range trays[at : at+size] {
			if tray/machine.BlockTrays != trays[at]/machine.BlockTrays {
				r.split++
				break
			}
		}
	}
}

func trayOf(id berth.NodeID) (int, error) {
	var tray int
	_, err := fmt.Sscanf(string(id), "tray-%d", &tray)
	return tray, err
}

// occupancy is the part of the GPU time that was held.
func (r *run) occupancy() float64 {
	return float64(r.heldFor) / (float64(r.o.Trays*machine.TrayGPUs) * float64(r.until-r.from))
}

// An idle says where the GPUs are that nobody holds, summed over samples.
type idle struct {
	samples, gpus int
	// reserved are on trays set aside, partTrays on other trays that are partly used.
	reserved, partTrays int
	// The others are whole trays: beside in blocks where a segment is, small in blocks
	// that small jobs alone use, with fewer free trays than a segment needs, and roomy
	// in those with enough.
	beside, small, roomy     int
	roomyBlocks, smallBlocks int
}

// share is a part of the sum in percent of all GPU time.
func (i *idle) share(gpus int) any {
	if i.samples == 0 {
		return nil
	}
	return 100 * float64(gpus) / (float64(i.samples) * float64(i.gpus))
}

// mean is a count by sample.
func (i *idle) mean(count int) float64 { return float64(count) / float64(max(i.samples, 1)) }

// sample looks at what is idle now.
func (r *run) sample() error {
	i := &r.idle
	i.samples, i.gpus = i.samples+1, r.o.Trays*machine.TrayGPUs
	reserved := make([]bool, r.o.Trays)
	for _, set := range r.core.Report().Reservations {
		for _, id := range set.Nodes {
			tray, err := trayOf(id)
			if err != nil {
				return err
			}
			reserved[tray] = true
		}
	}
	for first := 0; first < r.o.Trays; first += machine.BlockTrays {
		whole := 0
		for tray := first; tray < min(first+machine.BlockTrays, r.o.Trays); tray++ {
			switch {
			case reserved[tray]:
				i.reserved += r.free[tray]
			case r.free[tray] == machine.TrayGPUs:
				whole++
			default:
				i.partTrays += r.free[tray]
			}
		}
		switch {
		case whole >= machine.SegmentTrays:
			i.roomy += whole * machine.TrayGPUs
			i.roomyBlocks++
		case r.large[first/machine.BlockTrays] > 0:
			i.beside += whole * machine.TrayGPUs
		default:
			i.small += whole * machine.TrayGPUs
			i.smallBlocks++
		}
	}
	return nil
}
