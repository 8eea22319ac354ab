package backlog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// check refuses a reservation that makes no sense.
func (bl *Backlog) checkReservation(r *berth.Reservation) *berth.Error {
	if r.Until <= bl.state.Now && r.Every == 0 {
		return refusal.Of(berth.ErrInvalid, "until", fmt.Sprintf("%v has passed: it is %v", r.Until, bl.state.Now))
	}
	if err := bl.checkReservationQueue(r); err != nil {
		return err
	}
	return bl.checkReserved(r)
}

func (bl *Backlog) checkReservationQueue(r *berth.Reservation) *berth.Error {
	if _, known := bl.state.Quota.Lookup(r.Queue); r.Queue != "" && !known {
		return refusal.Of(berth.ErrUnknown, "queue", fmt.Sprintf("there is no queue %q", errtext.Short(r.Queue)))
	}
	return nil
}

// checkReserved checks what does not depend on what there is.
func (bl *Backlog) checkReserved(r *berth.Reservation) *berth.Error {
	if err := refusal.Name(string(r.ID)); err != nil {
		return refusal.In(err, "id")
	}
	if err := refusal.Text(r.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	if r.Until <= r.From {
		return refusal.Of(berth.ErrInvalid, "until", fmt.Sprintf("%v is not after from, %v", r.Until, r.From))
	}
	if err := refusal.Span(r.Every); err != nil {
		return refusal.In(err, "every")
	}
	if r.Every != 0 && r.From.Add(r.Every) <= r.Until {
		return refusal.Of(berth.ErrInvalid, "every", fmt.Sprintf("%v is not longer than it lasts, from %v until %v", r.Every, r.From, r.Until))
	}
	ways := 0
	for _, used := range []bool{len(r.Nodes) > 0, len(r.Domain) > 0, r.GPUs != 0} {
		if used {
			ways++
		}
	}
	switch {
	case ways != 1:
		return refusal.Of(berth.ErrInvalid, "", "must name exactly one of nodes, domain and gpus")
	case len(r.Nodes) > bl.state.Config.Limits.Nodes:
		return refusal.Of(berth.ErrLimit, "nodes", fmt.Sprintf("%d exceed the limit of %d nodes, see Limits.Nodes", len(r.Nodes), bl.state.Config.Limits.Nodes))
	case len(r.Domain) > len(bl.state.Config.Levels):
		return refusal.Of(berth.ErrInvalid, "domain", fmt.Sprintf("%d names for %d levels", len(r.Domain), len(bl.state.Config.Levels)))
	case r.GPUs < 0 || r.GPUs > limits.MaxOrdinal*berth.MaxGPUs:
		return refusal.Of(berth.ErrInvalid, "gpus", fmt.Sprintf("%d is not a number of GPUs", r.GPUs))
	}
	for i, id := range r.Nodes {
		if err := refusal.Name(string(id)); err != nil {
			return refusal.In(err, errtext.Index("nodes", i))
		}
	}
	for i, name := range r.Domain {
		if err := refusal.Name(name); err != nil {
			return refusal.In(err, errtext.Index("domain", i))
		}
	}
	if _, err := bl.CheckLevel(r.Required); err != nil {
		return refusal.In(err, "required")
	}
	return refusal.In(spec.CheckSelector(&r.Selector), "selector")
}

// advanceName names the reservation of a reservation made in advance.
func advanceName(id berth.ReservationID) string { return "advance/" + string(id) }

// Advance returns the reservation of a reservation made in advance, or nil.
func (bl *Backlog) Advance(id berth.ReservationID) *record.Reservation {
	at, found := slices.BinarySearchFunc(bl.Reservations, advanceName(id), record.CompareReservationName)
	if !found {
		return nil
	}
	return bl.Reservations[at]
}

// ReservationSet makes or changes an advance reservation. A change that is refused leaves it as it
// was.
func (bl *Backlog) ReservationSet(e berth.ReservationSet) *berth.Error {
	r := e.Reservation
	if err := bl.checkReservation(&r); err != nil {
		return refusal.In(err, "reservation")
	}
	old := bl.Advance(r.ID)
	if old == nil && bl.advances() >= bl.state.Config.Limits.Reservations {
		return refusal.Of(berth.ErrLimit, "reservation", fmt.Sprintf("there are %d reservations, see Limits.Reservations", bl.state.Config.Limits.Reservations))
	}
	res := bl.advanceReservation(values.OccurrenceAt(bl.state.Now, cloneReservation(&r)))
	if r.GPUs > 0 {
		nodes, err := bl.pickNodes(&r, old)
		if err != nil {
			return refusal.In(err, "reservation")
		}
		res.Nodes = nodes
	}
	if !bl.MaySetAside(res.Nodes) {
		return refusal.Of(berth.ErrLimit, "reservation", fmt.Sprintf("the fleet has %d kinds of node already, with those set aside", limits.MaxKinds))
	}
	bl.replaceAdvance(old, res)
	return nil
}

// BeginDrains has the reservations begin to clear their nodes that are to by now, and returns them.
func (bl *Backlog) BeginDrains() (begun []*record.Reservation) {
	for _, res := range bl.Reservations {
		if bl.state.NextDrain(res) <= bl.state.Now {
			res.Draining = true
			bl.agenda.CountDraining(true)
			begun = append(begun, res)
		}
	}
	return begun
}

// replaceAdvance has an advance reservation take the place of another; nil: there is none.
func (bl *Backlog) replaceAdvance(old, res *record.Reservation) {
	if old != nil {
		bl.EndReservation(old)
	}
	for _, n := range res.Nodes {
		bl.EndGangReservationsOn(n) // its former owner plans anew, around this one
	}
	bl.AddReservation(res)
}

// Recur has a reservation that is over come back, if it does: its next occurrence takes its place,
// on the same nodes. No other need exist, as a job that is kept off until one begins is kept off
// those after it.
func (bl *Backlog) Recur(res *record.Reservation) bool {
	if !res.IsAdvance() || res.Advance.Every == 0 {
		return false
	}
	next := bl.advanceReservation(values.OccurrenceAt(bl.state.Now, *res.Advance))
	next.Nodes = slices.Clone(res.Nodes)
	next.Draining = next.Draining && res.Draining // else it begins with that, as any other
	bl.replaceAdvance(res, next)
	return true
}

// ReservationRemoved gives the nodes of an advance reservation back, whether or not it has begun.
func (bl *Backlog) ReservationRemoved(e berth.ReservationRemoved) *berth.Error {
	res := bl.Advance(e.Reservation)
	if res == nil {
		return refusal.Of(berth.ErrUnknown, "reservation", fmt.Sprintf("there is no reservation %q", errtext.Short(e.Reservation)))
	}
	bl.EndReservation(res)
	return nil
}

// advances counts the reservations made in advance.
func (bl *Backlog) advances() int {
	n := 0
	for _, res := range bl.Reservations {
		if res.IsAdvance() {
			n++
		}
	}
	return n
}

// advanceReservation is the reservation of a reservation. The nodes of one by number are not in
// it yet.
func (bl *Backlog) advanceReservation(r berth.Reservation) *record.Reservation {
	res := &record.Reservation{Kind: record.KindAdvance, Name: advanceName(r.ID), SpanPart: record.SpanPart{From: r.From, Until: r.Until}, Queue: quota.NoQueue, Advance: &r}
	if r.Queue != "" {
		res.Queue, _ = bl.state.Quota.Lookup(r.Queue)
	}
	res.Draining = bl.state.NextDrain(res) <= bl.state.Now
	if len(r.Domain) > 0 {
		res.Domains = [][]string{r.Domain}
		res.Nodes = bl.nodesOf(res.Domains)
	}
	for _, id := range r.Nodes {
		if n := bl.state.NodeByID[id]; n != nil {
			res.Nodes = append(res.Nodes, n)
		}
	}
	slices.SortFunc(res.Nodes, record.CompareNodes)
	res.Nodes = slices.Compact(res.Nodes)
	return res
}

// pickNodes chooses the nodes of a reservation by number: in the domain of the
// required level where enough are empty soonest, those that are empty soonest; ties by
// name. Nodes that take no work, or are set aside for others, are passed over.
func (bl *Backlog) pickNodes(r *berth.Reservation, old *record.Reservation) ([]*record.Node, *berth.Error) {
	tree := bl.state.Fleet.Tree()
	level, _ := tree.Level(r.Required)
	var best []*record.Node
	bestAt, most := agenda.Never, 0
	for _, members := range bl.placesOf(level) {
		nodes := bl.emptiest(r, old, members)
		gpus, at := 0, bl.state.Now
		for i, n := range nodes {
			gpus += len(n.node.Spec.GPUs)
			at = max(at, n.at)
			if gpus >= r.GPUs {
				if best == nil || at < bestAt {
					best, bestAt = best[:0], at
					for _, taken := range nodes[:i+1] {
						best = append(best, taken.node)
					}
				}
				break
			}
		}
		most = max(most, gpus)
	}
	if best == nil {
		return nil, refusal.Of(berth.ErrConflict, "gpus", fmt.Sprintf("no domain of level %[2]s has %[1]d GPUs on nodes that qualify: the most is %[3]d",
			r.GPUs, tree.LevelName(level), most))
	}
	slices.SortFunc(best, record.CompareNodes)
	return best, nil
}

// placesOf lists the nodes of each domain of a level, the domains by path; at the node
// level each node by itself.
func (bl *Backlog) placesOf(level topology.Level) [][]*record.Node {
	tree := bl.state.Fleet.Tree()
	var list [][]*record.Node
	var walk func(topology.DomainIndex)
	walk = func(d topology.DomainIndex) {
		if tree.DomainLevel(d) == level {
			list = append(list, bl.state.NodesBelow(d))
			return
		}
		for _, n := range tree.Nodes(d) { // of a narrowest domain, for the node level
			list = append(list, []*record.Node{bl.state.Nodes[n]})
		}
		for _, child := range tree.Children(d) {
			walk(child)
		}
	}
	walk(topology.RootDomain)
	return list
}

// A nodeAt is a node and when it is expected to be empty.
type nodeAt struct {
	node *record.Node
	at   berth.Time
}

// emptiest lists those of some nodes that qualify, the ones that are empty soonest first.
func (bl *Backlog) emptiest(r *berth.Reservation, old *record.Reservation, nodes []*record.Node) []nodeAt {
	var list []nodeAt
	group := berth.Group{Selector: r.Selector}
	labels := record.LabelsOf(&group)
	for _, n := range nodes {
		mine := len(n.Reservations) == 0 || len(n.Reservations) == 1 && n.Reservations[0] == old
		if n.Closed() || len(n.Spec.GPUs) == 0 || !mine ||
			!hardware.KeyOf(&n.Spec, n.LostMilli).Admits(&group) || !n.MatchesLabels(labels) {
			continue
		}
		at := bl.state.Now
		for _, m := range n.Members {
			at = max(at, bl.state.ExpectedEnd(m.Rep))
		}
		list = append(list, nodeAt{n, at})
	}
	slices.SortStableFunc(list, func(a, b nodeAt) int { return cmp.Compare(a.at, b.at) })
	return list
}

// cloneReservation returns a copy that shares no memory that the caller could change.
func cloneReservation(r *berth.Reservation) berth.Reservation {
	out := *r
	out.Nodes, out.Domain = slices.Clone(r.Nodes), slices.Clone(r.Domain)
	out.Selector = values.CloneSelector(r.Selector)
	return out
}

// CheckLevel finds a level by its name, and refuses one that the fleet does not have; "" is the
// fleet.
func (bl *Backlog) CheckLevel(name string) (topology.Level, *berth.Error) {
	if name == "" {
		return topology.LevelFleet, nil
	}
	level, ok := bl.state.Fleet.Tree().Level(name)
	if !ok {
		return 0, refusal.Of(berth.ErrUnknown, "", strconv.Quote(errtext.Short(name))+" is not a level of the fleet")
	}
	return level, nil
}
