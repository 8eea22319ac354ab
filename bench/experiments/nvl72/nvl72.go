// Package nvl72 asks what the constraints of NVLink islands cost. A fleet of
// GB200 NVL72 trays, 4 GPUs each, 18 trays to a block (the NVLink domain), 8 blocks to a
// scalable unit, runs the same jobs twice: once with their segments, once without any
// topology. Demand is above capacity: a backlog of a fixed number of jobs waits at every
// instant, and whenever one starts, another is submitted. So both runs draw the same
// jobs in the same order, whatever they do with them.
//
// The jobs are those of the mix below. A job of up to 4 GPUs has one member; larger ones
// have a member with 4 GPUs for each tray. Below 64 GPUs all trays of a job are one
// segment: they stay in one block. From 64 GPUs on every 16 trays are a segment. A block
// has 18 trays, so two are left over by each segment: those are for the small jobs.
//
// Run times are drawn by size, around a median, with a factor of 3 either way for
// two thirds of the jobs (log-normal), cut at 24 hours. Jobs tell the scheduler how long
// they will run: they train a number of steps whose pace is known.
//
// Since two trays of 18 are left over by a segment, no scheduler fills the fleet unless
// jobs of up to two trays ask for at least an eighth of what those with segments of 16
// do. In the mix they do.
//
// Sixteen gangs may have a reservation at a time instead of the core's four. With few,
// large jobs are served by what happens to come free together, and the small ones, which
// then never wait, leave holes that nobody is there to fill; -reserved 4 shows it.
//
// The target is that the occupancy with constraints stays within 0.5 points of that
// without; the public reference for such a policy is "within 1 %".
package nvl72

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/core"
)

// Options say what is simulated.
type Options struct {
	study.Output
	Trays        int
	Days, Warmup float64
	Backlog      int
	Reserved     int
	Seed         uint64
}

// Defaults are the options that berthbench has by default.
func Defaults() Options {
	return Options{Trays: 5000, Days: 5, Warmup: 2, Backlog: 300, Reserved: 16, Seed: 1}
}

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	const minute, longest = 1.0 / (24 * 60), 3660
	f.Int(&o.Trays, "trays", 300, 65_536, "trays of the fleet")
	f.Float(&o.Days, "days", minute, longest, "days to measure")
	f.Float(&o.Warmup, "warmup", 0, longest, "days to play before those that are measured")
	f.Int(&o.Backlog, "backlog", 1, 100_000, "jobs that wait at every instant")
	f.Int(&o.Reserved, "reserved", -1, 10_000, "gangs with a reservation at a time; 0: the core's default, -1: none")
	f.Seed(&o.Seed, "seed of the jobs")
}

// Run makes the experiment, and writes its results to w. The error says so if a segment is split
// with the constraints.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	out := o.To(w)
	with, err := o.run(ctx, true, out)
	if err != nil {
		return err
	}
	without, err := o.run(ctx, false, out)
	if err != nil {
		return err
	}
	return o.report(out, with, without)
}

