package check_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/quota"
)

// A zoo is a checker in a small world: leaf x has the nodes n1 and n2, leaf y has n3, each with
// two GPUs of 1000 MiB, 1000 milli-CPU and 1000 MiB; n1 has three virtual functions. Queue q,
// below org, is limited to four GPUs, org to five. What the zoo is told of is right, until the
// animal comes.
type zoo struct {
	t    *testing.T
	c    *check.Checker
	now  berth.Time
	next berth.OrderID
	// queues that were told beyond the first.
	queues map[string]quota.Queue
	// used are the queues of singles that run, and places where they do.
	used   []berth.QueueID
	places map[berth.JobID]berth.MemberPlacement
	// claims of the jobs that were told, and the members that were bound last.
	claims map[berth.JobID][]berth.GroupClaim
	bound  map[berth.JobID][]berth.MemberPlacement
}

func newZoo(t *testing.T) *zoo {
	z := &zoo{t: t, c: check.New(berth.Config{
		Resources: countable.Register{{Name: "rdma/vf"}},
		Levels:    []string{"leaf"}, Fabric: berth.Fabric{RailLevel: "leaf"}, Ledger: true,
		Policy: berth.Policy{Preemption: berth.Preemption{GuaranteeWithin: berth.Off}},
	}), next: 1}
	z.queues, z.places = map[string]quota.Queue{}, map[berth.JobID]berth.MemberPlacement{}
	z.claims, z.bound = map[berth.JobID][]berth.GroupClaim{}, map[berth.JobID][]berth.MemberPlacement{}
	for i, leaf := range []string{"x", "x", "y"} {
		gpu := berth.GPU{Product: "H100", MemoryMiB: 1000}
		var resources map[string]int64
		if i == 0 {
			resources = map[string]int64{"rdma/vf": 3}
		}
		z.tell(berth.NodeJoined{Node: berth.Node{
			ID: berth.NodeID(fmt.Sprintf("n%d", i+1)), Domains: []string{leaf},
			GPUs: []berth.GPU{gpu, gpu}, CPUMilli: 1000, MemoryMiB: 1000, Resources: resources,
		}})
	}
	z.tell(berth.QueueSet{Queue: quota.Queue{Name: "org", Limit: quota.Amounts{quota.GPUMilli: 5000}}})
	z.tell(berth.QueueSet{Queue: quota.Queue{Name: "q", Parent: "org", Limit: quota.Amounts{quota.GPUMilli: 4000}}})
	z.tell(berth.QueueSet{Queue: quota.Queue{Name: "free", Parent: "org"}})
	return z
}

// tell gives an event that is right.
func (z *zoo) tell(e berth.Event) {
	require.NoError(z.t, z.c.Applied(z.now, e))
	switch e := e.(type) {
	case berth.JobSubmitted:
		z.claims[e.Job.ID] = claimsOf(&e.Job)
	case berth.JobObserved:
		z.claims[e.Job.ID] = claimsOf(&e.Job)
	}
}

func claimsOf(j *berth.Job) (list []berth.GroupClaim) {
	for _, g := range j.Groups {
		list = append(list, berth.GroupClaim{Group: g.Name, Claim: g.Claim})
	}
	return list
}

// pass gives a pass that is right.
func (z *zoo) pass(actions ...berth.Order) { require.NoError(z.t, z.c.Scheduled(z.now, actions)) }

// try gives a pass that may be wrong.
func (z *zoo) try(actions ...berth.Order) error { return z.c.Scheduled(z.now, actions) }

// submit adds a job of one group, with one GPU a member unless it is changed.
func (z *zoo) submit(id berth.JobID, members int, change ...func(*berth.Job)) {
	z.tell(berth.JobSubmitted{Job: job(id, members, change...)})
}

func job(id berth.JobID, members int, change ...func(*berth.Job)) berth.Job {
	j := berth.Job{ID: id, Queue: "q", Groups: []berth.Group{{Members: members, Claim: berth.Claim{GPUs: 1}}}}
	for _, c := range change {
		c(&j)
	}
	return j
}

func (z *zoo) order(id berth.JobID, timeout berth.Duration, cause berth.CauseCode) berth.OrderHeader {
	o := berth.OrderHeader{ID: z.next, At: z.now, Deadline: z.now.Add(timeout), Job: id, Incarnation: 1, Cause: berth.Cause{Code: cause}}
	z.next++
	return o
}

// follows has a job follow another.
func follows(id berth.JobID, kind berth.DependencyKind) func(*berth.Job) {
	return func(j *berth.Job) { j.After = append(j.After, berth.Dependency{Job: id, Kind: kind}) }
}

