package worlds

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Budgeted is another world, in which queues may use so much GPU time in all, as policies that come
// and go say.
func (g *Generator) Budgeted() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Drained, (*Generator).Failing, (*Generator).Moving, (*Generator).Moving, (*Generator).Crowded, (*Generator).Lowered, (*Generator).Cleared)
	config, options, list := draw(g)
	end := list[len(list)-1].At
	config.Policy.Budgets = g.budgets(end)
	for i := range list {
		if e, ok := list[i].Event.(berth.PolicyChanged); ok {
			e.Policy.Budgets = one(g, config.Policy.Budgets, g.budgets(end))
			list[i].Event = e
		}
	}
	for range 1 + g.IntN(4) {
		p := config.Policy
		if g.Chance(50) {
			p.Budgets = g.budgets(end)
		} else { // the same, raised or lowered
			p.Budgets = slices.Clone(p.Budgets)
			for i := range p.Budgets {
				p.Budgets[i].GPUMilliHours = one[int64](g, 1, 2, 3) * p.Budgets[i].GPUMilliHours / 2
			}
		}
		list = append(list, sim.Arrival{At: berth.Time(g.Int64N(int64(end) + 1)), Event: berth.PolicyChanged{Policy: p}})
	}
	p := config.Policy
	p.Budgets = nil // or jobs would wait for ever
	list = append(list, sim.Arrival{At: end.Add(berth.Minute), Event: berth.PolicyChanged{Policy: p}})
	slices.SortStableFunc(list, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
	return config, options, list
}

// budgets draws some on a few queues; one that does not exist among them.
func (g *Generator) budgets(end berth.Time) (list []berth.Budget) {
	for _, queue := range []berth.QueueID{"org0", "org0-team0", "org0-team0-project0", "org1", "none"} {
		for from := range berth.Time(2) { // of two periods, say
			if !g.Chance(50) {
				continue
			}
			b := berth.Budget{Queue: queue, GPUMilliHours: one[int64](g, 0, 10, 50, 200, 1000, 5000), Stop: g.Chance(50)}
			b.From = from * berth.Time(1+g.Int64N(int64(end)+1))
			if g.Chance(70) {
				b.Until = b.From + 1 + berth.Time(g.Int64N(int64(end)+1))
			}
			list = append(list, b)
		}
	}
	return list
}
