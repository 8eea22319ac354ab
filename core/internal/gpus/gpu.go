package gpus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/mig"
)

// Divide has the fleet see a GPU as it is described.
func (gp *GPUs) Divide(n *record.Node, gpu int) {
	g := &n.Spec.GPUs[gpu]
	switch {
	case g.Mode != berth.GPUModeMIG:
		gp.books.Divide(n, gpu, gang.PartitioningNone, 0)
	case n.Geometry.Kind == berth.GeometryPerClaim:
		g.Instances = nil
		gp.books.Divide(n, gpu, gang.PartitioningPerClaim, 0)
	default:
		state, err := n.Table.Lattice.StateOf(g.Instances)
		invariant.Must(err)
		gp.books.Divide(n, gpu, gang.PartitioningFixed, state)
	}
}

// ModeFor is the mode in which a member needs its GPUs.
func (gp *GPUs) ModeFor(h *gang.Hold) berth.GPUMode {
	switch {
	case h.Instance != (mig.Placement{}):
		return berth.GPUModeMIG
	case h.Share.GPUMilli == 0, h.Share.Over:
		return berth.GPUModeWhole
	case gp.catalogue.Owners.Keys[h.Share.Owner].Mode == berth.ShareMPS:
		return berth.GPUModeMPS
	}
	return berth.GPUModeTimeSlice
}

// Regeometry brings what follows from the geometry of the pools up to date.
func (gp *GPUs) Regeometry() {
	gp.agenda.RecountGPUs()
	gp.Astray = nil
	for _, n := range gp.state.Nodes {
		if n == nil {
			continue
		}
		geometry := state.GeometryOf(&gp.state.Config.Policy, n.Spec.Pool)
		same := state.SameGeometry(&geometry, &n.Geometry)
		n.SetGeometry(geometry)
		gp.CountPliable(n, 1)
		for g := range n.Spec.GPUs {
			was, _, held := gp.state.Fleet.Partitioning(n.Index, g)
			if was == gang.PartitioningPerClaim && n.Geometry.Kind != berth.GeometryPerClaim {
				n.Spec.GPUs[g].Instances = n.Table.Lattice.Layout(held)
			}
			if n.Spec.GPUs[g].Mode == berth.GPUModeMIG && !same {
				gp.Divide(n, g)
			}
			s := n.GPUs[g].Get()
			s.Astray = false
			n.GPUs[g].Set(s)
			gp.NoteLayout(n, g)
		}
		if same {
			continue
		}
		for g := range n.GPUs {
			if geometry.Kind == berth.GeometryFixed || geometry.HoldLimit < 0 {
				gp.backlog.Lapse(n, g)
			}
		}
		gp.state.Freed(n)
	}
	gp.agenda.LookAgain(gp.state.Now)
}

// CountPliable counts the nodes whose GPUs divide, and those whose GPUs may change.
func (gp *GPUs) CountPliable(n *record.Node, change int) {
	gp.agenda.CountGPUs(n.Table != nil, n.Pliable(), change)
}

// GPUPartitioned takes over how a GPU is divided in truth. It refuses a mode or layout in which a
// member that holds the GPU could not be.
func (gp *GPUs) GPUPartitioned(e berth.GPUPartitioned) *berth.Error {
	n, err := gp.KnownGPU(e.Node, e.GPU)
	if err != nil {
		return err
	}
	if e.Mode == berth.GPUModeUnset {
		return refusal.Of(berth.ErrInvalid, "mode", "is not set")
	}
	if err := n.Table.CheckPartitioning(e.Mode, e.Instances); err != nil {
		return err
	}
	if p := n.GPUs[e.GPU].Get().Order(); p != nil {
		return refusal.Of(berth.ErrConflict, "gpu", fmt.Sprintf("order %d for it is outstanding: report that order first", p.Order.ID))
	}
	var first *record.Replica
	n.MembersOn(e.GPU, func(m *record.Member, rep *record.Replica) {
		switch mode := gp.ModeFor(&m.Hold); {
		case first != nil && record.CompareReplicas(first, rep) <= 0:
			return // one is named, and always the same
		case mode != e.Mode:
			err = refusal.Of(berth.ErrConflict, "mode", fmt.Sprintf("job %s holds the GPU in mode %s", errtext.Short(rep.Job.Spec.ID), mode))
		case mode == berth.GPUModeMIG && n.Geometry.Kind != berth.GeometryPerClaim && !slices.Contains(e.Instances, m.Hold.Instance):
			err = refusal.Of(berth.ErrConflict, "instances", fmt.Sprintf("job %s holds an instance that is not among them", errtext.Short(rep.Job.Spec.ID)))
		default:
			return
		}
		first = rep
	})
	if err != nil {
		return err
	}
	gp.backlog.Lapse(n, e.GPU)
	n.SetPartitioning(e.GPU, record.Partitioning{Mode: e.Mode, Instances: slices.Clone(e.Instances)})
	gp.know(n, e.GPU, record.GPUTold)
	gp.Divide(n, e.GPU)
	gp.NoteLayout(n, e.GPU)
	gp.books.SettleGPU(n, e.GPU)
	gp.backlog.EndGangReservationsOn(n)
	gp.state.Freed(n)
	gp.agenda.Grew(gp.state.Now)
	gp.agenda.Lessen()
	return nil
}

// know notes what is known of how a GPU is divided after a signal, while no order is out.
func (gp *GPUs) know(n *record.Node, gpu int, on record.GPUSignal) {
	s := n.GPUs[gpu].Get()
	s.Become(on, nil)
	n.GPUs[gpu].Set(s)
}

