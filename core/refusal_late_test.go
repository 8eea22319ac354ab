package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// A crowd is a core in which everything that the agenda knows of is there: nodes that are
// drained, spares, in quarantine, on trial, set aside and being divided; work that fits nowhere,
// is over a limit, has lost a node, or waits for what will never come; an order of each kind.
type crowd struct {
	*testing.T
	*core.Core
	now berth.Time
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	adaptive := berth.Geometry{Kind: berth.GeometryAdaptive, Cost: berth.Second, Interval: berth.Second}
	geometry := []berth.Geometry{adaptive, adaptive, adaptive}
	for i, pool := range []string{"mig", "turning", "idle"} {
		geometry[i].Pool = pool
	}
	sched, err := core.New(berth.Config{Levels: []string{"leaf"}, Limits: berth.Limits{Replicas: 20, Reservations: 1}, Policy: berth.Policy{
		BindTimeout: berth.Hour, ReleaseTimeout: berth.Hour, RepartitionTimeout: berth.Hour, Geometry: geometry,
		Preemption: berth.Preemption{CheckpointTimeout: berth.Hour},
		HotSpares:  []berth.HotSpares{{Pool: "spares", NodesMilli: 1000}}, Health: berth.Health{Losses: 1, Within: berth.Day, Quarantine: berth.Day, BurnIn: berth.Day},
	}})
	require.NoError(t, err)
	return &crowd{t, sched, 0}
}

func (c *crowd) tell(events ...berth.Event) {
	c.Helper()
	for _, e := range events {
		require.NoError(c, c.Apply(c.now, e), "%s", e.Kind())
	}
}

// passes runs passes until an instant. What is to start is reported, but for what binds or turns.
func (c *crowd) passes(until berth.Time) {
	c.Helper()
	for {
		orders, err := c.Schedule(c.now)
		require.NoError(c, err)
		for _, o := range orders {
			bind, binds := o.(berth.Bind)
			repartition, turns := o.(berth.Repartition)
			if binds && bind.Job != "binds" && bind.Job != "turns" || turns && repartition.Node != "turning" {
				c.tell(berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone})
			}
		}
		wake, ok := c.NextWake()
		if len(orders) == 0 && (!ok || wake > until) {
			c.now = until
			return
		}
		c.now = min(max(wake, c.now), until)
	}
}

// node has a node of two GPUs join a pool, or one with a GPU that divides.
func (c *crowd) node(id, pool string, instances ...mig.Placement) {
	c.Helper()
	c.tell(berth.NodeJoined{Node: crowdNode(id, pool, instances...)})
}

func crowdNode(id, pool string, instances ...mig.Placement) berth.Node {
	n := berth.Node{ID: berth.NodeID(id), Pool: pool, Domains: []string{"leaf"}, GPUs: []berth.GPU{{Product: "T4"}, {Product: "T4"}}}
	if len(instances) > 0 {
		n.GPUs = []berth.GPU{{
			Product: "H100", MemoryMiB: 81559, ComputeCapability: berth.ComputeCapability{Major: 9},
			MIGTable: "H100-80GB", Mode: berth.GPUModeMIG, Instances: instances,
		}}
	}
	return n
}

// job submits a gang whose members claim something in a pool.
func (c *crowd) job(id berth.JobID, pool string, members int, claim berth.Claim, changes ...func(*berth.Job)) {
	c.Helper()
	j := berth.Job{ID: id, Queue: "team-a", Class: berth.ClassInteractive, Groups: []berth.Group{{
		Members: members, Claim: claim, Selector: berth.Selector{Pools: []string{pool}},
	}}}
	for _, change := range changes {
		change(&j)
	}
	c.tell(berth.JobSubmitted{Job: j})
}

