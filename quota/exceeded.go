package quota

// An Excess is a resource of which a queue uses more than it may.
type Excess struct {
	Resource Resource
	// Most is what the queue may use: its limit or, if that is less, what it is guaranteed and may
	// borrow together. Used is what it and those below it use.
	Most, Used int64
	id         resourceID
}

// Of is what a charge takes of the resource. A product must be one of the tree that told the
// excess.
func (e *Excess) Of(c Charge) int64 {
	var buffer [maxParts]part
	parts := c.split(&buffer)
	for k := range parts {
		if parts[k].resource == e.id && parts[k].amount > 0 {
			return parts[k].amount
		}
	}
	return 0
}

// Exceeded lists the resources of which queue i uses more than its Limit and its BorrowingLimit
// allow: GPUs, the resources of hosts, those declared, then products, in the order in which the
// tree came to know them. Charges are made whatever the limits, so that a queue exceeds one that
// is lowered, or is charged for what is seen to run. What a queue may use by shares is left out: a
// fleet that shrinks brings nothing beyond a limit. The list is in the buffer, if that is large
// enough, and empty for the root and for what is no queue. O(resources of the queue).
func (t *Tree) Exceeded(buffer []Excess, i QueueIndex) []Excess {
	list := buffer[:0]
	if i == RootQueue || !t.live(i) {
		return list
	}
	add := func(a *account) {
		if most := a.ceiling(); most != unset && a.used > most && !a.moves() {
			list = append(list, Excess{Resource: t.names[a.resource], Most: most, Used: a.used, id: a.resource})
		}
	}
	n := &t.nodes[i]
	for r := range n.host {
		add(&n.host[r])
	}
	for k := range n.sparse {
		add(&n.sparse[k])
	}
	return list
}
