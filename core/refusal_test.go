package core_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/sample"
	"github.com/berth-sched/berth/quota"
)

// newBusyCore has two nodes, a queue, a job that runs as bound by order 1, a job
// with Bind 2 out, and one that is pending.
func newBusyCore(t *testing.T) *core.Core {
	t.Helper()
	sched, err := core.New(berth.Config{Levels: []string{"spine", "leaf"}, Resources: countable.Register{{Name: "scratch"}}})
	require.NoError(t, err)
	apply := func(e berth.Event) {
		t.Helper()
		require.NoError(t, sched.Apply(10, e))
	}
	apply(berth.NodeJoined{Node: sample.Node("n1")})
	apply(berth.NodeJoined{Node: sample.Node("n2")})
	apply(berth.QueueSet{Queue: quota.Queue{Name: "org"}})
	apply(berth.QueueSet{Queue: quota.Queue{Name: "team-a", Parent: "org"}})
	apply(berth.JobSubmitted{Job: gangJob("runs", 1, 8)})
	_, err = sched.Schedule(10)
	require.NoError(t, err)
	apply(berth.OrderReported{Order: 1, Outcome: berth.OutcomeDone})
	apply(berth.JobSubmitted{Job: gangJob("binds", 1, 8)})
	_, err = sched.Schedule(10)
	require.NoError(t, err)
	apply(berth.JobSubmitted{Job: gangJob("waits", 2, 8)})
	apply(berth.JobSubmitted{Job: serviceJob("serves", 0)})
	require.NoError(t, sched.Check())
	return sched
}

func queueSet(name, parent string) berth.Event {
	return berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(name), Parent: berth.QueueID(parent)}}
}

func gangJob(id berth.JobID, members, gpus int) berth.Job {
	return berth.Job{ID: id, Queue: "team-a", Groups: []berth.Group{{Members: members, Claim: berth.Claim{GPUs: gpus}}}}
}

func serviceJob(id berth.JobID, replicas int) berth.Job {
	j := gangJob(id, 1, 1)
	j.Service = &berth.Service{Replicas: replicas}
	return j
}

// changed returns a copy of a job after a change.
func changed(j berth.Job, change func(*berth.Job)) berth.Job {
	change(&j)
	return j
}

