package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// fairnessHelp is what -h says before the flags.
const fairnessHelp = `fairness plays a week of three teams that share a fleet of 8-GPU nodes, with the
past counting and without, then with reclaim as well, and compares what each team had with its entitlement.

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
checkpoints, preemption within a queue, failures, topology, fairness among the users of a team, nor time on
the wall.

It fails if the half-life does not put the night's tenant back in the morning, beyond
the noise; if there is no contention then; if a team lacks much of its guarantee while
it wants it; or if the core's ledger differs from the orders. With -largest 1 nothing
is indivisible, and with -reserved -1 no gang has nodes set aside: what is left then is
the order of queues alone.

`

// fairness is the experiment on fair shares over time.
type fairness struct {
	nodes    int
	days     int
	seeds    int
	seed     uint64
	halfLife time.Duration
	largest  int // GPUs of a job
	reserved int
	html     string
	policies []fairPolicy
}

// A fairPolicy is a line of the comparison.
type fairPolicy struct {
	name   string
	policy berth.Policy
}

// The policies, in their order.
const (
	fairWithout = iota
	fairWith
	fairReclaim
)

// A fairTeam is one of those who share. Its guarantee is its weight's part of
// fairGuaranteed.
type fairTeam struct {
	name   string
	weight int64
	// asks is the GPU time that its jobs of a working day take, as part of the fleet's.
	asks float64
	// weekend is the part of that on days off.
	weekend float64
	// from and until are the hours of the day in which it hands in.
	from, until int
}

// fairTeams ask for about what the fleet has on working days, and for less on the
// others, so that what is left over from the week is done by its end.
var fairTeams = [...]fairTeam{
	{name: "vision", weight: 1, asks: 0.10, weekend: 0.1, from: 8, until: 18},
	{name: "speech", weight: 2, asks: 0.20, weekend: 0.1, from: 8, until: 18},
	{name: "sweeps", weight: 3, asks: 0.75, weekend: 1, from: 18, until: 23},
}

const (
	// fairNight is the team that takes the idle fleet at night.
	fairNight = len(fairTeams) - 1
	// fairOrganisation stands above the teams.
	fairOrganisation = "lab"
	// fairGuaranteed is the divisor of the fleet that gives what is guaranteed in all.
	fairGuaranteed = 3
	// fairNodeGPUs is the GPUs of a node.
	fairNodeGPUs = 8
	// fairSlot is the resolution of what is kept over time.
	fairSlot = 15 * berth.Minute
	// A morning is from when to when, in hours, on working days.
	fairMorningFrom, fairMorningUntil = 9, 12
)

func runFairness(s *session, args []string) error {
	b := &fairness{}
	s.IntVar(&b.nodes, "nodes", 64, "nodes of 8 H100")
	s.IntVar(&b.days, "days", 7, "days from Monday on")
	s.IntVar(&b.seeds, "seeds", 5, "weeks drawn, for the means and their confidence intervals")
	s.Uint64Var(&b.seed, "seed", 1, "seed of the first week, which is the one shown over time")
	s.DurationVar(&b.halfLife, "half-life", 24*time.Hour, "half-life of past use in the second policy")
	s.IntVar(&b.largest, "largest", 64, "GPUs of the largest job; 1: nothing is indivisible")
	s.IntVar(&b.reserved, "reserved", 0, "gangs with a reservation at a time; 0: the core's default, -1: none")
	s.StringVar(&b.html, "html", "", "draw the first week on a page, in this file")
	return conduct(s, b, fairnessHelp, args)
}