// counts has each member need so many virtual functions.
func counts(n int64) func(*berth.Job) {
	return func(j *berth.Job) { j.Groups[0].Claim.Resources = map[string]int64{"rdma/vf": n} }
}

// ofSweep has a job be of an array.
func ofSweep(width int) func(*berth.Job) {
	return func(j *berth.Job) { j.Array = &berth.Array{Name: "sweep", Width: width} }
}

// ofUser has a job be of a user.
func ofUser(name string) func(*berth.Job) { return func(j *berth.Job) { j.User = name } }

// caps has some caps of the policy count.
func (z *zoo) caps(list ...berth.QueueCaps) {
	z.tell(berth.PolicyChanged{Policy: berth.Policy{Caps: list}})
}

func (z *zoo) bind(id berth.JobID, members ...berth.MemberPlacement) berth.Bind {
	z.bound[id] = members
	return berth.Bind{OrderHeader: z.order(id, 2*berth.Minute, berth.CauseFits), Members: members, Claims: z.claims[id]}
}

func (z *zoo) release(id berth.JobID, cause berth.CauseCode, members ...berth.MemberPlacement) berth.Release {
	return berth.Release{OrderHeader: z.order(id, berth.Minute, cause), Members: members, Attempt: 1}
}

// on places member i on GPUs of a node.
func on(i int, node berth.NodeID, gpus ...int) berth.MemberPlacement {
	return berth.MemberPlacement{Index: i, Node: node, GPUs: berth.GPUSetOf(gpus...)}
}

// share places member i on half a GPU.
func share(i int, node berth.NodeID, gpu int) berth.MemberPlacement {
	return berth.MemberPlacement{Index: i, Node: node, GPUs: berth.GPUSetOf(gpu), ShareMilli: 500, ShareMemoryMiB: 500}
}

// shares has GPU 0 of a node be one to share.
func (z *zoo) shares(node berth.NodeID) {
	z.tell(berth.GPUPartitioned{Node: node, Mode: berth.GPUModeMPS})
}

func halves(j *berth.Job) {
	j.Groups[0].Claim = berth.Claim{Share: &berth.Share{GPUMilli: 500}}
}

// running has a gang of members on n1 and n2 run, one GPU each.
func (z *zoo) running(id berth.JobID, members int, change ...func(*berth.Job)) []berth.MemberPlacement {
	z.submit(id, members, change...)
	var at []berth.MemberPlacement
	for i := range members {
		at = append(at, on(i, berth.NodeID(fmt.Sprintf("n%d", 1+i/2)), i%2))
	}
	b := z.bind(id, at...)
	z.pass(b)
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
	return at
}

type animal struct {
	promise check.Promise
	name    string
	do      func(z *zoo) error
}

