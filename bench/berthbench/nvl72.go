package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/berth-sched/berth"
)

// The experiment nvl72 asks what the constraints of NVLink islands cost. A fleet of
// GB200 NVL72 trays, 4 GPUs each, 18 trays to a block (the NVLink domain), 8 blocks to a
// scalable unit, runs the same jobs twice: once with their segments, once without any
// topology. Demand is above capacity: a backlog of a fixed number of jobs waits at every
// instant, and whenever one starts, another is submitted. So both runs draw the same
// jobs in the same order, whatever they do with them.
//
// The jobs are those of nvl72Mix. A job of up to 4 GPUs has one member; larger ones
// have a member with 4 GPUs for each tray. Below 64 GPUs all trays of a job are one
// segment: they stay in one block. From 64 GPUs on every 16 trays are a segment. A block
// has 18 trays, so two are left over by each segment: those are for the small jobs.
//
// Run times are drawn by size, around a median, with a factor of 3 either way for
// two thirds of the jobs (log-normal), cut at 24 hours. Jobs tell the scheduler how long
// they will run: they train a number of steps whose pace is known. With -rough they
// tell a limit instead, the next larger of 30 minutes and 1, 2, 4, 8, 12, 24 hours, and
// most end well before it; reservations are then planned on what is wrong.
//
// Since two trays of 18 are left over by a segment, no scheduler fills the fleet unless
// jobs of up to two trays ask for at least an eighth of what those with segments of 16
// do. The table of the mix shows that they do.
//
// Sixteen gangs may have a reservation at a time instead of the core's four. With few,
// large jobs are served by what happens to come free together, and the small ones, which
// then never wait, leave holes that nobody is there to fill; -reserved 4 shows it.
//
// The target is that the occupancy with constraints stays within 0.5 points of that
// without; the public reference for such a policy is "within 1 %".
func runNVL72(s *session, args []string) error {
	o := nvl72Options{}
	s.IntVar(&o.trays, "trays", 5000, "trays of the fleet")
	s.Float64Var(&o.days, "days", 5, "days to measure")
	s.Float64Var(&o.warmup, "warmup", 2, "days before that")
	s.IntVar(&o.backlog, "backlog", 300, "jobs that wait at every instant")
	s.Uint64Var(&o.seed, "seed", 1, "seed of the jobs")
	s.TextVar(&o.locality, "locality", berth.Strict, "strict, balanced or loose")
	s.IntVar(&o.reserved, "reserved", 16, "gangs with a reservation at a time; 0: the core's default, -1: none")
	s.IntVar(&o.depth, "backfill", 0, "backfill budget of a pass; 0: the default")
	s.BoolVar(&o.rough, "rough", false, "let jobs tell no more than a limit above their run time")
	s.BoolVar(&o.verify, "check", false, "check the core's invariants every simulated hour (slow)")
	if err := s.parse(args); err != nil {
		return err
	}
	if o.trays < 300 || o.trays > 65_536 || !(o.days > 0 && o.days <= 3660) || !(o.warmup >= 0 && o.warmup <= 3660) ||
		o.backlog < 1 || o.backlog > 100_000 || o.reserved < -1 || o.depth < 0 {
		return s.misused("a flag is out of range: at least 300 trays and some time are needed")
	}
	if err := s.print(nvl72MixTable()); err != nil {
		return err
	}
	var runs [2]*nvl72Run
	for i, constrained := range []bool{true, false} {
		run, err := o.run(constrained, s)
		if err != nil {
			return err
		}
		runs[i] = run
	}
	return s.printNVL72(&o, runs[0], runs[1])
}

type nvl72Options struct {
	trays, backlog  int
	reserved, depth int
	days, warmup    float64
	seed            uint64
	locality        berth.Locality
	rough, verify   bool
}

const (
	trayGPUs     = 4
	blockTrays   = 18
	unitBlocks   = 8
	segmentTrays = 16
	levelUnit    = "su"
	levelBlock   = "block"
)

// nvl72Mix is what the jobs are like: how many of 1,000, and the median of their run
// time in minutes. The sizes are powers of two and some of those between. Jobs of 64
// GPUs and more are a ninth of all and use most of the GPU time.
var nvl72Mix = [...]struct {
	gpus, of1000 int
	minutes      int
}{
	{1, 250, 90},
	{2, 120, 90},
	{4, 240, 120},
	{8, 220, 180},
	{12, 12, 120},
	{16, 56, 120},
	{24, 12, 150},
	{32, 34, 150},
	{48, 13, 180},
	{64, 18, 180},
	{128, 11, 240},
	{192, 3, 240},
	{256, 5, 240},
	{384, 1, 300},
	{512, 3, 300},
	{768, 1, 360},
	{1024, 1, 360},
}

