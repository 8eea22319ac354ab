package core

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// addNode puts a checked node into the fleet, in the place of the one that it describes anew;
// nil: it is unknown. It refuses one product or kind of node too many, before it changes
// anything: nothing else of a checked node can be.
func (c *Core) addNode(spec spec.Node, old *record.Node) *berth.Error {
	reservations := c.backlog.ReservationsOfJoining(&spec)
	lost := c.upkeep.LostMilli(spec.Domains)
	key := record.KeyOf(&spec, reservations, lost)
	if err := c.checkKinds(key, old); err != nil {
		return err
	}
	if old != nil {
		c.gpus.RemoveNode(old)
	}
	var table *catalogue.Table
	var lattice *mig.Lattice
	if key.Table != "" {
		table, _ = c.catalogue.Table(key.Table) // checked
		lattice = table.Lattice
	}
	n := &record.Node{
		Spec: spec, Declared: c.state.Declared(spec.Resources), Product: c.books.RetainProduct(key.Product), Class: c.state.Classes.Add(key, table, reservations),
		Reservations: reservations, Table: table, GPUs: make([]values.Rare[record.GPUState], len(spec.GPUs)), LostMilli: lost,
	}
	n.Index = c.books.AddNode(gang.NodeSpec{
		Name: string(spec.ID), Path: spec.Domains, Class: topology.NodeClass(n.Class),
		GPUs: len(spec.GPUs), GPUMemoryMiB: key.GPUMemory,
		Host: spec.Host(), Declared: n.Declared, Lattice: lattice, MaxShares: hardware.MaxShares(&spec),
	})
	n.SetGeometry(state.GeometryOf(&c.state.Config.Policy, spec.Pool))
	if table != nil {
		table.Nodes++
	}
	c.gpus.CountPliable(n, 1)
	for _, res := range reservations {
		res.Add(n)
	}
	c.state.AddNode(n)
	c.wire(n)
	for g := range spec.GPUs {
		c.gpus.Divide(n, g)
		c.books.SettleGPU(n, g)
	}
	c.books.Recount(n, n.CapacityNow())
	c.upkeep.CountSound(n)
	return nil
}

// checkKinds refuses a node of one product or kind too many. The node old, unless it is nil, goes
// before.
func (c *Core) checkKinds(key hardware.Key, old *record.Node) *berth.Error {
	product, class := quota.NoProduct, -1
	if old != nil {
		product, class = old.Product, old.Class
	}
	if key.Product != "" {
		if err := c.state.Quota.CheckProduct(key.Product, product); err != nil {
			return refusal.Of(berth.ErrLimit, "node.gpus[0].product", err.Error())
		}
	}
	if c.state.Classes.CountWith(key, class) > limits.MaxKinds {
		return refusal.Of(berth.ErrLimit, "node", fmt.Sprintf("the fleet has %d kinds of node already (pool, product, memory, number of GPUs, rate of NICs, taints)", limits.MaxKinds))
	}
	return nil
}

// wire has the fleet choose the GPUs of a node by its links.
func (c *Core) wire(n *record.Node) {
	old := n.Graph
	if n.Graph = nil; n.Spec.Links != nil {
		full := n.Spec.Full()
		n.Graph = c.catalogue.Graphs.Retain(&full)
	}
	c.catalogue.Graphs.Release(old)
	if n.Graph == nil {
		c.books.SetChooser(n, nil)
		return
	}
	graph := n.Graph.Graph
	c.books.SetChooser(n, func(free uint64, k int) uint64 {
		set, _ := graph.Best(free, k)
		return set
	})
}