// gather brings the crowd together and lets it come to rest. The quota tree is full: it knows as
// many products as it may.
func (c *crowd) gather() {
	c.Helper()
	products := quota.Amounts{}
	for i := range quota.MaxProducts - 2 {
		products[quota.GPUMilliOf(fmt.Sprint("product-", i))] = 1000
	}
	c.tell(queueSet("team-a", ""), queueSet("empty", ""), berth.QueueSet{Queue: quota.Queue{Name: "full", Limit: products}},
		berth.QueueSet{Queue: quota.Queue{Name: "tight", Limit: quota.Amounts{quota.GPUMilli: 1000}}})
	for _, n := range [][2]string{
		{"trial", "trial"},
		{"fallen", "fallen"},
		{"spare-0", "spares"},
		{"spare-1", "spares"},
		{"lost", "pair"},
		{"left", "pair"},
		{"stays", "stays"},
		{"emptied", "emptied"},
		{"asked", "asked"},
		{"binds", "binds"},
		{"runs", "runs"},
		{"set-aside", "set-aside"},
	} {
		c.node(n[0], n[1])
	}
	c.node("shared", "mig", at(c.T, "7g.80gb@0:8"))
	c.node("turning", "turning", at(c.T, "7g.80gb@0:8"))
	c.node("idle", "idle", at(c.T, "7g.80gb@0:8"))
	c.tell(berth.GPUFailed{Node: "trial"}, berth.GPURepaired{Node: "trial"})
	c.tell(berth.NodeLost{Node: "fallen"}, berth.NodeJoined{Node: crowdNode("fallen", "fallen")})
	c.tell(berth.ReservationSet{Reservation: berth.Reservation{ID: "r", From: 1, Until: berth.Time(berth.Day), Queue: "full", Nodes: []berth.NodeID{"set-aside"}}})
	whole := berth.Claim{GPUs: 2}
	for _, id := range []berth.JobID{"small-0", "small-1"} {
		c.job(id, "mig", 1, berth.Claim{MIG: "1g.10gb"}, func(j *berth.Job) { j.ExpectedRuntime = 10 * berth.Minute })
	}
	c.job("pair", "pair", 2, whole)
	c.job("stays", "stays", 1, whole)
	c.job("asked", "asked", 1, whole, func(j *berth.Job) { j.Checkpoint.Supported = true })
	c.job("runs", "runs", 1, berth.Claim{GPUs: 1})
	c.job("serves", "nowhere", 1, whole, func(j *berth.Job) { j.Service = &berth.Service{} })
	c.passes(berth.Time(berth.Minute))
	c.tell(berth.NodeLost{Node: "lost"}, berth.NodeDraining{Node: "emptied"},
		berth.NodeDraining{Node: "stays", Deadline: berth.Time(berth.Day)},
		berth.NodeDraining{Node: "asked", Deadline: berth.Time(berth.Hour + berth.Minute)})
	c.job("binds", "binds", 1, whole)
	c.job("turns", "turning", 1, berth.Claim{MIG: "1g.10gb"})
	c.job("large", "mig", 1, berth.Claim{MIG: "7g.80gb"})
	c.job("alone", "emptied", 2, whole, func(j *berth.Job) { j.Topology.Exclusive = "leaf" })
	c.job("hopeless", "emptied", 3, whole)
	c.job("limited", "runs", 1, whole, func(j *berth.Job) { j.Queue = "tight" })
	c.passes(c.now)
	c.job("stalled", "emptied", 3, whole, func(j *berth.Job) { j.Queue = "tight" }) // as is known, it fits nowhere
	c.passes(berth.Time(9 * berth.Minute))
}

// empty has the GPU that is kept empty, and not to be changed yet, and the crowd at rest again.
func (c *crowd) empty() {
	c.Helper()
	policy := c.Config().Policy
	policy.Geometry[0].Interval = berth.Day
	c.tell(berth.PolicyChanged{Policy: policy})
	c.tell(berth.JobFinished{Job: "small-0", Incarnation: 1}, berth.JobFinished{Job: "small-1", Incarnation: 1})
	c.passes(c.now)
}