func (b *fairness) configure(s *session) error {
	if b.nodes < 8 || b.nodes > 1024 || b.days < 1 || b.days > 56 || b.seeds < 2 || b.seeds > 1000 {
		return s.misused("a flag is out of range: 8 to 1024 nodes, 1 to 56 days and 2 to 1000 seeds are possible")
	}
	if b.largest < 1 || b.largest > 64 || b.reserved < -1 {
		return s.misused("a flag is out of range: -largest is 1 to 64, -reserved -1 or more")
	}
	if b.halfLife < time.Minute || b.halfLife > 366*24*time.Hour {
		return s.misused("-half-life: %v is not between a minute and a year", b.halfLife)
	}
	halfLife := berth.Duration(b.halfLife.Milliseconds())
	never, reclaim := berth.Preemption{Mode: berth.PreemptNever}, berth.Preemption{Mode: berth.PreemptReclaim}
	b.policies = []fairPolicy{
		fairWithout: {"no half-life", berth.Policy{ReservedGangs: b.reserved, Preemption: never}},
		fairWith:    {"half-life " + spanName(b.halfLife), berth.Policy{ReservedGangs: b.reserved, Preemption: never, UsageHalfLife: halfLife}},
		fairReclaim: {"and reclaim", berth.Policy{ReservedGangs: b.reserved, Preemption: reclaim, UsageHalfLife: halfLife}},
	}
	return nil
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

func (b *fairness) gpus() int64 { return int64(b.nodes) * fairNodeGPUs }

// queues describes the tree, parents first.
func (b *fairness) queues() []quota.Queue {
	weights := int64(0)
	for _, t := range fairTeams {
		weights += t.weight
	}
	list := []quota.Queue{{Name: fairOrganisation}}
	for _, t := range fairTeams {
		list = append(list, quota.Queue{
			Name: t.name, Parent: fairOrganisation, Weight: t.weight,
			Guarantee: quota.Amounts{quota.GPU: b.gpus() * t.weight / (fairGuaranteed * weights) * 1000},
		})
	}
	return list
}

// guarantee of a team in GPUs.
func (b *fairness) guarantee(team int) int64 {
	return b.queues()[1+team].Guarantee[quota.GPU] / 1000
}

// evenPart is what a team is entitled to when all want all they can get, in GPUs.
func (b *fairness) evenPart(team int) float64 {
	guaranteed, weights := int64(0), int64(0)
	for i, t := range fairTeams {
		guaranteed, weights = guaranteed+b.guarantee(i), weights+t.weight
	}
	return float64(b.guarantee(team)) + float64((b.gpus()-guaranteed)*fairTeams[team].weight)/float64(weights)
}

// play runs every week under every policy. The result is by policy, then by seed.
func (b *fairness) play() ([][]*fairRun, error) {
	return playAll(len(b.policies), b.seeds, func(p, seed int) (*fairRun, error) {
		return b.run(b.policies[p].policy, b.seed+uint64(seed))
	})
}

// fairLackMost is how much of its guarantee a team may lack, in percent, over the time
// that it wants it: what was lent comes back as jobs end, and gangs are indivisible.
const fairLackMost = 5

// fairWantedLeast is how much of the fleet must be wanted in the morning, in percent, or
// there is nothing to share.
const fairWantedLeast = 95

// verdict fails if the experiment does not show what it is for.
func (b *fairness) verdict(s *session, runs [][]*fairRun) error {
	var wrong []string
	night := fairTeams[fairNight].name
	for p, policy := range b.policies {
		if wanted := stat.Mean(each(runs[p], (*fairRun).morningEntitled), nil); wanted < fairWantedLeast {
			wrong = append(wrong, fmt.Sprintf("%s: in the morning only %.0f %% of the fleet is wanted", policy.name, wanted))
		}
		for team, t := range fairTeams {
			lacked := stat.Mean(each(runs[p], func(r *fairRun) float64 { return r.lackedPart(team) }), nil)
			if lacked > fairLackMost {
				wrong = append(wrong, fmt.Sprintf("%s: %s lacks %.0f %% of its guarantee while it wants it", policy.name, t.name, lacked))
			}
		}
	}
	change := estimateOf(differences(each(runs[fairWith], (*fairRun).morningShare), each(runs[fairWithout], (*fairRun).morningShare)))
	s.note("In the morning, %d to %d on working days, %s changes the share of %s by %v percent of the fleet.",
		fairMorningFrom, fairMorningUntil, b.policies[fairWith].name, night, change)
	if change.mean+change.half >= 0 {
		wrong = append(wrong, fmt.Sprintf("the past does not put %s back in the morning: %v percent of the fleet", night, change))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// each gives a figure of every run.
func each[R any](runs []R, figure func(R) float64) []float64 {
	list := make([]float64, len(runs))
	for i, r := range runs {
		list[i] = figure(r)
	}
	return list
}

// differences are of two policies in the same weeks.
func differences(a, b []float64) []float64 {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = a[i] - b[i]
	}
	return list
}
