package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// This file is the part of the zoo that is about divided GPUs.

// divisible adds nodes whose GPUs divide, each with two H100. On f1, of a pool that is
// fixed, and on a1, of one that is adaptive, GPU 0 has a 3g and two 1g; on p1, of a pool
// per claim, it is in MIG mode. GPU 1 is whole everywhere. The first nodes are gone.
func divisible(z *zoo) {
	for _, id := range []berth.NodeID{"n1", "n2", "n3"} {
		z.tell(berth.NodeLost{Node: id})
	}
	z.gear(func(*berth.Geometry) {})
	for _, node := range []struct {
		id   berth.NodeID
		pool string
	}{{"f1", "fixed"}, {"a1", "adaptive"}, {"p1", "claim"}} {
		z.join(node.id, node.pool, "H100-80GB", at("3g.40gb@0:4"), at("1g.10gb@4:1"), at("1g.10gb@5:1"))
	}
}

// gear sets the geometry of the pools; that of the adaptive one is changed.
func (z *zoo) gear(change func(*berth.Geometry)) {
	adaptive := berth.Geometry{Pool: "adaptive", Kind: berth.GeometryAdaptive, PerHour: 2, HoldLimit: -1}
	change(&adaptive)
	z.tell(berth.PolicyChanged{Policy: berth.Policy{Geometry: []berth.Geometry{
		adaptive, {Pool: "claim", Kind: berth.GeometryPerClaim, HoldLimit: -1},
	}}})
}

// join adds a node of two GPUs, of which the first is divided.
func (z *zoo) join(id berth.NodeID, pool, table string, instances ...mig.Placement) {
	gpu := berth.GPU{Product: "H100", MemoryMiB: 80_000, MIGTable: table}
	n := berth.Node{ID: id, Pool: pool, Domains: []string{"x"}, GPUs: []berth.GPU{gpu, gpu}}
	n.GPUs[0].Mode, n.GPUs[0].Instances = berth.GPUModeMIG, instances
	z.tell(berth.NodeJoined{Node: n})
}

func at(text string) mig.Placement {
	p, err := mig.ParsePlacement(text)
	if err != nil {
		panic(err)
	}
	return p
}

// seat places member i on an instance.
func seat(i int, node berth.NodeID, gpu int, instance string) berth.MemberPlacement {
	return berth.MemberPlacement{Index: i, Node: node, GPUs: berth.GPUSetOf(gpu), Instance: at(instance)}
}

// part has members claim an instance.
func part(profile string) func(*berth.Job) {
	return func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{MIG: profile} }
}

func fraction(sms int, memory int64) func(*berth.Job) {
	return func(j *berth.Job) {
		j.Groups[0].Claim = berth.Claim{MinInstance: &berth.MinInstance{MinSMs: sms, MinMemoryMiB: memory}}
	}
}

// seated has a member run on an instance.
func (z *zoo) seated(id berth.JobID, node berth.NodeID, instance string) {
	z.submit(id, 1, part(at(instance).Profile.String()))
	b := z.bind(id, seat(0, node, 0, instance))
	z.pass(b)
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
}

// change is an order about a GPU, for a gang or for nobody.
func (z *zoo) change(id berth.JobID, node berth.NodeID, gpu int, mode berth.GPUMode, cause berth.CauseCode) berth.Repartition {
	r := berth.Repartition{OrderHeader: z.order(id, 5*berth.Minute, cause), Node: node, GPU: gpu, Mode: mode}
	if id == "" {
		r.Incarnation = 0
	}
	return r
}

// after makes a Bind one that follows changes.
func after(b berth.Bind, changes ...berth.Repartition) berth.Bind {
	for _, r := range changes {
		b.After = append(b.After, r.ID)
	}
	b.Deadline = b.Deadline.Add(5 * berth.Minute)
	return b
}

