package worlds

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// The hysteresis that storms go by.
const (
	StormCooldown = 12 * berth.Minute
	stormArrives  = berth.Time(20 * berth.Minute)
	stormSize     = 120 // arrivals at an instant
)

// Storm draws a full fleet of training that writes checkpoints, on which two bursts of inference
// come down, each all at once, while reports get lost or come late.
func (g *Generator) Storm() (berth.Config, sim.Options, []sim.Arrival) {
	config := berth.Config{Policy: berth.Policy{
		ReservedGangs: -1,
		Preemption: berth.Preemption{
			Cooldown: StormCooldown, CheckpointTimeout: berth.Minute,
			RateLimit:      berth.RateLimit{Evictions: 30, Per: 5 * berth.Minute},
			QueueRateLimit: berth.RateLimit{Evictions: 10, Per: 2*berth.Minute + 1},
		},
	}}
	gpus := 0
	for i := range 20 {
		n := berth.Node{ID: berth.NodeID(fmt.Sprintf("n%02d", i))}
		for range 8 {
			n.GPUs = append(n.GPUs, berth.GPU{Product: "H100", MemoryMiB: 81_920})
		}
		gpus += len(n.GPUs)
		g.at(0, berth.NodeJoined{Node: n})
	}
	g.leaves = []berth.QueueID{"a", "b", "c"}
	for _, name := range g.leaves {
		g.at(0, berth.QueueSet{Queue: quota.Queue{Name: name}})
	}
	for i, held := 0, 0; held < gpus; i++ {
		size := one(g, 1, 1, 1, 2, 2, 4, 8)
		held += size
		g.at(0, berth.JobSubmitted{Job: berth.Job{
			ID: berth.JobID(fmt.Sprintf("train%03d", i)), Queue: one(g, g.leaves...),
			Groups:     []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: size}}},
			Checkpoint: berth.Checkpoint{Supported: true, Cost: berth.Duration(g.Int64N(int64(70 * berth.Second))), RestartCost: berth.Minute},
		}})
	}
	for wave := range 2 {
		for i := range stormSize {
			g.list = append(g.list, sim.Arrival{
				At: stormArrives.Add(berth.Duration(wave) * 40 * berth.Minute), Runtime: 15*berth.Minute + berth.Duration(g.Int64N(int64(10*berth.Minute))),
				Event: berth.JobSubmitted{Job: berth.Job{
					ID: berth.JobID(fmt.Sprintf("serve%d-%03d", wave, i)), Queue: one(g, g.leaves...), Class: berth.ClassLatencyCritical,
					Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}},
				}},
			})
		}
	}
	g.sort()
	return config, sim.Options{
		StartDelay: berth.Second, StopDelay: 5 * berth.Second, PassInterval: 10 * berth.Second, Seed: g.Uint64(),
		Faults: sim.Faults{ReportLost: 0.1, ReportLate: 0.1, CheckpointFail: 0.1, WithdrawLate: 0.5, Restore: 0.01, Until: berth.Time(80 * berth.Minute)},
	}, g.list
}