// KnownGPU finds the node of a GPU that an event names, and refuses a GPU that the node does not
// have.
func (gp *GPUs) KnownGPU(id berth.NodeID, gpu int) (*record.Node, *berth.Error) {
	n, err := gp.backlog.KnownNode("node", id)
	if err == nil && (gpu < 0 || gpu >= len(n.Spec.GPUs)) {
		err = refusal.Of(berth.ErrInvalid, "gpu", fmt.Sprintf("index %d is out of range: node %q has %d GPUs", gpu, errtext.Short(id), len(n.Spec.GPUs)))
	}
	return n, err
}

// ClearAt is when enough of what holds a GPU is expected to have ended for a claim, and
// how many thousandths of it stand idle as it is. late: some should have ended already.
// False: it never will be clear, or is now.
func (gp *GPUs) ClearAt(n *record.Node, gpu int, claim *gang.Claim) (at berth.Time, idle int64, late, ok bool) {
	type held struct {
		at   berth.Time
		late bool
		gang.Hold
	}
	list := make([]held, 0, 8) // as a rule no more hold a GPU, and it stays off the heap
	idle = 1000
	n.MembersOn(gpu, func(m *record.Member, rep *record.Replica) {
		list = append(list, held{gp.state.ExpectedEnd(rep), rep.EndsAt != 0 && rep.EndsAt <= gp.state.Now, m.Hold})
		idle -= record.ChargeOf(&m.Hold, n).GPUMilli / int64(berth.GPUSet(m.Hold.GPUs).Len())
	})
	slices.SortFunc(list, func(a, b held) int {
		return cmp.Or(cmp.Compare(a.at, b.at), a.Instance.Compare(b.Instance))
	})
	_, _, state := gp.state.Fleet.Partitioning(n.Index, gpu)
	for _, h := range list {
		late = late || h.late
		if at = max(at, h.at); h.Instance == (mig.Placement{}) || len(claim.Instances) == 0 {
			continue // all of them have to end
		}
		next, err := n.Table.Lattice.Remove(state, h.Instance)
		invariant.Must(err)
		state = next
		if _, fits := ProfileOn(n, claim, func(p int) bool { return n.Table.Lattice.Fits(state, p) }); fits {
			break
		}
	}
	return at, max(idle, 0), late, at > gp.state.Now && at != agenda.Never
}

// HoldGPU closes a GPU to newcomers.
func (gp *GPUs) HoldGPU(d *record.GPUHold) {
	gp.backlog.Attach(d)
	gp.backlog.EndGangReservationsOn(d.Node)
	gp.agenda.Lessen()
	gp.state.Totals.GPUHolds++
}

// NoteLayout has the core remember a GPU that is not in its pool's layout.
func (gp *GPUs) NoteLayout(n *record.Node, gpu int) {
	at, s := GPUAt{n, gpu}, n.GPUs[gpu].Get()
	away := n.HasBase() && s.ChangedAt > 0 && !n.AtBase(gpu)
	switch {
	case away == s.Astray:
	case away:
		gp.Astray = append(gp.Astray, at)
	default:
		i := slices.Index(gp.Astray, at)
		gp.Astray = slices.Delete(gp.Astray, i, i+1)
	}
	s.Astray = away
	n.GPUs[gpu].Set(s)
}

// An Offer is what a GPU could become for members that wait.
type Offer struct {
	Node *record.Node
	GPU  int
	// Alike is how many GPUs behind it are the same in all but their index.
	Alike int
	// To is what it becomes; its instances follow from a planned state, unless that is 0, and the
	// profile that is asked for.
	To      record.Partitioning
	Planned mig.State
	Profile int
	Cost    int64 // GPU-milliseconds, in thousandths
	Serves  int   // members
}

// Compare orders offers: the cheapest first, then the one that serves more.
func (o Offer) Compare(p Offer) int {
	if o.Cost != p.Cost || o.Serves != p.Serves { // names are farther away
		return cmp.Or(cmp.Compare(o.Cost, p.Cost), cmp.Compare(p.Serves, o.Serves))
	}
	return cmp.Or(record.CompareNodes(o.Node, p.Node), cmp.Compare(o.GPU, p.GPU))
}

// Qualifies reports whether members of a group may go to a node, and its host has capacity for
// one.
func (gp *GPUs) Qualifies(n *record.Node, g *gang.Group) bool {
	return slices.Contains(g.Classes, n.Hardware()) && (g.Match == nil || g.Match(n.Index)) &&
		g.Claim.Host.Within(gp.state.Fleet.HostFree(n.Index).Floor()) &&
		(g.Claim.Declared == nil || g.Claim.Declared.Within(gp.state.Fleet.DeclaredFree(n.Index).Floor()))
}

// ProfileOn is the first profile of a claim on a node of which something holds.
func ProfileOn(n *record.Node, claim *gang.Claim, holds func(p int) bool) (int, bool) {
	for _, profile := range claim.Instances {
		if profile.Class == n.Hardware() && holds(profile.Index) {
			return profile.Index, true
		}
	}
	return 0, false
}

// Outstanding returns the orders that are given and not reported, by ID. After a
// restart they are to be carried out again, unless they are known to be done. A Bind is without
// the members that hardware took since: their places may be given to others by now.
func (gp *GPUs) Outstanding() []berth.Order {
	var list []berth.Order
	for _, id := range slices.Sorted(maps.Keys(gp.state.Orders)) {
		list = append(list, gp.state.Orders[id].OrderLeft())
	}
	for _, id := range slices.Sorted(maps.Keys(gp.Repartitions)) {
		list = append(list, gp.Repartitions[id].Order)
	}
	slices.SortFunc(list, func(a, b berth.Order) int { return cmp.Compare(a.Header().ID, b.Header().ID) })
	return list
}
