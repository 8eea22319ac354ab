package sample

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// Now is when the events of [Events] are told.
const Now berth.Time = 100_000

// Prepare tells a core, made with [Config], what there has to be so that each event of [Events] is
// accepted next, at Now.
func Prepare(sched berth.Scheduler) error {
	shut := Node("n3")
	shut.GPUs[5].Failed = true
	start := []berth.Event{
		berth.NodeJoined{Node: Node("n1")},
		berth.NodeJoined{Node: Node("n2")},
		berth.NodeJoined{Node: shut},
		berth.NodeJoined{Node: DividedNode("d1")},
		berth.NodeJoined{Node: DividedNode("d2")},
		berth.NodeJoined{Node: SmallNode("s1")},
		berth.NodeCordoned{Node: "n3", Reason: "fan"},
		berth.QueueSet{Queue: quota.Queue{Name: "org"}},
		berth.QueueSet{Queue: quota.Queue{Name: "team-a"}},
		berth.QueueSet{Queue: quota.Queue{Name: "empty", Parent: "org"}},
		berth.QueueSet{Queue: quota.Queue{Name: "idle", Parent: "org"}},
		berth.ReservationSet{Reservation: berth.Reservation{ID: "first", From: Now + 1000, Until: Now + 2000, Domain: []string{"elsewhere"}}},
		berth.ReservationSet{Reservation: berth.Reservation{ID: "second", From: Now + 1000, Until: Now + 2000, Domain: []string{"elsewhere"}}},
	}
	for _, id := range []berth.JobID{"serves", "serves-too"} {
		start = append(start, berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "team-a", Service: &berth.Service{Replicas: 2}, Groups: []berth.Group{
			{Name: "g", Members: 2, Claim: berth.WholeGPUs(1), Selector: berth.Selector{Pools: []string{"h100"}}},
			{Name: "h", Members: 2, Claim: berth.HostOnly(1, 1), Selector: berth.Selector{Pools: []string{"h100"}}},
		}}})
	}
	for _, id := range []berth.JobID{"runs", "runs-too"} {
		start = append(start, berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "team-a", Groups: []berth.Group{{Members: 1, Claim: berth.HostOnly(1000, 0), Selector: berth.Selector{Pools: []string{"h100"}}}}}})
	}
	for _, e := range start {
		if err := sched.Apply(Now-5000, e); err != nil {
			return fmt.Errorf("%T: %w", e, err)
		}
	}
	orders, err := sched.Schedule(Now - 4000)
	if err != nil {
		return err
	}
	for _, o := range orders {
		if err := sched.Apply(Now-3000, berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone}); err != nil {
			return err
		}
	}
	for _, id := range []berth.JobID{"binds", "binds-too"} {
		err := sched.Apply(Now-2000, berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "team-a", Groups: []berth.Group{
			{Name: "a", Members: 2, Claim: berth.WholeGPUs(1), Selector: berth.Selector{Pools: []string{"h100"}}},
			{Name: "b", Members: 2, Claim: berth.HostOnly(1, 1), Selector: berth.Selector{Pools: []string{"h100"}}},
		}}})
		if err != nil {
			return err
		}
	}
	_, err = sched.Schedule(Now - 1000)
	return err
}

