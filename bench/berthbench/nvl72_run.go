package main

import (
	"fmt"
	"time"

	"github.com/google/btree"

	"github.com/berth-sched/berth"
)

// A nvl72Run is one simulation: the core, the jobs, and the books about both. It needs
// no executor, since members start and stop at once and nothing fails.
type nvl72Run struct {
	o           *nvl72Options
	constrained bool
	core        *berth.Core

	now     berth.Time
	from    berth.Time // of what is measured
	until   berth.Time
	next    int // number of the next job
	waiting map[berth.JobID]*nvl72Wait
	ends    *btree.BTreeG[nvl72End]
	free    []int // GPUs by tray
	large   []int // trays by block that jobs of 64 GPUs and more hold

	held    int64 // GPUs
	heldFor int64 // GPU-milliseconds, since from
	last    berth.Time

	waits           [len(nvl72Mix)][]berth.Duration
	segments, split int
	started         int
	passes, facts   int
	idle            nvl72Idle
	totals          berth.Totals
	wall            time.Duration
}

type nvl72Wait struct {
	nvl72Job
	since berth.Time
}

// A nvl72End is a job that runs until then.
type nvl72End struct {
	at          berth.Time
	id          berth.JobID
	incarnation berth.Incarnation
	trays       []int
	gpus        int // of each tray
	large       bool
}

func (e nvl72End) less(f nvl72End) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	return e.id < f.id
}

func newNVL72Run(o *nvl72Options, constrained bool) (*nvl72Run, error) {
	core, err := o.core()
	if err != nil {
		return nil, err
	}
	r := &nvl72Run{
		o: o, constrained: constrained, core: core,
		from:    berth.Time(o.warmup * float64(berth.Day)),
		until:   berth.Time((o.warmup + o.days) * float64(berth.Day)),
		waiting: map[berth.JobID]*nvl72Wait{},
		ends:    btree.NewG(16, nvl72End.less),
		free:    make([]int, o.trays),
		large:   make([]int, (o.trays+blockTrays-1)/blockTrays),
	}
	for i := range r.free {
		r.free[i] = trayGPUs
	}
	return r, nil
}

func (r *nvl72Run) tell(e berth.Event) error {
	r.facts++
	return r.core.Apply(r.now, e)
}

// simulate goes from one end of a job, or wake of the core, to the next.
func (r *nvl72Run) simulate() error {
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
func (r *nvl72Run) advance(to berth.Time) {
	if since := max(r.last, r.from); to > since {
		r.heldFor += r.held * int64(to-since)
	}
	r.now, r.last = to, to
}

// settle keeps the backlog full and runs passes until nothing more starts.
func (r *nvl72Run) settle() error {
	for {
		for len(r.waiting) < r.o.backlog {
			w := &nvl72Wait{nvl72Job: r.o.job(r.next, r.constrained), since: r.now}
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
func (r *nvl72Run) start(bind *berth.Bind) error {
	w := r.waiting[bind.Job]
	delete(r.waiting, bind.Job)
	if err := r.tell(berth.ActionReported{Action: bind.ID}); err != nil {
		return err
	}
	e := nvl72End{at: r.now.Add(w.actual), id: bind.Job, incarnation: bind.Incarnation, gpus: w.spec.Groups[0].Claim.GPUs}
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
	e.large = len(e.trays) >= segmentTrays
	r.countLarge(&e, 1)
	r.held += int64(len(e.trays) * e.gpus)
	r.ends.ReplaceOrInsert(e)
	if r.now < r.from {
		return nil
	}
	r.started++
	r.waits[w.kind] = append(r.waits[w.kind], r.now.Sub(w.since))
	if g := nvl72Group(nvl72Mix[w.kind].gpus, true); len(g.Topology.Segments) > 0 {
		r.countSegments(e.trays, g.Topology.Segments[0].Size)
	}
	return nil
}

// countSegments counts the segments of a job, and those that are in several blocks.
// Without constraints the trays, in order of index, are cut into segments as well as
// possible: by block.
func (r *nvl72Run) countSegments(trays []int, size int) {
	for at := 0; at < len(trays); at += size {
		r.segments++
		for _, tray := range trays[at : at+size] {
			if tray/blockTrays != trays[at]/blockTrays {
				r.split++
				break
			}
		}
	}
}

func (r *nvl72Run) end(e nvl72End) error {
	r.ends.Delete(e)
	for _, tray := range e.trays {
		r.free[tray] += e.gpus
	}
	r.countLarge(&e, -1)
	r.held -= int64(len(e.trays) * e.gpus)
	return r.tell(berth.JobFinished{Job: e.id, Incarnation: e.incarnation})
}

func (r *nvl72Run) countLarge(e *nvl72End, by int) {
	if !e.large {
		return
	}
	for _, tray := range e.trays {
		r.large[tray/blockTrays] += by
	}
}

func trayOf(id berth.NodeID) (int, error) {
	var tray int
	_, err := fmt.Sscanf(string(id), "tray-%d", &tray)
	return tray, err
}

// occupancy is the part of the GPU time that was held.
func (r *nvl72Run) occupancy() float64 {
	return float64(r.heldFor) / (float64(r.o.trays*trayGPUs) * float64(r.until-r.from))
}

// A nvl72Idle says where the GPUs are that nobody holds, summed over samples.
type nvl72Idle struct {
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
func (i *nvl72Idle) share(gpus int) any {
	if i.samples == 0 {
		return nil
	}
	return 100 * float64(gpus) / (float64(i.samples) * float64(i.gpus))
}

// mean is a count by sample.
func (i *nvl72Idle) mean(count int) float64 { return float64(count) / float64(max(i.samples, 1)) }

// sample looks at what is idle now.
func (r *nvl72Run) sample() error {
	if r.o.verify {
		if err := r.core.Check(); err != nil {
			return err
		}
	}
	i := &r.idle
	i.samples, i.gpus = i.samples+1, r.o.trays*trayGPUs
	reserved := make([]bool, r.o.trays)
	for _, set := range r.core.Report().Reservations {
		for _, id := range set.Nodes {
			tray, err := trayOf(id)
			if err != nil {
				return err
			}
			reserved[tray] = true
		}
	}
	for first := 0; first < r.o.trays; first += blockTrays {
		whole := 0
		for tray := first; tray < min(first+blockTrays, r.o.trays); tray++ {
			switch {
			case reserved[tray]:
				i.reserved += r.free[tray]
			case r.free[tray] == trayGPUs:
				whole++
			default:
				i.partTrays += r.free[tray]
			}
		}
		switch {
		case whole >= segmentTrays:
			i.roomy += whole * trayGPUs
			i.roomyBlocks++
		case r.large[first/blockTrays] > 0:
			i.beside += whole * trayGPUs
		default:
			i.small += whole * trayGPUs
			i.smallBlocks++
		}
	}
	return nil
}
