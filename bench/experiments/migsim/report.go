package migsim

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth/bench/study"
)

// over compares two policies on the same requests, seed by seed.
func (c *cell) over(a, b int) study.Estimate {
	differences := make([]float64, len(c.acceptance[a]))
	for i := range differences {
		differences[i] = c.acceptance[a][i] - c.acceptance[b][i]
	}
	return study.EstimateOf(differences)
}

// report prints what each policy accepts and how fragmented it leaves the fleet: as
// one line for each figure where programs read, as two matrices where people do.
func (b *experiment) report(out *study.Printer, cells []*cell) error {
	if out.ForPrograms() {
		return out.Print(b.long(cells))
	}
	out.Note("%d x %s, means of %d runs of each mix and load%s\n", b.GPUs, b.Product, b.Seeds, study.Intervals(b.Seeds))
	columns := append([]string{"mix", "load"}, policyNames...)
	acceptance := study.NewTable("Requests accepted, percent", columns...)
	fragmentation := study.NewTable("Fragmentation: MFI's score of a GPU, mean over time", columns[:len(columns)-1]...)
	memory := study.NewTable("Memory slices accepted, percent", columns...)
	differences := study.NewTable("Percent of the requests that berth accepts above others, on the same requests",
		append([]string{"mix", "load"}, policyNames[firstFit:]...)...)
	for _, c := range cells {
		a, m := []any{c.mix.Name, c.load}, []any{c.mix.Name, c.load}
		f, d := []any{c.mix.Name, c.load}, []any{c.mix.Name, c.load}
		for column := range policyNames {
			a = append(a, study.EstimateOf(c.acceptance[column]).String())
			m = append(m, study.EstimateOf(c.memory[column]).String())
			if column != unfragmented {
				f = append(f, study.EstimateOf(c.fragmentation[column]).String())
			}
			if column >= firstFit {
				d = append(d, c.over(learning, column).String())
			}
		}
		acceptance.Add(a...)
		memory.Add(m...)
		fragmentation.Add(f...)
		differences.Add(d...)
	}
	for _, t := range []*study.Table{acceptance, differences, memory, fragmentation} {
		if err := out.Print(t); err != nil {
			return err
		}
	}
	return nil
}

// long is one row for each mix, load and policy.
func (b *experiment) long(cells []*cell) *study.Table {
	t := study.NewTable("mig", "mix", "load", "policy", "acceptance", "acceptance±",
		"berth-over", "berth-over±", "memory", "memory±", "fragmentation", "fragmentation±")
	for _, c := range cells {
		for column, name := range policyNames {
			acceptance, over := study.EstimateOf(c.acceptance[column]), c.over(learning, column)
			memory := study.EstimateOf(c.memory[column])
			row := []any{
				c.mix.Name, c.load, name, acceptance.Mean, acceptance.Half,
				over.Mean, over.Half, memory.Mean, memory.Half, nil, nil,
			}
			if column != unfragmented {
				f := study.EstimateOf(c.fragmentation[column])
				row[9], row[10] = f.Mean, f.Half
			}
			t.Add(row...)
		}
	}
	return t
}

// reportSmall compares with the optimum where that can be found: the share of what
// could be accepted that each policy accepts, case by case.
func (b *experiment) reportSmall(out *study.Printer) error {
	title := fmt.Sprintf("Share of the exact optimum, percent: %d GPUs, %d requests known beforehand, %d cases of each mix",
		smallGPUs, smallRequests, b.Cases)
	t := study.NewTable(title, append([]string{"mix", "optimum"}, policyNames[:unfragmented]...)...)
	for _, mix := range b.mixes {
		setup := Setup{Lattice: b.lattice, GPUs: smallGPUs, Mix: mix, LoadPercent: smallLoad}
		optimum, shares := make([]float64, b.Cases), make([][]float64, unfragmented)
		for column := range shares {
			shares[column] = make([]float64, b.Cases)
		}
		study.AtOnce(b.Cases, func(i int) {
			demand := setup.DrawSlots(uint64(i), smallRequests)
			optimum[i] = float64(setup.Optimum(demand))
			for column := range shares {
				accepted := setup.RunAll(policyOf(column, b.lattice, mix), demand).Accepted
				shares[column][i] = 100 * float64(accepted) / optimum[i]
			}
		})
		row := []any{mix.Name, stat.Mean(optimum, nil)}
		for _, values := range shares {
			row = append(row, b.figure(out, study.EstimateOf(values)))
		}
		t.Add(row...)
	}
	return out.Print(t)
}

// figure is an estimate for people, and its mean for programs.
func (b *experiment) figure(out *study.Printer, e study.Estimate) any {
	if out.ForPrograms() {
		return e.Mean
	}
	return e.String()
}

// heavyLoad in percent: all memory slices are asked for, and more.
const heavyLoad = 100

// verdict says where berth wins and where it does not. A cell is lost if a baseline
// accepts more than berth and the confidence interval of the difference excludes zero.
func (b *experiment) verdict(out *study.Printer, cells []*cell) error {
	var lost []string
	ahead := 0
	for _, c := range cells {
		atLeast := true
		for column := firstFit; column < unfragmented; column++ {
			over := c.over(learning, column)
			atLeast = atLeast && over.Mean >= 0
			if over.Mean+over.Half < 0 {
				lost = append(lost, fmt.Sprintf("%s to %s by %v", c.name(), policyNames[column], over))
			}
		}
		if atLeast {
			ahead++
		}
	}
	out.Note("berth accepts at least as much as every baseline in %d of %d cells, by the mean.", ahead, len(cells))
	out.Note("A baseline is ahead of it beyond the noise in %d of %d comparisons.",
		len(lost), len(cells)*(unfragmented-firstFit))
	b.verdictHeavy(out, cells)
	if len(lost) > 0 {
		return fmt.Errorf("berth accepts less than a baseline: %s", strings.Join(lost, "; "))
	}
	return nil
}

// verdictHeavy says how much berth wins under heavy load, and about how much there was
// to win: what a fleet that never fragments accepts.
func (b *experiment) verdictHeavy(out *study.Printer, cells []*cell) {
	columns := []string{"mix", "load", "over first fit", "over MFI", "over the mean of the simple four", "unfragmented over first fit"}
	t := study.NewTable(fmt.Sprintf("What berth accepts more at a load of %d %% and above, percent", heavyLoad), columns...)
	most, limit := math.Inf(-1), math.Inf(-1)
	for _, c := range cells {
		if c.load < heavyLoad {
			continue
		}
		mean := func(column int) float64 { return stat.Mean(c.acceptance[column], nil) }
		simple := 0.0
		for column := firstFit; column < driverOrder; column++ {
			simple += mean(column) / (driverOrder - firstFit)
		}
		gain := func(a, b float64) float64 { return 100 * (a/b - 1) }
		won, there := gain(mean(learning), mean(firstFit)), gain(mean(unfragmented), mean(firstFit))
		most, limit = max(most, won), max(limit, there)
		t.Add(c.mix.Name, c.load, won, gain(mean(learning), mean(mfi)), gain(mean(learning), simple), there)
	}
	if len(t.Rows) == 0 || out.ForPrograms() {
		return
	}
	if out.Print(t) == nil {
		out.Note("Over first fit that is %.1f %% at most. A fleet that never fragments accepts at most %.1f %% more than first fit,", most, limit)
		out.Note("so placing has little more to win: to accept many more requests, large ones must be turned away.")
	}
}