// remade orders a1 to give up its 1g for a 2g, for job a, and binds a there.
func (z *zoo) remade() (berth.Repartition, berth.Bind) {
	z.submit("a", 1, part("2g.20gb"))
	r := z.change("a", "a1", 0, berth.GPUModeMIG, berth.CauseGeometry)
	r.Destroy, r.Create = []mig.Placement{at("1g.10gb@4:1"), at("1g.10gb@5:1")}, []mig.Placement{at("2g.20gb@4:2")}
	return r, after(z.bind("a", seat(0, "a1", 0, "2g.20gb@4:2")), r)
}

// shared orders GPU 1 of f1 to be shared, for job a, and binds a there.
func (z *zoo) shared() (berth.Repartition, berth.Bind) {
	z.submit("a", 1, halves)
	r := z.change("a", "f1", 1, berth.GPUModeMPS, berth.CauseMode)
	return r, after(z.bind("a", half(0, "f1", 1)), r)
}

// half places member i on half a GPU of 80,000 MiB.
func half(i int, node berth.NodeID, gpu int) berth.MemberPlacement {
	p := share(i, node, gpu)
	p.ShareMemoryMiB = 40_000
	return p
}

// tiny is a table of four memory slices with instances of one slice each.
func tiny(change func(*mig.Product)) mig.Product {
	name, _ := mig.ParseProfileName("1g.5gb")
	p := mig.Product{
		Name: "tiny", ComputeSlices: 4, MemorySlices: 4, SMs: 40, Engines: mig.Engines{Copy: 4, OFA: 4},
		Profiles: []mig.Profile{{
			Name: name, ComputeSlices: 1, MemorySlices: 1, SMs: 10, MemoryMiB: 5000,
			Engines: mig.Engines{Copy: 1, OFA: 1}, Starts: []int{0, 1, 2, 3}, MaxCount: 4,
		}},
	}
	change(&p)
	return p
}

// crowded places two instances on a GPU of a tiny table.
func crowded(change func(*mig.Product)) func(*zoo) error {
	return func(z *zoo) error {
		z.tell(berth.MIGTableSet{Table: tiny(change)})
		z.join("t1", "claim", "tiny")
		z.submit("a", 2, part("1g.5gb"))
		return z.try(z.bind("a", seat(0, "t1", 0, "1g.5gb@0:1"), seat(1, "t1", 0, "1g.5gb@3:1")))
	}
}

