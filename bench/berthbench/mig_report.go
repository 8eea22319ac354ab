package main

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/berth-sched/berth/bench/migsim"
)

// An estimate is a mean and half of its 95 % confidence interval.
type estimate struct{ mean, half float64 }

func (e estimate) String() string { return fmt.Sprintf("%.2f ±%.2f", e.mean, e.half) }

// estimateOf takes the values as independent and, as their mean goes, normal: Student's
// t with one degree of freedom less than there are values.
func estimateOf(values []float64) estimate {
	mean, deviation := stat.MeanStdDev(values, nil)
	n := float64(len(values))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return estimate{mean, t * deviation / math.Sqrt(n)}
}

// over compares two policies on the same requests, seed by seed.
func (c *migCell) over(a, b int) estimate {
	differences := make([]float64, len(c.acceptance[a]))
	for i := range differences {
		differences[i] = c.acceptance[a][i] - c.acceptance[b][i]
	}
	return estimateOf(differences)
}

// report prints what each policy accepts and how fragmented it leaves the fleet: as
// one line for each figure where programs read, as two matrices where people do.
func (b *migBench) report(s *session, product string, cells []*migCell) error {
	if s.csv || s.json {
		return s.print(b.long(cells))
	}
	s.note("%d x %s, %d runs of each mix and load; means with 95 %% confidence intervals\n", b.gpus, product, b.seeds)
	columns := append([]string{"mix", "load"}, migPolicies...)
	acceptance := newTable("Requests accepted, percent", columns...)
	fragmentation := newTable("Fragmentation: MFI's score of a GPU, mean over time", columns[:len(columns)-1]...)
	memory := newTable("Memory slices accepted, percent", columns...)
	differences := newTable("Percent of the requests that berth accepts above others, on the same requests",
		append([]string{"mix", "load"}, migPolicies[migFirstFit:]...)...)
	for _, c := range cells {
		a, m := []any{c.mix.Name, c.load}, []any{c.mix.Name, c.load}
		f, d := []any{c.mix.Name, c.load}, []any{c.mix.Name, c.load}
		for column := range migPolicies {
			a = append(a, estimateOf(c.acceptance[column]).String())
			m = append(m, estimateOf(c.memory[column]).String())
			if column != migUnfragmented {
				f = append(f, estimateOf(c.fragmentation[column]).String())
			}
			if column >= migFirstFit {
				d = append(d, c.over(migBerth, column).String())
			}
		}
		acceptance.add(a...)
		memory.add(m...)
		fragmentation.add(f...)
		differences.add(d...)
	}
	for _, t := range []*table{acceptance, differences, memory, fragmentation} {
		if err := s.print(t); err != nil {
			return err
		}
	}
	return nil
}

// long is one row for each mix, load and policy.
func (b *migBench) long(cells []*migCell) *table {
	t := newTable("mig", "mix", "load", "policy", "acceptance", "acceptance±",
		"berth-over", "berth-over±", "memory", "memory±", "fragmentation", "fragmentation±")
	for _, c := range cells {
		for column, name := range migPolicies {
			acceptance, over := estimateOf(c.acceptance[column]), c.over(migBerth, column)
			memory := estimateOf(c.memory[column])
			row := []any{
				c.mix.Name, c.load, name, acceptance.mean, acceptance.half,
				over.mean, over.half, memory.mean, memory.half, nil, nil,
			}
			if column != migUnfragmented {
				f := estimateOf(c.fragmentation[column])
				row[9], row[10] = f.mean, f.half
			}
			t.add(row...)
		}
	}
	return t
}

