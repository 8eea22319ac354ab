package philly

import (
	"fmt"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/bench/study"
)

// Report prints the tables: the whole, by size, the differences, and what sharing costs each
// virtual cluster.
func (b *experiment) Report(out *study.Printer, runs [][]*run) error {
	work := 0.0
	for _, j := range runs[0][inShared].jobs {
		work += float64(j.Runtime) * float64(j.GPUs)
	}
	out.Note("%d jobs, %.0f GPU-hours, submitted in %.1f days; %d GPUs: %d nodes of 8 and %d of 2; %.0f %% of the fleet's time are asked for\n",
		len(b.whole.Jobs), work/float64(berth.Hour), float64(b.length)/float64(berth.Day),
		b.fleet.gpus(), b.fleet[8], b.fleet[2], 100*work/(float64(b.fleet.gpus())*float64(b.length)))
	tables := []*study.Table{b.summary(runs), b.bySize(runs), b.differences(runs)}
	for p := range b.policies {
		tables = append(tables, b.sharing(runs[p]))
	}
	foreseen, err := b.foreseen()
	if err != nil {
		return err
	}
	for _, t := range append(tables, foreseen) {
		if err := out.Print(t); err != nil {
			return err
		}
	}
	for p := range b.policies {
		speed := runs[p][inShared].speed
		out.Note("%-6s %.1f s deciding on %d events and %d orders: %v", b.policies[p].name, speed.Deciding.Seconds(), speed.Events, speed.Orders, speed)
	}
	out.Note("")
	return nil
}

// summary has a line for each figure.
func (b *experiment) summary(runs [][]*run) *study.Table {
	var names []string
	var shared []*run
	for p := range b.policies {
		names, shared = append(names, b.policies[p].name), append(shared, runs[p][inShared])
	}
	return study.SideBySide("The whole: all jobs on one fleet. Waits end with the first start; delays are all the time in which a job did not get on",
		names, b.figures(), shared)
}

// bySize has a line for each class of jobs and each policy.
func (b *experiment) bySize(runs [][]*run) *study.Table {
	t := study.NewTable("By size: minutes", "GPUs", "jobs", "policy", "wait mean", "wait p50", "wait p90", "wait p99", "delay mean", "delay p99", "slowdown mean", "private delay mean", "private delay p99")
	for class := range sizes {
		for p := range b.policies {
			shared, private := runs[p][inShared].ofSize(class), runs[p][inPrivate].ofSize(class)
			if len(shared) == 0 {
				continue
			}
			waits, delays, own := life.Minutes(shared, (*life.Job).Wait), life.Minutes(shared, (*life.Job).Delay), life.Minutes(private, (*life.Job).Delay)
			t.Add(sizes[class].name, len(shared), b.policies[p].name,
				stat.Mean(waits, nil), study.Quantile(waits, 0.5), study.Quantile(waits, 0.9), study.Quantile(waits, 0.99),
				stat.Mean(delays, nil), study.Quantile(delays, 0.99), stat.Mean(study.Each(shared, (*life.Job).Slowdown), nil),
				stat.Mean(own, nil), study.Quantile(own, 0.99))
		}
	}
	return t
}

// differences compares each policy with the first one, week by week.
func (b *experiment) differences(runs [][]*run) *study.Table {
	first := runs[0][inShared].weeks()
	t := study.NewTable(fmt.Sprintf("Mean delay by week of submission, minutes: means of %d weeks%s, and the difference to %s in the same weeks",
		len(first), study.Intervals(len(first)), b.policies[0].name), "policy", "shared", "difference", "private", "sharing less private")
	if len(first) < 2 {
		return t
	}
	for p := range b.policies {
		shared, private := runs[p][inShared].weeks(), runs[p][inPrivate].weeks()
		t.Add(b.policies[p].name, study.EstimateOf(shared).String(), study.EstimateOf(study.Differences(shared, first)).String(),
			study.EstimateOf(private).String(), study.EstimateOf(study.Differences(shared, private)).String())
	}
	return t
}

// sharing compares every virtual cluster with what it would be by itself.
func (b *experiment) sharing(runs []*run) *study.Table {
	t := study.NewTable(fmt.Sprintf("Virtual clusters under %s: delays in minutes, in the shared fleet and in private; later: percent of the jobs that end more than %v later than in private",
		runs[0].policy.name, b.Tolerance), "cluster", "jobs", "GPUs", "shared mean", "private mean", "shared p99", "private p99", "later", "worst", "worse")
	for i := range b.shares {
		v := b.versus(runs, i)
		worse := ""
		if v.mean() > b.Tolerance.Minutes() || v.p99() > 3*b.Tolerance.Minutes() {
			worse = "yes"
		}
		t.Add(string(b.shares[i].Queue), v.jobs, b.shares[i].GPUs(), v.shared.mean, v.private.mean, v.shared.p99, v.private.p99, v.later, v.worst, worse)
	}
	return t
}