var dividedAnimals = []animal{
	{check.PromiseS1, "an instance is given twice", func(z *zoo) error {
		z.seated("a", "f1", "1g.10gb@4:1")
		z.submit("b", 1, part("1g.10gb"))
		return z.try(z.bind("b", seat(0, "f1", 0, "1g.10gb@4:1")))
	}},
	{check.PromiseS1, "a memory slice is given twice", func(z *zoo) error {
		z.seated("a", "p1", "3g.40gb@4:4")
		z.submit("b", 1, part("1g.10gb"))
		return z.try(z.bind("b", seat(0, "p1", 0, "1g.10gb@4:1")))
	}},
	{check.PromiseS1, "compute slices are given twice", crowded(func(p *mig.Product) { p.ComputeSlices = 1 })},
	{check.PromiseS1, "SMs are given twice", crowded(func(p *mig.Product) { p.SMs = 19 })},
	{check.PromiseS1, "copy engines are given twice", crowded(func(p *mig.Product) { p.Engines.Copy = 1 })},
	{check.PromiseS1, "an OFA engine is given twice", crowded(func(p *mig.Product) { p.Engines.OFA = 1 })},
	{check.PromiseS1, "two profiles divide a GPU that divides alike", func(z *zoo) error {
		z.tell(berth.MIGTableSet{Table: tiny(func(p *mig.Product) {
			p.Uniform = true
			p.Profiles = append(p.Profiles, p.Profiles[0])
			p.Profiles[1].Name.MemoryGB++
		})})
		z.join("t1", "claim", "tiny")
		z.seated("a", "t1", "1g.5gb@0:1")
		z.submit("b", 1, part("1g.6gb"))
		return z.try(z.bind("b", seat(0, "t1", 0, "1g.6gb@3:1")))
	}},
	{check.PromiseS1, "an instance has a start that is none", func(z *zoo) error {
		z.submit("a", 1, part("3g.40gb"))
		return z.try(z.bind("a", seat(0, "p1", 0, "3g.40gb@2:4")))
	}},
	{check.PromiseS1, "an observed job has a GPU whole of which an instance is held", func(z *zoo) error {
		z.seated("a", "f1", "1g.10gb@4:1")
		return z.c.Applied(z.now, berth.JobObserved{Job: job("b", 1), Running: []berth.ObservedReplica{
			{Incarnation: 1, Members: []berth.MemberPlacement{on(0, "f1", 0)}},
		}})
	}},
	{check.PromiseS1, "an observed job has an instance of a GPU that is shared", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		return z.c.Applied(z.now, berth.JobObserved{Job: job("b", 1, part("1g.10gb")), Running: []berth.ObservedReplica{
			{Incarnation: 1, Members: []berth.MemberPlacement{seat(0, "f1", 1, "1g.10gb@4:1")}},
		}})
	}},
	{check.PromiseS1, "more members share a GPU than may", func(z *zoo) error {
		z.tell(berth.NodeJoined{Node: berth.Node{ID: "s1", Domains: []string{"x"}, GPUs: []berth.GPU{
			{Product: "H100", MemoryMiB: 1000, MaxShares: 1, Mode: berth.GPUModeMPS},
		}}})
		z.submit("a", 2, halves)
		return z.try(z.bind("a", share(0, "s1", 0), share(1, "s1", 0)))
	}},
	{check.PromiseS1, "more members share an old GPU than may", func(z *zoo) error {
		z.tell(berth.NodeJoined{Node: berth.Node{ID: "s1", Domains: []string{"x"}, GPUs: []berth.GPU{
			{Product: "P100", MemoryMiB: 1000, Mode: berth.GPUModeMPS, ComputeCapability: berth.ComputeCapability{Major: 6}},
		}}})
		z.submit("a", 17, func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{Share: &berth.Share{GPUMilli: 10}} })
		var list []berth.MemberPlacement
		for i := range 17 {
			list = append(list, berth.MemberPlacement{Index: i, Node: "s1", GPUs: berth.GPUSetOf(0), ShareMilli: 10, ShareMemoryMiB: 10})
		}
		return z.try(z.bind("a", list...))
	}},
	{check.PromiseS2, "a gang stays though its GPU did not become what it needs", func(z *zoo) error {
		z.submit("a", 2, part("2g.20gb"))
		r := z.change("a", "a1", 0, berth.GPUModeMIG, berth.CauseGeometry)
		r.Destroy, r.Create = []mig.Placement{at("1g.10gb@4:1"), at("1g.10gb@5:1")}, []mig.Placement{at("2g.20gb@4:2")}
		z.pass(r, after(z.bind("a", seat(0, "a1", 0, "2g.20gb@4:2"), seat(1, "p1", 0, "2g.20gb@0:2")), r))
		z.tell(berth.OrderReported{Order: 1, Outcome: berth.OutcomeFailed})
		z.tell(berth.OrderReported{Order: 2, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{}}})
		return z.try()
	}},
	{check.PromiseS5, "an instance is given that is none", func(z *zoo) error {
		z.submit("a", 1, part("1g.10gb"))
		return z.try(z.bind("a", seat(0, "f1", 0, "1g.10gb@6:1")))
	}},
	{check.PromiseS5, "an instance is given that is to be destroyed", func(z *zoo) error {
		z.submit("a", 1, part("1g.20gb"))
		r := z.change("a", "a1", 0, berth.GPUModeMIG, berth.CauseGeometry)
		r.Destroy, r.Create = []mig.Placement{at("1g.10gb@4:1")}, []mig.Placement{at("1g.20gb@6:2")}
		z.pass(r, after(z.bind("a", seat(0, "a1", 0, "1g.20gb@6:2")), r))
		z.submit("b", 1, part("1g.10gb"))
		return z.try(after(z.bind("b", seat(0, "a1", 0, "1g.10gb@4:1")), r))
	}},
	{check.PromiseS5, "an instance in use is destroyed", func(z *zoo) error {
		z.seated("b", "a1", "1g.10gb@4:1")
		r, b := z.remade()
		return z.try(r, b)
	}},
	{check.PromiseS5, "an instance is destroyed that is none", func(z *zoo) error {
		r, b := z.remade()
		r.Destroy = append(r.Destroy, at("1g.10gb@6:1"))
		return z.try(r, b)
	}},
	{check.PromiseS5, "an instance is destroyed twice", func(z *zoo) error {
		r, b := z.remade()
		r.Destroy = append(r.Destroy, r.Destroy[0])
		return z.try(r, b)
	}},
	{check.PromiseS5, "an instance is created over another", func(z *zoo) error {
		r, b := z.remade()
		r.Destroy = r.Destroy[1:]
		return z.try(r, b)
	}},
	{check.PromiseS5, "more is created than there is", func(z *zoo) error {
		r, b := z.remade()
		r.Create = append(r.Create, at("2g.20gb@4:2"))
		return z.try(r, b)
	}},
	{check.PromiseS5, "a GPU changes its mode under a member", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		z.submit("b", 1)
		whole := z.change("b", "f1", 1, berth.GPUModeWhole, berth.CauseMode)
		return z.try(whole, after(z.bind("b", on(0, "f1", 1)), whole))
	}},
	{check.PromiseS5, "a GPU leaves instances behind", func(z *zoo) error {
		z.submit("a", 1)
		r := z.change("a", "a1", 0, berth.GPUModeWhole, berth.CauseGeometry)
		r.Destroy = []mig.Placement{at("3g.40gb@0:4")}
		return z.try(r, after(z.bind("a", on(0, "a1", 0)), r))
	}},
	{check.PromiseS5, "two orders are out about a GPU", func(z *zoo) error {
		r, b := z.remade()
		z.pass(r, b)
		second := z.change("", "a1", 0, berth.GPUModeMIG, berth.CauseLayout)
		second.Create = []mig.Placement{at("1g.10gb@6:1")}
		return z.try(second)
	}},
	{check.PromiseS5, "a GPU is changed of which nobody knows how it is", func(z *zoo) error {
		r, b := z.remade()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeFailed})
		z.now = r.Deadline
		return z.try(z.change("", "a1", 0, berth.GPUModeWhole, berth.CauseLayout))
	}},
	{check.PromiseS5, "a GPU is divided that does not divide", func(z *zoo) error {
		z.tell(berth.NodeJoined{Node: berth.Node{ID: "u1", Pool: "adaptive", Domains: []string{"x"}, GPUs: make([]berth.GPU, 1)}})
		return z.try(z.change("", "u1", 0, berth.GPUModeMIG, berth.CauseLayout))
	}},
	{check.PromiseS5, "instances are created on a GPU that is to be whole", func(z *zoo) error {
		r, b := z.shared()
		r.Create = []mig.Placement{at("1g.10gb@6:1")}
		return z.try(r, b)
	}},
	{check.PromiseModes, "a whole GPU is shared without an order", func(z *zoo) error {
		z.submit("a", 1, halves)
		return z.try(z.bind("a", half(0, "f1", 1)))
	}},
	{check.PromiseModes, "a divided GPU is given whole", func(z *zoo) error {
		z.submit("a", 1)
		return z.try(z.bind("a", on(0, "f1", 0)))
	}},
	{check.PromiseModes, "an instance is given of a GPU that is whole", func(z *zoo) error {
		z.submit("a", 1, part("1g.10gb"))
		return z.try(z.bind("a", seat(0, "p1", 1, "1g.10gb@0:1")))
	}},
	{check.PromiseModes, "a GPU is ordered into one mode and used in another", func(z *zoo) error {
		r, b := z.shared()
		r.Mode = berth.GPUModeTimeSlice
		return z.try(r, b)
	}},
	{check.PromiseModes, "a GPU that went back is used as ordered", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeFailed})
		z.submit("b", 1, halves)
		return z.try(z.bind("b", half(0, "f1", 1)))
	}},
	{check.PromiseModes, "a GPU is used of which nobody knows how it is", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeFailed})
		z.now = r.Deadline
		z.submit("b", 1)
		return z.try(z.bind("b", on(0, "f1", 1)))
	}},
	{check.PromiseModes, "a GPU is used that failed on its way", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		z.tell(berth.GPUFailed{Node: "f1", GPU: 1})
		z.tell(berth.GPURepaired{Node: "f1", GPU: 1})
		z.submit("b", 1)
		return z.try(z.bind("b", on(0, "f1", 1)))
	}},
	{check.PromiseModes, "a GPU is used that is on its way for nobody", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeFailed})
		z.submit("b", 1, halves)
		return z.try(after(z.bind("b", half(0, "f1", 1)), r))
	}},
	{check.PromiseGeometry, "a fixed pool is divided anew", func(z *zoo) error {
		r, b := z.remade()
		r.Node, b.Members[0].Node = "f1", "f1"
		return z.try(r, b)
	}},
	{check.PromiseGeometry, "a fixed pool gives up MIG", func(z *zoo) error {
		z.join("f2", "fixed", "H100-80GB")
		z.submit("a", 1)
		r := z.change("a", "f2", 0, berth.GPUModeWhole, berth.CauseGeometry)
		return z.try(r, after(z.bind("a", on(0, "f2", 0)), r))
	}},
	{check.PromiseGeometry, "instances are created that come with their members", func(z *zoo) error {
		r, b := z.remade()
		r.Node, b.Members[0].Node, r.Destroy = "p1", "p1", nil
		return z.try(r, b)
	}},
	{check.PromiseGeometry, "a GPU is repartitioned too soon again", func(z *zoo) error {
		r, b := z.remade()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
		z.now = berth.Time(10*berth.Minute) - 1
		z.submit("b", 1, part("1g.20gb"))
		again := z.change("b", "a1", 0, berth.GPUModeMIG, berth.CauseGeometry)
		again.Create = []mig.Placement{at("1g.20gb@6:2")}
		return z.try(again, after(z.bind("b", seat(0, "a1", 0, "1g.20gb@6:2")), again))
	}},
	{check.PromiseGeometry, "a pool is repartitioned too often", func(z *zoo) error {
		z.gear(func(g *berth.Geometry) { g.PerHour = 1 })
		r, b := z.remade()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
		z.now = berth.Time(berth.Hour) - 1
		z.tell(berth.NodeJoined{Node: berth.Node{ID: "a2", Pool: "adaptive", Domains: []string{"x"}, GPUs: []berth.GPU{{Product: "H100", MIGTable: "H100-80GB"}}}})
		second := z.change("", "a2", 0, berth.GPUModeMIG, berth.CauseLayout)
		second.Create = []mig.Placement{at("7g.80gb@0:8")}
		return z.try(second)
	}},
	{check.PromiseGeometry, "a GPU is brought to another layout than its pool's", func(z *zoo) error {
		z.gear(func(g *berth.Geometry) { g.Layout = []mig.ProfileName{at("3g.40gb@0:4").Profile} })
		r := z.change("", "a1", 0, berth.GPUModeMIG, berth.CauseLayout)
		r.Destroy = []mig.Placement{at("1g.10gb@4:1")}
		return z.try(r)
	}},
	{check.PromiseGeometry, "a GPU in use is brought to its layout", func(z *zoo) error {
		z.gear(func(g *berth.Geometry) { g.Layout = []mig.ProfileName{at("3g.40gb@0:4").Profile} })
		z.seated("a", "a1", "3g.40gb@0:4")
		r := z.change("", "a1", 0, berth.GPUModeMIG, berth.CauseLayout)
		r.Destroy = []mig.Placement{at("1g.10gb@4:1"), at("1g.10gb@5:1")}
		return z.try(r)
	}},
	{check.PromiseCauses, "a change is for nobody without a cause", func(z *zoo) error {
		return z.try(z.change("", "f1", 1, berth.GPUModeMPS, berth.CauseMode))
	}},
	{check.PromiseCauses, "a change of the mode calls itself one of the layout", func(z *zoo) error {
		r, b := z.shared()
		r.Cause.Code = berth.CauseGeometry
		return z.try(r, b)
	}},
	{check.PromiseCauses, "a gang on a GPU that did not become what it needs blames hardware", func(z *zoo) error {
		z.submit("a", 2, halves)
		r := z.change("a", "f1", 1, berth.GPUModeMPS, berth.CauseMode)
		s := z.change("a", "a1", 1, berth.GPUModeMPS, berth.CauseMode)
		z.pass(r, s, after(z.bind("a", half(0, "f1", 1), half(1, "a1", 1)), r, s))
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeFailed})
		z.tell(berth.OrderReported{Order: 3, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{}}})
		return z.try(z.release("a", berth.CauseHardwareLost, half(1, "a1", 1)))
	}},
	{check.PromiseOrders, "a Bind does not wait for a change", func(z *zoo) error {
		r, b := z.shared()
		b.After, b.Deadline = nil, b.Deadline.Add(-5*berth.Minute)
		return z.try(r, b)
	}},
	{check.PromiseOrders, "a Bind waits for a change of another GPU", func(z *zoo) error {
		r, b := z.remade()
		z.pass(r, b)
		z.submit("b", 1)
		return z.try(after(z.bind("b", on(0, "f1", 1)), r))
	}},
	{check.PromiseOrders, "a Bind does not wait for a change from earlier", func(z *zoo) error {
		r, b := z.remade()
		z.pass(r, b)
		z.submit("b", 1, part("3g.40gb"))
		return z.try(z.bind("b", seat(0, "a1", 0, "3g.40gb@0:4")))
	}},
	{check.PromiseOrders, "a change is made for a gang that is not bound", func(z *zoo) error {
		r, _ := z.shared()
		return z.try(r)
	}},
	{check.PromiseOrders, "a change is made for a job that is none", func(z *zoo) error {
		return z.try(z.change("b", "f1", 1, berth.GPUModeMPS, berth.CauseMode))
	}},
	{check.PromiseOrders, "a change changes nothing", func(z *zoo) error {
		r, b := z.shared()
		r.Mode = berth.GPUModeWhole
		return z.try(r, b)
	}},
	{check.PromiseOrders, "a change is about a GPU that is none", func(z *zoo) error {
		return z.try(z.change("", "f1", 2, berth.GPUModeMPS, berth.CauseLayout))
	}},
	{check.PromiseDeadlines, "a change is due too late", func(z *zoo) error {
		r, b := z.shared()
		r.Deadline++
		return z.try(r, b)
	}},
	{check.PromiseDeadlines, "a Bind leaves no time for a change", func(z *zoo) error {
		r, b := z.shared()
		b.Deadline = b.Deadline.Add(-5 * berth.Minute)
		return z.try(r, b)
	}},
	{check.PromiseIncarnations, "a change is for another life", func(z *zoo) error {
		r, b := z.shared()
		r.Incarnation = 0
		return z.try(r, b)
	}},
	{check.PromiseClaims, "a member gets another profile than it claims", func(z *zoo) error {
		z.submit("a", 1, part("1g.10gb"))
		return z.try(z.bind("a", seat(0, "f1", 0, "3g.40gb@0:4")))
	}},
	{check.PromiseClaims, "a member gets too small a fraction", func(z *zoo) error {
		z.submit("a", 1, fraction(0, 20_000))
		return z.try(z.bind("a", seat(0, "f1", 0, "1g.10gb@4:1")))
	}},
	{check.PromiseClaims, "a member gets too few SMs", func(z *zoo) error {
		z.submit("a", 1, fraction(17, 0))
		return z.try(z.bind("a", seat(0, "f1", 0, "1g.10gb@4:1")))
	}},
	{check.PromiseClaims, "a member that claims an instance gets a GPU", func(z *zoo) error {
		z.submit("a", 1, part("1g.10gb"))
		return z.try(z.bind("a", on(0, "f1", 1)))
	}},
	{check.PromiseClaims, "a member that claims a GPU gets an instance", func(z *zoo) error {
		z.submit("a", 1)
		return z.try(z.bind("a", seat(0, "f1", 0, "3g.40gb@0:4")))
	}},
	{check.PromiseSelectors, "a failed GPU is changed", func(z *zoo) error {
		z.tell(berth.GPUFailed{Node: "f1", GPU: 1})
		r, b := z.shared()
		return z.try(r, b)
	}},
	{check.PromiseLimits, "instances exceed a limit", func(z *zoo) error {
		z.tell(berth.QueueSet{Queue: quota.Queue{Name: "q", Parent: "org", Limit: quota.Amounts{quota.GPUMilli: 624}}})
		z.submit("a", 2, part("1g.10gb"))
		z.seated("b", "p1", "3g.40gb@0:4")
		return z.try(z.bind("a", seat(0, "f1", 0, "1g.10gb@4:1"), seat(1, "f1", 0, "1g.10gb@5:1")))
	}},
	{check.PromiseEvents, "a node is taken with a layout that is none", func(z *zoo) error {
		return z.c.Applied(z.now, berth.NodeJoined{Node: berth.Node{ID: "x1", Domains: []string{"x"}, GPUs: []berth.GPU{
			{Product: "H100", MIGTable: "H100-80GB", Mode: berth.GPUModeMIG, Instances: []mig.Placement{at("3g.40gb@0:4"), at("1g.10gb@3:1")}},
		}}})
	}},
	{check.PromiseEvents, "a GPU is taken in a layout that is none", func(z *zoo) error {
		return z.c.Applied(z.now, berth.GPUPartitioned{Node: "f1", Mode: berth.GPUModeMIG, Instances: []mig.Placement{at("3g.40gb@2:4")}})
	}},
	{check.PromiseEvents, "a GPU is told to be different while an order is out", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		return z.c.Applied(z.now, berth.GPUPartitioned{Node: "f1", GPU: 1, Mode: berth.GPUModeMPS})
	}},
	{check.PromiseEvents, "a GPU is told to be without an instance that is held", func(z *zoo) error {
		z.seated("a", "f1", "3g.40gb@0:4")
		return z.c.Applied(z.now, berth.GPUPartitioned{Node: "f1", Mode: berth.GPUModeMIG, Instances: []mig.Placement{at("1g.10gb@4:1")}})
	}},
	{check.PromiseEvents, "a table is changed by which nodes go", func(z *zoo) error {
		p, _ := mig.Lookup("H100-80GB")
		p.SMs--
		return z.c.Applied(z.now, berth.MIGTableSet{Table: p})
	}},
	{check.PromiseEvents, "a change is reported as done in part", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		return z.c.Applied(z.now, berth.OrderReported{Order: r.ID, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{}}})
	}},
	{check.PromiseEvents, "a change failed on which somebody runs", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
		return z.c.Applied(z.now, berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeFailed})
	}},
	{check.PromiseEvents, "a job is observed whole on a GPU that is divided", func(z *zoo) error {
		return z.c.Applied(z.now, berth.JobObserved{Job: job("b", 1), Running: []berth.ObservedReplica{
			{Incarnation: 1, Members: []berth.MemberPlacement{on(0, "f1", 0)}},
		}})
	}},
	{check.PromiseS9, "a change is reported twice", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		return z.c.Applied(z.now, berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
	}},
	{check.PromiseS9, "a change of a lost node is reported", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		z.tell(berth.NodeLost{Node: "f1"})
		return z.c.Applied(z.now, berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
	}},
	{check.PromiseS9, "a change reported too late counts", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
		z.now = r.Deadline
		z.pass()
		return z.c.Applied(z.now, berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
	}},
	{check.PromiseS9, "a failure that cannot be is refused as something else", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
		return z.c.Rejected(z.now, berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeFailed}, refusal("orderReported", berth.ErrStale))
	}},
	{check.PromiseR5, "an honest report about a GPU is refused", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		return z.c.Rejected(z.now, berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeFailed}, refusal("orderReported", berth.ErrConflict))
	}},
	{check.PromiseR5, "how a GPU is is not believed", func(z *zoo) error {
		return z.c.Rejected(z.now, berth.GPUPartitioned{Node: "f1", Mode: berth.GPUModeWhole}, refusal("gpuPartitioned", berth.ErrConflict))
	}},
	{check.PromiseL1, "a change stays out", func(z *zoo) error {
		r, b := z.shared()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
		return z.c.Quiescent(z.now)
	}},
	{check.PromiseL1, "an instance is left idle", func(z *zoo) error {
		z.submit("a", 1, fraction(0, 30_000))
		return z.c.Served()
	}},
	{check.PromiseL1, "instances are left idle beside those in use", func(z *zoo) error {
		z.seated("b", "f1", "3g.40gb@0:4")
		z.submit("a", 4, part("1g.10gb"), func(j *berth.Job) { j.Groups[0].Selector.Pools = []string{"fixed", "adaptive"} })
		return z.c.Served()
	}},
	{check.PromiseL1, "an instance is left out that could come", func(z *zoo) error {
		z.seated("b", "p1", "3g.40gb@0:4")
		z.submit("a", 4, part("1g.10gb"), func(j *berth.Job) { j.Groups[0].Selector.Pools = []string{"claim"} })
		require.NoError(z.t, z.c.Served())
		z.tell(berth.JobCancelled{Job: "a"})
		z.submit("c", 3, part("1g.10gb"), func(j *berth.Job) { j.Groups[0].Selector.Pools = []string{"claim"} })
		return z.c.Served()
	}},
	{check.PromiseL1, "a GPU is left shared that could be whole", func(z *zoo) error {
		z.tell(berth.NodeJoined{Node: berth.Node{ID: "s1", Domains: []string{"x"}, Pool: "s", GPUs: []berth.GPU{{Product: "H100", Mode: berth.GPUModeMPS}}}})
		z.submit("a", 1, func(j *berth.Job) { j.Groups[0].Selector.Pools = []string{"s"} })
		return z.c.Served()
	}},
	{check.PromiseL1, "an idle GPU is never divided", func(z *zoo) error {
		z.submit("a", 1, part("4g.40gb"), func(j *berth.Job) { j.Groups[0].Selector.Pools = []string{"adaptive"} })
		require.NoError(z.t, z.c.Served())
		return z.c.Quiescent(z.now)
	}},
	{check.PromiseL1, "an idle GPU is not brought to its layout", func(z *zoo) error {
		z.gear(func(g *berth.Geometry) { g.Layout = []mig.ProfileName{at("3g.40gb@0:4").Profile} })
		require.NoError(z.t, z.c.Quiescent(z.now), "it never left it")
		r, b := z.remade()
		z.pass(r, b)
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
		z.tell(berth.JobFinished{Job: "a", Incarnation: 1})
		return z.c.Quiescent(z.now)
	}},
}

// TestDividedZoo: the checker catches every animal that is about divided GPUs.
func TestDividedZoo(t *testing.T) {
	caught := map[check.Promise]bool{}
	for _, a := range dividedAnimals {
		t.Run(string(a.promise)+" "+a.name, func(t *testing.T) {
			z := newZoo(t)
			divisible(z)
			var v *check.Violation
			require.ErrorAs(t, a.do(z), &v)
			require.Equal(t, a.promise, v.Promise, v.Text)
		})
		caught[a.promise] = true
	}
	for _, p := range []check.Promise{check.PromiseS5, check.PromiseModes, check.PromiseGeometry} {
		require.True(t, caught[p], "no animal breaks %s", p)
	}
}
