package worlds

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// horizon is when the last arrivals of a swarm come, and Faults when faults stop.
const (
	horizon = berth.Time(berth.Hour)
	Faults  = berth.Time(90 * berth.Minute)
)

// A Drawing is one of the ways in which a generator draws a world.
type Drawing = func(*Generator) (berth.Config, sim.Options, []sim.Arrival)

// A Generator draws a tiny world from a seed: everything is likely to be in the
// way of everything else.
type Generator struct {
	*rand.Rand
	levels []string
	rails  string
	nodes  []berth.Node
	queues []berth.QueueID
	leaves []berth.QueueID // those that take jobs
	// told are the queues as they were first told, by name.
	told map[berth.QueueID]quota.Queue
	// plain worlds have little in the way but quota.
	plain bool
	jobs  []berth.Job
	list  []sim.Arrival
}

// NewGenerator makes a generator, which draws one world.
func NewGenerator(seed uint64) *Generator {
	return &Generator{Rand: rand.New(rand.NewPCG(seed, 1)), told: map[berth.QueueID]quota.Queue{}}
}

// one draws an element of a list.
func one[T any](g *Generator, list ...T) T { return list[g.IntN(len(list))] }

// Chance draws something of the given probability.
func (g *Generator) Chance(percent int) bool { return g.IntN(100) < percent }

// World draws all that a run is made of.
func (g *Generator) World() (berth.Config, sim.Options, []sim.Arrival) {
	config, options := g.Config(), g.options()
	return config, options, g.workload()
}

func (g *Generator) Config() berth.Config {
	g.plain = g.Chance(20)
	g.levels = one(g, nil, []string{"leaf"}, []string{"spine", "leaf"})
	config := berth.Config{Levels: g.levels, Policy: g.policy(), Ledger: g.Chance(30)}
	if len(g.levels) > 0 && g.Chance(60) {
		g.rails = one(g, g.levels...)
		config.Fabric.RailLevel = g.rails
	}
	return config
}

func (g *Generator) policy() berth.Policy {
	p := berth.Policy{
		BindTimeout:     one(g, 0, 20*berth.Second, berth.Minute),
		ReleaseTimeout:  one(g, 0, 15*berth.Second, 40*berth.Second),
		ReleaseAttempts: g.IntN(4),
		RetryBackoff:    one(g, 0, berth.Second, 20*berth.Second),
		MaxRetryBackoff: one(g, 0, berth.Minute),
		PassBudget:      one(g, 0, 1, 3),

		Locality:           one(g, berth.LocalityStrict, berth.LocalityBalanced, berth.LocalityLoose),
		ReserveAfter:       one(g, 0, berth.Second, berth.Second, 20*berth.Second, 2*berth.Minute),
		ReservedGangs:      one(g, 0, 0, 1, 2, 2, -1),
		ReservationTimeout: one(g, 0, 0, berth.Minute, 5*berth.Minute),
		AssumedRuntime:     one(g, 0, 5*berth.Minute, 20*berth.Minute),
		RuntimeSamples:     one(g, 0, 1, 4, berth.Off),
		Stretch:            one(g, 0, 0, 1, berth.Off),
		BackfillBudget:     one(g, 0, 0, 1),

		UsageHalfLife:      one(g, 0, 0, 5*berth.Minute, berth.Hour),
		RepartitionTimeout: one(g, 0, 20*berth.Second, berth.Minute),
		Geometry:           g.geometry(),
		Preemption:         g.preemption(),
	}
	if g.plain {
		p.ReservedGangs = -1
	}
	if g.Chance(20) {
		p.Health, p.HotSpares = g.health(), g.spares()
	}
	return p
}