// stir has every entry of the agenda set, by what frees nothing for those that wait for that.
func (c *crowd) stir() {
	c.Helper()
	core.LowerBounds(c.Core, func(b *core.Bounds) { b.Moves = 1 })
	c.tell(berth.NodeDraining{Node: "stays", Deadline: berth.Time(berth.Day), Reason: "told again"})
	_, err := c.Schedule(c.now) // which leaves one of two gangs that have to leave to the next one
	require.NoError(c, err)
	c.tell(berth.JobCancelled{Job: "large"}, berth.NodeCordoned{Node: "spare-1"})
	c.job("fresh", "emptied", 3, berth.Claim{GPUs: 2})
	core.LeaveTakers(c.Core)
	require.Empty(c, core.UnsetEntries(c.Core))
}

// order is the ID of an order that is out: the one of a kind.
func order[A berth.Order](c *crowd) berth.OrderID {
	c.Helper()
	for _, o := range c.Outstanding() {
		if _, is := o.(A); is {
			return o.Header().ID
		}
	}
	c.Fatalf("no %T is out", *new(A))
	return 0
}

// updates describe nodes of the crowd anew: all that hold nothing, and one that does.
func (c *crowd) updates(change func(*berth.Node)) []berth.Event {
	c.Helper()
	full := at(c.T, "7g.80gb@0:8")
	nodes := []berth.Node{
		crowdNode("emptied", "emptied"), crowdNode("spare-0", "spares"), crowdNode("spare-1", "spares"),
		crowdNode("trial", "trial"), crowdNode("fallen", "fallen"), crowdNode("set-aside", "set-aside"),
		crowdNode("shared", "mig", full), crowdNode("idle", "idle", full), crowdNode("turning", "turning", full),
		crowdNode("runs", "runs"),
	}
	var list []berth.Event
	for _, n := range nodes {
		change(&n)
		list = append(list, berth.NodeUpdated{Node: n})
	}
	return list
}

// lateRefusals are events of every kind, each refused as late as may be.
func (c *crowd) lateRefusals() []berth.Event {
	c.Helper()
	broken, full := "\n", at(c.T, "7g.80gb@0:8")
	joins := crowdNode("joins", "runs")
	joins.GPUs[0].Product, joins.GPUs[1].Product = "one product too many", "one product too many"
	failed := crowdNode("runs", "runs")
	failed.GPUs[0].Failed = true
	members := []berth.MemberRef{{}, {Index: 1}}
	observed := berth.Job{ID: "observed", Queue: "team-a", Service: &berth.Service{Replicas: 2}, Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}}}
	many := observed
	many.Service = &berth.Service{Replicas: 20}
	running := func(replica int, node berth.NodeID, gpu int) berth.ObservedReplica {
		return berth.ObservedReplica{Replica: replica, Incarnation: 1, Members: []berth.MemberPlacement{{Node: node, GPUs: berth.GPUSetOf(gpu)}}}
	}
	table, _ := mig.Lookup("H100-80GB")
	table.SMs++
	policy := c.Config().Policy
	policy.Geometry = slices.Clone(policy.Geometry)
	policy.Geometry[1].Kind = berth.GeometryPerClaim
	list := c.updates(func(n *berth.Node) {
		for g := range n.GPUs {
			n.GPUs[g].Product = "one product too many"
		}
	})
	list = append(list,
		berth.NodeJoined{Node: joins},
		berth.NodeUpdated{Node: failed},
		berth.NodeCordoned{Node: "runs", Reason: broken},
		berth.NodeUncordoned{Node: "nowhere"},
		berth.NodeDraining{Node: "runs", Deadline: -1},
		berth.NodeLost{Node: "runs", Reason: broken},
		berth.GPUFailed{Node: "runs", Reason: broken},
		berth.XidReported{Node: "runs", Xid: 79, Reason: broken},
		berth.FabricReported{Domain: []string{"nowhere"}, LeftMilli: 500},
		berth.GPURepaired{Node: "runs", GPU: 2},
		berth.GPUPartitioned{Node: "turning", Mode: berth.GPUModeMIG},
		berth.GPUPartitioned{Node: "shared", Mode: berth.GPUModeMIG, Instances: []mig.Placement{full, full}},
		berth.MIGTableSet{Table: table},
		berth.ReservationSet{Reservation: berth.Reservation{ID: "r", From: 1, Until: berth.Time(berth.Day), GPUs: 1000}},
		berth.ReservationSet{Reservation: berth.Reservation{ID: "s", From: 1, Until: berth.Time(berth.Day), Nodes: []berth.NodeID{"idle"}}},
		berth.ReservationRemoved{Reservation: "s"},
		berth.QueueSet{Queue: quota.Queue{Name: "tight", Limit: quota.Amounts{quota.GPUMilli: 8000, quota.GPUMilliOf("one product too many"): 1}}},
		berth.QueueSet{Queue: quota.Queue{Name: "team-a", Parent: "tight"}},
		berth.QueueRemoved{Queue: "tight"},
		berth.QueueRemoved{Queue: "full"},
		berth.JobSubmitted{Job: many},
		berth.JobObserved{Job: many},
		berth.JobObserved{Job: observed, Running: []berth.ObservedReplica{running(0, "idle-0", 0)}},
		berth.JobObserved{Job: observed, Running: []berth.ObservedReplica{running(0, "spare-0", 0), running(1, "stays", 0)}},
		berth.JobScaled{Job: "serves", Replicas: 20},
		berth.JobCancelled{Job: "nobody"},
		berth.JobFinished{Job: "runs", Incarnation: 2},
		berth.MemberFailed{Job: "runs", Incarnation: 1, Members: members},
		berth.MemberFailed{Job: "pair", Incarnation: 1, Members: members[:1]},
		berth.ActivityReported{Job: "runs", Incarnation: 1, ActiveMilli: 1001},
		berth.CheckpointWritten{Job: "runs", Incarnation: 1, At: berth.Time(berth.Day)},
		berth.CheckpointWritten{Job: "pair", Incarnation: 1},
		berth.LedgerSettled{},
		berth.PolicyChanged{Policy: policy},
	)
	for _, id := range []berth.OrderID{order[berth.Bind](c), order[berth.Release](c), order[berth.RequestCheckpoint](c), order[berth.Repartition](c)} {
		list = append(list,
			berth.OrderReported{Order: id, Outcome: berth.OutcomeFailed, Reason: broken},
			berth.OrderReported{Order: id, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{}, {Index: 9}}},
			berth.OrderReported{Order: id, Outcome: berth.OutcomeDone, Members: members[:1]},
		)
	}
	return list
}