// The animals, by the promise they break. Each does what is right up to its last
// call, whose error it returns.
var animals = []animal{
	{check.PromiseS1, "a GPU is given twice", func(z *zoo) error {
		z.submit("a", 1)
		z.submit("b", 1)
		z.pass(z.bind("a", on(0, "n1", 0)))
		return z.try(z.bind("b", on(0, "n1", 0)))
	}},
	{check.PromiseS1, "a GPU is given twice in one order", func(z *zoo) error {
		z.submit("a", 2)
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 0)))
	}},
	{check.PromiseS1, "a shared GPU is given whole", func(z *zoo) error {
		z.shares("n1")
		z.submit("a", 1, halves)
		z.submit("b", 1)
		z.pass(z.bind("a", share(0, "n1", 0)))
		return z.try(z.bind("b", on(0, "n1", 0)))
	}},
	{check.PromiseS1, "a whole GPU is shared", func(z *zoo) error {
		z.submit("a", 1)
		z.submit("b", 1, halves)
		z.pass(z.bind("a", on(0, "n1", 0)))
		return z.try(z.bind("b", share(0, "n1", 0)))
	}},
	{check.PromiseS1, "shares exceed the GPU", func(z *zoo) error {
		z.shares("n1")
		z.submit("a", 3, halves)
		return z.try(z.bind("a", share(0, "n1", 0), share(1, "n1", 0), share(2, "n1", 0)))
	}},
	{check.PromiseS1, "shares exceed the GPU's memory", func(z *zoo) error {
		big := func(j *berth.Job) { j.Groups[0].Claim.Share = &berth.Share{GPUMilli: 100, MemoryMiB: 600} }
		z.shares("n1")
		z.submit("a", 2, halves, big)
		first, second := share(0, "n1", 0), share(1, "n1", 0)
		first.ShareMilli, first.ShareMemoryMiB = 100, 600
		second.ShareMilli, second.ShareMemoryMiB = 100, 600
		return z.try(z.bind("a", first, second))
	}},
	{check.PromiseS1, "two tenants share a GPU", func(z *zoo) error {
		z.shares("n1")
		z.submit("a", 1, halves, func(j *berth.Job) { j.Tenant = "ann" })
		z.submit("b", 1, halves, func(j *berth.Job) { j.Tenant = "bob" })
		z.pass(z.bind("a", share(0, "n1", 0)))
		return z.try(z.bind("b", share(0, "n1", 0)))
	}},
	{check.PromiseS1, "two modes share a GPU", func(z *zoo) error {
		z.shares("n1")
		z.submit("a", 1, halves)
		z.submit("b", 1, halves, func(j *berth.Job) {
			j.Class, j.Groups[0].Claim.Share.Mode = berth.ClassInteractive, berth.ShareTimeSlice
		})
		z.pass(z.bind("a", share(0, "n1", 0)))
		return z.try(z.bind("b", share(0, "n1", 0)))
	}},
	{check.PromiseS1, "host CPU is given twice", func(z *zoo) error {
		z.submit("a", 2, func(j *berth.Job) { j.Groups[0].Claim.CPUMilli = 600 })
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1)))
	}},
	{check.PromiseS1, "host memory is given twice", func(z *zoo) error {
		z.submit("a", 2, func(j *berth.Job) { j.Groups[0].Claim.MemoryMiB = 501 })
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1)))
	}},
	{check.PromiseS1, "a declared resource is given twice", func(z *zoo) error {
		z.submit("a", 2, counts(2))
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1)))
	}},
	{check.PromiseS1, "a declared resource is given on a node that has none", func(z *zoo) error {
		z.submit("a", 1, counts(1))
		return z.try(z.bind("a", on(0, "n2", 0)))
	}},
	{check.PromiseS1, "a declared resource is given before it is given back", func(z *zoo) error {
		z.running("a", 1, counts(2))
		z.submit("b", 1, counts(2))
		return z.try(z.bind("b", on(0, "n1", 1)))
	}},
	{check.PromiseLimits, "a queue exceeds its limit on a declared resource", func(z *zoo) error {
		z.tell(berth.QueueSet{Queue: quota.Queue{Name: "q", Parent: "org", Limit: quota.Amounts{"rdma/vf": 1}}})
		z.submit("a", 1, counts(2))
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseS1, "a Bind follows an update that shrank the host", func(z *zoo) error {
		z.running("a", 1, func(j *berth.Job) { j.Groups[0].Claim.CPUMilli = 600 })
		z.submit("b", 1, func(j *berth.Job) { j.Groups[0].Claim.CPUMilli = 1 })
		gpu := berth.GPU{Product: "H100", MemoryMiB: 1000}
		z.tell(berth.NodeUpdated{Node: berth.Node{ID: "n1", Domains: []string{"x"}, GPUs: []berth.GPU{gpu, gpu}, CPUMilli: 100, MemoryMiB: 1000}})
		return z.try(z.bind("b", on(0, "n1", 1)))
	}},
	{check.PromiseS1, "capacity is used before its Release is reported", func(z *zoo) error {
		at := z.running("a", 1)
		z.submit("b", 1)
		z.tell(berth.JobCancelled{Job: "a"})
		return z.try(z.release("a", berth.CauseCancelled, at...), z.bind("b", on(0, "n1", 0)))
	}},
	{check.PromiseS1, "an observed job stands on what is held", func(z *zoo) error {
		z.running("a", 1)
		return z.c.Applied(z.now, berth.JobObserved{Job: job("b", 1), Running: []berth.ObservedReplica{
			{Incarnation: 1, Members: []berth.MemberPlacement{on(0, "n1", 0)}},
		}})
	}},
	{check.PromiseS2, "a gang is placed in part", func(z *zoo) error {
		z.submit("a", 3)
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1)))
	}},
	{check.PromiseS2, "a gang comes in two orders", func(z *zoo) error {
		z.submit("a", 2)
		return z.try(z.bind("a", on(0, "n1", 0)), z.bind("a", on(1, "n1", 1)))
	}},
	{check.PromiseS2, "a broken gang is left as it is", func(z *zoo) error {
		z.submit("a", 2)
		z.pass(z.bind("a", on(0, "n1", 0), on(1, "n1", 1)))
		z.tell(berth.OrderReported{Order: 1, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Index: 1}}})
		return z.try()
	}},
	{check.PromiseS2, "a repair leaves the gang short", func(z *zoo) error {
		z.submit("a", 3)
		z.pass(z.bind("a", on(0, "n1", 0), on(1, "n1", 1), on(2, "n2", 0)))
		z.tell(berth.OrderReported{Order: 1, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Index: 1}, {Index: 2}}})
		repair := z.bind("a", on(1, "n2", 1))
		repair.Cause.Code = berth.CauseRepair
		return z.try(repair)
	}},
	{check.PromiseS3, "the report forgets what a queue uses", func(z *zoo) error {
		z.running("a", 2)
		return z.against(berth.FleetReport{
			Nodes: berth.NodeCount{All: 3}, NodesByFreeGPUs: []int{1, 0, 2},
			GPUs:     berth.GPUCount{AllMilli: 6000, HeldMilli: 2000, FreeMilli: 4000},
			Products: []berth.ProductCount{{Product: "H100", GPUCount: berth.GPUCount{AllMilli: 6000, HeldMilli: 2000, FreeMilli: 4000}}},
			Replicas: berth.ReplicaCount{Running: 1},
			Queues:   []berth.QueueReport{{Queue: "free"}, {Queue: "org", UsedMilli: 2000, LimitMilli: amount(5000)}, {Queue: "q", UsedMilli: 1000, LimitMilli: amount(4000)}},
		})
	}},
	{check.PromiseS3, "the report counts held GPUs as free", func(z *zoo) error {
		z.running("a", 2)
		return z.against(berth.FleetReport{
			Nodes: berth.NodeCount{All: 3}, NodesByFreeGPUs: []int{0, 0, 3}, GPUs: berth.GPUCount{AllMilli: 6000, FreeMilli: 6000},
			Products: []berth.ProductCount{{Product: "H100", GPUCount: berth.GPUCount{AllMilli: 6000, FreeMilli: 6000}}},
		})
	}},
	{check.PromiseS6, "a running gang is stopped for no reason", func(z *zoo) error {
		return z.try(z.release("a", berth.CauseCancelled, z.running("a", 2)...))
	}},
	{check.PromiseS6, "a Release names a member that was not to be stopped", func(z *zoo) error {
		at := z.running("a", 2, func(j *berth.Job) { j.Groups[0].Members, j.Groups[0].MinMembers = 2, 2 })
		z.tell(berth.MemberFailed{Job: "a", Incarnation: 1, Members: []berth.MemberRef{{Index: 0}}})
		return z.try(z.release("a", berth.CauseMemberFailed, at...))
	}},
	{check.PromiseS8, "a gang is spread over two leaves", func(z *zoo) error {
		z.submit("a", 2, func(j *berth.Job) { j.Topology.Required = "leaf" })
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n3", 0)))
	}},
	{check.PromiseS8, "a group is spread over two nodes", func(z *zoo) error {
		z.submit("a", 2, func(j *berth.Job) { j.Groups[0].Topology.Required = "node" })
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n2", 0)))
	}},
	{check.PromiseS8, "a segment is torn", func(z *zoo) error {
		z.submit("a", 4, func(j *berth.Job) {
			j.Groups[0].Topology = berth.Topology{Segments: []berth.Segment{{Size: 2, Level: "node"}}}
		})
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n2", 0), on(2, "n1", 1), on(3, "n2", 1)))
	}},
	{check.PromiseS8, "a gang grows out of its leaf", func(z *zoo) error {
		z.submit("a", 2, func(j *berth.Job) { j.Topology.Required, j.Groups[0].MinMembers = "leaf", 1 })
		z.pass(z.bind("a", on(0, "n1", 0)))
		z.tell(berth.OrderReported{Order: 1, Outcome: berth.OutcomeDone})
		grow := z.bind("a", on(1, "n3", 0))
		grow.Cause.Code = berth.CauseGrows
		return z.try(grow)
	}},
	{check.PromiseS9, "a report is accepted twice", func(z *zoo) error {
		z.running("a", 1)
		return z.c.Applied(z.now, berth.OrderReported{Order: 1, Outcome: berth.OutcomeDone})
	}},
	{check.PromiseS9, "a report of an overtaken order is accepted", func(z *zoo) error {
		z.submit("a", 1)
		z.pass(z.bind("a", on(0, "n1", 0)))
		z.tell(berth.JobCancelled{Job: "a"})
		return z.c.Applied(z.now, berth.OrderReported{Order: 1, Outcome: berth.OutcomeDone})
	}},
	{check.PromiseS9, "the end of a former life is accepted", func(z *zoo) error {
		z.running("a", 1)
		return z.c.Applied(z.now, berth.JobFinished{Job: "a"})
	}},
	{check.PromiseS9, "a death in a former life is accepted", func(z *zoo) error {
		z.running("a", 1)
		return z.c.Applied(z.now, berth.MemberFailed{Job: "a", Incarnation: 2, Members: []berth.MemberRef{{}}})
	}},
	{check.PromiseS9, "a stale report is refused as something else", func(z *zoo) error {
		z.running("a", 1)
		return z.c.Rejected(z.now, berth.OrderReported{Order: 1, Outcome: berth.OutcomeDone}, refusal("orderReported", berth.ErrConflict))
	}},
	{check.PromiseL1, "an order stays out", func(z *zoo) error {
		z.submit("a", 1)
		z.pass(z.bind("a", on(0, "n1", 0)))
		return z.c.Quiescent(z.now)
	}},
	{check.PromiseL1, "what fits is left pending", func(z *zoo) error {
		z.submit("a", 4)
		return z.c.Quiescent(z.now)
	}},
	{check.PromiseL1, "what could grow does not", func(z *zoo) error {
		z.submit("a", 2, func(j *berth.Job) { j.Groups[0].MinMembers = 1 })
		z.pass(z.bind("a", on(0, "n1", 0)))
		z.tell(berth.OrderReported{Order: 1, Outcome: berth.OutcomeDone})
		return z.c.Quiescent(z.now)
	}},
	{check.PromiseR2, "a refusal is untyped", func(z *zoo) error {
		return z.c.Rejected(z.now, berth.JobCancelled{Job: "a"}, errors.New("no"))
	}},
	{check.PromiseR2, "a refusal names another event", func(z *zoo) error {
		return z.c.Rejected(z.now, berth.JobCancelled{Job: "a"}, refusal("jobScaled", berth.ErrUnknown))
	}},
	{check.PromiseR2, "a refusal has no kind", func(z *zoo) error {
		return z.c.Rejected(z.now, berth.JobCancelled{Job: "a"}, refusal("jobCancelled", errors.New("odd")))
	}},
	{check.PromiseR5, "an honest report is refused", func(z *zoo) error {
		z.submit("a", 1)
		z.pass(z.bind("a", on(0, "n1", 0)))
		return z.c.Rejected(z.now, berth.OrderReported{Order: 1, Outcome: berth.OutcomeDone}, refusal("orderReported", berth.ErrStale))
	}},
	{check.PromiseOrders, "an ID is left out", func(z *zoo) error {
		z.submit("a", 1)
		z.next = 2
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseOrders, "an order is of another instant", func(z *zoo) error {
		z.submit("a", 1)
		b := z.bind("a", on(0, "n1", 0))
		z.now++
		return z.try(b)
	}},
	{check.PromiseOrders, "an order is about nobody", func(z *zoo) error { return z.try(z.bind("a", on(0, "n1", 0))) }},
	{check.PromiseOrders, "a gang has two orders out", func(z *zoo) error {
		z.submit("a", 2, func(j *berth.Job) { j.Groups[0].MinMembers = 1 })
		z.pass(z.bind("a", on(0, "n1", 0)))
		grow := z.bind("a", on(1, "n1", 1))
		grow.Cause.Code = berth.CauseGrows
		return z.try(grow)
	}},
	{check.PromiseOrders, "a cancelled gang is not stopped", func(z *zoo) error {
		z.running("a", 1)
		z.tell(berth.JobCancelled{Job: "a"})
		return z.try()
	}},
	{check.PromiseOrders, "a Release leaves a member out", func(z *zoo) error {
		at := z.running("a", 2)
		z.tell(berth.JobCancelled{Job: "a"})
		return z.try(z.release("a", berth.CauseCancelled, at[0]))
	}},
	{check.PromiseOrders, "a second attempt calls itself the first", func(z *zoo) error {
		at := z.running("a", 1)
		z.tell(berth.JobCancelled{Job: "a"})
		z.pass(z.release("a", berth.CauseCancelled, at...))
		z.tell(berth.OrderReported{Order: 2, Outcome: berth.OutcomeFailed})
		return z.try(z.release("a", berth.CauseCancelled, at...))
	}},
	{check.PromiseDeadlines, "a Bind is due too late", func(z *zoo) error {
		z.submit("a", 1)
		b := z.bind("a", on(0, "n1", 0))
		b.Deadline++
		return z.try(b)
	}},
	{check.PromiseDeadlines, "a changed policy is not followed", func(z *zoo) error {
		z.submit("a", 1)
		z.tell(berth.PolicyChanged{Policy: berth.Policy{BindTimeout: berth.Second}})
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseCauses, "a word that is none", func(z *zoo) error {
		z.submit("a", 1)
		b := z.bind("a", on(0, "n1", 0))
		b.Cause.Code = "whim"
		return z.try(b)
	}},
	{check.PromiseCauses, "a Release blames somebody else", func(z *zoo) error {
		at := z.running("a", 1)
		z.tell(berth.JobCancelled{Job: "a"})
		return z.try(z.release("a", berth.CauseMemberFailed, at...))
	}},
	{check.PromiseIncarnations, "a second life has the number of the first", func(z *zoo) error {
		z.running("a", 1)
		z.tell(berth.NodeLost{Node: "n1"})
		return z.try(z.bind("a", on(0, "n2", 0)))
	}},
	{check.PromiseClaims, "a member gets too many GPUs", func(z *zoo) error {
		z.submit("a", 1)
		return z.try(z.bind("a", on(0, "n1", 0, 1)))
	}},
	{check.PromiseClaims, "a member gets too small a share", func(z *zoo) error {
		z.submit("a", 1, halves)
		at := share(0, "n1", 0)
		at.ShareMilli = 400
		return z.try(z.bind("a", at))
	}},
	{check.PromiseClaims, "a member gets a GPU that is not there", func(z *zoo) error {
		z.submit("a", 1)
		return z.try(z.bind("a", on(0, "n1", 7)))
	}},
	{check.PromiseSelectors, "a cordoned node is used", func(z *zoo) error {
		z.submit("a", 1)
		z.tell(berth.NodeCordoned{Node: "n1"})
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseSelectors, "a failed GPU is used", func(z *zoo) error {
		z.submit("a", 1)
		z.tell(berth.GPUFailed{Node: "n1", GPU: 0})
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseSelectors, "a lost node is used", func(z *zoo) error {
		z.submit("a", 1)
		z.tell(berth.NodeLost{Node: "n1"})
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseSelectors, "the pool is ignored", selecting(func(g *berth.Group) { g.Selector.Pools = []string{"red"} })},
	{check.PromiseSelectors, "the product is ignored", selecting(func(g *berth.Group) { g.Selector.Products = []string{"A10"} })},
	{check.PromiseSelectors, "GPU memory is ignored", selecting(func(g *berth.Group) { g.Selector.MinGPUMemoryMiB = 1001 })},
	{check.PromiseSelectors, "compute capability is ignored", selecting(func(g *berth.Group) { g.Selector.MinComputeCapability.Minor = 1 })},
	{check.PromiseSelectors, "labels are ignored", selecting(func(g *berth.Group) { g.Selector.Labels = map[string]string{"disk": "fast"} })},
	{check.PromiseSelectors, "NVLink is ignored", selecting(func(g *berth.Group) { g.Claim.NVLink = true })},
	{check.PromiseLimits, "a queue exceeds its limit", func(z *zoo) error {
		z.submit("a", 5)
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1), on(2, "n2", 0), on(3, "n2", 1), on(4, "n3", 0)))
	}},
	{check.PromiseLimits, "a queue above exceeds its limit", func(z *zoo) error {
		z.running("a", 4)
		z.submit("b", 2, func(j *berth.Job) { j.Queue = "free" })
		return z.try(z.bind("b", on(0, "n3", 0), on(1, "n3", 1)))
	}},
	{check.PromiseLimits, "a lowered limit is not kept", func(z *zoo) error {
		z.running("a", 2)
		z.submit("b", 1)
		z.tell(berth.QueueSet{Queue: quota.Queue{Name: "q", Parent: "org", Limit: quota.Amounts{quota.GPUMilli: 1000}}})
		return z.try(z.bind("b", on(0, "n3", 0)))
	}},
	{check.PromiseLimits, "a limit on a product is not kept", func(z *zoo) error {
		z.submit("a", 2)
		z.tell(berth.QueueSet{Queue: quota.Queue{Name: "q", Parent: "org", Limit: quota.Amounts{quota.GPUMilliOf("H100"): 1000}}})
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1)))
	}},
	{check.PromiseBackoffs, "a failed Bind is repeated at once", func(z *zoo) error {
		z.submit("a", 1)
		z.pass(z.bind("a", on(0, "n1", 0)))
		z.tell(berth.OrderReported{Order: 1, Outcome: berth.OutcomeFailed})
		again := z.bind("a", on(0, "n2", 0))
		again.Incarnation = 2
		return z.try(again)
	}},
	{check.PromiseGates, "a job starts before its begin time", func(z *zoo) error {
		z.submit("a", 1, func(j *berth.Job) { j.Begin = 10 })
		z.now = 9
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseGates, "a job starts before one that it follows has ended", func(z *zoo) error {
		z.running("a", 1)
		z.submit("b", 1, follows("a", berth.DependencyAny))
		return z.try(z.bind("b", on(0, "n2", 0)))
	}},
	{check.PromiseGates, "an array is wider than it is", func(z *zoo) error {
		z.running("a", 1, ofSweep(1))
		z.submit("b", 1, ofSweep(1))
		return z.try(z.bind("b", on(0, "n2", 0)))
	}},
	{check.PromiseGates, "an array has two widths", func(z *zoo) error {
		z.submit("a", 1, ofSweep(1))
		return z.c.Applied(z.now, berth.JobSubmitted{Job: job("b", 1, ofSweep(2))})
	}},
	{check.PromiseGates, "more jobs of a queue compete than its cap", func(z *zoo) error {
		z.caps(berth.QueueCaps{Queue: "q", MaxJobs: 1})
		z.running("a", 1)
		z.submit("b", 1)
		return z.try(z.bind("b", on(0, "n2", 0)))
	}},
	{check.PromiseGates, "more jobs of a user compete than the cap", func(z *zoo) error {
		z.caps(berth.QueueCaps{Queue: "q", MaxJobsPerUser: 1})
		z.running("a", 1, ofUser("ada"))
		z.submit("b", 1, ofUser("bob"))
		z.submit("c", 1, ofUser("ada"))
		return z.try(z.bind("b", on(0, "n2", 0)), z.bind("c", on(0, "n2", 1)))
	}},
	{check.PromiseGates, "the jobs of a user claim more GPUs than the cap", func(z *zoo) error {
		z.caps(berth.QueueCaps{Queue: "q", MaxGPUMilliPerUser: 2000})
		z.running("a", 1, ofUser("ada"))
		z.submit("b", 2, ofUser("ada"))
		return z.try(z.bind("b", on(0, "n2", 0), on(1, "n2", 1)))
	}},
	{check.PromiseGates, "a job follows one that is not known", func(z *zoo) error {
		return z.c.Applied(z.now, berth.JobSubmitted{Job: job("a", 1, follows("b", berth.DependencyOK))})
	}},
	{check.PromiseGates, "a job that can never start is kept", func(z *zoo) error {
		z.submit("a", 1)
		z.submit("b", 1, follows("a", berth.DependencyOK))
		z.tell(berth.JobCancelled{Job: "a"})
		return z.try()
	}},
	{check.PromiseGates, "a job is dropped for one that it follows in any case", func(z *zoo) error {
		z.submit("a", 1)
		z.submit("b", 1, follows("a", berth.DependencyAny))
		z.tell(berth.JobCancelled{Job: "a"})
		drop := berth.Drop{OrderHeader: z.order("b", 0, berth.CauseDependency)}
		drop.Deadline = 0
		return z.try(drop)
	}},
	{check.PromiseNICs, "a gang goes to slow NICs beside fast ones", func(z *zoo) error {
		for _, name := range []berth.NodeID{"f1", "f2"} {
			gpu := berth.GPU{Product: "H100", MemoryMiB: 1000}
			z.tell(berth.NodeJoined{Node: berth.Node{
				ID: name, Domains: []string{"y"}, GPUs: []berth.GPU{gpu, gpu},
				NICs: []berth.NIC{{Name: "nic", MbitPerSecond: 400_000}},
			}})
		}
		z.submit("a", 2, func(j *berth.Job) { j.Groups[0].Claim.GPUs = 2 })
		return z.try(z.bind("a", on(0, "n1", 0, 1), on(1, "f1", 0, 1)))
	}},
	{check.PromiseNICs, "a gang goes behind a switch that lost links", func(z *zoo) error {
		for _, name := range []berth.NodeID{"f1", "f2"} {
			gpu := berth.GPU{Product: "H100", MemoryMiB: 1000}
			z.tell(berth.NodeJoined{Node: berth.Node{ID: name, Domains: []string{"z"}, GPUs: []berth.GPU{gpu, gpu}}})
		}
		z.tell(berth.FabricReported{Domain: []string{"x"}, LeftMilli: 500})
		z.submit("a", 2, func(j *berth.Job) { j.Groups[0].Claim.GPUs = 2 })
		return z.try(z.bind("a", on(0, "n1", 0, 1), on(1, "f1", 0, 1)))
	}},
	{check.PromiseNICs, "a report forgets a switch that lost links", func(z *zoo) error {
		z.tell(berth.FabricReported{Domain: []string{"x"}, LeftMilli: 500})
		return z.against(z.report(0))
	}},
	{check.PromiseEvents, "bandwidth of a domain without a node", func(z *zoo) error {
		return z.c.Applied(z.now, berth.FabricReported{Domain: []string{"nowhere"}, LeftMilli: 500})
	}},
	{check.PromiseTimeouts, "a timeout counts before the begin time", func(z *zoo) error {
		z.submit("a", 1, func(j *berth.Job) { j.Begin, j.GangTimeout = 2000, berth.Second })
		z.now = 1000
		drop := berth.Drop{OrderHeader: z.order("a", 0, berth.CauseGangTimeout)}
		drop.Deadline = 0
		return z.try(drop)
	}},
	{check.PromiseTimeouts, "a gang is dropped too early", func(z *zoo) error {
		z.submit("a", 1, func(j *berth.Job) { j.GangTimeout = berth.Second })
		z.now = 999
		drop := berth.Drop{OrderHeader: z.order("a", 0, berth.CauseGangTimeout)}
		drop.Deadline = 0
		return z.try(drop)
	}},
	{check.PromiseTimeouts, "a gang is not dropped", func(z *zoo) error {
		z.submit("a", 1, func(j *berth.Job) { j.GangTimeout = berth.Second })
		z.now = 1000
		return z.try()
	}},
	{check.PromiseEvents, "a node joins twice", func(z *zoo) error {
		return z.c.Applied(z.now, berth.NodeJoined{Node: berth.Node{ID: "n1", Domains: []string{"x"}}})
	}},
	{check.PromiseEvents, "a job comes twice", func(z *zoo) error {
		z.submit("a", 1)
		return z.c.Applied(z.now, berth.JobSubmitted{Job: job("a", 1)})
	}},
	{check.PromiseEvents, "a minimum exceeds the replicas", func(z *zoo) error {
		return z.c.Applied(z.now, berth.JobSubmitted{Job: job("a", 1, func(j *berth.Job) { j.Groups[0].MinMembers = 2 })})
	}},
	{check.PromiseEvents, "a queue is removed under a job", func(z *zoo) error {
		z.submit("a", 1)
		return z.c.Applied(z.now, berth.QueueRemoved{Queue: "q"})
	}},
	{check.PromiseClock, "time goes back", func(z *zoo) error {
		z.now = 5
		z.pass()
		z.now = 4
		return z.try()
	}},
}

