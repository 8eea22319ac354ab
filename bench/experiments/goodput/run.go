package goodput

import (
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// A run is one course of the training: a core, the fleet as it truly is, and who
// carries out orders. Nothing in its books comes from the core's own reckoning.
type run struct {
	g     *experiment
	line  *line
	core  *berth.Core
	watch watch
	seed  uint64

	now, until berth.Time
	queue      occurrences
	seq        uint64

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

// A watch sees all that passes between the run and the core.
type watch struct {
	applied   func(r *run, e berth.Event, err error)
	scheduled func(r *run, actions []berth.Action)
}

// counts are what is counted besides time.
type counts struct {
	interruptions int // of the gang, by failures
	late          int // of these, by nodes that were being drained
	drains        int // of nodes of the gang that ended before the failure
	facts, passes int
}

// An occurrence of the run's own queue.
type occurrence struct {
	at  berth.Time
	seq uint64
	do  func()
}

// A occurrences has what is to happen, by instant and then in order of entry.
type occurrences []occurrence

func (q occurrences) Len() int { return len(q) }
func (q occurrences) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q occurrences) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *occurrences) Push(e any)   { *q = append(*q, e.(occurrence)) }
func (q *occurrences) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = occurrence{}
	*q = (*q)[:last]
	return e
}

// after has something happen later.
func (r *run) after(d berth.Duration, do func()) { r.at(r.now.Add(d), do) }

func (r *run) at(at berth.Time, do func()) {
	r.seq++
	heap.Push(&r.queue, occurrence{at, r.seq, do})
}

// run plays the course of a seed on a line.
func (g *experiment) run(line *line, seed uint64, watch watch) (*run, error) {
	r, err := g.newRun(line, seed, watch)
	if err != nil {
		return nil, err
	}
	return r, r.play(g.faults(seed))
}

// play has the faults come, and looks whether the books add up.
func (r *run) play(faults []fault) error {
	for i := range faults {
		r.expect(&faults[i])
	}
	r.simulate()
	if err := r.audit(); err != nil {
		return fmt.Errorf("%s, seed %d: %w", r.line.name, r.seed, err)
	}
	return nil
}

func (g *experiment) newRun(line *line, seed uint64, watch watch) (*run, error) {
	r := &run{
		g: g, line: line, watch: watch, seed: seed,
		until: berth.Time(berth.Duration(g.Days) * berth.Day), byName: map[berth.NodeID]int{}, jobs: map[berth.JobID]*small{},
		averted: map[*fault]bool{},
	}
	var err error
	if r.core, err = berth.New(g.config(line)); err != nil {
		return nil, err
	}
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
	r.after(berth.Day, r.day)
	return r, r.broken
}

// simulate goes from one instant at which something happens to the next.
func (r *run) simulate() {
	for r.broken == nil {
		r.settle()
		at := r.until
		if len(r.queue) > 0 {
			at = min(at, r.queue[0].at)
		}
		if wake, ok := r.core.NextWake(); ok {
			at = min(at, max(wake, r.now+1))
		}
		if r.now = at; r.now >= r.until {
			return
		}
		for len(r.queue) > 0 && r.queue[0].at <= r.now {
			heap.Pop(&r.queue).(occurrence).do()
		}
	}
}

// settle keeps the background waiting, and runs passes until there is nothing more to order.
func (r *run) settle() {
	for r.broken == nil {
		r.refill()
		actions, err := r.core.Schedule(r.now)
		if err != nil {
			r.fault(err)
			return
		}
		if r.count.passes++; r.watch.scheduled != nil {
			r.watch.scheduled(r, actions)
		}
		for _, action := range actions {
			r.ordered(action)
		}
		r.takeOut()
		if wake, ok := r.core.NextWake(); len(actions) == 0 && (!ok || wake > r.now) {
			return
		}
	}
}

// ordered carries an order out, or begins to.
func (r *run) ordered(action berth.Action) {
	if h := action.Header(); h.Job == gangJob {
		r.gang.ordered(r, action)
	} else if j := r.jobs[h.Job]; j != nil {
		j.ordered(r, action)
	} else {
		r.fault(fmt.Errorf("%s of %s, which is no job that runs", action.Kind(), h.Job))
	}
}

// tell tells the core a fact. Only a report may be refused: as stale.
func (r *run) tell(e berth.Event) {
	err := r.core.Apply(r.now, e)
	if r.count.facts++; r.watch.applied != nil {
		r.watch.applied(r, e, err)
	}
	if err != nil && !errors.Is(err, berth.ErrStale) {
		r.fault(err)
	}
}

// fault keeps the first thing that makes no sense.
func (r *run) fault(err error) {
	if r.broken == nil {
		r.broken = fmt.Errorf("after %v: %w", berth.Duration(r.now), err)
	}
}

// audit ends the books and looks whether they add up.
func (r *run) audit() error {
	if r.broken != nil {
		return r.broken
	}
	r.gang.end(r.now)
	r.gang.places.until(r.now)
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
		useful += stretchOf(r.now.Sub(r.gang.since)).steps
	}
	for _, before := range r.days {
		useful -= before
	}
	r.days = append(r.days, useful)
	r.after(berth.Day, r.day)
}
