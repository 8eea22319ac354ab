package sample

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// Job is a job with every field that a job can have.
func Job() berth.Job {
	return berth.Job{
		ID: "train", Queue: "team-a", Tenant: "acme", Class: berth.ClassInteractive, Priority: -3,
		Groups: []berth.Group{
			{Name: "driver", Members: 1, Claim: berth.Claim{CPUMilli: 4000, MemoryMiB: 1024}},
			{
				Name: "workers", Members: 8, MinMembers: 4, Claim: berth.Claim{GPUs: 8, NVLink: true},
				Selector: berth.Selector{
					Pools: []string{"h100"}, Products: []string{"H100-80GB"}, MinGPUMemoryMiB: 1,
					MinComputeCapability: berth.ComputeCapability{Major: 9}, Labels: map[string]string{"zone": "a", "arch": "amd64"},
				},
				Topology: berth.Topology{
					Required: "leaf", Preferred: "leaf", Segments: []berth.Segment{{Size: 4, Level: "leaf"}, {Size: 2, Level: "node"}},
					Balance: "node", Spread: "leaf", MaxSkew: 2, RailAligned: true,
				},
			},
			{Name: "side", Members: 1, Claim: berth.Claim{Share: &berth.Share{Mode: berth.ShareTimeSlice, GPUMilli: 250, MemoryMiB: 4096}}},
		},
		Topology:   berth.Topology{Required: "spine", Exclusive: "leaf"},
		MinRuntime: berth.Minute, ExpectedRuntime: berth.Hour, GangTimeout: berth.Day,
		Checkpoint: berth.Checkpoint{Supported: true, Interval: berth.Hour, Cost: berth.Minute, RestartCost: berth.Second},
	}
}

// Events are of every kind, and use every field that such an event can have.
func Events() []berth.Event {
	return []berth.Event{
		berth.NodeJoined{Node: Node("n1")},
		berth.NodeUpdated{Node: berth.Node{ID: "n1"}},
		berth.NodeCordoned{Node: "n1", Reason: "fan"},
		berth.NodeUncordoned{Node: "n1"},
		berth.NodeDraining{Node: "n1", Deadline: 7, Reason: "firmware"},
		berth.NodeLost{Node: "n1", Reason: "power"},
		berth.GPUFailed{Node: "n1", GPU: 3, Reason: "xid 79"},
		berth.XidReported{Node: "n1", GPU: 3, Xid: 79, Reason: "in the log"},
		berth.GPURepaired{Node: "n1", GPU: 3},
		berth.GPUPartitioned{Node: "n1", GPU: 3, Mode: berth.GPUModeMIG, Instances: []mig.Placement{{Profile: mig.ProfileName{ComputeSlices: 3, MemoryGB: 40}, Start: 4, Size: 4}}},
		berth.MIGTableSet{Table: mig.Product{Name: "tiny", ComputeSlices: 2, MemorySlices: 2, Profiles: []mig.Profile{
			{Name: mig.ProfileName{ComputeSlices: 1, MemoryGB: 5}, ComputeSlices: 1, MemorySlices: 1, Starts: []int{0, 1}, MaxCount: 2},
		}}},
		berth.QueueSet{Queue: quota.Queue{Name: "team-a", Guarantee: quota.Amounts{quota.GPUMilli: 8000}, Limit: quota.Amounts{quota.CPUMilli: 1}, Weight: 2}},
		berth.QueueRemoved{Queue: "team-a"},
		berth.ReservationSet{Reservation: berth.Reservation{
			ID: "r", From: 5, Until: 9, Queue: "team-a", GPUs: 64, Selector: berth.Selector{Pools: []string{"h100"}}, Required: "leaf", Reason: "demo",
		}},
		berth.ReservationSet{Reservation: berth.Reservation{ID: "s", From: 5, Until: 9, Nodes: []berth.NodeID{"n1"}, Domain: []string{"a"}}},
		berth.ReservationRemoved{Reservation: "r"},
		berth.JobSubmitted{Job: Job()},
		berth.JobObserved{Job: berth.Job{ID: "j", Service: &berth.Service{Replicas: 2}}, Running: []berth.ObservedReplica{{
			Replica: 1, Incarnation: 4, Started: 99,
			Members: []berth.MemberPlacement{{Group: "g", Index: 2, Node: "n", GPUs: berth.GPUSetOf(0, 63), ShareMilli: 5, ShareMemoryMiB: 6}},
		}}},
		berth.JobScaled{Job: "j", Replicas: 0},
		berth.JobCancelled{Job: "j"},
		berth.JobFinished{Job: "j", Incarnation: 1, Failed: true, Reason: "exit 1"},
		berth.MemberFailed{Job: "j", Replica: 2, Incarnation: 1, Members: []berth.MemberRef{{Group: "workers", Index: 7}}, Reason: "oom"},
		berth.ActivityReported{Job: "j", Replica: 2, Incarnation: 1, ActiveMilli: 500},
		berth.CheckpointWritten{Job: "j", Replica: 2, Incarnation: 1, At: 5},
		berth.OrderReported{Order: 7, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Index: 1}}, Reason: "no image"},
		berth.LedgerSettled{},
		berth.PolicyChanged{Policy: berth.Policy{BindTimeout: 1, ReleaseTimeout: 2, ReleaseAttempts: 3, RetryBackoff: 4, MaxRetryBackoff: 5, PassBudget: 6, Locality: berth.LocalityLoose, ReservedGangs: -1}},
	}
}
