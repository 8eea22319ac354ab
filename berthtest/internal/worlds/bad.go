package worlds

import (
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// BadEvents lists events of every kind that a core refuses whatever it holds, as
// long as it has the generator's levels.
func (g *Generator) BadEvents() []berth.Event {
	list := append(badNodes(len(g.levels)), badQueues()...)
	list = append(append(list, badJobs()...), badReports()...)
	return append(list, badReservations()...)
}

func badReservations() []berth.Event {
	list := []berth.Event{berth.ReservationRemoved{Reservation: "nobody"}, berth.ReservationRemoved{}}
	for _, change := range []func(*berth.Reservation){
		func(r *berth.Reservation) { r.ID = "" },
		func(r *berth.Reservation) { r.Reason = "\x00" },
		func(r *berth.Reservation) { r.GPUs = 0 },
		func(r *berth.Reservation) { r.GPUs = -1 },
		func(r *berth.Reservation) { r.GPUs = 1 << 30 },
		func(r *berth.Reservation) { r.GPUs = 1 << 20 },
		func(r *berth.Reservation) { r.Nodes = []berth.NodeID{"n0"} },
		func(r *berth.Reservation) { r.GPUs, r.Nodes = 0, []berth.NodeID{""} },
		func(r *berth.Reservation) { r.Domain = []string{"a0"} },
		func(r *berth.Reservation) { r.GPUs, r.Domain = 0, []string{"a0", "b0", "c0", "d0"} },
		func(r *berth.Reservation) { r.Until = r.From },
		func(r *berth.Reservation) { r.From, r.Until = -10, -5 },
		func(r *berth.Reservation) { r.Queue = "nobody" },
		func(r *berth.Reservation) { r.Required = "galaxy" },
		func(r *berth.Reservation) { r.Selector.Products = []string{""} },
	} {
		r := berth.Reservation{ID: "bad", From: horizon, Until: 2 * horizon, GPUs: 1}
		change(&r)
		list = append(list, berth.ReservationSet{Reservation: r})
	}
	return list
}

func badNodes(levels int) []berth.Event {
	node := func(change func(*berth.Node)) berth.Node {
		n := berth.Node{ID: "fresh", CPUMilli: 1000, MemoryMiB: 1000, GPUs: []berth.GPU{{Product: "H100"}, {Product: "H100"}}}
		for range levels {
			n.Domains = append(n.Domains, "d")
		}
		change(&n)
		return n
	}
	var list []berth.Event
	for _, change := range []func(*berth.Node){
		func(n *berth.Node) { n.ID = "" },
		func(n *berth.Node) { n.ID = "two\nlines" },
		func(n *berth.Node) { n.ID = berth.NodeID(strings.Repeat("x", 2000)) },
		func(n *berth.Node) { n.Pool = "\xff" },
		func(n *berth.Node) { n.Domains = append(n.Domains, "one too many") },
		func(n *berth.Node) { n.CPUMilli = -1 },
		func(n *berth.Node) { n.MemoryMiB = 1 << 50 },
		func(n *berth.Node) { n.GPUs = make([]berth.GPU, berth.MaxGPUs+1) },
		func(n *berth.Node) { n.GPUs[1].Product = "A10" },
		func(n *berth.Node) { n.GPUs[0].Product = "" },
		func(n *berth.Node) { n.GPUs[1].MemoryMiB = -5 },
		func(n *berth.Node) { n.GPUs[1].Clique = "k" },
		func(n *berth.Node) { n.GPUs[0].MIGTable = "\x01" },
		func(n *berth.Node) { n.NICs = []berth.NIC{{Name: "ib0", MbitPerSecond: -1}} },
		func(n *berth.Node) { n.Labels = map[string]string{"": "x"} },
		func(n *berth.Node) { n.GPUs[0].MaxShares, n.GPUs[1].MaxShares = -1, -1 },
		func(n *berth.Node) { n.GPUs[0].MaxShares = 3 },
		func(n *berth.Node) { n.GPUs[1].MIGTable = "H100-80GB" },
		func(n *berth.Node) { n.GPUs[0].MIGTable, n.GPUs[1].MIGTable = "nobody", "nobody" },
		func(n *berth.Node) { n.GPUs[0].MIGTable, n.GPUs[1].MIGTable = "\x00", "\x00" },
	} {
		list = append(list, berth.NodeJoined{Node: node(change)}, berth.NodeUpdated{Node: node(change)})
	}
	for _, change := range []func(*berth.GPU){
		func(gpu *berth.GPU) { gpu.Mode = berth.GPUModeMIG },
		func(gpu *berth.GPU) { gpu.Mode = 9 },
		func(gpu *berth.GPU) { gpu.Instances = []mig.Placement{{}} },
		func(gpu *berth.GPU) {
			gpu.MIGTable, gpu.Mode, gpu.Instances = "H100-80GB", berth.GPUModeMIG, []mig.Placement{{}}
		},
		func(gpu *berth.GPU) {
			three := mig.Placement{Profile: mig.ProfileName{ComputeSlices: 3, MemoryGB: 40}, Size: 4}
			gpu.MIGTable, gpu.Mode, gpu.Instances = "H100-80GB", berth.GPUModeMIG, []mig.Placement{three, three}
		},
	} {
		list = append(list, berth.NodeJoined{Node: node(func(n *berth.Node) {
			change(&n.GPUs[0])
			change(&n.GPUs[1])
		})})
	}
	worse := toldTable()
	worse.Profiles[0].Starts = []int{9}
	for _, entry := range []berth.Geometry{
		{Kind: 9},
		{Cost: -1},
		{Cost: 1000 * 365 * berth.Day},
		{Interval: -1},
		{PerHour: -1},
		{PerHour: 1 << 30},
		{HoldLimit: -2},
		{Pool: "\x00"},
		{Layout: []mig.ProfileName{{ComputeSlices: 1}}},
		{Kind: berth.GeometryAdaptive, Layout: []mig.ProfileName{{}}},
	} {
		list = append(list, berth.PolicyChanged{Policy: berth.Policy{Geometry: []berth.Geometry{entry}}})
	}
	return append(list,
		berth.PolicyChanged{Policy: berth.Policy{Geometry: []berth.Geometry{{}, {}}}},
		berth.PolicyChanged{Policy: berth.Policy{RepartitionTimeout: -1}},
		berth.MIGTableSet{}, berth.MIGTableSet{Table: worse}, berth.MIGTableSet{Table: mig.Product{Name: "\x00"}},
		berth.GPUPartitioned{Node: "nobody", Mode: berth.GPUModeWhole}, berth.GPUPartitioned{Node: "n0", GPU: -1, Mode: berth.GPUModeWhole}, berth.GPUPartitioned{Node: "n0", GPU: 64, Mode: berth.GPUModeWhole},
		berth.GPUPartitioned{Node: "n0", Mode: 9}, berth.GPUPartitioned{Node: "n0", Mode: berth.GPUModeMIG, Instances: []mig.Placement{{}}},
		berth.GPUPartitioned{Node: "n0", Mode: berth.GPUModeWhole, Instances: []mig.Placement{{}}},
		berth.NodeUpdated{Node: node(func(n *berth.Node) { n.ID = "nobody" })},
		berth.NodeCordoned{Node: "nobody"}, berth.NodeUncordoned{Node: "nobody"}, berth.NodeLost{Node: "nobody"},
		berth.NodeCordoned{Node: "n0", Reason: "\x00"}, berth.NodeLost{Node: "n0", Reason: "\x00"},
		berth.GPUFailed{Node: "nobody"}, berth.GPUFailed{Node: "n0", GPU: 64}, berth.GPUFailed{Node: "n0", GPU: -1},
		berth.XidReported{Node: "nobody", Xid: 79}, berth.XidReported{Node: "n0", GPU: 64, Xid: 79}, berth.XidReported{Node: "n0"},
		berth.PolicyChanged{Policy: berth.Policy{Health: berth.Health{Losses: 65}}},
		berth.PolicyChanged{Policy: berth.Policy{Health: berth.Health{Within: -1}}},
		berth.PolicyChanged{Policy: berth.Policy{HotSpares: []berth.HotSpares{{NodesMilli: -2}}}},
		berth.PolicyChanged{Policy: berth.Policy{HotSpares: []berth.HotSpares{{NodesMilli: 1}, {NodesMilli: 2}}}},
		berth.GPURepaired{Node: "nobody"}, berth.GPURepaired{Node: "n0", GPU: 99},
		berth.PolicyChanged{Policy: berth.Policy{BindTimeout: -1}},
		berth.PolicyChanged{Policy: berth.Policy{UsageHalfLife: -2}},
		berth.PolicyChanged{Policy: berth.Policy{UsageHalfLife: quota.MaxHalfLife + 1}},
		berth.PolicyChanged{Policy: berth.Policy{ReleaseAttempts: -1}},
		berth.PolicyChanged{Policy: berth.Policy{PassBudget: -1}},
		berth.PolicyChanged{Policy: berth.Policy{Locality: 3}},
		berth.PolicyChanged{Policy: berth.Policy{ReserveAfter: -1}},
		berth.PolicyChanged{Policy: berth.Policy{ReservedGangs: -2}},
		berth.PolicyChanged{Policy: berth.Policy{ReservationTimeout: -1}},
		berth.PolicyChanged{Policy: berth.Policy{AssumedRuntime: -1}},
		berth.PolicyChanged{Policy: berth.Policy{BackfillBudget: -1}},
		berth.PolicyChanged{Policy: berth.Policy{RetryBackoff: berth.Hour, MaxRetryBackoff: berth.Second}},
	)
}

func badQueues() []berth.Event {
	return []berth.Event{
		berth.QueueSet{},
		berth.QueueSet{Queue: quota.Queue{Name: "\x01"}},
		berth.QueueSet{Queue: quota.Queue{Name: "q", Parent: "nobody"}},
		berth.QueueSet{Queue: quota.Queue{Name: "org0", Parent: "org0"}},
		berth.QueueSet{Queue: quota.Queue{Name: "q", Weight: -1}},
		berth.QueueSet{Queue: quota.Queue{Name: "q", Limit: quota.Amounts{"gold": 1}}},
		berth.QueueSet{Queue: quota.Queue{Name: "q", Limit: quota.Amounts{quota.GPUMilli: -1}}},
		berth.QueueSet{Queue: quota.Queue{Name: "q", Limit: quota.Amounts{quota.GPUMilli: 1}, Guarantee: quota.Amounts{quota.GPUMilli: 2}}},
		berth.QueueSet{Queue: quota.Queue{Name: "q", LendingLimit: quota.Amounts{quota.GPUMilli: -1}}},
		berth.QueueSet{Queue: quota.Queue{Name: "q", LendingLimit: quota.Amounts{"gold": 1}}},
		berth.QueueSet{Queue: quota.Queue{Name: "q", BorrowingLimit: quota.Amounts{quota.GPUMilli: -1}}},
		berth.QueueSet{Queue: quota.Queue{Name: "q", BorrowingLimit: quota.Amounts{quota.CPUMilli: quota.MaxAmount + 1}}},
		berth.QueueSet{Queue: quota.Queue{Name: "q", Guarantee: quota.Amounts{quota.GPUMilliOf(""): 1}}},
		berth.QueueRemoved{},
		berth.QueueRemoved{Queue: "nobody"},
	}
}

func badJobs() []berth.Event {
	var list []berth.Event
	for _, change := range []func(*berth.Job){
		func(j *berth.Job) { j.ID = "" },
		func(j *berth.Job) { j.Queue = "nobody" },
		func(j *berth.Job) { j.Queue = "" },
		func(j *berth.Job) { j.Tenant = "\x7f" },
		func(j *berth.Job) { j.Class = 9 },
		func(j *berth.Job) { j.Groups = nil },
		func(j *berth.Job) { j.Groups[0].Members = 0 },
		func(j *berth.Job) { j.Groups[0].MinMembers = 3 },
		func(j *berth.Job) { j.Groups[0].MinMembers = -1 },
		func(j *berth.Job) { j.Groups = append(j.Groups, j.Groups[0]) },
		func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{} },
		func(j *berth.Job) { j.Groups[0].Claim.GPUs = 65 },
		func(j *berth.Job) { j.Groups[0].Claim.MIG = "1g.10gb" },
		func(j *berth.Job) { j.Groups[0].Claim.MinInstance = &berth.MinInstance{MinSMs: 1} },
		func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{MIG: "1g.10gb", NVLink: true} },
		func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{MIG: "1c.3g.40gb"} },
		func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{MIG: "\x00"} },
		func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{MinInstance: &berth.MinInstance{MinSMs: -1}} },
		func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{MinInstance: &berth.MinInstance{MinMemoryMiB: -1}} },
		func(j *berth.Job) {
			j.Groups[0].Claim, j.Groups[0].Topology.RailAligned = berth.Claim{MIG: "1g.10gb"}, true
		},
		func(j *berth.Job) { j.Groups[0].Claim.CPUMilli = -1 },
		func(j *berth.Job) { j.Groups[0].Claim.Share = &berth.Share{GPUMilli: 500} },
		func(j *berth.Job) {
			j.Groups[0].Claim = berth.Claim{Share: &berth.Share{GPUMilli: 500, Mode: berth.ShareTimeSlice}}
		},
		func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{Share: &berth.Share{GPUMilli: 1000}} },
		func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{CPUMilli: 1, NVLink: true} },
		func(j *berth.Job) { j.Groups[0].Selector.Pools = []string{""} },
		func(j *berth.Job) { j.Groups[0].Topology.Required = "galaxy" },
		func(j *berth.Job) { j.Groups[0].Topology.Segments = []berth.Segment{{Size: 2}} },
		func(j *berth.Job) { j.Groups[0].Topology.RailAligned, j.Groups[0].MinMembers = true, 1 },
		func(j *berth.Job) { j.Topology.Spread = "node" },
		func(j *berth.Job) { j.Topology.RailAligned = true },
		func(j *berth.Job) { j.Topology.Exclusive = "fleet" },
		func(j *berth.Job) { j.Topology.Exclusive = "galaxy" },
		func(j *berth.Job) { j.Groups[0].Topology.Exclusive = "node" },
		func(j *berth.Job) { j.Groups[0].Topology.Spread = "fleet" },
		func(j *berth.Job) { j.Groups[0].Topology.Spread, j.Groups[0].MinMembers = "node", 1 },
		func(j *berth.Job) { j.Groups[0].Topology.MaxSkew = 1 },
		func(j *berth.Job) { j.Groups[0].Topology.Balance = "galaxy" },
		func(j *berth.Job) { j.Groups[0].Topology.Segments = []berth.Segment{{Size: 0, Level: "node"}} },
		func(j *berth.Job) {
			j.Groups[0].Topology.Segments = []berth.Segment{{Size: 2, Level: "node"}, {Size: 1, Level: "fleet"}}
		},
		func(j *berth.Job) { j.Topology.Required, j.Topology.Preferred = "node", "fleet" },
		func(j *berth.Job) { j.SameLabels = []string{""} },
		func(j *berth.Job) { j.SameLabels = []string{"driver", "driver"} },
		func(j *berth.Job) { j.SameLabels = strings.Split("a b c d e f g h i", " ") },
		func(j *berth.Job) {
			j.SameLabels, j.Groups[0].Claim = []string{"driver"}, berth.Claim{CPUMilli: 1}
		},
		func(j *berth.Job) { j.GangTimeout = -1 },
		func(j *berth.Job) { j.Service = &berth.Service{Replicas: -1} },
		func(j *berth.Job) { j.Service, j.GangTimeout = &berth.Service{}, berth.Minute },
		func(j *berth.Job) { j.MinRuntime = 1 << 60 },
	} {
		j := berth.Job{ID: "fresh", Queue: "org0", Groups: []berth.Group{{Members: 2, Claim: berth.Claim{GPUs: 1}}}}
		change(&j)
		list = append(list, berth.JobSubmitted{Job: j}, berth.JobObserved{Job: j})
	}
	return append(list,
		berth.JobScaled{Job: "nobody", Replicas: 1}, berth.JobScaled{Job: "j0", Replicas: -1},
		berth.JobCancelled{Job: "nobody"}, berth.JobCancelled{},
	)
}

func badReports() []berth.Event {
	return []berth.Event{
		berth.JobFinished{Job: "nobody"},
		berth.ActivityReported{Job: "nobody"},
		berth.ActivityReported{Job: "j0", Incarnation: 1 << 30},
		berth.ActivityReported{Job: "j0", Replica: -1, Incarnation: 1},
		berth.CheckpointWritten{Job: "nobody"},
		berth.CheckpointWritten{Job: "j0", Incarnation: 1 << 30},
		berth.CheckpointWritten{Job: "j0", Replica: -1, Incarnation: 1},
		berth.CheckpointWritten{Job: "j0", Incarnation: 1, At: 1 << 60},
		berth.JobFinished{Job: "j0", Incarnation: 1 << 30},
		berth.MemberFailed{Job: "nobody"},
		berth.MemberFailed{Job: "j0", Replica: -1, Incarnation: 1},
		berth.MemberFailed{Job: "j0", Incarnation: 1 << 30, Members: []berth.MemberRef{{}}},
		berth.OrderReported{},
		berth.OrderReported{Order: 1 << 60, Outcome: berth.OutcomeDone},
		berth.OrderReported{Order: 1 << 60, Outcome: 77},
	}
}