// A nvl72Job is a job of the mix.
type nvl72Job struct {
	kind   int // index into nvl72Mix
	actual berth.Duration
	spec   berth.Job
}

// job draws the n-th job. It does not depend on those before it.
func (o *nvl72Options) job(n int, constrained bool) nvl72Job {
	random := rand.New(rand.NewPCG(o.seed, uint64(n)))
	kind, left := 0, random.IntN(1000)
	for left >= nvl72Mix[kind].of1000 {
		left -= nvl72Mix[kind].of1000
		kind++
	}
	m := nvl72Mix[kind]
	actual := logNormal(random, berth.Duration(m.minutes)*berth.Minute, 3, berth.Minute, berth.Day)
	stated := actual
	if o.rough {
		stated = roundUp(actual)
	}
	return nvl72Job{kind: kind, actual: actual, spec: berth.Job{
		ID: berth.JobID(fmt.Sprintf("job-%07d", n)), Queue: benchQueue, ExpectedRuntime: stated,
		Groups: []berth.Group{nvl72Group(m.gpus, constrained)},
	}}
}

func nvl72Group(gpus int, constrained bool) berth.Group {
	if gpus <= trayGPUs {
		return berth.Group{Replicas: 1, Claim: berth.Claim{GPUs: gpus}}
	}
	g := berth.Group{Replicas: gpus / trayGPUs, Claim: berth.Claim{GPUs: trayGPUs}}
	if constrained {
		g.Topology.Segments = []berth.Segment{{Size: min(g.Replicas, segmentTrays), Level: levelBlock}}
	}
	return g
}

// roundUp is what people say when they are asked how long a job will take.
func roundUp(d berth.Duration) berth.Duration {
	for _, limit := range []berth.Duration{30 * berth.Minute, berth.Hour, 2 * berth.Hour, 4 * berth.Hour, 8 * berth.Hour, 12 * berth.Hour} {
		if d <= limit {
			return limit
		}
	}
	return berth.Day
}

// nvl72Core makes the fleet.
func (o *nvl72Options) core() (*berth.Core, error) {
	policy := berth.Policy{Locality: o.locality, ReservedGangs: o.reserved, BackfillBudget: o.depth}
	core, err := newBenchCore(berth.Config{
		Levels: []string{levelUnit, levelBlock},
		Fabric: berth.Fabric{IslandLevel: levelBlock},
		Policy: policy,
	})
	if err != nil {
		return nil, err
	}
	for i := range o.trays {
		if err := core.Apply(0, berth.NodeJoined{Node: nvlTray(i)}); err != nil {
			return nil, err
		}
	}
	return core, nil
}

// nvlTray is the i-th tray of an NVL72 fleet: four GB200 and four NICs of 400 Gb/s.
func nvlTray(i int) berth.Node {
	block := i / blockTrays
	name := fmt.Sprintf("block-%03d", block)
	n := berth.Node{
		ID:       berth.NodeID(fmt.Sprintf("tray-%05d", i)),
		Domains:  []string{fmt.Sprintf("su-%02d", block/unitBlocks), name},
		CPUMilli: 144_000, MemoryMiB: 960 << 10,
	}
	for g := range trayGPUs {
		n.GPUs = append(n.GPUs, berth.GPU{
			Product: "GB200", MemoryMiB: 189_471, ComputeCapability: berth.ComputeCapability{Major: 10},
			NUMANode: g / 2, Clique: name,
		})
		n.NICs = append(n.NICs, berth.NIC{Name: fmt.Sprintf("mlx5_%d", g), Rail: g, MbitPerSecond: 400_000, NUMANode: g / 2})
	}
	return n
}

func nvl72MixTable() *table {
	gpuTime := 0.0
	weight := func(i int) float64 {
		m := nvl72Mix[i]
		return float64(m.gpus*m.of1000) * float64(m.minutes)
	}
	for i := range nvl72Mix {
		gpuTime += weight(i)
	}
	t := newTable("the mix: jobs by size, median run time, and about what share of the GPU time each size asks for",
		"GPUs", "jobs %", "median min", "GPU time %", "trays", "segment (trays in one block)")
	for i, m := range nvl72Mix {
		g := nvl72Group(m.gpus, true)
		var segment any
		if len(g.Topology.Segments) > 0 {
			segment = g.Topology.Segments[0].Size
		}
		t.add(m.gpus, float64(m.of1000)/10, m.minutes, 100*weight(i)/gpuTime, g.Replicas, segment)
	}
	return t
}

