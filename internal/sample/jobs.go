package sample

import (
	"slices"

	"github.com/berth-sched/berth"
)

// Job is a job of several groups with most of what a job can have.
func Job() berth.Job {
	return berth.Job{
		ID: "train", Queue: "team-a", Tenant: "acme", Class: berth.ClassInteractive, Priority: -3,
		Groups: []berth.Group{
			{Name: "driver", Members: 1, Claim: berth.Claim{CPUMilli: 4000, MemoryMiB: 1024}},
			{
				Name: "workers", Members: 8, MinMembers: 4, MixProducts: true, Claim: berth.Claim{GPUs: 8, NVLink: true},
				Selector: berth.Selector{
					Pools: []string{"h100"}, Products: []string{"H100-80GB"}, MinGPUMemoryMiB: 1,
					MinComputeCapability: berth.ComputeCapability{Major: 9}, Labels: map[string]string{"zone": "a", "arch": "amd64"}, Tolerations: tolerations(),
				},
				Topology: berth.Topology{
					Required: "spine", Preferred: "leaf", Segments: []berth.Segment{{Size: 4, Level: "leaf"}, {Size: 2, Level: "node"}}, Balance: "leaf",
				},
			},
			{Name: "side", Members: 1, Claim: berth.Claim{Share: &berth.Share{Mode: berth.ShareTimeSlice, GPUMilli: 250, MemoryMiB: 4096}}},
		},
		Topology: berth.Topology{Required: "spine", Preferred: "leaf", Exclusive: "leaf"}, SameLabels: []string{"zone"},
		MinRuntime: berth.Minute, MaxRuntime: 2 * berth.Hour, ExpectedRuntime: berth.Hour, Program: "nlp/pretrain", GangTimeout: berth.Day,
		MaxRequeues: []berth.RequeueCap{{Cause: berth.CauseMemberFailed, Requeues: 3}},
		Checkpoint:  berth.Checkpoint{Supported: true, Interval: berth.Hour, Cost: berth.Minute, RestartCost: berth.Second},
	}
}

// Jobs have every field of a job, together: what Job has, and what excludes some of that.
func Jobs() []berth.Job {
	one := func(id berth.JobID, groups ...berth.Group) berth.Job {
		return berth.Job{ID: id, Queue: "team-a", Groups: groups}
	}
	service := one("replicas", berth.Group{Members: 1, Claim: berth.WholeGPUs(1)})
	service.Service = &berth.Service{Replicas: 3, Surge: 1}
	service.NonPreemptible = true
	service.Lend = &berth.Lend{Within: berth.Minute, MemoryMiB: 8192}
	gated := one("gated", berth.Group{Members: 1, Claim: berth.WholeGPUs(1)})
	gated.User = "ada"
	gated.Begin, gated.Array = berth.Time(berth.Hour), &berth.Array{Name: "sweep", Width: 4}
	gated.After = []berth.Dependency{{Job: "runs"}, {Job: "binds", Kind: berth.DependencyAny}} // of Prepare
	parted := one(
		"parted", berth.Group{Name: "prefill", Part: "prefill", Members: 1, Claim: berth.WholeGPUs(1)},
		berth.Group{Name: "decode", Part: "decode", Members: 2, Claim: berth.WholeGPUs(1)},
	)
	parted.Topology = berth.Topology{Apart: "leaf", Parts: []berth.Part{{Name: "prefill", Required: "leaf"}, {Name: "decode", Required: "leaf", Copies: 2}}}
	list := []berth.Job{
		Job(),
		parted,
		one("aligned", berth.Group{Members: 2, Claim: berth.WholeGPUs(8), Topology: berth.Topology{RailAligned: true}}),
		one("spread", berth.Group{Members: 2, Claim: berth.Claim{GPUs: 1, Resources: map[string]int64{"scratch": 500}}, Topology: berth.Topology{Spread: "leaf", MaxSkew: 2}}),
		one("balanced", berth.Group{Members: 2, Claim: berth.WholeGPUs(1), Topology: berth.Topology{Balance: "leaf"}}),
		one("divided", berth.Group{Members: 1, Claim: berth.Claim{MIG: "1g.10gb"}}),
		one("least", berth.Group{Members: 1, Claim: berth.Claim{MinInstance: &berth.MinInstance{MinSMs: 10, MinMemoryMiB: 1024}}}),
		service,
		gated,
		one("borrows", berth.Group{Members: 1, Claim: berth.BorrowedGPU(4096)}),
	}
	return append(list, options(one("options", berth.Group{Members: 1, Claim: berth.WholeGPUs(1)}), list[:7]))
}

// options gives a job what others ask for as its alternatives, but for what has none.
func options(job berth.Job, others []berth.Job) berth.Job {
	job.Class, job.Choose = berth.ClassInteractive, berth.ChooseSoonest
	for _, other := range others {
		other.Groups = slices.Clone(other.Groups)
		for i := range other.Groups {
			if g := &other.Groups[i]; g.MinMembers > 0 {
				g.MinMembers = g.Members
			}
		}
		job.Alternatives = append(job.Alternatives, berth.Alternative{Groups: other.Groups, Topology: other.Topology})
	}
	return job
}
