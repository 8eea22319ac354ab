package main

import (
	"fmt"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
)

// report prints the tables: the whole, by size, the differences, and what sharing costs whom.
func (b *philly) report(s *session, runs [][]*phillyRun) error {
	work := 0.0
	for _, j := range runs[0][phillyShared].jobs {
		work += float64(j.Runtime) * float64(j.GPUs)
	}
	s.note("%d jobs, %.0f GPU-hours, submitted in %.1f days; %d GPUs: %d nodes of 8 and %d of 2; %.0f %% of the fleet's time are asked for\n",
		len(b.whole.Jobs), work/float64(berth.Hour), float64(b.length)/float64(berth.Day),
		b.fleet.gpus(), b.fleet[8], b.fleet[2], 100*work/(float64(b.fleet.gpus())*float64(b.length)))
	tables := []*table{b.summary(runs), b.bySize(runs), b.differences(runs)}
	for p := range b.policies {
		tables = append(tables, b.sharing(runs[p]))
	}
	for _, t := range tables {
		if err := s.print(t); err != nil {
			return err
		}
	}
	for p := range b.policies {
		speed := runs[p][phillyShared].speed
		s.note("%-6s %.1f s deciding on %d facts and %d orders: %v", b.policies[p].name, speed.Deciding.Seconds(), speed.Facts, speed.Orders, speed)
	}
	s.note("")
	return nil
}

// summary has a line for each figure.
func (b *philly) summary(runs [][]*phillyRun) *table {
	columns := []string{"figure"}
	for p := range b.policies {
		columns = append(columns, b.policies[p].name)
	}
	t := newTable("The whole: all jobs on one fleet. Waits end with the first start; delays are all the time in which a job did not get on", columns...)
	for _, f := range phillyFigures {
		row := []any{f.name}
		for p := range b.policies {
			row = append(row, f.of(b, runs[p][phillyShared]))
		}
		t.add(row...)
	}
	return t
}

// bySize has a line for each class of jobs and each policy.
func (b *philly) bySize(runs [][]*phillyRun) *table {
	t := newTable("By size: minutes", "GPUs", "jobs", "policy", "wait mean", "wait p50", "wait p90", "wait p99", "delay mean", "delay p99", "slowdown mean", "private delay mean", "private delay p99")
	for class := range phillySizes {
		for p := range b.policies {
			shared, private := runs[p][phillyShared].ofSize(class), runs[p][phillyPrivate].ofSize(class)
			if len(shared) == 0 {
				continue
			}
			waits, delays, own := jobMinutes(shared, (*life.Job).Wait), jobMinutes(shared, (*life.Job).Delay), jobMinutes(private, (*life.Job).Delay)
			t.add(phillySizes[class].name, len(shared), b.policies[p].name,
				stat.Mean(waits, nil), quantile(waits, 0.5), quantile(waits, 0.9), quantile(waits, 0.99),
				stat.Mean(delays, nil), quantile(delays, 0.99), stat.Mean(each(shared, (*life.Job).Slowdown), nil),
				stat.Mean(own, nil), quantile(own, 0.99))
		}
	}
	return t
}

// differences compares each policy with the first one, week by week.
func (b *philly) differences(runs [][]*phillyRun) *table {
	first := runs[0][phillyShared].weeks()
	t := newTable(fmt.Sprintf("Mean delay by week of submission, minutes: means of %d weeks with 95 %% confidence intervals, and the difference to %s in the same weeks",
		len(first), b.policies[0].name), "policy", "shared", "difference", "private", "sharing less private")
	if len(first) < 2 {
		return t
	}
	for p := range b.policies {
		shared, private := runs[p][phillyShared].weeks(), runs[p][phillyPrivate].weeks()
		t.add(b.policies[p].name, estimateOf(shared).String(), estimateOf(differences(shared, first)).String(),
			estimateOf(private).String(), estimateOf(differences(shared, private)).String())
	}
	return t
}

// sharing compares every virtual cluster with what it would be by itself.
func (b *philly) sharing(runs []*phillyRun) *table {
	t := newTable(fmt.Sprintf("Virtual clusters under %s: delays in minutes, in the shared fleet and in private; later: percent of the jobs that end more than %v later than in private",
		runs[0].policy.name, b.tolerance), "cluster", "jobs", "GPUs", "shared mean", "private mean", "shared p99", "private p99", "later", "worst", "worse")
	for i := range b.shares {
		v := b.versus(runs, i)
		worse := ""
		if v.mean() > b.tolerance.Minutes() || v.p99() > 3*b.tolerance.Minutes() {
			worse = "yes"
		}
		t.add(string(b.shares[i].Queue), v.jobs, b.shares[i].GPUs(), v.shared.mean, v.private.mean, v.shared.p99, v.private.p99, v.later, v.worst, worse)
	}
	return t
}
