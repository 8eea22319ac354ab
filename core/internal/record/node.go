package record

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/unordered"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// Holds reports whether a member holds the GPU or a share of it.
func (n *Node) Holds(gpu int) bool {
	return slices.ContainsFunc(n.Members, func(m MemberAt) bool { return berth.GPUSet(m.Rep.Members[m.Index].Hold.GPUs).Has(gpu) })
}

// A ProcessKey names the processes of a replica in one instance.
type ProcessKey struct {
	Rep      *Replica
	Instance mig.Placement
}

// What the fleet has is what queues lend and borrow: the sound GPUs, and the hosts, of
// nodes that take work, and what is in use on the others.

// A Capacity is what a node adds to the fleet.
type Capacity struct {
	Product  string
	GPUMilli int64
	Host     countable.Amounts
	Declared *countable.Declared
	// Closed: it is what is in use on a node that takes no more work. The shares of queues are of
	// what the others have.
	Closed bool
}

// Equal reports whether both are as much.
func (c *Capacity) Equal(d *Capacity) bool {
	return c.Product == d.Product && c.GPUMilli == d.GPUMilli && c.Host == d.Host && c.Closed == d.Closed && c.Declared.Equal(d.Declared)
}

// CapacityNow is what a node adds to the fleet as it is: all that is sound, or what is in use if
// it takes no more work.
func (n *Node) CapacityNow() Capacity {
	if n.Closed() {
		return n.inUse()
	}
	sum := Capacity{Host: n.Spec.Host(), Declared: n.Declared, Product: n.Spec.Product}
	for g := range n.Spec.GPUs {
		if !n.Spec.GPUs[g].Failed {
			sum.GPUMilli += 1000
		}
	}
	return sum
}

// inUse is what members hold on a node: so much of it the fleet still has when it takes no
// more work.
func (n *Node) inUse() Capacity {
	sum := Capacity{Closed: true}
	for _, at := range n.Members {
		charge := ChargeOf(&at.Rep.Members[at.Index].Hold, n)
		sum.Host, sum.Declared = sum.Host.Plus(charge.Host), sum.Declared.Plus(charge.Declared)
		if charge.GPUMilli > 0 {
			sum.Product = n.Spec.Product
			sum.GPUMilli += charge.GPUMilli
		}
	}
	return sum
}

// Partitioning is the mode and layout of a GPU, or those that are staged.
func (n *Node) Partitioning(gpu int) Partitioning {
	return Partitioning{n.Spec.GPUs[gpu].Mode, n.Spec.GPUs[gpu].Instances}
}

// SetPartitioning notes a mode and a layout in the description alone: the fleet does not see it
// yet.
func (n *Node) SetPartitioning(gpu int, p Partitioning) {
	n.Spec.GPUs[gpu].Mode, n.Spec.GPUs[gpu].Instances = p.Mode, p.Instances
}

// MembersOn calls a function for every member that holds something of a GPU.
func (n *Node) MembersOn(gpu int, use func(*Member, *Replica)) {
	for _, at := range n.Members {
		if m := &at.Rep.Members[at.Index]; berth.GPUSet(m.Hold.GPUs).Has(gpu) {
			use(m, at.Rep)
		}
	}
}

// Pliable reports whether the GPUs of a node may change.
func (n *Node) Pliable() bool { return n.Geometry.Kind != berth.GeometryFixed && n.Table != nil }

// An Imagined gang holds what it is planned to.
type Imagined struct {
	Queue   quota.QueueIndex
	Members []gang.Member
	Charges []quota.Charge // by product
}

// An Extent is how much was imagined at some moment.
type Extent struct{ Gone, Here int }

// A Node is what the core keeps of a Node.
type Node struct {
	Spec     spec.Node
	Declared *countable.Declared // amounts of Spec.Resources
	Index    topology.NodeIndex
	Product  quota.ProductIndex
	Class    int
	Graph    *catalogue.GraphEntry // nil: it tells no links
	Table    *catalogue.Table      // nil: its GPUs do not divide
	Geometry berth.Geometry
	base     []mig.ProfileName // geometry.Layout in order
	Home     []mig.Placement   // a layout of these; nil: there is none
	GPUs     []values.Rare[GPUState]
	// Altered: some of its GPUs may have been repartitioned, or an order about one be out.
	Altered bool
	// Counted: it is one of those of which the spares are a part.
	Counted bool
	// Planned counts the members that a pass imagines there.
	Planned  int32
	Capacity Capacity // that it adds to the fleet
	// LostMilli is how much the domains of the node have lost of their bandwidth, in thousandths.
	LostMilli int
	CordonPart
	Trust TrustPart
	// Reservations the node is in, in order of name. The list is never changed, but
	// replaced.
	Reservations []*Reservation
	// Members that hold something here, in no useful order; Member.Slot is the
	// position.
	Members []MemberAt
}

// A MemberAt names a member by replica and flat index.
type MemberAt struct {
	Rep   *Replica
	Index int
}

