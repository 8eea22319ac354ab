package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// check refuses a reservation that makes no sense.
func (c *Core) checkReservation(r *berth.Reservation) *berth.Error {
	if r.Until <= c.now {
		return refusal.Of(berth.ErrInvalid, "until", fmt.Sprintf("%d is over: it is %d", r.Until, c.now))
	}
	if err := c.checkReservationQueue(r); err != nil {
		return err
	}
	return c.checkReserved(r)
}

func (c *Core) checkReservationQueue(r *berth.Reservation) *berth.Error {
	if _, known := c.quota.Lookup(string(r.Queue)); r.Queue != "" && !known {
		return refusal.Of(berth.ErrUnknown, "queue", fmt.Sprintf("there is no queue %q", r.Queue))
	}
	return nil
}

// checkReserved checks what does not depend on what there is.
func (c *Core) checkReserved(r *berth.Reservation) *berth.Error {
	if err := refusal.Name(string(r.ID)); err != nil {
		return refusal.In(err, "id")
	}
	if err := refusal.Text(r.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	if r.Until <= r.From {
		return refusal.Of(berth.ErrInvalid, "until", fmt.Sprintf("%d is not after from, %d", r.Until, r.From))
	}
	ways := 0
	for _, used := range []bool{len(r.Nodes) > 0, len(r.Domain) > 0, r.GPUs != 0} {
		if used {
			ways++
		}
	}
	switch {
	case ways != 1:
		return refusal.Of(berth.ErrInvalid, "", "names not exactly one of nodes, domain and gpus")
	case len(r.Nodes) > c.config.Limits.Nodes:
		return refusal.Of(berth.ErrLimit, "nodes", fmt.Sprintf("%d exceed the limit of %d nodes", len(r.Nodes), c.config.Limits.Nodes))
	case len(r.Domain) > len(c.config.Levels):
		return refusal.Of(berth.ErrInvalid, "domain", fmt.Sprintf("%d names for %d levels", len(r.Domain), len(c.config.Levels)))
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
	if _, err := c.checkLevel(r.Required); err != nil {
		return refusal.In(err, "required")
	}
	return refusal.In(r.Selector.Check(), "selector")
}

// advanceName names the window of a reservation made in advance.
func advanceName(id berth.ReservationID) string { return "advance/" + string(id) }

// advance returns the window of a reservation made in advance, or nil.
func (c *Core) advance(id berth.ReservationID) *window {
	at, found := slices.BinarySearchFunc(c.windows, advanceName(id), compareWindowName)
	if !found {
		return nil
	}
	return c.windows[at]
}

func (c *Core) reservationSet(e berth.ReservationSet) *berth.Error {
	r := e.Reservation
	if err := c.checkReservation(&r); err != nil {
		return refusal.In(err, "reservation")
	}
	old := c.advance(r.ID)
	if old == nil && c.advances() >= c.config.Limits.Reservations {
		return refusal.Of(berth.ErrLimit, "reservation", fmt.Sprintf("there are %d reservations", c.config.Limits.Reservations))
	}
	w := c.advanceWindow(cloneReservation(&r))
	if r.GPUs > 0 {
		nodes, err := c.pickNodes(&r, old)
		if err != nil {
			return refusal.In(err, "reservation")
		}
		w.nodes = nodes
	}
	if !c.roomToSetAside(w.nodes) {
		return refusal.Of(berth.ErrLimit, "reservation", fmt.Sprintf("the fleet has %d kinds of node already, with those set aside", limits.MaxKinds))
	}
	if old != nil {
		c.endWindow(old)
	}
	for _, n := range w.nodes {
		c.spoil(n) // whose it was plans anew, around this one
	}
	c.addWindow(w)
	return nil
}

func (c *Core) reservationRemoved(e berth.ReservationRemoved) *berth.Error {
	w := c.advance(e.Reservation)
	if w == nil {
		return refusal.Of(berth.ErrUnknown, "reservation", fmt.Sprintf("there is no reservation %q", e.Reservation))
	}
	c.endWindow(w)
	return nil
}

// advances counts the reservations made in advance.
func (c *Core) advances() int {
	n := 0
	for _, w := range c.windows {
		if w.isAdvance() {
			n++
		}
	}
	return n
}

// advanceWindow is the window of a reservation. The nodes of one by number are not in
// it yet.
func (c *Core) advanceWindow(r berth.Reservation) *window {
	w := &window{kind: kindAdvance, name: advanceName(r.ID), spanPart: spanPart{r.From, r.Until}, queue: quota.None, advance: &r}
	if r.Queue != "" {
		w.queue, _ = c.quota.Lookup(string(r.Queue))
	}
	if len(r.Domain) > 0 {
		w.domains = [][]string{r.Domain}
		w.nodes = c.nodesOf(w.domains)
	}
	for _, id := range r.Nodes {
		if n := c.nodeByID[id]; n != nil {
			w.nodes = append(w.nodes, n)
		}
	}
	slices.SortFunc(w.nodes, compareNodes)
	w.nodes = slices.Compact(w.nodes)
	return w
}

// pickNodes chooses the nodes of a reservation by number: in the domain of the
// required level where enough are empty soonest, those that are empty soonest; ties by
// name. Nodes that take no work, or are set aside for others, are passed over.
func (c *Core) pickNodes(r *berth.Reservation, old *window) ([]*node, *berth.Error) {
	tree := c.fleet.Tree()
	level, _ := tree.Level(r.Required)
	var best []*node
	bestAt, most := never, 0
	for _, members := range c.placesOf(level) {
		nodes := c.emptiest(r, old, members)
		gpus, at := 0, c.now
		for i, n := range nodes {
			gpus += len(n.node.spec.GPUs)
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
		return nil, refusal.Of(berth.ErrConflict, "gpus", fmt.Sprintf("%d are not to be had: the most that one %s has on nodes that qualify is %d",
			r.GPUs, tree.LevelName(level), most))
	}
	slices.SortFunc(best, compareNodes)
	return best, nil
}

// placesOf lists the nodes of each domain of a level, the domains by path; at the node
// level each node by itself.
func (c *Core) placesOf(level topology.Level) [][]*node {
	tree := c.fleet.Tree()
	var list [][]*node
	var walk func(topology.Domain)
	walk = func(d topology.Domain) {
		if tree.DomainLevel(d) == level {
			list = append(list, c.nodesBelow(d))
			return
		}
		for _, n := range tree.Nodes(d) { // of a narrowest domain, for the node level
			list = append(list, []*node{c.nodes[n]})
		}
		for _, child := range tree.Children(d) {
			walk(child)
		}
	}
	walk(topology.Root)
	return list
}

// A nodeAt is a node and when it is expected to be empty.
type nodeAt struct {
	node *node
	at   berth.Time
}

// emptiest lists those of some nodes that qualify, the ones that are empty soonest first.
func (c *Core) emptiest(r *berth.Reservation, old *window, nodes []*node) []nodeAt {
	var list []nodeAt
	group := berth.Group{Selector: r.Selector}
	labels := labelsOf(&group)
	for _, n := range nodes {
		mine := len(n.windows) == 0 || len(n.windows) == 1 && n.windows[0] == old
		if n.closed() || len(n.spec.GPUs) == 0 || !mine ||
			!keyOf(&n.spec).admits(&group) || !n.matchesLabels(labels) {
			continue
		}
		at := c.now
		for _, m := range n.members {
			at = max(at, c.expectedEnd(m.rep))
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
	out.Selector = r.Selector.Clone()
	return out
}

// reportReservations lists the windows that are reservations: those made in advance, then
// those of gangs in policy order.
func (c *Core) reportReservations() []berth.ReservationReport {
	var advance, gangs, moves []*window
	for _, w := range c.windows {
		switch {
		case w.isAdvance():
			advance = append(advance, w)
		case w.isReservation():
			gangs = append(gangs, w)
		case w.isMove():
			moves = append(moves, w)
		}
	}
	slices.SortFunc(gangs, func(a, b *window) int { return compareEntries(a.rep.entries[0], b.rep.entries[0]) })
	slices.SortFunc(moves, func(a, b *window) int { return compareReplicas(a.rep, b.rep) })
	var list []berth.ReservationReport
	for _, w := range slices.Concat(advance, gangs, moves) {
		list = append(list, c.reportWindow(w))
	}
	return list
}

func (c *Core) reportWindow(w *window) berth.ReservationReport {
	r := berth.ReservationReport{From: w.From, Until: w.Until, Nodes: w.nodeIDs(), Moving: w.isMove(), Partly: w.isPart()}
	if w.isAdvance() {
		r.ID = w.advance.ID
	} else {
		r.Job, r.Replica = w.rep.job.spec.ID, w.rep.Number
	}
	for _, n := range w.nodes {
		for _, m := range n.members {
			if !c.admits(w, m.rep, c.expectedEnd(m.rep)) {
				r.Conflicts = append(r.Conflicts, m.rep.job.spec.ID)
			}
		}
	}
	slices.Sort(r.Conflicts)
	r.Conflicts = slices.Compact(r.Conflicts)
	return r
}
