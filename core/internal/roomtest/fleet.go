package roomtest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// Nodes adds so many nodes of so many GPUs, in one domain: n1, n2 and so on, from the first number
// that is not in use. Domains are named from the widest level to the narrowest.
func (m *Machine) Nodes(many, gpus int, domains ...string) []*record.Node {
	m.t.Helper()
	var list []*record.Node
	for number := 1; len(list) < many; number++ {
		id := berth.NodeID(fmt.Sprintf("n%d", number))
		if m.State.NodeByID[id] == nil {
			list = append(list, m.Join(Node(id, gpus, domains...)))
		}
	}
	return list
}

// Node describes a node of H100s that divide as those of 80 GB do, with 100 cores and 1 TiB of
// memory; a test changes what it is about.
func Node(id berth.NodeID, gpus int, domains ...string) berth.Node {
	n := berth.Node{ID: id, Domains: domains, CPUMilli: 100_000, MemoryMiB: 1 << 20}
	for range gpus {
		n.GPUs = append(n.GPUs, berth.GPU{Product: "H100", MemoryMiB: 80 << 10, MIGTable: "H100-80GB"})
	}
	return n
}

// Join adds a node, as NodeJoined does.
func (m *Machine) Join(node berth.Node) *record.Node {
	m.t.Helper()
	require.Nil(m.t, spec.CheckNode(&node, len(m.State.Config.Levels), m.State.Config.Resources))
	m.NoRefusal(m.Catalogue.CheckTables(&node))
	m.NoRefusal(m.Catalogue.Graphs.Check(&node))
	known := spec.NodeOf(&node)
	around := m.Backlog.ReservationsOfJoining(&known)
	key := record.KeyOf(&known, around, 0)
	var table *catalogue.Table
	var lattice *mig.Lattice
	if key.Table != "" {
		table, _ = m.Catalogue.Table(key.Table)
		lattice = table.Lattice
		table.Nodes++
	}
	n := &record.Node{
		Spec: known, Declared: m.State.Declared(node.Resources), Product: m.Books.RetainProduct(key.Product), Class: m.State.Classes.Add(key, table, around),
		Reservations: around, Table: table, GPUs: make([]values.Rare[record.GPUState], len(node.GPUs)),
	}
	n.Index = m.Books.AddNode(gang.NodeSpec{
		Name: string(node.ID), Path: node.Domains, Class: topology.NodeClass(n.Class),
		GPUs: len(node.GPUs), GPUMemoryMiB: key.GPUMemory,
		Host: node.Host(), Declared: m.State.Declared(node.Resources), Lattice: lattice, MaxShares: hardware.MaxShares(&known),
	})
	n.SetGeometry(state.GeometryOf(&m.State.Config.Policy, node.Pool))
	m.GPUs.CountPliable(n, 1)
	for _, res := range around {
		res.Add(n)
	}
	m.State.AddNode(n)
	if node.Links != nil {
		n.Graph = m.Catalogue.Graphs.Retain(&node)
		m.Books.SetChooser(n, func(free uint64, k int) uint64 {
			set, _ := n.Graph.Graph.Best(free, k)
			return set
		})
	}
	for g := range node.GPUs {
		m.GPUs.Divide(n, g)
		m.Books.SettleGPU(n, g)
	}
	m.Books.Recount(n, n.CapacityNow())
	m.Upkeep.CountSound(n)
	m.Upkeep.Welcome(n)
	m.State.Freed(n)
	m.Agenda.Grew(m.State.Now)
	m.Books.TellCapacity()
	return n
}

// Queue makes a queue of the root that is guaranteed so many GPUs.
func (m *Machine) Queue(name berth.QueueID, gpus int64) *record.Queue {
	m.t.Helper()
	return m.SetQueue(quota.Queue{Name: name, Guarantee: quota.GPUs(gpus)})
}

// SetQueue makes or changes a queue, as QueueSet does.
func (m *Machine) SetQueue(q quota.Queue) *record.Queue {
	m.t.Helper()
	i, err := m.Books.SetQueue(q)
	require.NoError(m.t, err)
	m.Backlog.EnsureQueue(i)
	m.Books.RecountQueue(i)
	m.Books.RecountQueue(m.State.Quota.Parent(i))
	m.Books.CountKeeper(m.Books.Queues[i], len(q.LendingLimit) > 0)
	m.Agenda.QuotaChanged(m.State.Now)
	return m.Books.Queues[i]
}

// NodeNamed finds a node.
func (m *Machine) NodeNamed(id string) *record.Node {
	m.t.Helper()
	n := m.State.NodeByID[berth.NodeID(id)]
	require.NotNil(m.t, n, "there is no node %s", id)
	return n
}
