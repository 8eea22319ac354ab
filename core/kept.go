package core

import (
	"slices"

	"github.com/berth-sched/berth/quota"
)

// Nodes that are on trial, and those that are kept as spares, are set aside by windows that
// are for no gang and have no end: the nodes come and go one by one. There is one window for
// all nodes on trial and one for the spares of each pool, so that they make few classes,
// however many nodes there are in them.

// newKept makes a window of nodes that are kept, without any, for whoever has its home.
func (c *Core) newKept(home **window, kind reservationKind, name string) {
	w := &window{kind: kind, home: home, name: name, spanPart: spanPart{beforeAll, never}, queue: quota.None}
	*home = w
	c.addWindow(w)
}

// keepIn sets a node aside in a window of nodes that are kept.
func (c *Core) keepIn(w *window, n *node) {
	if slices.Contains(w.nodes, n) {
		return
	}
	w.add(n)
	c.enclose(n, w)
	c.agenda.setAside()
}

// letOut takes a node out of such a window. What is free there is so for all others.
func (c *Core) letOut(w *window, n *node) {
	w.remove(n)
	c.openUp(n, w)
	c.agenda.grew(c.now)
	c.agenda.changed(c.now)
	c.dropEmpty([]*window{w})
}

// dropEmpty ends those of some windows that are of nodes that are kept, and have none.
func (c *Core) dropEmpty(list []*window) {
	for _, w := range list {
		if w.isKept() && len(w.nodes) == 0 {
			c.endWindow(w)
		}
	}
}
