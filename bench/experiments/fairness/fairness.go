package fairness

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/quota"
)

// Help says what the experiment does, and what it does not.
const Help = `fairness plays a week of three teams that share a fleet of 8-GPU nodes, with the
past counting and without, then with reclaim as well, and compares what each team had with
its entitlement.

The teams have weights of 1, 2 and 3, together a third of the fleet guaranteed, and
lend all of it. Two work by day and on working days; the third, "sweeps", hands in
every evening more than the idle fleet does in a night. So by day there is not enough.
A day before the week fills the fleet and is not counted.

The entitlement of a team at an instant is its exact weighted max-min fair share of
the fleet (package quota), given what each team then runs and waits for. The past does
not count in it. What a team is entitled to by day is its even part: its guarantee and,
by weight, its part of what nobody is guaranteed, as if all wanted all they can get.

It measures what the core's order of queues does, in simulated time: the same jobs, on
sound hardware, that start and stop at once and tell how long they will run. In the first
two lines nothing that runs is stopped, so what was lent comes back as jobs end; in the
third it is reclaimed, and what is stopped starts anew, from nothing. It does not measure
checkpoints, preemption within a queue, failures, topology, fairness among the users of a
team, nor wall-clock time.

It fails if the half-life does not put the night's tenant back in the morning, beyond
the noise; if there is no contention then; if a team lacks much of its guarantee while
it wants it; or if the core's ledger differs from the orders. With -largest 1 nothing
is indivisible, and with -reserved -1 no gang has nodes set aside: what is left then is
the order of queues alone.

`

// Options say how a week is drawn and played.
type Options struct {
	study.Output
	Nodes, Days, Seeds int
	Seed               uint64
	HalfLife           time.Duration
	Largest, Reserved  int
	HTML               string
}

// Defaults are the options that berthbench has by default.
func Defaults() Options {
	return Options{Nodes: 64, Days: 7, Seeds: 5, Seed: 1, HalfLife: 24 * time.Hour, Largest: 64}
}

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.Int(&o.Nodes, "nodes", 8, 1024, "nodes of 8 H100")
	f.Int(&o.Days, "days", 1, 56, "days from Monday on")
	f.Int(&o.Seeds, "seeds", 2, 1000, "weeks drawn, for the means and their confidence intervals")
	f.Seed(&o.Seed, "seed of the first week, which is the one that is drawn")
	f.Time(&o.HalfLife, "half-life", time.Minute, 366*24*time.Hour, "half-life of past use in the second policy")
	f.Int(&o.Largest, "largest", 1, 64, "GPUs of the largest job; 1: nothing is indivisible")
	f.Int(&o.Reserved, "reserved", -1, 10_000, "gangs with a reservation at a time; 0: the core's default, -1: none")
	f.HTML(&o.HTML)
}

// Run makes the experiment, which Help describes, and writes its results to w. The error says so
// if it does not show what it is for.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	return study.Conduct(ctx, newExperiment(o), o.To(w), o.HTML)
}

// An experiment is made of options that make sense.
type experiment struct {
	Options
	names    []string
	policies []berth.Policy
}

// The policies, in their order.
const (
	withoutPast = iota
	withPast
	withReclaim
)

// A team is one of those that share. Its guarantee is its weight's part of
// guaranteedPart.
type team struct {
	name   string
	weight int64
	// asks is the GPU time that its jobs of a working day take, as part of the fleet's.
	asks float64
	// weekend is the part of that on days off.
	weekend float64
	// from and until are the hours of the day in which it hands in.
	from, until int
}

// teams ask for about what the fleet has on working days, and for less on the
// others, so that what is left over from the week is done by its end.
var teams = [...]team{
	{name: "vision", weight: 1, asks: 0.10, weekend: 0.1, from: 8, until: 18},
	{name: "speech", weight: 2, asks: 0.20, weekend: 0.1, from: 8, until: 18},
	{name: "sweeps", weight: 3, asks: 0.75, weekend: 1, from: 18, until: 23},
}

const (
	// night is the team that takes the idle fleet at night.
	night = len(teams) - 1
	// organisation stands above the teams.
	organisation = "lab"
	// guaranteedPart is the divisor of the fleet that gives what is guaranteed in all.
	guaranteedPart = 3
	// A morning is from when to when, in hours, on working days.
	morningFrom, morningUntil = 9, 12
)

