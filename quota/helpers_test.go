package quota

// withheldFrom returns how much of r is free for queue i and those below it alone.
func (t *Tree) withheldFrom(i QueueIndex, r Resource) int64 { return t.statement(i, r).kept }

// activateUnknown is SetNext for a leaf of which it is not known what it would be served
// next: it stands where it would with the least of jobs. What is no leaf, or active
// already, stays as it is. Cost as of SetNext.
func (t *Tree) activateUnknown(i QueueIndex) {
	if t.Leaf(i) && !t.nodes[i].active {
		t.activate(i)
	}
}
