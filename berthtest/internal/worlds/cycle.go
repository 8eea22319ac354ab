package worlds

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// Steady draws a world in which demand stands still after a while: jobs come in the first
// minutes and never end, and nothing fails. There is more of it than there is room.
func (g *Generator) Steady() (berth.Config, sim.Options, []sim.Arrival) {
	config := berth.Config{Policy: berth.Policy{
		PassBudget: one(g, 0, 0, 2), ReservedGangs: one(g, -1, 0, 1), ReserveAfter: one(g, 0, 20*berth.Second),
		Preemption: g.preemption(),
	}}
	gpus := 0
	for i := range 2 + g.IntN(4) {
		n := berth.Node{ID: berth.NodeID(fmt.Sprintf("n%d", i)), CPUMilli: 64_000, MemoryMiB: 64_000}
		for range one(g, 1, 2, 4, 8) {
			n.GPUs = append(n.GPUs, berth.GPU{Product: "H100", MemoryMiB: 81_920})
		}
		gpus += len(n.GPUs)
		g.at(0, berth.NodeJoined{Node: n})
	}
	g.guarantees(gpus)
	for asked := 0; asked < 2*gpus; {
		j := berth.Job{
			ID: berth.JobID(fmt.Sprintf("j%d", len(g.jobs))), Queue: one(g, g.leaves...),
			Class: one(g, berth.ClassBatch, berth.ClassBatch, berth.ClassInteractive, berth.ClassLatencyCritical), Priority: int32(g.IntN(3)),
			Groups: []berth.Group{{Members: one(g, 1, 1, 1, 2, 3, 4), Claim: berth.Claim{GPUs: one(g, 1, 1, 1, 2, 4)}}},
		}
		if g.Chance(25) {
			j.Groups[0].MinMembers = 1 + g.IntN(j.Groups[0].Members)
		}
		if g.Chance(20) {
			j.Service = &berth.Service{Replicas: 1 + g.IntN(4)}
		}
		g.checkpoints(&j)
		g.jobs = append(g.jobs, j)
		asked += j.Groups[0].Members * j.Groups[0].Claim.GPUs
		g.at(berth.Time(berth.Duration(g.IntN(20))*30*berth.Second), berth.JobSubmitted{Job: j})
	}
	g.sort()
	return config, sim.Options{StartDelay: one(g, 0, berth.Second), StopDelay: one(g, 0, 5*berth.Second), Seed: g.Uint64()}, g.list
}

// guarantees tells of organisations and their teams, which divide most of the fleet.
func (g *Generator) guarantees(gpus int) {
	left := gpus
	amount := func(n int) quota.Amounts { return quota.Amounts{quota.GPUMilli: int64(n) * 1000} }
	for o := range 1 + g.IntN(3) {
		org := quota.Queue{Name: berth.QueueID(fmt.Sprintf("org%d", o)), Weight: int64(1 + g.IntN(3)), Priority: one(g, int32(0), 0, 1)}
		share := g.IntN(left + 1)
		left -= share
		var teams []quota.Queue
		for t, rest := 0, share; t < g.IntN(4); t++ {
			part := g.IntN(rest + 1)
			rest -= part
			team := quota.Queue{Name: berth.QueueID(fmt.Sprintf("%s-team%d", org.Name, t)), Parent: org.Name, Weight: int64(1 + g.IntN(3)), Guarantee: one(g, nil, amount(part), amount(part))}
			team.LendingLimit = one(g, nil, nil, nil, amount(1))
			team.BorrowingLimit = one(g, nil, nil, nil, amount(2))
			teams = append(teams, team)
		}
		if len(teams) == 0 || g.Chance(70) {
			org.Guarantee = amount(share)
		}
		g.at(0, berth.QueueSet{Queue: org})
		for _, team := range teams {
			g.at(0, berth.QueueSet{Queue: team})
			g.leaves = append(g.leaves, team.Name)
		}
		if len(teams) == 0 {
			g.leaves = append(g.leaves, org.Name)
		}
	}
}