// options draws each fault's probability, of which many are zero.
func (g *Generator) options() sim.Options {
	interval := one(g, 0, 0, 5*berth.Second)
	if g.plain { // much happens between two passes
		interval = one(g, 0, 10*berth.Second, 30*berth.Second)
	}
	often := func() float64 { return one(g, 0, 0, g.Float64()*0.5) }
	seldom := func() float64 { return one(g, 0, 0, g.Float64()*0.08) }
	options := sim.Options{
		StartDelay: one(g, 0, berth.Second, 12*berth.Second),
		StopDelay:  one(g, 0, berth.Second, 8*berth.Second),

		RepartitionDelay: one(g, 0, berth.Second, 15*berth.Second, 15*berth.Second),
		PassInterval:     interval,
		Seed:             g.Uint64(),
		Faults: sim.Faults{
			BindFail: often(), BindPartial: often(), ReleaseFail: often(), ReleasePartial: often(),
			ReportLost: often(), ReportLate: often(), ReportDouble: often(), ReportOld: often(),
			RepartitionFail: often(), ReportWrong: often(), CheckpointFail: often(), WithdrawLate: often(),
			MemberDie: seldom(), NodeLost: seldom(), GPUFail: seldom(), Xid: seldom(), Cordon: seldom(), Drain: seldom(),
			Outage: one(g, 0, berth.Minute), Restore: one(g, 0, 0.02, 0.3), Until: Faults,
		},
	}
	if options.Seed%3 == 0 { // of the seed, so that the other worlds are as they were
		options.Faults.GangDie = 0.06
	}
	return options
}

// workload draws a fleet, queues and an hour of arrivals.
func (g *Generator) workload() []sim.Arrival {
	if g.Chance(40) {
		g.at(0, berth.MIGTableSet{Table: toldTable()})
	}
	nodes, jobs := 2+g.IntN(9), one(g, 4, 10, 10, 10)+g.IntN(30)
	if g.plain {
		nodes, jobs = 1+g.IntN(3), 40+g.IntN(30)
	}
	for range nodes {
		g.at(0, berth.NodeJoined{Node: g.node(len(g.nodes))})
	}
	g.quotas()
	if g.Chance(40) {
		g.observed()
	}
	if g.Chance(40) {
		g.seenPart()
	}
	for range jobs {
		g.submit()
	}
	if g.Chance(20) { // everybody leaves
		for i := range g.jobs {
			g.at(horizon, berth.JobCancelled{Job: g.jobs[i].ID})
		}
	}
	for range g.IntN(25) {
		g.change()
	}
	if g.Chance(20) { // refused where no ledger is kept
		g.at(g.instant(), berth.LedgerSettled{})
	}
	if g.Chance(50) && !g.plain {
		for i := range 1 + g.IntN(4) {
			g.reserve(i)
		}
	}
	for range g.IntN(6) {
		list := g.BadEvents()
		g.at(g.instant(), list[g.IntN(len(list))])
	}
	if g.rails != "" && g.Chance(40) {
		g.railed()
	}
	g.sort()
	return g.list
}

