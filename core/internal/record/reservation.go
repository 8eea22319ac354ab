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
func (r *Reservation) LetIn(rep *Replica) bool {
	return r != nil && rep.Retry.Get().Backfilled && slices.ContainsFunc(rep.Members, func(m Member) bool {
		return m.State.Holds() && slices.Contains(m.Node.Reservations, r)
	})
}

// Holds reports whether a member in this state holds capacity.
func (s MemberState) Holds() bool {
	return s == MemberBinding || s == MemberRunning || s == MemberFailed || s == MemberStopping
}

// MayRun reports whether a process of a member may be there: it is being started, runs, or is being
// stopped. Of one that failed nothing is left but its place: no fault takes it, hardware does not
// lose it, nobody starts it again, and it should not be seen.
func (s MemberState) MayRun() bool { return s.Holds() && s != MemberFailed }

// GangName names the reservation of a gang.
func GangName(kind string, rep *Replica) string {
	return kind + "/" + string(rep.Job.Spec.ID) + "#" + strconv.Itoa(rep.Number)
}

// GangReservation makes a reservation for a gang, with its name and without nodes.
func GangReservation(kind ReservationKind, rep *Replica) *Reservation {
	return &Reservation{Kind: kind, Name: GangName("gang", rep), Rep: rep, Queue: quota.NoQueue}
}

// A Plan is a preemption or a move for a replica that waits or grows, its beneficiary: the victims,
// and what the beneficiary will come to hold. Until then the nodes are set aside for it, as by a
// reservation, so that no other job starts there. It ends when the beneficiary starts, there or
// elsewhere, or waits no more; when one of the nodes goes or changes, or a job that ranks above it
// takes its place; and when it has taken too long. A victim that was asked for a checkpoint and is
// not stopped yet then continues. The way of a victim is drawn in the manual of package berth.
type Plan struct {
	// Where has the members of the beneficiary as planned.
	Where []gang.Member
	// Charges are what its queue will be charged, in all, by product.
	Charges []quota.Charge
	// Victims have yet to go, or a part of them has, by job and number. OfQueue: some, gone or not,
	// are of the beneficiary's own queue, and evicted there.
	Victims []*Replica
	OfQueue bool
}

// AddVictim notes one more victim for a beneficiary; they come in order.
func (p *Plan) AddVictim(rep, victim *Replica) {
	p.Victims = append(p.Victims, victim)
	p.OfQueue = p.OfQueue || p.WithinQueue(rep)
}

// GPUMilli is what the queue of the beneficiary will be charged, in thousandths of a GPU.
func (p *Plan) GPUMilli() (sum int64) {
	for _, charge := range p.Charges {
		sum += charge.GPUMilli
	}
	return sum
}

// WithinQueue reports whether victims to go are of the beneficiary's own queue, and evicted there.
func (p *Plan) WithinQueue(rep *Replica) bool {
	return slices.ContainsFunc(p.Victims, func(victim *Replica) bool { return victim.Job.Queue == rep.Job.Queue && victim.Moving == nil })
}

// IsPlanned reports whether a reservation has a plan.
func (s *SavedGangReservation) IsPlanned() bool { return len(s.Victims)+len(s.Where) > 0 }

// SparesName names the reservation of the spares of a pool.
func SparesName(pool string) string { return "spares/" + pool }

// A Reservation sets nodes aside for a time. Its kind says for what; the table of the kinds, with
// all that differs between them, is that of ReservationKind.
//
// Nodes in reservations are kept apart by their hardware class, which names the reservations:
// a search that may not use them does not see them, and costs nothing for it. One that
// may, because its job belongs there or ends in time, is given these classes as well,
// after it has failed without them.
type Reservation struct {
	Kind ReservationKind
	// Name is unique, and orders reservations.
	Name string
	SpanPart
	// Rep is the gang that the nodes are for, or nil.
	Rep *Replica
	// Home is where the owner of a reservation of nodes that are kept has it; nil otherwise.
	Home **Reservation
	// Plan has where the members of the gang are planned, if they are.
	Plan *Plan
	// Unmarked: what is kept for it of its quota is not counted just now.
	Unmarked bool
	// Queue of the jobs that belong here, or quota.NoQueue.
	Queue quota.QueueIndex
	// Advance is the reservation, if it was made in advance.
	Advance *berth.Reservation
	// Draining: jobs that do not belong on its nodes have to leave them, as it clears them.
	Draining bool
	// Domains are whole domains, or nodes, that belong to the reservation, by their paths:
	// nodes that join there do as well.
	Domains [][]string
	// Nodes in order of name.
	Nodes []*Node
}

// CompareReservationName orders reservations by name, for a search by name.
func CompareReservationName(r *Reservation, name string) int { return strings.Compare(r.Name, name) }

// WithReservation copies a list of reservations and adds one, in order of name.
func WithReservation(list []*Reservation, r *Reservation) []*Reservation {
	at, _ := slices.BinarySearchFunc(list, r.Name, CompareReservationName)
	return slices.Insert(slices.Clone(list), at, r)
}

// fenceOf names a set of reservations; "" is none.
func fenceOf(reservations []*Reservation) string {
	var b strings.Builder
	for _, r := range reservations {
		b.WriteString(r.Name)
		b.WriteByte(0)
	}
	return b.String()
}

// Add puts a node into the list of a reservation.
func (r *Reservation) Add(n *Node) {
	at, _ := slices.BinarySearchFunc(r.Nodes, n, CompareNodes)
	r.Nodes = slices.Insert(r.Nodes, at, n)
}

// Remove takes a node out of the list of a reservation.
func (r *Reservation) Remove(n *Node) {
	at := slices.Index(r.Nodes, n)
	r.Nodes = slices.Delete(r.Nodes, at, at+1)
}

// CompareNodes orders nodes by ID: the last tie-break of all that chooses among nodes.
func CompareNodes(a, b *Node) int { return cmp.Compare(a.Spec.ID, b.Spec.ID) }

// NodeIDs lists the nodes of a reservation.
func (r *Reservation) NodeIDs() []berth.NodeID {
	list := make([]berth.NodeID, len(r.Nodes))
	for i, n := range r.Nodes {
		list[i] = n.Spec.ID
	}
	return list
}
