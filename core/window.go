package core

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// A window sets nodes aside for a time. Its kind says for what; the table of the kinds, with
// all that differs between them, is that of reservationKind.
//
// Nodes in windows are kept apart by their hardware class, which names the windows:
// a search that may not use them does not see them, and costs nothing for it. One that
// may, because its job belongs there or ends in time, is given these classes as well,
// after it has failed without them.
type window struct {
	kind reservationKind
	// name is unique, and orders windows.
	name string
	spanPart
	// rep is the gang that the nodes are for, or nil.
	rep *replica
	// home is where the owner of a window of nodes that are kept has it; nil otherwise.
	home **window
	// preemption has where the members of the gang are planned, if they are.
	preemption *preemption
	// unmarked: what is kept for it of its quota is not counted just now.
	unmarked bool
	// queue whose jobs belong here, or quota.None.
	queue quota.Index
	// advance is the reservation, if it was made in advance.
	advance *berth.Reservation
	// domains are whole domains, or nodes, that belong to the window, by their paths:
	// nodes that join there do as well.
	domains [][]string
	// nodes in order of name.
	nodes []*node
}

const (
	// never is after all instants, beforeAll before them.
	never     berth.Time = 1<<63 - 1
	beforeAll berth.Time = -1 << 63
)

// outranks reports whether a replica that waits need not stand back for another that does.
// Within a queue it is of a higher class or, in the same class, of a higher priority, and
// not borrowed for where the other is owed to it.
// Between queues it is owed to its queue while the other would be borrowed for or, where
// they are alike in that, of a higher class: priorities say nothing there.
func (c *Core) outranks(a, b *replica) bool {
	x, y := &a.job.spec, &b.job.spec
	switch {
	case a.job.queue == b.job.queue:
		return compareRank(a, b) > 0 && (c.owed(a) || !c.owed(b))
	case c.owed(a):
		return x.Class > y.Class || !c.owed(b)
	}
	return x.Class > y.Class && !c.owed(b)
}

// owed reports whether a replica that waits would be within the guarantees of its queue with
// what it waits for.
func (c *Core) owed(rep *replica) bool {
	s := rep.job.shape
	if len(rep.entries) > 0 {
		s = rep.entries[0].bucket.shape // of one that grows, the rest of it
	}
	c.compile(s)
	asked := s.least
	if w := rep.room(); c.earmarked && w != nil && !w.unmarked {
		asked = quota.Charge{Product: quota.NoProduct} // it is charged already
	}
	return c.quota.Within(rep.job.queue, asked)
}

// overrun ends the reservations of gangs in whose stead a replica that ranks above them
// has just been placed: they have to be planned anew.
func (c *Core) overrun(rep *replica) {
	end := c.endIfPlaced(rep)
	for flat := range rep.members {
		if n := rep.members[flat].node; n == nil || len(n.windows) == 0 || rep.members[flat].state != memberBinding {
			continue
		} else if slices.ContainsFunc(n.windows, func(w *window) bool { return w.isReservation() && w.rep != rep && end > w.From }) {
			c.spoil(n)
		}
	}
}

// below reports whether a queue is another, or stands under it.
func (c *Core) below(q, ancestor quota.Index) bool {
	for q != quota.None && q != ancestor {
		q = c.quota.Parent(q)
	}
	return q == ancestor
}

// addWindow makes a window, and sets its nodes aside.
func (c *Core) addWindow(w *window) {
	at, _ := slices.BinarySearchFunc(c.windows, w.name, compareWindowName)
	c.windows = slices.Insert(c.windows, at, w)
	c.agenda.countWindows(1)
	for _, n := range w.nodes {
		c.enclose(n, w)
		if n.trust.Spare {
			c.agenda.wantSpares()
		}
	}
	c.agenda.setAside()
}

// openUp takes a window off a node.
func (c *Core) openUp(n *node, w *window) {
	i := slices.Index(n.windows, w)
	n.windows = slices.Delete(slices.Clone(n.windows), i, i+1)
	c.reclass(n)
	if c.agenda.placing {
		c.opened = append(c.opened, n)
	} else {
		c.reopened(n)
	}
}

func compareWindowName(w *window, name string) int { return strings.Compare(w.name, name) }

// enclose adds a window to those of a node.
func (c *Core) enclose(n *node, w *window) {
	n.windows = withWindow(n.windows, w)
	c.reclass(n)
}

// withWindow copies a list of windows and adds one, in order of name.
func withWindow(list []*window, w *window) []*window {
	at, _ := slices.BinarySearchFunc(list, w.name, compareWindowName)
	return slices.Insert(slices.Clone(list), at, w)
}

