package goodput

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

// A run is one course of the training: a core, the fleet as it truly is, and the executor
// of orders. Nothing in its books comes from the core's own reckoning.
type run struct {
	g     *experiment
	line  *line
	core  *core.Core
	sim   *sim.Simulation
	seed  uint64
	until berth.Time

	nodes  []node
	byName map[berth.NodeID]int
	gang   gang
	jobs   map[berth.JobID]*small
	next   int // number of the next job of the background
	queued int // jobs of the background that wait

	// warned are the nodes that are being drained, averted the faults that come no more.
	warned  []int
	averted map[*fault]bool

	small smalls
	count counts
	days  []berth.Duration // useful time by day
	// broken is the first thing that makes no sense.
	broken error
}

// counts are what is counted besides time.
type counts struct {
	interruptions int // of the gang, by failures
	late          int // of these, by nodes that were being drained
	drains        int // of nodes of the gang that ended before the failure
}

// newRun makes a run of a seed on a line, in which nothing has been placed yet. The checker, unless
// it is nil, sees all of it.
func (g *experiment) newRun(line *line, seed uint64, checker sim.Checker) (*run, error) {
	sched, err := core.New(g.config(line))
	if err != nil {
		return nil, err
	}
	r := &run{
		g: g, line: line, core: sched, seed: seed,
		until: berth.Time(berth.Duration(g.Days) * berth.Day), byName: map[berth.NodeID]int{}, jobs: map[berth.JobID]*small{},
		averted: map[*fault]bool{},
	}
	r.sim = sim.New(sched, sim.FromSlice(nil), sim.Options{Checker: checker, CarryOut: r.ordered, Passed: r.passed})
	for i := range g.Nodes + g.Beside {
		n := g.node(i)
		r.nodes = append(r.nodes, node{spec: n})
		r.byName[n.ID] = i
		r.tell(berth.NodeJoined{Node: n})
	}
	for _, q := range g.queues() {
		r.tell(berth.QueueSet{Queue: q})
	}
	r.submitGang()
	r.refill()
	return r, r.broken
}

// play has the faults come, and looks whether the books add up.
func (r *run) play(faults []fault) error {
	for i := range faults {
		r.expect(&faults[i])
	}
	for day := berth.Time(berth.Day); day < r.until; day = day.Add(berth.Day) {
		r.at(day, r.day)
	}
	err := r.sim.Run(r.until)
	if err == nil {
		err = r.audit()
	}
	if err != nil {
		return fmt.Errorf("%s, seed %d: after %v: %w", r.line.name, r.seed, r.sim.Now().Sub(0), err)
	}
	return nil
}

// after has something happen later.
func (r *run) after(d berth.Duration, do func()) { r.at(r.sim.Now().Add(d), do) }

func (r *run) at(at berth.Time, do func()) {
	r.sim.At(at, func() error {
		do()
		return r.broken
	})
}

// passed takes out what has been drained, and keeps the background waiting.
func (r *run) passed() error {
	r.takeOut()
	r.refill()
	return r.broken
}

// ordered carries an order out, or begins to.
func (r *run) ordered(action berth.Order) error {
	if h := action.Header(); h.Job == gangJob {
		r.gang.ordered(r, action)
	} else if j := r.jobs[h.Job]; j != nil {
		j.ordered(r, action)
	} else {
		r.fault(fmt.Errorf("%s of %s, which is not a running job", action.Kind(), h.Job))
	}
	return r.broken
}

// tell tells the core a fact. Only a report may be refused: as stale.
func (r *run) tell(e berth.Event) {
	if err := r.sim.Tell(sim.Arrival{Event: e}); err != nil && !errors.Is(err, berth.ErrStale) {
		r.fault(err)
	}
}

// fault keeps the first thing that makes no sense.
func (r *run) fault(err error) {
	if r.broken == nil {
		r.broken = err
	}
}

// audit ends the books and looks whether they add up.
func (r *run) audit() error {
	r.gang.end(r.until)
	r.gang.places.until(r.until)
	r.day()
	for _, id := range slices.Sorted(maps.Keys(r.jobs)) {
		r.jobs[id].halt(r, berth.Millisecond)
	}
	if booked, all := r.gang.booked(), berth.Duration(r.until); booked != all {
		return fmt.Errorf("%v is in the books, of %v", booked, all)
	}
	return r.core.Check()
}

// day notes what has been useful so far.
func (r *run) day() {
	useful := r.gang.useful
	if r.gang.phase == trains {
		useful += stretchOf(r.sim.Now().Sub(r.gang.since)).steps
	}
	for _, before := range r.days {
		useful -= before
	}
	r.days = append(r.days, useful)
}
