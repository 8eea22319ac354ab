package record

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// LetIn reports whether a replica was let in on the nodes of a reservation, to make way when it
// comes true; nil: there is none.
func (w *Window) LetIn(rep *Replica) bool {
	return w != nil && rep.Retry.Backfilled && slices.ContainsFunc(rep.Members, func(m Member) bool {
		return m.State.Holds() && slices.Contains(m.Node.Windows, w)
	})
}

// Holds reports whether a member in this state holds capacity.
func (s MemberState) Holds() bool {
	return s == MemberBinding || s == MemberRunning || s == MemberFailed || s == MemberStopping
}

// GangName names the window of a gang.
func GangName(kind string, rep *Replica) string {
	return kind + "/" + string(rep.Job.Spec.ID) + "#" + strconv.Itoa(rep.Number)
}

// GangWindow makes a window for a gang, with its name and without nodes.
func GangWindow(kind ReservationKind, rep *Replica) *Window {
	return &Window{Kind: kind, Name: GangName("gang", rep), Rep: rep, Queue: quota.None}
}

// A Preemption is room that is being made for a replica that waits, its beneficiary: who
// has to go for it, and what it will hold then. Until then the nodes are set aside for it,
// as a reservation is, so that nobody slips in between. It ends when the beneficiary
// starts, there or elsewhere, or waits no more; when one of the nodes goes or changes, or
// somebody that ranks above it takes its place; and when it has taken too long. Who was
// asked for a checkpoint and not stopped yet then goes on. The way of a victim is drawn in
// the manual of package berth.
type Preemption struct {
	// Where has the members of the beneficiary as planned.
	Where []gang.Member
	// Charges are what its queue will be charged, in all, by product.
	Charges []quota.Charge
	// Victims have yet to go, or a part of them has, by job and number.
	Victims []*Replica
}

// Awaits notes one more victim; they come in order.
func (p *Preemption) Awaits(victim *Replica) { p.Victims = append(p.Victims, victim) }

// Within reports whether those who go are of the beneficiary's own queue.
func (p *Preemption) Within(rep *Replica) bool {
	return slices.ContainsFunc(p.Victims, func(victim *Replica) bool { return victim.Job.Queue == rep.Job.Queue })
}

// IsRoom reports whether room is being made in a window.
func (s *SavedWindow) IsRoom() bool { return len(s.Victims)+len(s.Where) > 0 }

// SparesName names the window of the spares of a pool.
func SparesName(pool string) string { return "spares/" + pool }

// A Window sets nodes aside for a time. Its kind says for what; the table of the kinds, with
// all that differs between them, is that of ReservationKind.
//
// Nodes in windows are kept apart by their hardware class, which names the windows:
// a search that may not use them does not see them, and costs nothing for it. One that
// may, because its job belongs there or ends in time, is given these classes as well,
// after it has failed without them.
type Window struct {
	Kind ReservationKind
	// Name is unique, and orders windows.
	Name string
	SpanPart
	// Rep is the gang that the nodes are for, or nil.
	Rep *Replica
	// Home is where the owner of a window of nodes that are kept has it; nil otherwise.
	Home **Window
	// Preemption has where the members of the gang are planned, if they are.
	Preemption *Preemption
	// Unmarked: what is kept for it of its quota is not counted just now.
	Unmarked bool
	// Queue whose jobs belong here, or quota.None.
	Queue quota.Index
	// Advance is the reservation, if it was made in advance.
	Advance *berth.Reservation
	// Domains are whole domains, or nodes, that belong to the window, by their paths:
	// nodes that join there do as well.
	Domains [][]string
	// Nodes in order of name.
	Nodes []*Node
}

// CompareWindowName orders windows by name, for a search by name.
func CompareWindowName(w *Window, name string) int { return strings.Compare(w.Name, name) }

// WithWindow copies a list of windows and adds one, in order of name.
func WithWindow(list []*Window, w *Window) []*Window {
	at, _ := slices.BinarySearchFunc(list, w.Name, CompareWindowName)
	return slices.Insert(slices.Clone(list), at, w)
}

// FenceOf names a set of windows; "" is none.
func FenceOf(windows []*Window) string {
	var b strings.Builder
	for _, w := range windows {
		b.WriteString(w.Name)
		b.WriteByte(0)
	}
	return b.String()
}

// Add puts a node into the list of a window.
func (w *Window) Add(n *Node) {
	at, _ := slices.BinarySearchFunc(w.Nodes, n, CompareNodes)
	w.Nodes = slices.Insert(w.Nodes, at, n)
}

// Remove takes a node out of the list of a window.
func (w *Window) Remove(n *Node) {
	at := slices.Index(w.Nodes, n)
	w.Nodes = slices.Delete(w.Nodes, at, at+1)
}

// CompareNodes orders nodes by ID: the last tie-break of all that chooses among nodes.
func CompareNodes(a, b *Node) int { return cmp.Compare(a.Spec.ID, b.Spec.ID) }

// NodeIDs lists the nodes of a window.
func (w *Window) NodeIDs() []berth.NodeID {
	list := make([]berth.NodeID, len(w.Nodes))
	for i, n := range w.Nodes {
		list[i] = n.Spec.ID
	}
	return list
}