// reclass moves a node to the class that its windows put it in.
func (c *Core) reclass(n *node) {
	old := n.class
	n.class = c.classes.add(n.key(), n.table, n.windows)
	c.classes.drop(old)
	must(c.fleet.SetClass(n.index, topology.Class(n.class)))
}

// key is the class of a node with the windows it is in.
func (n *node) key() classKey {
	k := keyOf(&n.spec)
	k.fence = fenceOf(n.windows)
	return k
}

// fenceOf names a set of windows; "" is none.
func fenceOf(windows []*window) string {
	var b strings.Builder
	for _, w := range windows {
		b.WriteString(w.name)
		b.WriteByte(0)
	}
	return b.String()
}

// windowsAround lists the windows that a node belongs to by its name and place when
// it joins, in order of name.
func (c *Core) windowsAround(spec *berth.Node) []*window {
	var list []*window
	path := append(slices.Clone(spec.Domains), string(spec.ID))
	for _, w := range c.windows {
		named := w.isAdvance() && slices.Contains(w.advance.Nodes, spec.ID)
		inside := slices.ContainsFunc(w.domains, func(domain []string) bool {
			return len(domain) <= len(path) && slices.Equal(domain, path[:len(domain)])
		})
		if named || inside {
			list = append(list, w)
		}
	}
	return list
}

// room is where room is being made for a replica; nil: nowhere.
func (rep *replica) room() *window {
	if w := rep.reserved; w != nil && w.isPlanned() {
		return w
	}
	return nil
}

// add puts a node into the list of a window.
func (w *window) add(n *node) {
	at, _ := slices.BinarySearchFunc(w.nodes, n, compareNodes)
	w.nodes = slices.Insert(w.nodes, at, n)
}

// remove takes a node out of the list of a window.
func (w *window) remove(n *node) {
	at := slices.Index(w.nodes, n)
	w.nodes = slices.Delete(w.nodes, at, at+1)
}

// rejoin puts a node that left for a moment back into a window, unless it is there by
// its name or place.
func (c *Core) rejoin(w *window, n *node) {
	if !slices.Contains(n.windows, w) {
		w.add(n)
		c.enclose(n, w)
	}
}

// spoil ends the reservations and moves of gangs that count on a node which takes no work
// any more, or lost a GPU.
func (c *Core) spoil(n *node) {
	for _, w := range slices.Clone(n.windows) {
		if w.countsOnNodes() {
			c.endWindow(w)
		}
	}
}

// roomToSetAside reports whether there are classes left to set these nodes aside.
func (c *Core) roomToSetAside(nodes []*node) bool {
	kinds := map[classKey]bool{}
	for _, n := range nodes {
		kinds[n.key()] = true
	}
	return len(c.classes.byKey)+len(kinds) <= limits.MaxKinds
}

// nodesBelow lists the nodes at or below a domain, in order of name.
func (c *Core) nodesBelow(d topology.Domain) []*node {
	tree := c.fleet.Tree()
	var list []*node
	var walk func(topology.Domain)
	walk = func(d topology.Domain) {
		for _, i := range tree.Nodes(d) {
			list = append(list, c.nodes[i])
		}
		for _, child := range tree.Children(d) {
			walk(child)
		}
	}
	walk(d)
	slices.SortFunc(list, compareNodes)
	return list
}

// nodesOf lists the nodes of some domains, given by their paths, in order of name.
func (c *Core) nodesOf(domains [][]string) []*node {
	var list []*node
	for _, path := range domains {
		if len(path) > len(c.config.Levels) {
			if n := c.nodeByID[berth.NodeID(path[len(path)-1])]; n != nil && slices.Equal(n.spec.Domains, path[:len(path)-1]) {
				list = append(list, n)
			}
		} else if d, found := c.fleet.Tree().Lookup(path...); found {
			list = append(list, c.nodesBelow(d)...)
		}
	}
	slices.SortFunc(list, compareNodes)
	return list
}

func compareNodes(a, b *node) int { return cmp.Compare(a.spec.ID, b.spec.ID) }

// endWindows ends what is over.
func (c *Core) endWindows() {
	for i := 0; i < len(c.windows); {
		w := c.windows[i]
		if w.Until > c.now {
			i++
			continue
		}
		if w.isReservation() {
			c.totals.ReservationsExpired++
			c.postpone(w.rep)
			if w.isPlanned() {
				c.failBid(w.rep)
			}
		}
		c.endWindow(w)
	}
}

// nodeIDs lists the nodes of a window.
func (w *window) nodeIDs() []berth.NodeID {
	list := make([]berth.NodeID, len(w.nodes))
	for i, n := range w.nodes {
		list[i] = n.spec.ID
	}
	return list
}
