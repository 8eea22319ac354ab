package steady

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// sizes are the classes of tasks, by the most thousandths of GPUs. What is more than a node has is
// a gang.
var sizes = [...]struct {
	name string
	most int64
}{
	{"host", 0},
	{"share", 999},
	{"1", 1000},
	{"2-7", 7999},
	{"8", 8000},
	{"gang", math.MaxInt64},
}

// A run is one simulation, and the books about it: from events and orders alone.
type run struct {
	from, until berth.Time // of what is measured
	tasks       map[berth.JobID]*task
	fresh       []*task          // arrived since the last pass
	open        int              // tasks that are measured, and wait
	free        map[string]int64 // thousandths of GPUs, by product
	product     map[berth.NodeID]string
	broken      error // the first thing that makes no sense

	held, capacity int64
	heldFor        float64 // thousandths of GPUs times milliseconds, of what is measured
	last           berth.Time

	// waits of what is measured, in minutes, by size; turnedAway and arrived count tasks by size.
	waits               [len(sizes)][]float64
	turnedAway, arrived [len(sizes)]int
}

// A task is one that waits or runs.
type task struct {
	job       *berth.Job
	size      int
	at        berth.Time
	milli     int64
	measured  bool
	running   bool
	heldMilli map[string]int64
}

// passInterval is how often there is a pass, at the most: a fleet at its limit would have one for
// every task that ends, each of which looks through the queue.
const passInterval = 10 * berth.Second

// longest is for how long a run may go on for what has not started.
const longest = 2 * 365 * berth.Day

func (b *experiment) play(ctx context.Context, policy bench.NamedPolicy, load int, seed int64) (*run, error) {
	config := berth.Config{}
	if policy.New != nil {
		scorer, err := bench.AsScorer(b.specs, policy, seed)
		if err != nil {
			return nil, err
		}
		config.Scorer = scorer
	}
	scheduler, err := core.New(config)
	if err != nil {
		return nil, err
	}
	from := berth.Time(0).Add(berth.Duration(b.Warmup) * berth.Hour)
	r := newRun(b.nodes, from, from.Add(berth.Duration(b.Hours)*berth.Hour))
	arrivals := []sim.Arrival{{Event: berth.QueueSet{Queue: quota.Queue{Name: queue}}}}
	for _, n := range b.nodes {
		arrivals = append(arrivals, sim.Arrival{Event: berth.NodeJoined{Node: n}})
	}
	arrivals = append(arrivals, b.tasks.draw(seed, load, b.gpus(), r.until)...)
	s := sim.New(scheduler, sim.FromSlice(arrivals), sim.Options{PassInterval: passInterval, Applied: r.applied, Scheduled: r.scheduled})
	for at := r.from; at <= r.until || r.open > 0; at = at.Add(berth.Hour) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.Run(at); err != nil {
			return nil, err
		}
		if r.broken != nil {
			return nil, r.broken
		}
		if at.Sub(r.until) > longest {
			return nil, r.stuck()
		}
	}
	r.tasks, r.fresh = nil, nil
	return r, nil
}

// stuck names the first task that never started: in a small part of the fleet there may be no node
// for it.
func (r *run) stuck() error {
	var first *task
	for _, t := range r.tasks {
		if t.measured && !t.running && (first == nil || t.at < first.at || t.at == first.at && t.job.ID < first.job.ID) {
			first = t
		}
	}
	g := &first.job.Groups[0]
	return fmt.Errorf("%d tasks never started; the first, %s, asks for %d x %g GPUs and %g CPUs: is there a node for it? -nodes 0 plays all of the list",
		r.open, first.job.ID, g.Members, float64(first.milli)/float64(g.Members)/1000, float64(g.Claim.CPUMilli)/1000)
}

func newRun(nodes []berth.Node, from, until berth.Time) *run {
	r := &run{from: from, until: until, tasks: map[berth.JobID]*task{}, free: map[string]int64{}, product: map[berth.NodeID]string{}}
	for i := range nodes {
		if n := &nodes[i]; len(n.GPUs) > 0 {
			milli := int64(len(n.GPUs)) * 1000
			r.product[n.ID] = n.GPUs[0].Product
			r.free[n.GPUs[0].Product] += milli
			r.capacity += milli
		}
	}
	return r
}

func (r *run) fault(format string, args ...any) {
	if r.broken == nil {
		r.broken = fmt.Errorf(format, args...)
	}
}

// applied sees every event.
func (r *run) applied(now berth.Time, e berth.Event, refusal error) {
	if refusal != nil {
		r.fault("%s at %d was refused: %v", e.Kind(), now, refusal)
		return
	}
	r.advance(now)
	switch e := e.(type) {
	case berth.JobSubmitted:
		r.submit(now, &e.Job)
	case berth.JobFinished:
		t := r.tasks[e.Job]
		delete(r.tasks, e.Job)
		for product, milli := range t.heldMilli {
			r.free[product] += milli
			r.held -= milli
		}
	}
}

func (r *run) submit(now berth.Time, job *berth.Job) {
	t := &task{job: job, at: now, milli: study.Milli(&job.Groups[0]), measured: now >= r.from && now < r.until}
	for t.milli > sizes[t.size].most {
		t.size++
	}
	r.tasks[job.ID] = t
	r.fresh = append(r.fresh, t)
	if t.measured {
		r.open++
		r.arrived[t.size]++
	}
}

// scheduled sees the orders of every pass.
func (r *run) scheduled(now berth.Time, orders []berth.Order) {
	r.advance(now)
	for _, o := range orders {
		switch o := o.(type) {
		case berth.Bind:
			r.start(now, &o)
		case berth.Repartition: // of a GPU that is free, for shares or from them
		default:
			r.fault("an unexpected order: %s of %s", o.Kind(), o.Header().Job)
		}
	}
	for _, t := range r.fresh {
		if t.measured && !t.running && r.suitable(t.job) >= t.milli {
			r.turnedAway[t.size]++
		}
	}
	r.fresh = r.fresh[:0]
}

func (r *run) start(now berth.Time, bind *berth.Bind) {
	t := r.tasks[bind.Job]
	if t == nil || t.running {
		r.fault("order %d binds %s, which is not known or runs", bind.ID, bind.Job)
		return
	}
	t.running, t.heldMilli = true, map[string]int64{}
	each := t.milli / int64(t.job.Groups[0].Members)
	for i := range bind.Members {
		product := r.product[bind.Members[i].Node]
		t.heldMilli[product] += each
		r.free[product] -= each
		r.held += each
		if r.free[product] < 0 {
			r.fault("order %d gives more of %s than is free", bind.ID, product)
		}
	}
	if t.measured {
		r.open--
		r.waits[t.size] = append(r.waits[t.size], float64(now.Sub(t.at))/float64(berth.Minute))
	}
}

// suitable are the thousandths of GPUs that are free, of products that a task accepts.
func (r *run) suitable(job *berth.Job) (sum int64) {
	products := job.Groups[0].Selector.Products
	for product, milli := range r.free {
		if len(products) == 0 || slices.Contains(products, product) {
			sum += milli
		}
	}
	return sum
}

// advance accounts for what was held until now.
func (r *run) advance(now berth.Time) {
	from, to := max(r.last, r.from), min(now, r.until)
	if to > from {
		r.heldFor += float64(r.held) * float64(to.Sub(from))
	}
	r.last = now
}

// allocation is the part of the GPUs that was held, in percent.
func (r *run) allocation() float64 {
	return 100 * r.heldFor / (float64(r.capacity) * float64(r.until.Sub(r.from)))
}
