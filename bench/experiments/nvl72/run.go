package nvl72

import (
	"context"
	"fmt"
	"time"

	"github.com/google/btree"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
)

// A run is one simulation: the core, the jobs, and the books about both. It needs
// no executor, since members start and stop at once and nothing fails.
type run struct {
	o           *Options
	constrained bool
	core        *berth.Core

	now     berth.Time
	from    berth.Time // of what is measured
	until   berth.Time
	next    int // number of the next job
	waiting map[berth.JobID]*wait
	ends    *btree.BTreeG[end]
	free    []int // GPUs by tray
	large   []int // trays by block that jobs of 64 GPUs and more hold

	held    int64 // GPUs
	heldFor int64 // GPU-milliseconds, since from
	last    berth.Time

	waits           [len(mix)][]berth.Duration
	segments, split int
	started         int
	passes, facts   int
	idle            idle
	totals          berth.Totals
	wall            time.Duration
}

type wait struct {
	job
	since berth.Time
}

// A end is a job that runs until then.
type end struct {
	at          berth.Time
	id          berth.JobID
	incarnation berth.Incarnation
	trays       []int
	gpus        int // of each tray
	large       bool
}

func (e end) less(f end) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	return e.id < f.id
}

func newRun(o *Options, constrained bool) (*run, error) {
	core, err := o.core()
	if err != nil {
		return nil, err
	}
	r := &run{
		o: o, constrained: constrained, core: core,
		from:    berth.Time(o.Warmup * float64(berth.Day)),
		until:   berth.Time((o.Warmup + o.Days) * float64(berth.Day)),
		waiting: map[berth.JobID]*wait{},
		ends:    btree.NewG(16, end.less),
		free:    make([]int, o.Trays),
		large:   make([]int, (o.Trays+machine.BlockTrays-1)/machine.BlockTrays),
	}
	for i := range r.free {
		r.free[i] = machine.TrayGPUs
	}
	return r, nil
}

func (r *run) tell(e berth.Event) error {
	r.facts++
	return r.core.Apply(r.now, e)
}

// simulate goes from one end of a job, or wake of the core, to the next.
func (r *run) simulate(ctx context.Context) error {
	sample := r.from
	for r.now < r.until {
		if err := r.settle(); err != nil {
			return err
		}
		at := r.until
		if e, any := r.ends.Min(); any {
			at = min(at, e.at)
		}
		if wake, ok := r.core.NextWake(); ok {
			at = min(at, max(wake, r.now+1))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for ; sample <= at; sample = sample.Add(berth.Hour) {
			if err := r.sample(); err != nil {
				return err
			}
		}
		r.advance(at)
		for e, any := r.ends.Min(); any && e.at <= r.now; e, any = r.ends.Min() {
			if err := r.end(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// advance moves the clock and accounts for what was held until then.
func (r *run) advance(to berth.Time) {
	if since := max(r.last, r.from); to > since {
		r.heldFor += r.held * int64(to-since)
	}
	r.now, r.last = to, to
}

// settle keeps the backlog full and runs passes until nothing more starts.
func (r *run) settle() error {
	for {
		for len(r.waiting) < r.o.Backlog {
			w := &wait{job: r.o.job(r.next, r.constrained), since: r.now}
			r.next++
			r.waiting[w.spec.ID] = w
			if err := r.tell(berth.JobSubmitted{Job: w.spec}); err != nil {
				return err
			}
		}
		actions, err := r.core.Schedule(r.now)
		if err != nil {
			return err
		}
		r.passes++
		for _, action := range actions {
			bind, ok := action.(berth.Bind)
			if !ok {
				return fmt.Errorf("an unexpected order: %s of %s", action.Kind(), action.Header().Job)
			}
			if err := r.start(&bind); err != nil {
				return err
			}
		}
		if len(actions) == 0 {
			return nil
		}
	}
}

// start has a job run where the core says.
func (r *run) start(bind *berth.Bind) error {
	w := r.waiting[bind.Job]
	delete(r.waiting, bind.Job)
	if err := r.tell(berth.ActionReported{Action: bind.ID}); err != nil {
		return err
	}
	e := end{at: r.now.Add(w.actual), id: bind.Job, incarnation: bind.Incarnation, gpus: w.spec.Groups[0].Claim.GPUs}
	for i := range bind.Members {
		tray, err := trayOf(bind.Members[i].Node)
		if err != nil {
			return err
		}
		e.trays = append(e.trays, tray)
		if r.free[tray] -= e.gpus; r.free[tray] < 0 {
			return fmt.Errorf("tray %d is held twice, by %s too", tray, bind.Job)
		}
	}
	e.large = len(e.trays) >= machine.SegmentTrays
	r.countLarge(&e, 1)
	r.held += int64(len(e.trays) * e.gpus)
	r.ends.ReplaceOrInsert(e)
	if r.now < r.from {
		return nil
	}
	r.started++
	r.waits[w.kind] = append(r.waits[w.kind], r.now.Sub(w.since))
	if g := group(mix[w.kind].gpus, true); len(g.Topology.Segments) > 0 {
		r.countSegments(e.trays, g.Topology.Segments[0].Size)
	}
	return nil
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

func (r *run) end(e end) error {
	r.ends.Delete(e)
	for _, tray := range e.trays {
		r.free[tray] += e.gpus
	}
	r.countLarge(&e, -1)
	r.held -= int64(len(e.trays) * e.gpus)
	return r.tell(berth.JobFinished{Job: e.id, Incarnation: e.incarnation})
}

func (r *run) countLarge(e *end, by int) {
	if !e.large {
		return
	}
	for _, tray := range e.trays {
		r.large[tray/machine.BlockTrays] += by
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

// A idle says where the GPUs are that nobody holds, summed over samples.
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
	if r.o.Check {
		if err := r.core.Check(); err != nil {
			return err
		}
	}
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
