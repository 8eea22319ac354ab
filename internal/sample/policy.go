package sample

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/mig"
)

// Config has everything that a configuration can say, but for functions.
func Config() berth.Config {
	return berth.Config{
		Levels:    []string{"spine", "leaf"},
		Fabric:    berth.Fabric{IslandLevel: "leaf", RailLevel: "leaf", Oversubscription: []berth.Oversubscription{{Level: "leaf", RatioMilli: 2000}}},
		Resources: countable.Register{{Name: "scratch", Unit: "GiB"}, {Name: "rdma/vf"}},
		Limits:    berth.Limits{Nodes: 100, Queues: 100, Replicas: 1000, Members: 100, SurplusMembers: 50, Groups: 10, Reservations: 10},
		Policy:    Policy(),
		Ledger:    true,
	}
}

// Policy is a policy that says everything.
func Policy() berth.Policy {
	return berth.Policy{
		ZeroIsOff: true,

		BindTimeout: berth.Minute, ReleaseTimeout: 2 * berth.Minute, ReleaseAttempts: 4, RetryBackoff: berth.Second, MaxRetryBackoff: berth.Minute,
		PassBudget: 1000, Locality: berth.LocalityLoose, Stretch: 3, ReserveAfter: berth.Minute, ReservedGangs: 3, ReservationTimeout: berth.Hour,
		AssumedRuntime: berth.Day, RuntimeSamples: 8, BackfillBudget: 100, UsageHalfLife: berth.Day,
		Preemption: berth.Preemption{
			Mode: berth.PreemptionReclaim, MinRuntime: berth.Second, MaxMinRuntime: berth.Hour, MaxRatio: 8, GuaranteeWithin: berth.Hour, StopUnsaved: true, CheckpointTimeout: berth.Minute,
			Queues:   []berth.QueuePreemption{{Queue: "a", MinRuntime: berth.Minute}, {Queue: "team"}},
			Grace:    []berth.Grace{{Class: berth.ClassInteractive, Timeout: berth.Second}, {Class: berth.ClassBatch, Timeout: berth.Minute}},
			Cooldown: berth.Second, RateLimit: berth.RateLimit{Evictions: 5, Per: berth.Hour}, QueueRateLimit: berth.RateLimit{Evictions: 2, Per: berth.Hour},
			Gain: berth.GainPolicy{IgnoreCost: true, Interactive: berth.Hour, LatencyCritical: berth.Day, Turn: berth.Minute, WaitMilli: 500, Queueing: berth.Minute},
		},
		Defragmentation: berth.Defragmentation{Mode: berth.DefragmentationOn, MaxMoves: 4},
		Budgets:         []berth.Budget{{Queue: "a", GPUMilliHours: 10_000_000, From: 1000, Until: 90 * 86_400_000, Stop: true}, {Queue: "team"}},
		Caps:            []berth.QueueCaps{{Queue: "a", MaxJobs: 100, MaxJobsPerUser: 50, MaxGPUMilliPerUser: 500_000}, {Queue: "team"}},
		OverLimit:       berth.OverLimit{Stop: true, After: berth.Minute},
		Lending:         berth.Lending{QuietMilli: 100, QuietFor: 30 * berth.Second},
		Idle:            berth.IdlePolicy{QuietMilli: 20, QuietFor: berth.Hour, Grace: berth.Minute, Action: berth.IdleStop},
		Health:          berth.Health{Losses: 2, Within: berth.Day, Quarantine: berth.Hour, BurnIn: berth.Minute},
		HotSpares:       []berth.HotSpares{{Pool: "spare", NodesMilli: 100}, {NodesMilli: 50}},

		RepartitionTimeout: berth.Minute,
		Geometry: []berth.Geometry{
			{
				Pool: "divided", Kind: berth.GeometryAdaptive, Cost: berth.Second, Interval: berth.Minute, PerHour: 6,
				Layout: []mig.ProfileName{profile("3g.40gb"), profile("3g.40gb")}, HoldLimit: berth.Minute,
			},
			{Kind: berth.GeometryPerClaim},
		},
	}
}