// printNVL72 compares the two runs.
func (s *session) printNVL72(o *nvl72Options, with, without *nvl72Run) error {
	t := newTable(fmt.Sprintf("%d trays (%d GPUs), %g days after %g of warm-up, %d jobs waiting, seed %d, %s, run times told %s",
		o.trays, o.trays*trayGPUs, o.days, o.warmup, o.backlog, o.seed, o.locality, map[bool]string{true: "roughly", false: "exactly"}[o.rough]), "", "with constraints", "without")
	row := func(name string, value func(*nvl72Run) any) { t.add(name, value(with), value(without)) }
	row("occupancy, % of GPU time", func(r *nvl72Run) any { return 100 * r.occupancy() })
	row("jobs started", func(r *nvl72Run) any { return r.started })
	row("segments placed", func(r *nvl72Run) any { return r.segments })
	row("segments split over blocks", func(r *nvl72Run) any { return r.split })
	row("idle, % of GPU time", func(r *nvl72Run) any { return 100 * (1 - r.occupancy()) })
	row("  on reserved trays", func(r *nvl72Run) any { return r.idle.share(r.idle.reserved) })
	row("  in trays that are partly used", func(r *nvl72Run) any { return r.idle.share(r.idle.partTrays) })
	row("  beside segments", func(r *nvl72Run) any { return r.idle.share(r.idle.beside) })
	row("  in blocks of small jobs, without room for a segment", func(r *nvl72Run) any { return r.idle.share(r.idle.small) })
	row("  in blocks with room for one", func(r *nvl72Run) any { return r.idle.share(r.idle.roomy) })
	row("blocks with room for a segment, mean", func(r *nvl72Run) any { return r.idle.mean(r.idle.roomyBlocks) })
	row("blocks of small jobs, mean", func(r *nvl72Run) any { return r.idle.mean(r.idle.smallBlocks) })
	row("reservations given", func(r *nvl72Run) any { return r.totals.Reservations })
	row("reservations expired", func(r *nvl72Run) any { return r.totals.ReservationsExpired })
	row("jobs backfilled onto them", func(r *nvl72Run) any { return r.totals.Backfilled })
	row("searches", func(r *nvl72Run) any { return r.totals.Attempts })
	row("passes", func(r *nvl72Run) any { return r.passes })
	row("facts", func(r *nvl72Run) any { return r.facts })
	row("seconds", func(r *nvl72Run) any { return r.wall.Seconds() })
	row("facts and passes a second", func(r *nvl72Run) any { return int(float64(r.facts+r.passes) / r.wall.Seconds()) })
	if err := s.print(t); err != nil {
		return err
	}
	if err := s.print(nvl72Waits(with, without)); err != nil {
		return err
	}
	cost := 100 * (without.occupancy() - with.occupancy())
	s.note("the constraints cost %.2f points of occupancy; the target is 0.5", cost)
	if with.split > 0 {
		return fmt.Errorf("%d of %d segments are split", with.split, with.segments)
	}
	return nil
}

func nvl72Waits(with, without *nvl72Run) *table {
	t := newTable("waits in minutes, of the jobs that started; with constraints and without", "GPUs", "started", "p50", "p95", "max",
		"started w/o", "p50 w/o", "p95 w/o", "max w/o")
	for i, m := range nvl72Mix {
		row := []any{m.gpus}
		for _, r := range []*nvl72Run{with, without} {
			w := r.waits[i]
			row = append(row, len(w))
			for _, q := range []float64{0.5, 0.95, 1} {
				if len(w) == 0 {
					row = append(row, nil)
					continue
				}
				row = append(row, minutes(quantile(w, q)))
			}
		}
		t.add(row...)
	}
	return t
}

func minutes(d berth.Duration) float64 { return float64(d) / float64(berth.Minute) }

// run simulates one of the two.
func (o *nvl72Options) run(constrained bool, s *session) (*nvl72Run, error) {
	began := time.Now()
	r, err := newNVL72Run(o, constrained)
	if err != nil {
		return nil, err
	}
	word := map[bool]string{true: "with", false: "without"}[constrained]
	s.say("%s constraints: %d trays, %d jobs waiting", word, o.trays, o.backlog)
	if err := r.simulate(); err != nil {
		return nil, err
	}
	r.wall = time.Since(began)
	r.totals = r.core.Report().Totals
	s.say("%s constraints: occupancy %.2f %% in %.1f s", word, 100*r.occupancy(), r.wall.Seconds())
	return r, nil
}
