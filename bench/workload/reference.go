package workload

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// A Reference is a seeded day of a fleet that a large laboratory might run. Its
// zero value is valid and means the defaults. Time 0 is midnight.
//
// The fleet is 500 DGX H100 (8 GPUs of 80 GB, 112 cores, 2 TB, 8 NICs of 400
// Gbit/s, one a rail; figures from NVIDIA's DGX H100 user guide). As in NVIDIA's
// DGX SuperPOD reference architecture for H100, a scalable unit of 32 nodes
// shares its rail leaves, and four units share a spine.
//
// Demand is chosen, in proportion to the fleet, such that the GPUs asked for reach
// what there is in the afternoon and a queue forms:
//
//   - Inference: services of small replicas, mostly of a share of a GPU or of one,
//     which scale between 45 % of their size at four in the morning and all of it at
//     four in the afternoon. At the peak they take half of the fleet.
//   - Gangs of 64, 128, 256 and 512 GPUs, a driver with each: the fewer the larger.
//     That few large jobs take most GPU hours is what traces of such clusters show
//     (Hu et al., "Characterization of Large Language Model Development in the
//     Datacenter", NSDI 2024).
//   - Notebooks in office hours: time slices and single GPUs.
//   - Small batch jobs of 1 to 16 GPUs, and jobs of the host alone.
//
// Run times are log-normal, because measured ones have such a long tail (Jeon et
// al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training
// Workloads", USENIX ATC 2019); their medians and widths are chosen, and stand
// beside the code that draws them.
//
// Failures: the training run of Llama 3 on 16,384 GPUs met one unexpected
// interruption in three hours (Llama team, "The Llama 3 Herd of Models", 2024),
// which is two a day on this fleet. The day has a few more, and some maintenance.
type Reference struct {
	// Seed of everything that is drawn.
	Seed uint64
	// Nodes in the fleet; zero: 500. Demand grows with it.
	Nodes int
	// Span is how long the workload goes on; zero: a day.
	Span berth.Duration
	// LoadPercent scales the demand; zero: 100.
	LoadPercent int
}

// Config is the configuration of a core for this fleet.
func (r Reference) Config() berth.Config {
	return berth.Config{Levels: []string{levelSpine, levelLeaf}}
}

// Length is how long the workload goes on.
func (r Reference) Length() berth.Duration { return cmp.Or(r.Span, berth.Day) }

// Workload is the day as the simulator takes it.
func (r Reference) Workload() sim.Workload { return sim.FromSlice(r.Arrivals()) }

// Arrivals lists everything that happens, in order of time: first the nodes and
// the queues, at time 0, then jobs, changes of scale and failures.
func (r Reference) Arrivals() []sim.Arrival {
	d := newDay(r)
	d.addNodes()
	d.addQueues()
	d.addServices()
	d.addGangs()
	d.addNotebooks()
	d.addBatch()
	d.addHostJobs()
	d.addFailures()
	slices.SortStableFunc(d.arrivals, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
	return d.arrivals
}

// A day is a workload while it is drawn.
type day struct {
	nodes    int
	gpus     int
	span     berth.Duration
	load     float64
	seed     uint64
	arrivals []sim.Arrival
	fleet    []berth.Node
	teams    teams
}

func newDay(r Reference) *day {
	nodes := cmp.Or(r.Nodes, 500)
	return &day{
		nodes: nodes, gpus: nodes * gpusPerNode, span: r.Length(),
		load: float64(cmp.Or(r.LoadPercent, 100)) / 100, seed: r.Seed,
	}
}

// source returns the generator of one part of the day. Each part has its own, so
// that a change to one leaves the others as they were.
func (d *day) source(part uint64) draw {
	return draw{rand.New(rand.NewPCG(d.seed, part))}
}

const (
	partQueues = iota + 1
	partServices
	partGangs
	partNotebooks
	partBatch
	partHost
	partFailures
)

// tell adds a fact, unless it comes after the end.
func (d *day) tell(at berth.Time, e berth.Event) { d.submit(at, e, 0) }

func (d *day) submit(at berth.Time, e berth.Event, runtime berth.Duration) {
	if at <= berth.Time(0).Add(d.span) {
		d.arrivals = append(d.arrivals, sim.Arrival{At: at, Event: e, Runtime: runtime})
	}
}

// arriving is how many arrive in the span.
func (d *day) arriving(perNodeAndDay float64) int {
	return int(perNodeAndDay * float64(d.nodes) * d.load * float64(d.span) / float64(berth.Day))
}

// A draw draws what the day is made of.
type draw struct{ *rand.Rand }

// logNormal draws from a log-normal distribution with a median and the standard
// deviation of the logarithm.
func (r draw) logNormal(median, sigma float64) float64 {
	return median * math.Exp(sigma*r.NormFloat64())
}

// minutes draws a log-normal span, between a minute and the most, in whole
// seconds.
func (r draw) minutes(median, sigma, most float64) berth.Duration {
	m := min(max(r.logNormal(median, sigma), 1), most)
	return berth.Duration(math.Round(m*60)) * berth.Second
}

// pick draws an index with the given weights.
func (r draw) pick(weights ...int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	at := r.IntN(total)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// estimate is what a user says about a run time: never too little, up to twice as
// much, in steps of ten minutes.
func (r draw) estimate(d berth.Duration) berth.Duration {
	const step = 10 * berth.Minute
	guess := d + berth.Duration(r.Int64N(int64(d)+1))
	return (guess + step - 1) / step * step
}

// arrival draws an instant of a span, following a curve of demand over the day
// between 0 and 1, by rejection.
func (r draw) arrival(span berth.Duration, demand func(berth.Time) float64) berth.Time {
	for {
		at := berth.Time(r.Int64N(max(1, int64(span/berth.Second)))) * berth.Time(berth.Second)
		if r.Float64() < demand(at) {
			return at
		}
	}
}

// hour is the time of day in hours.
func hour(t berth.Time) float64 {
	return float64(t%berth.Time(berth.Day)) / float64(berth.Hour)
}

// sun is the demand of users: least at 04:00, most at 16:00.
func sun(t berth.Time) float64 {
	return 0.5 - 0.5*math.Cos(2*math.Pi*(hour(t)-4)/24)
}

// office is the presence of users that submit by hand: full from nine to six, a
// tenth at night.
func office(t berth.Time) float64 {
	switch h := hour(t); {
	case h >= 9 && h < 18:
		return 1
	case h >= 7 && h < 9, h >= 18 && h < 22:
		return 0.5
	default:
		return 0.1
	}
}

// number formats a name such as "batch-00042".
func number(prefix string, i, digits int) string { return fmt.Sprintf("%s%0*d", prefix, digits, i) }