func (g *Generator) sort() {
	slices.SortStableFunc(g.list, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
}

func (g *Generator) at(t berth.Time, e berth.Event) {
	g.list = append(g.list, sim.Arrival{At: t, Event: e})
}

// instant draws a time, with a liking for the same ones.
func (g *Generator) instant() berth.Time {
	if g.Chance(30) {
		return berth.Time(berth.Duration(g.IntN(12)) * 5 * berth.Minute)
	}
	return berth.Time(g.Int64N(int64(horizon)))
}

func (g *Generator) node(i int) berth.Node {
	n := berth.Node{
		ID: berth.NodeID(fmt.Sprintf("n%d", i)), Pool: one(g, "", "", "red"),
		CPUMilli: one(g, int64(8000), 32_000), MemoryMiB: one(g, int64(16_000), 64_000),
		Labels: g.labels(),
	}
	for l := range g.levels {
		n.Domains = append(n.Domains, fmt.Sprintf("%c%d", 'a'+l, g.IntN(2)))
	}
	gpu := one(g,
		berth.GPU{Product: "H100", MemoryMiB: 81_920, ComputeCapability: berth.ComputeCapability{Major: 9}, Clique: "k"},
		berth.GPU{Product: "H100", MemoryMiB: 81_920, ComputeCapability: berth.ComputeCapability{Major: 9}},
		berth.GPU{Product: "A10", MemoryMiB: 24_576, ComputeCapability: berth.ComputeCapability{Major: 8, Minor: 6}})
	divides := g.Chance(60) && !g.plain
	if divides {
		gpu = g.product()
	}
	count := one(g, 0, 1, 2, 4, 8)
	if g.plain {
		count = one(g, 2, 4)
	}
	for range count {
		if divides {
			gpu.Mode, gpu.Instances = g.partitioning(gpu.MIGTable)
		}
		n.GPUs = append(n.GPUs, gpu)
	}
	g.nodes = append(g.nodes, n)
	return n
}

// labels draws those of a node: most tell a driver.
func (g *Generator) labels() map[string]string {
	labels := map[string]string{}
	if g.Chance(50) {
		labels["disk"] = "fast"
	}
	if g.Chance(80) {
		labels["driver"] = one(g, "550", "570")
	}
	return labels
}

// submit draws a job, and for some what becomes of it.
func (g *Generator) submit() {
	j := g.job()
	a := sim.Arrival{At: g.instant()}
	if g.Chance(85) {
		a.Runtime = berth.Duration(1 + g.Int64N(int64(20*berth.Minute)))
	}
	// What a job says of its length may be right, or not.
	j.ExpectedRuntime = one(g, 0, a.Runtime, a.Runtime+berth.Minute, a.Runtime/2, berth.Minute)
	j.Program = one(g, "", "", "train", "tune", "serve")
	a.Event = berth.JobSubmitted{Job: j}
	g.list = append(g.list, a)
	later := func() berth.Time {
		return a.At.Add(berth.Duration(g.Int64N(int64(one(g, berth.Minute, 15*berth.Minute, 15*berth.Minute)))))
	}
	if j.Service != nil {
		for range g.IntN(6) {
			g.at(later(), berth.JobScaled{Job: j.ID, Replicas: g.IntN(5)})
		}
	}
	if g.Chance(20) { // refused while it does not run
		g.at(later(), berth.ActivityReported{Job: j.ID, Incarnation: 1, ActiveMilli: g.IntN(1001)})
	}
	g.tellsCheckpoints(j.ID, later)
	if g.Chance(40) || a.Runtime == 0 && g.Chance(80) {
		g.at(later(), berth.JobCancelled{Job: j.ID})
	}
}

func (g *Generator) job() berth.Job {
	j := berth.Job{
		ID:    berth.JobID(fmt.Sprintf("j%d", len(g.jobs))),
		Queue: one(g, g.leaves...), Tenant: one(g, berth.TenantID("ann"), "bob"),
		Class: one(g, berth.ClassBatch, berth.ClassInteractive, berth.ClassLatencyCritical), Priority: int32(g.IntN(3)),
	}
	groups := one(g, 1, 1, 1, 2, 3)
	if g.Chance(10) || g.plain && g.Chance(80) { // many of a kind
		groups = 0
		j.Groups = []berth.Group{{Members: one(g, 1, 1, 2), Claim: berth.Claim{GPUs: 1}}}
	}
	for i := range groups {
		group := g.group(j.Class)
		if groups > 1 {
			group.Name = string(rune('a' + i))
		}
		j.Groups = append(j.Groups, group)
	}
	if g.Chance(20) {
		j.Topology.Required = g.level()
	}
	if g.Chance(15) {
		j.SameLabels = one(g, []string{"driver"}, []string{"driver", "disk"})
	}
	if g.Chance(10) && !g.plain {
		j.Topology.Exclusive = one(g, append([]string{"node"}, g.levels...)...)
	}
	if g.Chance(30) || g.plain && g.Chance(30) {
		j.Service = &berth.Service{Replicas: g.IntN(4)}
	} else if g.Chance(20) {
		j.GangTimeout = berth.Duration(1 + g.Int64N(int64(10*berth.Minute)))
	}
	g.checkpoints(&j)
	g.jobs = append(g.jobs, j)
	return j
}

func (g *Generator) level() string {
	return one(g, append([]string{"node", "fleet"}, g.levels...)...)
}

func (g *Generator) group(class berth.Class) berth.Group {
	group := berth.Group{Members: one(g, 1, 1, 2, 3, 4, 6), Claim: g.claim(class), MixProducts: g.Chance(25)}
	if g.Chance(40) {
		group.MinMembers = 1 + g.IntN(group.Members)
	}
	switch {
	case g.Chance(15):
		group.Topology.Required = g.level()
	case g.Chance(15):
		group.Topology.Preferred = g.level()
	default:
		g.arrange(&group)
	}
	switch g.IntN(12) {
	case 0:
		group.Selector.Pools = []string{"red"}
	case 1:
		group.Selector.Products = []string{"A10", "B200"}
	case 2:
		group.Selector.MinGPUMemoryMiB = 40_000
	case 3:
		group.Selector.MinComputeCapability = berth.ComputeCapability{Major: 9}
	case 4:
		group.Selector.Labels = map[string]string{"disk": "fast"}
	}
	return group
}

// arrange draws what a group wants beyond one level. Some of it contradicts what the
// job requires, and is refused.
func (g *Generator) arrange(group *berth.Group) {
	t := &group.Topology
	switch g.IntN(8) {
	case 0:
		if group.Members%2 == 0 {
			group.MinMembers = one(g, 0, 0, 2)
			t.Segments = []berth.Segment{{Size: 2, Level: g.level()}}
		}
	case 1:
		group.Members, group.MinMembers = one(g, 4, 8), one(g, 0, 4)
		t.Segments = []berth.Segment{{Size: 4, Level: one(g, append([]string{"fleet"}, g.levels...)...)}, {Size: 2, Level: g.level()}}
		t.Balance = one(g, "", "", g.level())
	case 2:
		group.MinMembers, t.Spread, t.MaxSkew = 0, g.level(), g.IntN(3)
	case 3:
		t.Balance = g.level()
	case 4:
		if g.rails != "" {
			group.Members, group.MinMembers, t.RailAligned = one(g, 2, 3), 0, true
			group.Claim = berth.Claim{GPUs: max(1, len(one(g, g.nodes...).GPUs)/one(g, 1, 2))}
		}
	}
}

// railed has a gang come first that is to be on aligned rails of two nodes, and a twin of a node:
// few worlds have two that are alike, side by side.
func (g *Generator) railed() {
	i := slices.IndexFunc(g.nodes, func(n berth.Node) bool { return len(n.GPUs) > 0 && n.GPUs[0].MIGTable == "" })
	if i < 0 {
		return
	}
	twin := g.nodes[i]
	twin.ID = "twin"
	g.at(0, berth.NodeJoined{Node: twin})
	j := berth.Job{ID: "railed", Queue: g.leaves[0], Groups: []berth.Group{{
		Members: 2, Claim: berth.Claim{GPUs: len(twin.GPUs)}, Topology: berth.Topology{RailAligned: true},
	}}}
	g.list = append(g.list, sim.Arrival{Event: berth.JobSubmitted{Job: j}, Runtime: 5 * berth.Minute})
	g.jobs = append(g.jobs, j)
}

func (g *Generator) claim(class berth.Class) berth.Claim {
	host := berth.Claim{CPUMilli: int64(500 * g.IntN(8)), MemoryMiB: int64(500 * g.IntN(8))}
	switch g.IntN(11) {
	case 0:
		host.CPUMilli++
	case 1, 2, 3:
		host.Share = &berth.Share{GPUMilli: one(g, 100, 250, 333, 500, 999), MemoryMiB: one(g, int64(0), 0, 10_000)}
		if class == berth.ClassInteractive {
			host.Share.Mode = one(g, berth.ShareMPS, berth.ShareTimeSlice)
		}
	case 4, 5, 6:
		g.instance(&host)
	default:
		host.GPUs = one(g, 1, 1, 2, 4)
		host.NVLink = g.Chance(10)
	}
	return host
}

// observed places a job on a node by hand before anything else comes.
func (g *Generator) observed() {
	i := slices.IndexFunc(g.nodes, func(n berth.Node) bool { return len(n.GPUs) > 1 })
	if i < 0 {
		return
	}
	j := berth.Job{
		ID: "seen", Queue: g.queues[0], Service: &berth.Service{Replicas: 2},
		Groups: []berth.Group{{Members: 2, MinMembers: 1, Claim: berth.Claim{GPUs: 1}}},
	}
	g.at(0, berth.JobObserved{Job: j, Running: []berth.ObservedReplica{{
		Replica: 1, Incarnation: 7,
		Members: []berth.MemberPlacement{{Index: 1, Node: g.nodes[i].ID, GPUs: berth.GPUSetOf(1)}},
	}}})
	g.jobs = append(g.jobs, j)
}

// reserve draws a reservation in advance, and what becomes of it.
func (g *Generator) reserve(i int) {
	made := g.instant()
	from := made.Add(berth.Duration(g.Int64N(int64(15*berth.Minute))) - 2*berth.Minute)
	r := berth.Reservation{
		ID: berth.ReservationID(fmt.Sprintf("r%d", i)), Queue: one(g, append([]berth.QueueID{"", ""}, g.queues...)...),
		From: from, Until: from.Add(berth.Duration(1 + g.Int64N(int64(20*berth.Minute)))),
	}
	switch g.IntN(3) {
	case 0:
		for range 1 + g.IntN(3) {
			r.Nodes = append(r.Nodes, one(g, g.nodes...).ID)
		}
	case 1:
		r.Domain = one(g, g.nodes...).Domains // refused where there are none
		if len(r.Domain) > 1 && g.Chance(50) {
			r.Domain = r.Domain[:1]
		}
	case 2:
		r.GPUs, r.Required = 1+g.IntN(10), one(g, "", g.level())
		r.Selector.Products = one(g, nil, nil, []string{"H100"})
	}
	g.at(made, berth.ReservationSet{Reservation: r})
	if g.Chance(30) {
		r.Until = r.Until.Add(berth.Minute)
		g.at(made.Add(berth.Minute), berth.ReservationSet{Reservation: r})
	}
	if g.Chance(30) {
		g.at(from.Add(berth.Duration(g.Int64N(int64(5*berth.Minute)))), berth.ReservationRemoved{Reservation: r.ID})
	}
}

// change draws something that happens to the fleet or to the rules.
func (g *Generator) change() {
	n := g.nodes[g.IntN(len(g.nodes))]
	t := g.instant()
	switch g.IntN(11) {
	case 7, 8:
		g.repartitioned(n)
	case 9: // refused where nodes go by it
		table := toldTable()
		table.SMs += g.IntN(2)
		g.at(t, berth.MIGTableSet{Table: table})
	case 10:
		n.Pool = one(g, "", "red")
		g.at(t, berth.NodeUpdated{Node: n})
	case 0:
		g.at(t, berth.NodeJoined{Node: g.node(len(g.nodes))})
	case 1:
		g.at(t, berth.NodeLost{Node: n.ID})
		g.at(t.Add(berth.Duration(g.Int64N(int64(10*berth.Minute)))), berth.NodeJoined{Node: n})
	case 2:
		n.CPUMilli, n.MemoryMiB = g.Int64N(n.CPUMilli+1), g.Int64N(n.MemoryMiB+1)
		n.Labels = g.labels()
		g.at(t, berth.NodeUpdated{Node: n})
	case 3:
		g.at(t, berth.PolicyChanged{Policy: g.policy()})
	case 4, 5:
		g.at(t, berth.QueueSet{Queue: g.otherwise(one(g, g.queues...))})
	case 6:
		g.at(t, berth.QueueRemoved{Queue: one(g, g.queues...)})
	}
}