// A bad event gets a typed error that names the event, the field and the reason.
// This is also promise R2: it changes nothing.
func TestR2_ARejectedEventChangesNothing(t *testing.T) {
	submit := func(change func(*berth.Job)) berth.Event {
		return berth.JobSubmitted{Job: changed(gangJob("new", 2, 1), change)}
	}
	group := func(change func(*berth.Group)) berth.Event {
		return submit(func(j *berth.Job) { change(&j.Groups[0]) })
	}
	join := func(change func(*berth.Node)) berth.Event {
		n := sample.Node("n3")
		change(&n)
		return berth.NodeJoined{Node: n}
	}
	reserve := func(change func(*berth.Reservation)) berth.Event {
		r := berth.Reservation{ID: "r", From: 100, Until: 200, Nodes: []berth.NodeID{"n1"}}
		change(&r)
		return berth.ReservationSet{Reservation: r}
	}
	observe := func(members ...berth.MemberPlacement) berth.Event {
		return berth.JobObserved{Job: gangJob("new", 1, 8), Running: []berth.ObservedReplica{{Incarnation: 1, Members: members}}}
	}
	budgets := func(list ...berth.Budget) berth.Event {
		return berth.PolicyChanged{Policy: berth.Policy{Budgets: list}}
	}
	for _, c := range []struct {
		name  string
		event berth.Event
		kind  error
		field string
	}{
		{"no event", nil, berth.ErrInvalid, ""},

		{"duplicate node", join(func(n *berth.Node) { n.ID, n.Pool = "n1", "another" }), berth.ErrDuplicate, "node.id"},
		{"empty name", join(func(n *berth.Node) { n.ID = "" }), berth.ErrInvalid, "node.id"},
		{"name with a line feed", join(func(n *berth.Node) { n.ID = "a\nb" }), berth.ErrInvalid, "node.id"},
		{"name that is not UTF-8", join(func(n *berth.Node) { n.ID = "\xff" }), berth.ErrInvalid, "node.id"},
		{"too few domains", join(func(n *berth.Node) { n.Domains = n.Domains[:1] }), berth.ErrInvalid, "node.domains"},
		{"negative memory", join(func(n *berth.Node) { n.MemoryMiB = -1 }), berth.ErrInvalid, "node.memoryMiB"},
		{"huge CPU", join(func(n *berth.Node) { n.CPUMilli = 1 << 62 }), berth.ErrLimit, "node.cpuMilli"},
		{"negative GPU memory", join(func(n *berth.Node) { n.GPUs[0].MemoryMiB = -1 }), berth.ErrInvalid, "node.gpus[0].memoryMiB"},
		{"two products", join(func(n *berth.Node) { n.GPUs[2].Product = "T4" }), berth.ErrUnsupported, "node.gpus[2].product"},
		{"65 GPUs", join(func(n *berth.Node) { n.GPUs = make([]berth.GPU, 65) }), berth.ErrLimit, "node.gpus"},
		{"a resource that is not declared", join(func(n *berth.Node) { n.Resources = map[string]int64{"fpga": 1} }), berth.ErrUnknown, "node.resources[\"fpga\"]"},
		{"too many resources", join(func(n *berth.Node) {
			n.Resources = map[string]int64{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1}
		}), berth.ErrLimit, "node.resources"},
		{"less than no resource", join(func(n *berth.Node) { n.Resources = map[string]int64{"scratch": -1} }), berth.ErrInvalid, "node.resources[\"scratch\"]"},
		{"a claim for nothing of a resource", group(func(g *berth.Group) { g.Claim.Resources = map[string]int64{"scratch": 0} }), berth.ErrInvalid, "job.groups[0].claim.resources[\"scratch\"]"},
		{"a claim for too much of a resource", group(func(g *berth.Group) { g.Claim.Resources = map[string]int64{"scratch": 1 << 62} }), berth.ErrLimit, "job.groups[0].claim.resources[\"scratch\"]"},
		{"a claim for a resource that is not declared", group(func(g *berth.Group) { g.Claim.Resources = map[string]int64{"fpga": 1} }), berth.ErrUnknown, "job.groups[0].claim.resources[\"fpga\"]"},
		{"a limit on a resource that is not declared", berth.QueueSet{Queue: quota.Queue{Name: "r", Limit: quota.Amounts{"fpga": 1}}}, berth.ErrInvalid, "queue.limit[\"fpga\"]"},
		{"links of another node", join(func(n *berth.Node) { n.Links = bridged(4) }), berth.ErrInvalid, "node.links"},
		{"a link of no kind", join(func(n *berth.Node) { n.Links = bridged(8); n.Links[1][2] = "wet string" }), berth.ErrInvalid, "node.links[1][2]"},
		{"links that differ by direction", join(func(n *berth.Node) { n.Links = bridged(8); n.Links[1][2] = "PIX" }), berth.ErrInvalid, "node.links"},
		{"bad rate of a NIC", join(func(n *berth.Node) { n.NICs[0].MbitPerSecond = -1 }), berth.ErrInvalid, "node.nics[0].mbitPerSecond"},
		{"links of no GPUs", join(func(n *berth.Node) { n.GPUs, n.Links = nil, bridged(1) }), berth.ErrInvalid, "node.links"},

		{"update of an unknown node", berth.NodeUpdated{Node: sample.Node("n9")}, berth.ErrUnknown, "node.id"},
		{"new shape under load", berth.NodeUpdated{Node: func() berth.Node { n := sample.Node("n1"); n.GPUs = n.GPUs[:4]; return n }()}, berth.ErrConflict, "node"},
		{"failed GPU under load", berth.NodeUpdated{Node: func() berth.Node { n := sample.Node("n1"); n.GPUs[1].Failed = true; return n }()}, berth.ErrConflict, "node.gpus[1].failed"},
		{"unknown node lost", berth.NodeLost{Node: "n9"}, berth.ErrUnknown, "node"},
		{"unknown node cordoned", berth.NodeCordoned{Node: "n9"}, berth.ErrUnknown, "node"},
		{"unknown node uncordoned", berth.NodeUncordoned{Node: "n9"}, berth.ErrUnknown, "node"},
		{"drain by a negative instant", berth.NodeDraining{Node: "n1", Deadline: -1}, berth.ErrInvalid, "deadline"},
		{"drain of an unknown node", berth.NodeDraining{Node: "n9"}, berth.ErrUnknown, "node"},
		{"GPU out of range", berth.GPUFailed{Node: "n1", GPU: 8}, berth.ErrInvalid, "gpu"},
		{"bandwidth of no domain", berth.FabricReported{LeftMilli: 500}, berth.ErrInvalid, "domain"},
		{"bandwidth of an unknown domain", berth.FabricReported{Domain: []string{"x9"}, LeftMilli: 500}, berth.ErrUnknown, "domain"},
		{"bandwidth of a domain too deep", berth.FabricReported{Domain: []string{"a", "b", "c", "d", "e", "f"}, LeftMilli: 500}, berth.ErrUnknown, "domain"},
		{"more than all bandwidth", berth.FabricReported{Domain: []string{"x9"}, LeftMilli: 1001}, berth.ErrInvalid, "leftMilli"},
		{"less than no bandwidth", berth.FabricReported{Domain: []string{"x9"}, LeftMilli: -1}, berth.ErrInvalid, "leftMilli"},
		{"bandwidth for a broken reason", berth.FabricReported{Domain: []string{"x9"}, Reason: "\n"}, berth.ErrInvalid, "reason"},
		{"Xid of an unknown node", berth.XidReported{Node: "n9", Xid: 79}, berth.ErrUnknown, "node"},
		{"Xid of no GPU", berth.XidReported{Node: "n1", GPU: 99, Xid: 79}, berth.ErrInvalid, "gpu"},
		{"Xid 0", berth.XidReported{Node: "n1"}, berth.ErrInvalid, "xid"},
		{"Xid of no number", berth.XidReported{Node: "n1", Xid: 1 << 20}, berth.ErrInvalid, "xid"},
		{"Xid for a broken reason", berth.XidReported{Node: "n1", Xid: 79, Reason: "\n"}, berth.ErrInvalid, "reason"},
		{"losses without number", berth.PolicyChanged{Policy: berth.Policy{Health: berth.Health{Losses: -2}}}, berth.ErrInvalid, "policy.health.losses"},
		{"a burn-in that never ends", berth.PolicyChanged{Policy: berth.Policy{Health: berth.Health{BurnIn: 1 << 60}}}, berth.ErrLimit, "policy.health.burnIn"},
		{"negative time over a limit", berth.PolicyChanged{Policy: berth.Policy{OverLimit: berth.OverLimit{After: -2}}}, berth.ErrInvalid, "policy.overLimit.after"},
		{"negative quarantine", berth.PolicyChanged{Policy: berth.Policy{Health: berth.Health{Quarantine: -1}}}, berth.ErrInvalid, "policy.health.quarantine"},
		{"a budget of no queue", budgets(berth.Budget{}), berth.ErrInvalid, "policy.budgets[0].queue"},
		{"a budget below nothing", budgets(berth.Budget{Queue: "q", GPUMilliHours: -1}), berth.ErrInvalid, "policy.budgets[0].gpuMilliHours"},
		{"a budget beyond all fleets", budgets(berth.Budget{Queue: "q", GPUMilliHours: 1<<42 + 1}), berth.ErrInvalid, "policy.budgets[0].gpuMilliHours"},
		{"a budget from before the epoch", budgets(berth.Budget{Queue: "q", From: -1}), berth.ErrInvalid, "policy.budgets[0].from"},
		{"a budget until after all time", budgets(berth.Budget{Queue: "q", Until: 1<<61 + 1}), berth.ErrInvalid, "policy.budgets[0].until"},
		{"a budget that ends as it begins", budgets(berth.Budget{Queue: "q", From: 5, Until: 5}), berth.ErrInvalid, "policy.budgets[0].until"},
		{"a budget twice", budgets(berth.Budget{Queue: "q", From: 5}, berth.Budget{Queue: "q"}, berth.Budget{Queue: "q", From: 5, Stop: true}), berth.ErrDuplicate, "policy.budgets[2]"},
		{"more budgets than a policy has", budgets(make([]berth.Budget, 1<<14+1)...), berth.ErrLimit, "policy.budgets"},
		{"more spares than nodes", berth.PolicyChanged{Policy: berth.Policy{HotSpares: []berth.HotSpares{{NodesMilli: 1001}}}}, berth.ErrInvalid, "policy.hotSpares[0].nodesMilli"},
		{"spares of a pool twice", berth.PolicyChanged{Policy: berth.Policy{HotSpares: []berth.HotSpares{{Pool: "p"}, {Pool: "p"}}}}, berth.ErrDuplicate, "policy.hotSpares[1].pool"},
		{"spares of a broken pool", berth.PolicyChanged{Policy: berth.Policy{HotSpares: []berth.HotSpares{{Pool: "\n"}}}}, berth.ErrInvalid, "policy.hotSpares[0].pool"},
		{"negative GPU", berth.GPURepaired{Node: "n1", GPU: -1}, berth.ErrInvalid, "gpu"},

		{"unknown parent", berth.QueueSet{Queue: quota.Queue{Name: "x", Parent: "y"}}, berth.ErrUnknown, "queue.parent"},
		{"negative limit", berth.QueueSet{Queue: quota.Queue{Name: "x", Limit: quota.Amounts{quota.GPUMilli: -1}}}, berth.ErrInvalid, `queue.limit["gpuMilli"]`},
		{"negative lending limit", berth.QueueSet{Queue: quota.Queue{Name: "x", LendingLimit: quota.Amounts{quota.GPUMilli: -1}}}, berth.ErrInvalid, `queue.lendingLimit["gpuMilli"]`},
		{"negative share", berth.QueueSet{Queue: quota.Queue{Name: "x", GuaranteeShare: quota.Thousandths{quota.GPUMilli: -1}}}, berth.ErrInvalid, `queue.guaranteeShare["gpuMilli"]`},
		{"share of more than all", berth.QueueSet{Queue: quota.Queue{Name: "x", LimitShare: quota.Thousandths{quota.CPUMilli: 1001}}}, berth.ErrInvalid, `queue.limitShare["cpuMilli"]`},
		{"share of no resource", berth.QueueSet{Queue: quota.Queue{Name: "x", LimitShare: quota.Thousandths{"gold": 1}}}, berth.ErrInvalid, `queue.limitShare["gold"]`},
		{"share beside an amount", berth.QueueSet{Queue: quota.Queue{Name: "x", Guarantee: quota.GPUs(1), GuaranteeShare: quota.Thousandths{quota.GPUMilli: 1}}}, berth.ErrInvalid, `queue.guaranteeShare["gpuMilli"]`},
		{"limit of a share", berth.QueueSet{Queue: quota.Queue{Name: "x", Limit: quota.GPUs(1), GuaranteeShare: quota.Thousandths{quota.GPUMilli: 1}}}, berth.ErrInvalid, `queue.limit["gpuMilli"]`},
		{"queue in use", berth.QueueRemoved{Queue: "team-a"}, berth.ErrConflict, "queue"},
		{"unknown queue", berth.QueueRemoved{Queue: "x"}, berth.ErrUnknown, "queue"},

		{"reservation of nothing", reserve(func(r *berth.Reservation) { r.Nodes = nil }), berth.ErrInvalid, "reservation"},
		{"reservation of two things", reserve(func(r *berth.Reservation) { r.GPUs = 8 }), berth.ErrInvalid, "reservation"},
		{"reservation without a name", reserve(func(r *berth.Reservation) { r.ID = "" }), berth.ErrInvalid, "reservation.id"},
		{"reservation that is over", reserve(func(r *berth.Reservation) { r.From, r.Until = 1, 2 }), berth.ErrInvalid, "reservation.until"},
		{"reservation that is not over when it comes back", reserve(func(r *berth.Reservation) { r.Every = 1 }), berth.ErrInvalid, "reservation.every"},
		{"reservation that comes back before", reserve(func(r *berth.Reservation) { r.Every = -1 }), berth.ErrInvalid, "reservation.every"},
		{"reservation that ends first", reserve(func(r *berth.Reservation) { r.From = 500 }), berth.ErrInvalid, "reservation.until"},
		{"reservation for nobody known", reserve(func(r *berth.Reservation) { r.Queue = "x" }), berth.ErrUnknown, "reservation.queue"},
		{"reservation of too much", reserve(func(r *berth.Reservation) { r.Nodes, r.GPUs = nil, 1000 }), berth.ErrConflict, "reservation.gpus"},
		{"reservation of negative GPUs", reserve(func(r *berth.Reservation) { r.Nodes, r.GPUs = nil, -1 }), berth.ErrInvalid, "reservation.gpus"},
		{"reservation too deep", reserve(func(r *berth.Reservation) { r.Nodes, r.Domain = nil, []string{"a", "b", "c"} }), berth.ErrInvalid, "reservation.domain"},
		{"reservation at an unknown level", reserve(func(r *berth.Reservation) { r.Required = "x" }), berth.ErrUnknown, "reservation.required"},
		{"end of an unknown reservation", berth.ReservationRemoved{Reservation: "x"}, berth.ErrUnknown, "reservation"},

		{"duplicate job", submit(func(j *berth.Job) { j.ID = "runs" }), berth.ErrDuplicate, "job.id"},
		{"no queue", submit(func(j *berth.Job) { j.Queue = "" }), berth.ErrInvalid, "job.queue"},
		{"job to an unknown queue", submit(func(j *berth.Job) { j.Queue = "x" }), berth.ErrUnknown, "job.queue"},
		{"job to an inner queue", submit(func(j *berth.Job) { j.Queue = "org" }), berth.ErrInvalid, "job.queue"},
		{"class out of range", submit(func(j *berth.Job) { j.Class = 7 }), berth.ErrInvalid, "job.class"},
		{"begin before the epoch", submit(func(j *berth.Job) { j.Begin = -1 }), berth.ErrInvalid, "job.begin"},
		{"service that begins later", submit(func(j *berth.Job) { j.Service, j.Begin = &berth.Service{}, 1 }), berth.ErrUnsupported, "job.begin"},
		{"after a job that is not known", submit(func(j *berth.Job) { j.After = []berth.Dependency{{Job: "runs"}, {Job: "new"}} }), berth.ErrUnknown, "job.after[1].job"},
		{"after a service", submit(func(j *berth.Job) { j.After = []berth.Dependency{{Job: "serves"}} }), berth.ErrUnsupported, "job.after[0].job"},
		{"after a job twice", submit(func(j *berth.Job) { j.After = []berth.Dependency{{Job: "runs"}, {Job: "runs"}} }), berth.ErrInvalid, "job.after[1].job"},
		{"after an end of no kind", submit(func(j *berth.Job) { j.After = []berth.Dependency{{Job: "runs", Kind: 2}} }), berth.ErrInvalid, "job.after[0].kind"},
		{"after too many", submit(func(j *berth.Job) { j.After = make([]berth.Dependency, 1025) }), berth.ErrLimit, "job.after"},
		{"array without a name", submit(func(j *berth.Job) { j.Array = &berth.Array{Width: 1} }), berth.ErrInvalid, "job.array.name"},
		{"array of no width", submit(func(j *berth.Job) { j.Array = &berth.Array{Name: "sweep"} }), berth.ErrInvalid, "job.array.width"},
		{"user with a control character", submit(func(j *berth.Job) { j.User = "a\x00b" }), berth.ErrInvalid, "job.user"},
		{"no groups", submit(func(j *berth.Job) { j.Groups = nil }), berth.ErrInvalid, "job.groups"},
		{"groups without names", submit(func(j *berth.Job) { j.Groups = append(j.Groups, j.Groups[0]) }), berth.ErrInvalid, "job.groups[0].name"},
		{"groups of one name", submit(func(j *berth.Job) {
			j.Groups[0].Name = "a"
			j.Groups = append(j.Groups, j.Groups[0])
		}), berth.ErrDuplicate, "job.groups[1].name"},
		{"no replicas", group(func(g *berth.Group) { g.Members = 0 }), berth.ErrInvalid, "job.groups[0].members"},
		{"minimum above replicas", group(func(g *berth.Group) { g.MinMembers = 3 }), berth.ErrInvalid, "job.groups[0].minMembers"},
		{"claim of nothing", group(func(g *berth.Group) { g.Claim = berth.Claim{} }), berth.ErrInvalid, "job.groups[0].claim"},
		{"negative GPUs", group(func(g *berth.Group) { g.Claim.GPUs = -1 }), berth.ErrInvalid, "job.groups[0].claim.gpus"},
		{"negative CPU", group(func(g *berth.Group) { g.Claim.CPUMilli = -1 }), berth.ErrInvalid, "job.groups[0].claim.cpuMilli"},
		{"what names no profile", group(func(g *berth.Group) { g.Claim = berth.Claim{MIG: "10gb"} }), berth.ErrInvalid, "job.groups[0].claim.mig"},
		{"GPUs and an instance", group(func(g *berth.Group) { g.Claim.MIG = "1g.10gb" }), berth.ErrInvalid, "job.groups[0].claim.mig"},
		{"two kinds of instance", group(func(g *berth.Group) {
			g.Claim = berth.Claim{MIG: "1g.10gb", MinInstance: &berth.MinInstance{MinSMs: 1}}
		}), berth.ErrInvalid, "job.groups[0].claim.mig"},
		{"fraction of nothing", group(func(g *berth.Group) { g.Claim = berth.Claim{MinInstance: &berth.MinInstance{}} }), berth.ErrInvalid, "job.groups[0].claim.minInstance"},
		{"NVLink of an instance", group(func(g *berth.Group) { g.Claim = berth.Claim{MIG: "1g.10gb", NVLink: true} }), berth.ErrInvalid, "job.groups[0].claim.nvlink"},
		{"GPUs and a share", group(func(g *berth.Group) { g.Claim.Share = &berth.Share{GPUMilli: 1} }), berth.ErrInvalid, "job.groups[0].claim.share"},
		{"share of a whole GPU", group(func(g *berth.Group) { g.Claim = berth.Claim{Share: &berth.Share{GPUMilli: 1000}} }), berth.ErrInvalid, "job.groups[0].claim.share.gpuMilli"},
		{"time slices for batch", group(func(g *berth.Group) {
			g.Claim = berth.Claim{Share: &berth.Share{GPUMilli: 1, Mode: berth.ShareTimeSlice}}
		}), berth.ErrInvalid, "job.groups[0].claim.share.mode"},
		{"unknown level", group(func(g *berth.Group) { g.Topology.Required = "rack" }), berth.ErrUnknown, "job.groups[0].topology.required"},
		{"preferred wider than required", group(func(g *berth.Group) { g.Topology = berth.Topology{Required: "leaf", Preferred: "spine"} }), berth.ErrInvalid, "job.groups[0].topology.preferred"},
		{"broken segment", group(func(g *berth.Group) { g.Topology = berth.Topology{Segments: []berth.Segment{{Size: 3, Level: "leaf"}}} }), berth.ErrInvalid, "job.groups[0].topology.segments[0].size"},
		{"skew without spread", group(func(g *berth.Group) { g.Topology.MaxSkew = 1 }), berth.ErrInvalid, "job.groups[0].topology.maxSkew"},
		{"spread within the required level", group(func(g *berth.Group) { g.Topology.Required, g.Topology.Spread = "leaf", "spine" }), berth.ErrInvalid, "job.groups[0].topology.spread"},
		{"spread of a job", submit(func(j *berth.Job) { j.Topology.Spread = "leaf" }), berth.ErrInvalid, "job.topology.spread"},
		{"exclusive for a group", group(func(g *berth.Group) { g.Topology.Exclusive = "leaf" }), berth.ErrInvalid, "job.groups[0].topology.exclusive"},
		{"rail alignment without rails", group(func(g *berth.Group) { g.Topology.RailAligned = true }), berth.ErrUnsupported, "job.groups[0].topology.railAligned"},
		{"negative span", submit(func(j *berth.Job) { j.MinRuntime = -1 }), berth.ErrInvalid, "job.minRuntime"},
		{"negative replicas of a service", submit(func(j *berth.Job) { j.Service = &berth.Service{Replicas: -1} }), berth.ErrInvalid, "job.service.replicas"},
		{"negative surge of a service", submit(func(j *berth.Job) { j.Service = &berth.Service{Surge: -1} }), berth.ErrInvalid, "job.service.surge"},
		{"a surge of too many", submit(func(j *berth.Job) { j.Service = &berth.Service{Surge: 1025} }), berth.ErrInvalid, "job.service.surge"},
		{"observed beyond a surge", berth.JobObserved{Job: changed(serviceJob("new", 2), func(j *berth.Job) { j.Service.Surge = 1 }), Running: []berth.ObservedReplica{{Replica: 3, Incarnation: 1}}}, berth.ErrInvalid, "running[0].replica"},

		{"observed as no alternative", berth.JobObserved{Job: gangJob("new", 1, 8), Running: []berth.ObservedReplica{{Incarnation: 1, Alternative: 1}}}, berth.ErrInvalid, "running[0].alternative"},
		{"observed on held GPUs", observe(berth.MemberPlacement{Node: "n1", GPUs: 0xff}), berth.ErrConflict, "running[0].members[0]"},
		{"observed without its members", observe(), berth.ErrInvalid, "running[0].members"},
		{"observed on an unknown node", observe(berth.MemberPlacement{Node: "n9", GPUs: 0xff}), berth.ErrUnknown, "running[0].members[0].node"},
		{"observed GPU out of range", observe(berth.MemberPlacement{Node: "n1", GPUs: 0xff00}), berth.ErrInvalid, "running[0].members[0].gpus"},
		{"observed with too few GPUs", observe(berth.MemberPlacement{Node: "n1", GPUs: 1}), berth.ErrInvalid, "running[0].members[0].gpus"},

		{"scaling what is no service", berth.JobScaled{Job: "runs", Replicas: 1}, berth.ErrInvalid, "job"},
		{"scaling below zero", berth.JobScaled{Job: "serves", Replicas: -1}, berth.ErrInvalid, "replicas"},
		{"cancelling what is unknown", berth.JobCancelled{Job: "x"}, berth.ErrUnknown, "job"},
		{"finishing a service", berth.JobFinished{Job: "serves", Incarnation: 1}, berth.ErrInvalid, "job"},
		{"finishing a former life", berth.JobFinished{Job: "runs"}, berth.ErrStale, "incarnation"},
		{"finishing what waits", berth.JobFinished{Job: "waits"}, berth.ErrStale, "incarnation"},
		{"finishing a life to come", berth.JobFinished{Job: "runs", Incarnation: 2}, berth.ErrUnknown, "incarnation"},
		{"failure of nobody", berth.MemberFailed{Job: "runs", Incarnation: 1}, berth.ErrInvalid, "members"},
		{"failure of a stranger", berth.MemberFailed{Job: "runs", Incarnation: 1, Members: []berth.MemberRef{{Index: 1}}}, berth.ErrInvalid, "members[0]"},
		{"failure in no replica", berth.MemberFailed{Job: "runs", Replica: 1, Incarnation: 1}, berth.ErrUnknown, "replica"},
		{"checkpoint in no replica", berth.CheckpointWritten{Job: "runs", Replica: 1, Incarnation: 1}, berth.ErrUnknown, "replica"},
		{"checkpoint of a former life", berth.CheckpointWritten{Job: "runs"}, berth.ErrStale, "incarnation"},
		{"checkpoint of a life to come", berth.CheckpointWritten{Job: "runs", Incarnation: 2}, berth.ErrUnknown, "incarnation"},
		{"checkpoint of what waits", berth.CheckpointWritten{Job: "waits"}, berth.ErrStale, "incarnation"},
		{"checkpoint to come", berth.CheckpointWritten{Job: "runs", Incarnation: 1, At: 1 << 40}, berth.ErrInvalid, "at"},
		{"checkpoint before the start", berth.CheckpointWritten{Job: "runs", Incarnation: 1, At: -1}, berth.ErrInvalid, "at"},
		{"report of an order never given", berth.OrderReported{Order: 99, Outcome: berth.OutcomeDone}, berth.ErrUnknown, "order"},
		{"report of order zero", berth.OrderReported{Outcome: berth.OutcomeDone}, berth.ErrUnknown, "order"},
		{"report without an outcome", berth.OrderReported{Order: 2}, berth.ErrInvalid, "outcome"},
		{"a GPU without a mode", berth.GPUPartitioned{Node: "n1"}, berth.ErrInvalid, "mode"},
		{"second report", berth.OrderReported{Order: 1, Outcome: berth.OutcomeDone}, berth.ErrStale, "order"},
		{"outcome out of range", berth.OrderReported{Order: 2, Outcome: 9}, berth.ErrInvalid, "outcome"},
		{"partial without members", berth.OrderReported{Order: 2, Outcome: berth.OutcomePartial}, berth.ErrInvalid, "members"},
		{"done with failed members", berth.OrderReported{Order: 2, Outcome: berth.OutcomeDone, Members: []berth.MemberRef{{}}}, berth.ErrInvalid, "members"},
		{"partial with a stranger", berth.OrderReported{Order: 2, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Index: 5}}}, berth.ErrInvalid, "members[0]"},
		{"negative timeout", berth.PolicyChanged{Policy: berth.Policy{BindTimeout: -1}}, berth.ErrInvalid, "policy.bindTimeout"},
		{"backoff above its maximum", berth.PolicyChanged{Policy: berth.Policy{RetryBackoff: 2, MaxRetryBackoff: 1}}, berth.ErrInvalid, "policy.maxRetryBackoff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sched := newBusyCore(t)
			before, err := sched.Snapshot()
			require.NoError(t, err)
			err = sched.Apply(11, c.event)
			var e *berth.Error
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, c.kind)
			require.Equal(t, c.field, e.Field, "%v", err)
			require.NotEmpty(t, e.Reason)
			if c.event != nil {
				require.Equal(t, c.event.Kind(), e.Event)
			}
			after, err := sched.Snapshot()
			require.NoError(t, err)
			require.Equal(t, string(before), string(after))
			require.NoError(t, sched.Check())
			require.NoError(t, sched.Apply(11, berth.JobSubmitted{Job: gangJob("next", 1, 1)}), "the core goes on")
		})
	}
}