func newExperiment(o Options) *experiment {
	halfLife := berth.DurationOf(o.HalfLife)
	never, reclaim := berth.Preemption{Mode: berth.PreemptionOff}, berth.Preemption{Mode: berth.PreemptionReclaim}
	return &experiment{
		o,
		[]string{withoutPast: "no half-life", withPast: "half-life " + spanName(o.HalfLife), withReclaim: "and reclaim"},
		[]berth.Policy{
			withoutPast: {ReservedGangs: o.Reserved, Preemption: never},
			withPast:    {ReservedGangs: o.Reserved, Preemption: never, UsageHalfLife: halfLife},
			withReclaim: {ReservedGangs: o.Reserved, Preemption: reclaim, UsageHalfLife: halfLife},
		},
	}
}

// spanName is a duration without the units that are zero: "24h", not "24h0m0s".
func spanName(d time.Duration) string {
	name := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if rest, cut := strings.CutSuffix(name, zero); cut {
			name = rest + zero[:1]
		}
	}
	return name
}

func (b *experiment) gpus() int64 { return int64(b.Nodes) * machine.NodeGPUs }

// queues describes the tree, parents first.
func (b *experiment) queues() []quota.Queue {
	weights := int64(0)
	for _, t := range teams {
		weights += t.weight
	}
	list := []quota.Queue{{Name: organisation}}
	for _, t := range teams {
		list = append(list, quota.Queue{
			Name: berth.QueueID(t.name), Parent: organisation, Weight: t.weight,
			Guarantee: quota.Amounts{quota.GPUMilli: b.gpus() * t.weight / (guaranteedPart * weights) * 1000},
		})
	}
	return list
}

// guarantee of a team in GPUs.
func (b *experiment) guarantee(team int) int64 {
	return b.queues()[1+team].Guarantee[quota.GPUMilli] / 1000
}

// evenPart is what a team is entitled to when all want all they can get, in GPUs.
func (b *experiment) evenPart(team int) float64 {
	guaranteed, weights := int64(0), int64(0)
	for i, t := range teams {
		guaranteed, weights = guaranteed+b.guarantee(i), weights+t.weight
	}
	return float64(b.guarantee(team)) + float64((b.gpus()-guaranteed)*teams[team].weight)/float64(weights)
}

// Play runs every week under every policy. The result is by policy, then by seed.
func (b *experiment) Play(ctx context.Context) ([][]*run, error) {
	return study.PlayRuns(ctx, b.Output, len(b.policies), b.Seeds, func(p, seed int) (*run, error) {
		return b.run(b.policies[p], b.Seed+uint64(seed))
	})
}

// lackMost is how much of its guarantee a team may lack, in percent, over the time
// that it wants it: what was lent comes back as jobs end, and gangs are indivisible.
const lackMost = 5

// wantedLeast is how much of the fleet must be wanted in the morning, in percent, or
// there is nothing to share.
const wantedLeast = 95

// Verdict asks whether there is contention in the morning, whether guarantees are kept, and whether
// the past puts the night's tenant back.
func (b *experiment) Verdict(out *study.Printer, runs [][]*run) (wrong []string) {
	name := teams[night].name
	for p, policy := range b.names {
		if wanted := stat.Mean(study.Each(runs[p], (*run).morningEntitled), nil); wanted < wantedLeast {
			wrong = append(wrong, fmt.Sprintf("%s: in the morning only %.0f %% of the fleet is wanted", policy, wanted))
		}
		for team, t := range teams {
			lacked := stat.Mean(study.Each(runs[p], func(r *run) float64 { return r.lackedPart(team) }), nil)
			if lacked > lackMost {
				wrong = append(wrong, fmt.Sprintf("%s: %s is short of %.0f %% of its guarantee while it wants it", policy, t.name, lacked))
			}
		}
	}
	change := study.EstimateOf(study.Differences(study.Each(runs[withPast], (*run).morningShare), study.Each(runs[withoutPast], (*run).morningShare)))
	out.Note("In the morning, %d to %d on working days, %s changes the share of %s by %v percent of the fleet.",
		morningFrom, morningUntil, b.names[withPast], name, change)
	if change.Mean+change.Half >= 0 {
		wrong = append(wrong, fmt.Sprintf("the past does not put %s back in the morning: %v percent of the fleet", name, change))
	}
	return wrong
}