// refuses tells events that are refused, and change nothing.
func (c *crowd) refuses(list []berth.Event) {
	c.Helper()
	require.NoError(c, c.Check())
	before, err := c.Snapshot()
	require.NoError(c, err)
	agenda := core.AgendaOf(c.Core)
	wake, ok := c.NextWake()
	for i, e := range list {
		err := c.Apply(c.now.Add(berth.Second), e)
		var refusal *berth.Error
		require.ErrorAs(c, err, &refusal, "%d: %+v", i, e)
		require.True(c, agenda == core.AgendaOf(c.Core), "%d: %v\nbefore: %+v\nafter:  %+v", i, err, agenda, core.AgendaOf(c.Core))
		again, still := c.NextWake()
		require.True(c, wake == again && ok == still, "%d: %v: %v, and then %v", i, err, wake, again)
		after, err := c.Snapshot()
		require.NoError(c, err)
		require.True(c, string(before) == string(after), "%d: %v", i, refusal)
	}
	require.NoError(c, c.Check())
}

// Promise R2, where a refusal comes late: whatever kind of event is refused, and however much is
// due or nothing, everything is as it was, what is due included.
func TestR2_ALateRefusalLeavesTheAgendaAsItWas(t *testing.T) {
	for _, state := range []struct {
		name string
		stir func(*crowd)
	}{{"at rest", func(*crowd) {}}, {"a kept GPU empty", (*crowd).empty}, {"everything due", (*crowd).stir}} {
		t.Run(state.name, func(t *testing.T) {
			c := newCrowd(t)
			c.gather()
			state.stir(c)
			list := c.lateRefusals()
			c.refuses(list)
			kinds := slices.DeleteFunc(berth.EventKinds(), func(kind string) bool {
				return slices.ContainsFunc(list, func(e berth.Event) bool { return e.Kind() == kind })
			})
			require.Empty(t, kinds, "no event of these kinds was refused: add one to lateRefusals")
		})
	}
}

