package sim_test

import (
	"slices"
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

const (
	scratch = "scratch"
	vfs     = "rdma/vf"
)

// declared is world, in which the config declares two resources: nodes have some of them, and more
// or less later, members need them, alone at times, and queues limit them.
func (g *generator) declared() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.world()
	config.Resources = countable.Register{{Name: scratch, Unit: "GiB"}, {Name: vfs}}
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.NodeJoined:
			e.Node.Resources = g.amounts(0, 6)
			list[i].Event = e
		case berth.QueueSet:
			for _, amounts := range []*quota.Amounts{&e.Queue.Limit, &e.Queue.BorrowingLimit} {
				if g.chance(15) {
					stated := quota.Amounts{one(g, quota.Resource(scratch), vfs): int64(g.IntN(16))}
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
				if g.chance(50) {
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
func (g *generator) amounts(least, most int) map[string]int64 {
	named := map[string]int64{}
	for _, name := range []string{scratch, vfs} {
		if g.chance(60) {
			named[name] = int64(least + g.IntN(most-least+1))
		}
	}
	if len(named) == 0 {
		return nil
	}
	return named
}

// S1: members of a node hold no more of a declared resource than it has, and what a queue uses of
// it stays within its limit.
func TestDeclaredResources(t *testing.T) {
	t.Parallel()
	cases := map[string]int{}
	for seed := range drawn.Seeds(6) {
		config, options, list := newGenerator(seed).declared()
		r := runOf(config, options, list)
		r.must(t, seed)
		countDeclared(r.log, cases)
		tellAgain(t, config, r.log, seed)
	}
	t.Logf("%v", cases)
	covers(t, cases, withDeclared, fullOfDeclared, lessDeclared)
}

const (
	withDeclared   = "a member has declared resources"
	fullOfDeclared = "members hold all that a node has of one"
	lessDeclared   = "a node has less than its members hold"
)

// countDeclared counts as if nothing was ever given back: it is about what happens, roughly.
func countDeclared(log []step, cases map[string]int) {
	jobs, has, held := map[berth.JobID]berth.Job{}, map[berth.NodeID]int64{}, map[berth.NodeID]int64{}
	for i := range log {
		if log[i].refused != nil {
			continue
		}
		switch e := log[i].event.(type) {
		case berth.NodeJoined:
			has[e.Node.ID], held[e.Node.ID] = e.Node.Resources[vfs], 0
		case berth.NodeUpdated:
			if has[e.Node.ID] = e.Node.Resources[vfs]; has[e.Node.ID] < held[e.Node.ID] {
				cases[lessDeclared]++
			}
		case berth.JobSubmitted:
			jobs[e.Job.ID] = e.Job
		}
		for _, order := range log[i].actions {
			bind, _ := order.(berth.Bind)
			for _, m := range bind.Members {
				for _, g := range jobs[bind.Job].Groups {
					if g.Name != m.Group || len(g.Claim.Resources) == 0 {
						continue
					}
					cases[withDeclared]++
					if held[m.Node] += g.Claim.Resources[vfs]; held[m.Node] == has[m.Node] && held[m.Node] > 0 {
						cases[fullOfDeclared]++
					}
				}
			}
		}
	}
}