// Events are of every kind. Together they have every field that an event of the kind can have.
func Events() []berth.Event {
	changed, divided, small := Node("n2"), DividedNode("d1"), SmallNode("s1")
	changed.CPUMilli++
	divided.GPUs[1].Failed = true
	small.Labels["zone"], small.Resources["scratch"] = "c", 7000
	list := []berth.Event{
		berth.NodeJoined{Node: Node("n4")},
		berth.NodeJoined{Node: SmallNode("s2")},
		berth.NodeJoined{Node: DividedNode("d3")},
		berth.NodeUpdated{Node: changed},
		berth.NodeUpdated{Node: divided},
		berth.NodeUpdated{Node: small},
		berth.NodeCordoned{Node: "n1", Reason: "fan"},
		berth.NodeUncordoned{Node: "n3"},
		berth.NodeDraining{Node: "n1", Deadline: Now + 7, Reason: "firmware"},
		berth.NodeLost{Node: "n1", Reason: "power"},
		berth.GPUFailed{Node: "n1", GPU: 3, Reason: "xid 79"},
		berth.XidReported{Node: "n1", GPU: 3, Xid: 79, Reason: "in the log"},
		berth.FabricReported{Domain: Node("n1").Domains, LeftMilli: 500, Reason: "a switch lost links"},
		berth.GPURepaired{Node: "n3", GPU: 5},
		berth.GPUPartitioned{Node: "d1", GPU: 1, Mode: berth.GPUModeWhole},
		berth.GPUPartitioned{Node: "d1", GPU: 1, Mode: berth.GPUModeMIG, Instances: instances("2g.20gb@0:2", "3g.40gb@4:4")},
		berth.MIGTableSet{Table: Table()},
		berth.MIGTableSet{Table: UniformTable()},
		berth.QueueSet{Queue: Queue()},
		berth.QueueRemoved{Queue: "empty"},
		berth.ReservationRemoved{Reservation: "first"},
		berth.JobScaled{Job: "serves", Replicas: 3},
		berth.JobCancelled{Job: "runs"},
		berth.JobFinished{Job: "runs", Incarnation: 1, Failed: true, Reason: "exit 1"},
		berth.MemberFailed{Job: "serves", Replica: 1, Incarnation: 1, Members: []berth.MemberRef{{Group: "g", Index: 1}}},
		berth.MemberFailed{
			Job: "serves", Replica: 1, Incarnation: 1, Bind: 2, Members: []berth.MemberRef{{Group: "g", Index: 1}},
			Fault: berth.FaultJob, Reason: "out of memory",
		},
		berth.OrderReported{Order: 7, Outcome: berth.OutcomeDone},
		berth.OrderReported{Order: 7, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Group: "a", Index: 1}}, Reason: "no image"},
		berth.ActivityReported{Job: "serves", Replica: 1, Incarnation: 1, ActiveMilli: 500},
		berth.CheckpointWritten{Job: "serves", Replica: 1, Incarnation: 1, At: Now - 5},
		berth.LedgerSettled{},
		berth.PolicyChanged{Policy: Policy()},
	}
	for _, r := range Reservations() {
		list = append(list, berth.ReservationSet{Reservation: r})
	}
	for _, job := range Jobs() {
		list = append(list, berth.JobSubmitted{Job: job})
	}
	return append(list, observed()...)
}

// observed are jobs that run already.
func observed() []berth.Event {
	var list []berth.Event
	for _, job := range Jobs() {
		job.ID = "seen-" + job.ID
		list = append(list, berth.JobObserved{Job: job})
	}
	running := berth.Job{
		ID: "seen", Queue: "team-a", Service: &berth.Service{Replicas: 3}, Groups: []berth.Group{
			{Name: "a", Members: 3, MinMembers: 1, Claim: berth.WholeGPUs(1)},
			{Name: "b", Members: 3, MinMembers: 1, Claim: berth.WholeGPUs(1)},
			{Name: "share", Members: 1, Claim: berth.Claim{Share: &berth.Share{GPUMilli: 500, MemoryMiB: 1024}}},
			{Name: "instance", Members: 1, Claim: berth.Claim{MinInstance: &berth.MinInstance{MinSMs: 1}}},
		},
	}
	members := []berth.MemberPlacement{
		{Group: "a", Index: 0, Node: "n3", GPUs: berth.GPUSetOf(0)},
		{Group: "a", Index: 2, Node: "n3", GPUs: berth.GPUSetOf(1)},
		{Group: "b", Index: 0, Node: "n3", GPUs: berth.GPUSetOf(2)},
		{Group: "share", Node: "n3", GPUs: berth.GPUSetOf(3), ShareMilli: 500, ShareMemoryMiB: 1024},
		{Group: "instance", Node: "d1", GPUs: berth.GPUSetOf(0), Instance: instances("1g.10gb@0:1")[0]},
	}
	over := berth.Job{ID: "seen-over", Queue: "team-a", Groups: []berth.Group{{Members: 1, Claim: berth.BorrowedGPU(1024)}}}
	option := berth.Job{ID: "seen-option", Queue: "team-a", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}}
	for range 2 {
		option.Alternatives = append(option.Alternatives, berth.Alternative{Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(2)}}})
	}
	return append(list, berth.JobObserved{Job: running, Running: []berth.ObservedReplica{
		{Replica: 1, Incarnation: 4, Started: Now - 99, Members: members},
	}}, berth.JobObserved{Job: over, Running: []berth.ObservedReplica{
		{Incarnation: 1, Started: Now - 99, Members: []berth.MemberPlacement{{Node: "n3", GPUs: berth.GPUSetOf(4), ShareMemoryMiB: 1024, Borrowed: true}}},
	}}, berth.JobObserved{Job: option, Running: []berth.ObservedReplica{
		{Alternative: 1, Incarnation: 1, Started: Now - 99, Members: []berth.MemberPlacement{{Node: "n3", GPUs: berth.GPUSetOf(6, 7)}}},
	}})
}