// Promise R2, where a node that is described anew would be of one kind too many, whatever is kept
// of it.
func TestR2_AnUpdateOfOneKindTooManyLeavesTheNodeAsItWas(t *testing.T) {
	c := newCrowd(t)
	c.gather()
	c.fillKinds()
	c.tell(berth.NodeJoined{Node: crowdNode("repaired", "runs")}, // a burn-in makes a kind, whatever the limit
		berth.GPUFailed{Node: "repaired"}, berth.GPURepaired{Node: "repaired"}, berth.NodeCordoned{Node: "spare-1"})
	c.keepsSomething()
	c.refuses(c.updates(func(n *berth.Node) { n.Pool = "one kind too many" }))
}

// keepsSomething makes sure that there is something of every sort that a refusal could lose.
func (c *crowd) keepsSomething() {
	c.Helper()
	kept, err := c.Snapshot()
	require.NoError(c, err)
	for _, part := range []string{`"draining":true`, `"freed":true`, `"gpuHold":{`} {
		require.Contains(c, string(kept), part)
	}
	report := c.Report()
	require.NotEmpty(c, report.Reservations)
	for _, count := range []int{report.Nodes.Cordoned, report.Nodes.Quarantined, report.Nodes.InBurnIn, report.Nodes.HotSpares} {
		require.NotZero(c, count)
	}
}

// fillKinds has nodes join until the fleet has all kinds that it may have.
func (c *crowd) fillKinds() {
	c.Helper()
	for i := 0; ; i++ {
		n := berth.Node{ID: berth.NodeID(fmt.Sprint("filler-", i)), Pool: fmt.Sprint("pool-", i), Domains: []string{"leaf"}}
		if err := c.Apply(c.now, berth.NodeJoined{Node: n}); err != nil {
			require.ErrorIs(c, err, berth.ErrLimit)
			return
		}
	}
}

// The last node of a product or kind makes room for what it becomes, and no other node does.
func TestAnUpdateAtALimit(t *testing.T) {
	redescribed := func(id, pool, product string) berth.NodeUpdated {
		n := crowdNode(id, pool)
		n.GPUs[0].Product, n.GPUs[1].Product = product, product
		return berth.NodeUpdated{Node: n}
	}
	refused := func(c *crowd, e berth.Event) {
		c.Helper()
		require.ErrorIs(c, c.Apply(c.now, e), berth.ErrLimit)
	}
	t.Run("kinds", func(t *testing.T) {
		c := newCrowd(t)
		c.node("a", "one")
		c.node("b", "two")
		c.node("c", "two")
		c.fillKinds()
		refused(c, redescribed("b", "three", "T4"))
		c.tell(redescribed("a", "three", "T4"), redescribed("b", "three", "T4"), redescribed("c", "one", "T4"))
		refused(c, redescribed("b", "two", "T4"))
		require.NoError(t, c.Check())
	})
	t.Run("products", func(t *testing.T) {
		c := newCrowd(t)
		products := quota.Amounts{}
		for i := range quota.MaxProducts - 1 {
			products[quota.GPUMilliOf(fmt.Sprint("product-", i))] = 1000
		}
		c.tell(berth.QueueSet{Queue: quota.Queue{Name: "full", Limit: products}})
		c.node("a", "pool")
		c.passes(c.now)
		c.tell(redescribed("a", "pool", "T5"), berth.NodeCordoned{Node: "a"})
		c.passes(c.now)
		c.tell(redescribed("a", "pool", "T4"))
		c.node("b", "pool")
		refused(c, redescribed("a", "pool", "T5"))
		c.tell(redescribed("b", "pool", "product-0"), redescribed("a", "pool", "T5"))
		refused(c, redescribed("b", "pool", "T4"))
		require.NoError(t, c.Check())
	})
}
