package worlds

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/quota"
)

const (
	scratch = "scratch"
	Vfs     = "rdma/vf"
)

// Declared is world, in which the config declares two resources: nodes have some of them, and more
// or less later, members need them, alone at times, and queues limit them.
func (g *Generator) Declared() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.World()
	config.Resources = countable.Register{{Name: scratch, Unit: "GiB"}, {Name: Vfs}}
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.NodeJoined:
			e.Node.Resources = g.amounts(0, 6)
			list[i].Event = e
		case berth.QueueSet:
			for _, amounts := range []*quota.Amounts{&e.Queue.Limit, &e.Queue.BorrowingLimit} {
				if g.Chance(15) {
					stated := quota.Amounts{one(g, quota.Resource(scratch), Vfs): int64(g.IntN(16))}
					for r, amount := range *amounts {
						stated[r] = amount
					}
					*amounts = stated
				}
			}
			list[i].Event = e
		case berth.JobSubmitted:
			e.Job.Groups = slices.Clone(e.Job.Groups)
			for j := range e.Job.Groups {
				if g.Chance(50) {
					e.Job.Groups[j].Claim.Resources = g.amounts(1, 3)
				}
			}
			list[i].Event = e
		}
	}
	g.list = list
	for range len(g.nodes) {
		n := one(g, g.nodes...)
		n.Resources = g.amounts(0, 6)
		g.at(g.instant(), berth.NodeUpdated{Node: n})
	}
	g.sort()
	return config, options, g.list
}

// amounts are of none, one or both of the resources.
func (g *Generator) amounts(least, most int) map[string]int64 {
	named := map[string]int64{}
	for _, name := range []string{scratch, Vfs} {
		if g.Chance(60) {
			named[name] = int64(least + g.IntN(most-least+1))
		}
	}
	if len(named) == 0 {
		return nil
	}
	return named
}