// mix is what the jobs are like: how many of 1,000, and the median of their run
// time in minutes. The sizes are powers of two and some of those between. Jobs of 64
// GPUs and more are a ninth of all and use most of the GPU time.
var mix = [...]struct {
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

// mixWeights are how many of 1,000 jobs are of each kind.
func mixWeights() []int {
	var list []int
	for _, m := range mix {
		list = append(list, m.of1000)
	}
	return list
}

// A job is a job of the mix.
type job struct {
	kind   int // index into mix
	actual berth.Duration
	spec   berth.Job
}

// job draws the n-th job. It does not depend on those before it.
func (o *Options) job(n int, constrained bool) job {
	random := rand.New(rand.NewPCG(o.Seed, uint64(n)))
	kind := study.PickIndex(random, mixWeights())
	m := mix[kind]
	actual := study.LogNormal(random, berth.Duration(m.minutes)*berth.Minute, 3, berth.Minute, berth.Day)
	return job{kind: kind, actual: actual, spec: berth.Job{
		ID: berth.JobID(fmt.Sprintf("job-%07d", n)), Queue: machine.Queue, ExpectedRuntime: actual,
		Groups: []berth.Group{group(m.gpus, constrained)},
	}}
}

func group(gpus int, constrained bool) berth.Group {
	if gpus <= machine.TrayGPUs {
		return berth.Group{Members: 1, Claim: berth.Claim{GPUs: gpus}}
	}
	g := berth.Group{Members: gpus / machine.TrayGPUs, Claim: berth.Claim{GPUs: machine.TrayGPUs}}
	if constrained {
		g.Topology.Segments = []berth.Segment{{Size: min(g.Members, machine.SegmentTrays), Level: machine.LevelBlock}}
	}
	return g
}

// core makes the fleet.
func (o *Options) core() (*core.Core, error) {
	sched, err := machine.OneQueue(berth.Config{
		Levels: []string{machine.LevelUnit, machine.LevelBlock},
		Fabric: berth.Fabric{IslandLevel: machine.LevelBlock},
		Policy: berth.Policy{ReservedGangs: o.Reserved},
	})
	if err != nil {
		return nil, err
	}
	for i := range o.Trays {
		if err := sched.Apply(0, berth.NodeJoined{Node: machine.Tray(i)}); err != nil {
			return nil, err
		}
	}
	return sched, nil
}

// report compares the two runs.
func (o *Options) report(out *study.Printer, with, without *run) error {
	t := study.NewTable(fmt.Sprintf("%d trays (%d GPUs), %g days after %g of warm-up, %d jobs waiting, seed %d",
		o.Trays, o.Trays*machine.TrayGPUs, o.Days, o.Warmup, o.Backlog, o.Seed), "", "with constraints", "without")
	row := func(name string, value func(*run) any) { t.Add(name, value(with), value(without)) }
	row("occupancy, % of GPU time", func(r *run) any { return 100 * r.occupancy() })
	row("jobs started", func(r *run) any { return r.started })
	row("segments placed", func(r *run) any { return r.segments })
	row("segments split over blocks", func(r *run) any { return r.split })
	row("idle, % of GPU time", func(r *run) any { return 100 * (1 - r.occupancy()) })
	row("  on reserved trays", func(r *run) any { return r.idle.share(r.idle.reserved) })
	row("  in trays that are partly used", func(r *run) any { return r.idle.share(r.idle.partTrays) })
	row("  beside segments", func(r *run) any { return r.idle.share(r.idle.beside) })
	row("  in blocks of small jobs, without space for a segment", func(r *run) any { return r.idle.share(r.idle.small) })
	row("  in blocks with space for one", func(r *run) any { return r.idle.share(r.idle.roomy) })
	row("blocks with space for a segment, mean", func(r *run) any { return r.idle.mean(r.idle.roomyBlocks) })
	row("blocks of small jobs, mean", func(r *run) any { return r.idle.mean(r.idle.smallBlocks) })
	row("reservations given", func(r *run) any { return r.totals.Reservations })
	row("reservations expired", func(r *run) any { return r.totals.ReservationsExpired })
	row("jobs backfilled onto them", func(r *run) any { return r.totals.ReplicasBackfilled })
	if err := out.Print(t); err != nil {
		return err
	}
	cost := 100 * (without.occupancy() - with.occupancy())
	out.Note("the constraints cost %.2f points of occupancy; the target is 0.5", cost)
	if with.split > 0 {
		return study.Found(fmt.Errorf("%d of %d segments are split", with.split, with.segments))
	}
	return nil
}

// run simulates one of the two.
func (o *Options) run(ctx context.Context, constrained bool, out *study.Printer) (*run, error) {
	r, err := newRun(o, constrained)
	if err != nil {
		return nil, err
	}
	word := map[bool]string{true: "with", false: "without"}[constrained]
	out.Say("%s constraints: %d trays, %d jobs waiting", word, o.Trays, o.Backlog)
	if err := r.simulate(ctx); err != nil {
		return nil, err
	}
	out.Say("%s constraints: occupancy %.2f %%", word, 100*r.occupancy())
	return r, nil
}