// Imagined reports whether a plan in the making imagines the member gone.
func (m MemberAt) Imagined() bool { return m.Rep.Imagined || m.Rep.Members[m.Index].Imagined }

// SetGeometry sets the geometry of the node's pool.
func (n *Node) SetGeometry(g berth.Geometry) {
	n.Geometry, n.base = g, slices.SortedFunc(slices.Values(g.Layout), mig.ProfileName.Compare)
	n.Home = nil
	if n.Table != nil && len(n.base) > 0 {
		n.Home, _ = n.Table.Arranged(n.base)
	}
}

// GeometryInStep reports whether what follows from the geometry of a node does.
func (n *Node) GeometryInStep() bool {
	fresh := Node{Table: n.Table}
	fresh.SetGeometry(n.Geometry)
	return slices.Equal(n.base, fresh.base) && slices.Equal(n.Home, fresh.Home)
}

// Closed reports whether the node takes no work.
func (n *Node) Closed() bool { return n.Cordoned || n.Trust.QuarantineUntil != 0 }

// Hardware is the class of the node, as the packages below know it.
func (n *Node) Hardware() topology.NodeClass { return topology.NodeClass(n.Class) }

// MatchesLabels reports whether the node carries all of the labels, given as
// sorted pairs.
func (n *Node) MatchesLabels(labels []label) bool {
	for _, l := range labels {
		if v, ok := n.Spec.Labels[l.key]; !ok || v != l.value {
			return false
		}
	}
	return true
}

// The GPUs of an adaptive pool may have a layout to which they go back.

// HasBase reports whether GPUs of the node go back to a layout.
func (n *Node) HasBase() bool { return len(n.Geometry.Layout) > 0 }

// AtBase reports whether a GPU is in the layout to which it goes back.
func (n *Node) AtBase(gpu int) bool {
	g := &n.Spec.GPUs[gpu]
	return g.Mode == berth.GPUModeMIG && slices.Equal(mig.Layout(g.Instances).Profiles(), n.base)
}

// Suits reports whether members of a group may be placed on a node, if it has capacity.
func (n *Node) Suits(g *gang.Group) bool {
	return slices.Contains(g.Classes, topology.NodeClass(n.Class)) && (g.Match == nil || g.Match(n.Index))
}

// SaveGPUs lists the GPUs of which more is known than the description says.
func (n *Node) SaveGPUs() []SavedGPU {
	var list []SavedGPU
	for g := range n.GPUs {
		s := n.GPUs[g].Get()
		saved := SavedGPU{GPU: g, GPUPart: s.GPUPart, Overdue: s.Overdue() != nil, Unknown: s.Unknown()}
		if p := s.By; p != nil {
			order := p.Order
			saved.Order = &order
			saved.Before = &savedMode{p.Before.Mode, p.Before.Instances}
		}
		if saved != (SavedGPU{GPU: g}) {
			list = append(list, saved)
		}
	}
	return list
}

// A SparePool keeps the spares of one pool.
type SparePool struct {
	Pool       string
	NodesMilli int
	// Sound counts the nodes of which spares are a part.
	Sound int
	// Reservation has the spares; nil: there are none.
	Reservation *Reservation
}

// Wanted is how many spares the pool is to have.
func (p *SparePool) Wanted() int { return (p.Sound*p.NodesMilli + 999) / 1000 }

// Free is how many it has.
func (p *SparePool) Free() int {
	if p.Reservation == nil {
		return 0
	}
	return len(p.Reservation.Nodes)
}

// Sound reports whether a node is one of those of which spares are a part.
func (n *Node) Sound() bool {
	return len(n.Spec.GPUs) > 0 && !n.Closed() && !slices.ContainsFunc(n.Spec.GPUs, func(g spec.GPU) bool { return g.Failed })
}

// Key is the class of a node with the reservations it is in.
func (n *Node) Key() hardware.Key { return KeyOf(&n.Spec, n.Reservations, n.LostMilli) }

// KeyOf is the class of a node as it is described, in some reservations, where the fabric has lost
// so many thousandths.
func KeyOf(s *spec.Node, reservations []*Reservation, lostMilli int) hardware.Key {
	k := hardware.KeyOf(s, lostMilli)
	k.Fence = fenceOf(reservations)
	return k
}

// Leave takes a member off a node. The last one ends that it stands in for another.
func (n *Node) Leave(slot int) {
	n.Members = unordered.Remove(n.Members, slot, func(m MemberAt, at int) { m.Rep.Members[m.Index].Slot = at })
	if n.Trust.SpareInUse && len(n.Members) == 0 {
		n.Trust.Become(SpareEmptied, 0)
	}
}

// ShareMemory is the device memory in MiB of a share of one of a node's GPUs: what it names,
// else in proportion.
func (n *Node) ShareMemory(s *berth.Share) int64 {
	return cmp.Or(s.MemoryMiB, n.Spec.GPUMemoryMiB*int64(s.GPUMilli)/1000)
}