// A pointer to an event has its methods, so the compiler lets it pass. The refusal says what
// to do, whatever the pointer points to.
func TestAPointerToAnEventIsRefused(t *testing.T) {
	sched := newBusyCore(t)
	before, _ := sched.Snapshot()
	for _, now := range []berth.Time{9, 10} {
		for _, e := range []berth.Event{&berth.NodeLost{Node: "n1"}, (*berth.NodeLost)(nil)} {
			err := sched.Apply(now, e)
			var refused *berth.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, "event", refused.Event)
			if now == 10 {
				require.EqualError(t, err, "berth: event: *berth.NodeLost is a pointer: pass the event itself, without &")
			}
		}
	}
	after, _ := sched.Snapshot()
	require.Equal(t, string(before), string(after))
}

func TestClockThatGoesBack(t *testing.T) {
	sched := newBusyCore(t)
	before, _ := sched.Snapshot()
	err := sched.Apply(9, berth.NodeLost{Node: "n1"})
	require.ErrorIs(t, err, berth.ErrClock)
	_, err = sched.Schedule(9)
	require.ErrorIs(t, err, berth.ErrClock)
	after, _ := sched.Snapshot()
	require.Equal(t, string(before), string(after))
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []struct {
		config berth.Config
		field  string
	}{
		{berth.Config{Levels: []string{"leaf", "leaf"}}, "levels[1]"},
		{berth.Config{Levels: []string{"node"}}, "levels[0]"},
		{berth.Config{Resources: make(countable.Register, countable.MaxDeclared+1)}, "resources"},
		{berth.Config{Resources: countable.Register{{Name: "vf"}, {Name: "memoryMiB"}}}, "resources[1].name"},
		{berth.Config{Resources: countable.Register{{Name: "vf", Unit: "\x00"}}}, "resources[0].unit"},
		{berth.Config{Levels: []string{""}}, "levels[0]"},
		{berth.Config{Limits: berth.Limits{Nodes: -1}}, "limits.nodes"},
		{berth.Config{Policy: berth.Policy{PassBudget: -1}}, "policy.passBudget"},
		{berth.Config{Policy: berth.Policy{ReservedGangs: 257}}, "policy.reservedGangs"},
		{berth.Config{Policy: berth.Policy{Locality: 9}}, "policy.locality"},
		{berth.Config{Fabric: berth.Fabric{RailLevel: "leaf"}}, "fabric.railLevel"},
		{berth.Config{Fabric: berth.Fabric{Oversubscription: []berth.Oversubscription{{Level: "node", RatioMilli: 1}}}}, "fabric.oversubscription[0].ratioMilli"},
	} {
		_, err := core.New(c.config)
		var e *berth.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "config", e.Event)
		require.Equal(t, c.field, e.Field)
	}
}

func TestLimitsAreKept(t *testing.T) {
	sched, err := core.New(berth.Config{Limits: berth.Limits{Nodes: 1, Queues: 1, Replicas: 2, Members: 3, Groups: 1}})
	require.NoError(t, err)
	node := func(id string) berth.Event {
		return berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(id), CPUMilli: 1}}
	}
	require.NoError(t, sched.Apply(0, node("a")))
	require.ErrorIs(t, sched.Apply(0, node("b")), berth.ErrLimit)
	require.NoError(t, sched.Apply(0, berth.QueueSet{Queue: quota.Queue{Name: "team-a"}}))
	require.ErrorIs(t, sched.Apply(0, berth.QueueSet{Queue: quota.Queue{Name: "b"}}), berth.ErrLimit)
	require.ErrorIs(t, sched.Apply(0, berth.JobSubmitted{Job: gangJob("big", 4, 1)}), berth.ErrLimit)
	for i := range 2 {
		require.NoError(t, sched.Apply(0, berth.JobSubmitted{Job: gangJob(berth.JobID(fmt.Sprint(i)), 1, 1)}))
	}
	require.ErrorIs(t, sched.Apply(0, berth.JobSubmitted{Job: gangJob("c", 1, 1)}), berth.ErrLimit)
}