func selecting(change func(*berth.Group)) func(*zoo) error {
	return func(z *zoo) error {
		z.submit("a", 1, func(j *berth.Job) { change(&j.Groups[0]) })
		return z.try(z.bind("a", on(0, "n1", 0)))
	}
}

func amount(v int64) *int64 { return &v }

func refusal(event string, kind error) error {
	return &berth.Error{Event: event, Kind: kind, Reason: "because"}
}

// TestZoo: the checker catches every animal, and says which promise it breaks.
func TestZoo(t *testing.T) {
	caught := map[check.Promise]bool{}
	for _, a := range slices.Concat(animals, fenced, lending, evictions, shrinks, failing, unrest, leaving, handed, returning, uniform, grows, limits, loans, overLimit, budgets, idles, clearing, alternatives, parted, surging, byShares) {
		t.Run(string(a.promise)+" "+a.name, func(t *testing.T) {
			var v *check.Violation
			require.ErrorAs(t, a.do(newZoo(t)), &v)
			require.Equal(t, a.promise, v.Promise, v.Text)
		})
		caught[a.promise] = true
	}
	for _, p := range []check.Promise{
		check.PromiseS1, check.PromiseS2, check.PromiseS3, check.PromiseS4, check.PromiseS6, check.PromiseS7, check.PromiseS8, check.PromiseS9, check.PromiseL1, check.PromiseR2, check.PromiseR5,
		check.PromiseOrders, check.PromiseDeadlines, check.PromiseCauses, check.PromiseIncarnations, check.PromiseClaims, check.PromiseAlternatives, check.PromiseLost, check.PromiseSelectors,
		check.PromiseLimits, check.PromiseEligibility, check.PromiseGain, check.PromiseRates, check.PromiseLedger, check.PromiseReservations, check.PromiseHealth, check.PromiseHotSpares, check.PromiseBackoffs,
		check.PromiseTimeouts, check.PromiseEvents, check.PromiseClock, check.PromiseSurge,
	} {
		require.True(t, caught[p], "no animal breaks %s", p)
	}
}
