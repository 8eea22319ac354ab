package core

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// addNode puts a checked, unknown node into the fleet.
func (c *Core) addNode(spec berth.Node) *berth.Error {
	key, windows := record.KeyOf(&spec), c.backlog.WindowsAround(&spec)
	key.Fence = record.FenceOf(windows)
	var table *catalogue.Table
	if key.Table != "" {
		table, _ = c.catalogue.Table(key.Table) // checked
	}
	product, err := c.retainProduct(key.Product)
	if err != nil {
		return err
	}
	class := c.state.Classes.Add(key, table, windows)
	i, err := c.addToFleet(&spec, key, class)
	if err != nil {
		c.state.Classes.Drop(class)
		c.books.ReleaseProduct(product)
		return err
	}
	for int(i) >= len(c.state.Nodes) {
		c.state.Nodes = append(c.state.Nodes, nil)
	}
	n := &record.Node{
		Spec: spec, Index: i, Class: class, Product: product, Windows: windows, Table: table,
		GPUs: make([]record.GPUState, len(spec.GPUs)),
	}
	n.SetGeometry(state.GeometryOf(&c.state.Config.Policy, spec.Pool))
	if table != nil {
		table.Nodes++
	}
	c.gpus.CountPliable(n, 1)
	for _, w := range windows {
		w.Add(n)
	}
	c.state.Nodes[i] = n
	c.state.NodeByID[spec.ID] = n
	c.wire(n)
	for g := range spec.GPUs {
		c.gpus.Divide(n, g)
		c.books.SettleGPU(n, g)
	}
	c.books.Recount(n, n.CapacityNow())
	c.upkeep.CountSound(n)
	return nil
}

// retainProduct counts one more node of a product; "" is none.
func (c *Core) retainProduct(name string) (quota.ProductIndex, *berth.Error) {
	if name == "" {
		return quota.NoProduct, nil
	}
	product, err := c.books.RetainProduct(name)
	if err != nil {
		return product, refusal.Of(berth.ErrLimit, "node.gpus[0].product", err.Error())
	}
	return product, nil
}

func (c *Core) addToFleet(spec *berth.Node, key record.ClassKey, class int) (topology.Node, *berth.Error) {
	var lattice *mig.Lattice
	if t := c.state.Classes.List[class].Table; t != nil {
		lattice = t.Lattice
	}
	if len(c.state.Classes.ByKey) > limits.MaxKinds {
		return 0, refusal.Of(berth.ErrLimit, "node", fmt.Sprintf("the fleet has %d kinds of node already (pool, product, memory and number of GPUs)", limits.MaxKinds))
	}
	i, err := c.books.AddNode(gang.NodeSpec{
		Name: string(spec.ID), Path: spec.Domains, Class: topology.Class(class),
		GPUs: len(spec.GPUs), GPUMemoryMiB: key.GPUMemory,
		Host: spec.Host(), Lattice: lattice, MaxShares: record.MaxShares(spec),
	})
	if err != nil {
		return 0, refusal.Of(berth.ErrConflict, "node.id", err.Error())
	}
	return i, nil
}

// wire has the fleet choose the GPUs of a node by its links.
func (c *Core) wire(n *record.Node) {
	old := n.Graph
	n.Graph = c.catalogue.Graphs.Retain(&n.Spec)
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