// reportSmall compares with the optimum where that can be found: the share of what
// could be accepted that each policy accepts, case by case.
func (b *migBench) reportSmall(s *session) error {
	title := fmt.Sprintf("Share of the exact optimum, percent: %d GPUs, %d requests known beforehand, %d cases of each mix",
		smallGPUs, smallRequests, b.cases)
	t := newTable(title, append([]string{"mix", "optimum"}, migPolicies[:migUnfragmented]...)...)
	for _, mix := range b.mixes {
		setup := migsim.Setup{Lattice: b.lattice, GPUs: smallGPUs, Mix: mix, LoadPercent: smallLoad}
		optimum, shares := make([]float64, b.cases), make([][]float64, migUnfragmented)
		for column := range shares {
			shares[column] = make([]float64, b.cases)
		}
		atOnce(b.cases, func(i int) {
			demand := setup.DrawSlots(uint64(i), smallRequests)
			optimum[i] = float64(setup.Optimum(demand))
			for column := range shares {
				accepted := setup.RunAll(migPolicy(column, b.lattice, mix), demand).Accepted
				shares[column][i] = 100 * float64(accepted) / optimum[i]
			}
		})
		row := []any{mix.Name, stat.Mean(optimum, nil)}
		for _, values := range shares {
			row = append(row, b.figure(s, estimateOf(values)))
		}
		t.add(row...)
	}
	return s.print(t)
}

// figure is an estimate for people, and its mean for programs.
func (b *migBench) figure(s *session, e estimate) any {
	if s.csv || s.json {
		return e.mean
	}
	return e.String()
}

// heavyLoad in percent: all memory slices are asked for, and more.
const heavyLoad = 100

// verdict says where berth wins and where it does not. A cell is lost if a baseline
// accepts more than berth and the confidence interval of the difference excludes zero.
func (b *migBench) verdict(s *session, cells []*migCell) error {
	var lost []string
	ahead := 0
	for _, c := range cells {
		atLeast := true
		for column := migFirstFit; column < migUnfragmented; column++ {
			over := c.over(migBerth, column)
			atLeast = atLeast && over.mean >= 0
			if over.mean+over.half < 0 {
				lost = append(lost, fmt.Sprintf("%s to %s by %v", c.name(), migPolicies[column], over))
			}
		}
		if atLeast {
			ahead++
		}
	}
	s.note("berth accepts at least as much as every baseline in %d of %d cells, by the mean.", ahead, len(cells))
	s.note("A baseline is ahead of it beyond the noise in %d of %d comparisons.",
		len(lost), len(cells)*(migUnfragmented-migFirstFit))
	b.verdictHeavy(s, cells)
	if len(lost) > 0 {
		return fmt.Errorf("berth accepts less than a baseline: %s", strings.Join(lost, "; "))
	}
	return nil
}

// verdictHeavy says how much berth wins under heavy load, and about how much there was
// to win: what a fleet that never fragments accepts.
func (b *migBench) verdictHeavy(s *session, cells []*migCell) {
	columns := []string{"mix", "load", "over first fit", "over MFI", "over the mean of the simple four", "unfragmented over first fit"}
	t := newTable(fmt.Sprintf("What berth accepts more at a load of %d %% and above, percent", heavyLoad), columns...)
	most, limit := math.Inf(-1), math.Inf(-1)
	for _, c := range cells {
		if c.load < heavyLoad {
			continue
		}
		mean := func(column int) float64 { return stat.Mean(c.acceptance[column], nil) }
		simple := 0.0
		for column := migFirstFit; column < migDriverOrder; column++ {
			simple += mean(column) / (migDriverOrder - migFirstFit)
		}
		gain := func(a, b float64) float64 { return 100 * (a/b - 1) }
		won, there := gain(mean(migBerth), mean(migFirstFit)), gain(mean(migUnfragmented), mean(migFirstFit))
		most, limit = max(most, won), max(limit, there)
		t.add(c.mix.Name, c.load, won, gain(mean(migBerth), mean(migMFI)), gain(mean(migBerth), simple), there)
	}
	if len(t.rows) == 0 || s.csv || s.json {
		return
	}
	if s.print(t) == nil {
		s.note("Over first fit that is %.1f %% at most. A fleet that never fragments accepts at most %.1f %% more than first fit,", most, limit)
		s.note("so placing has little more to win: to accept many more requests, large ones must be turned away.")
	}
}
