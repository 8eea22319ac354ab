package quota

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/pq"
)

// An QueueIndex stands for a queue of one tree. Indexes are dense; that of a removed
// queue is given to a later one. No decision depends on them.
type QueueIndex int32

const (
	// RootQueue is above all queues. It has no name, no guarantee and no limit.
	RootQueue QueueIndex = 0
	// NoQueue is no queue: what is above the root.
	NoQueue QueueIndex = -1
)

// A Tree is the queues, what they are promised and denied, what they use and
// which of them wait to be served. It is a plain value machine: not safe for
// concurrent use, and equal calls give equal answers.
//
// Invariants, which Check verifies:
//  1. Names are unique, and every queue but the root has a parent in the tree.
//  2. What a queue uses is the sum of what its children use; nothing is negative.
//  3. What a queue is guaranteed is at least the sum of what its children are, and
//     at most its limit.
//  4. Members, usage of their own and the wish to be served are at leaves alone.
//  5. A queue's heap holds those children that are active leaves or have an active
//     leaf below them, in heap order, and each child knows its position.
//  6. The products are those that are retained, stated by a queue or in use, and
//     the last index is that of one.
type Tree struct {
	nodes       []node
	byName      map[QueueID]QueueIndex
	free        []QueueIndex // removed queues, the last removed last
	products    []product
	byProduct   map[string]ProductIndex
	declared    countable.Register
	names       []Resource // of the resource IDs, so that a Verdict need not build one; "" where free
	maxProducts int        // MaxProducts, and less in tests
	version     uint64     // of all but usage, so that a Shares knows when it is stale
	births      uint64     // queues that there have been
	decay       decay
	order       []QueueIndex // see topDown
	// fleet is what SetFleet was told, and moved of which of that shares are to follow yet. sharers
	// counts the queues that state a share of a resource. followed: an amount is another since
	// FollowFleet was asked.
	fleet    Amounts
	moved    []Resource
	sharers  map[Resource]int
	followed bool
	scratch  []QueueIndex
}

// The fields by which a queue is put in order come first, side by side: most of the cost of that is
// to load them.
type node struct {
	parent   QueueIndex
	position int32 // in the parent's heap, or -1
	live     bool
	active   bool         // a leaf that wants to be served
	birth    uint64       // tells it from the queues that had its index before
	asks     int64        // what SetNext said of an active leaf, in thousandths of a GPU
	turn     turn         // good while the queue is in a heap
	weight   int64        // config.Weight with its default
	below    []QueueIndex // the queues that have this one as parent: priority, then name
	host     [firstDeclared]account
	config   Queue
	heap     pq.Heap[QueueIndex] // of the children to be served, see order.go
	history  history             // see decay.go
	members  int64               // jobs that name this queue
	// nonPreemptible is what a leaf uses of GPUs that is never reclaimed.
	nonPreemptible int64
	sparse         []account // of the declared resources and products that matter here, by resource ID
}

// NewTree returns a tree without queues.
func NewTree() *Tree {
	t := &Tree{
		byName:      map[QueueID]QueueIndex{},
		byProduct:   map[string]ProductIndex{},
		names:       []Resource{GPUMilli},
		maxProducts: MaxProducts,
	}
	for r := range countable.Resource(countable.NumResources) {
		t.names = append(t.names, HostOf(r))
	}
	t.names = append(t.names, make([]Resource, countable.MaxDeclared)...)
	t.nodes = append(t.nodes, t.newNode(NoQueue))
	return t
}

// Declare has an empty tree count further resources, by the names under which queues state them and
// at the numbers under which charges have them. It refuses what [countable.Register.Check] does
// (ErrInvalid), and a tree that has queues or declared resources (ErrInUse).
func (t *Tree) Declare(declared countable.Register) error {
	if index, field, reason := declared.Check(); reason != "" {
		return &Error{Field: fmt.Sprintf("declared[%d].%s", index, field), Reason: reason, Kind: ErrInvalid}
	}
	if len(t.nodes) > 1 || len(t.declared) > 0 {
		return &Error{Field: "declared", Reason: "the tree has queues, or resources that were declared before", Kind: ErrInUse}
	}
	t.declared = slices.Clone(declared)
	for i := range declared {
		t.names[declaredID(i)] = Resource(declared[i].Name)
	}
	return nil
}

func (t *Tree) newNode(parent QueueIndex) node {
	n := node{parent: parent, position: -1, live: true, weight: 1, heap: t.newHeap(), history: history{tilt: fullTilt}}
	for r := range n.host {
		n.host[r] = emptyAccount(resourceID(r))
	}
	return n
}

// Set creates a queue, or changes the one of that name. Names must be valid and
// amounts within 0 and MaxAmount (ErrInvalid), the parent known (ErrUnknown) and,
// for a new queue, without jobs or usage of its own (ErrInUse). A queue cannot be
// moved below another parent (ErrUnsupported).
//
// Guarantees must add up, resource by resource: what a queue is guaranteed is at
// least the sum of what its children are guaranteed, and at most its own limit
// (ErrInvalid); where they are shares, whatever the fleet has: see [Queue]. A limit
// below what is used is fine. A queue that would bring the
// products that are retained, configured or in use above MaxProducts is refused
// (ErrLimit).
//
// O(resources x depth), and O(products) for each product that is new to the tree.
func (t *Tree) Set(q Queue) (QueueIndex, error) {
	if err := q.check(t); err != nil {
		return NoQueue, err
	}
	parent, ok := t.lookupParent(q.Parent)
	if !ok {
		return NoQueue, q.refuse(ErrUnknown, "parent", fmt.Sprintf("no queue is named %q", errtext.Short(q.Parent)))
	}
	i, exists := t.byName[q.Name]
	switch {
	case !exists:
		if err := t.checkNew(&q, parent); err != nil {
			return NoQueue, err
		}
		i = NoQueue
	case t.nodes[i].parent != parent:
		return NoQueue, q.refuse(ErrUnsupported, "parent", fmt.Sprintf("moves the queue from %q to %q", errtext.Short(t.nodes[i].config.Parent), errtext.Short(q.Parent)))
	}
	t.followMoved() // shares of one whole are of the same amount of it
	if err := t.checkShares(&q, i, parent); err != nil {
		return NoQueue, err
	}
	if err := t.checkPromises(&q, i, parent); err != nil {
		return NoQueue, err
	}
	if err := t.checkProducts(&q, i); err != nil {
		return NoQueue, err
	}
	if !exists {
		i = t.add(q.Name, parent)
	}
	t.apply(&q, i)
	return i, nil
}

// checkNew refuses a new queue below a parent that cannot take one.
func (t *Tree) checkNew(q *Queue, parent QueueIndex) *Error {
	p := &t.nodes[parent]
	switch {
	case len(t.byName) >= MaxQueues:
		return q.refuse(ErrInvalid, "", fmt.Sprintf("the tree has %d queues, the most there may be", MaxQueues))
	case p.members > 0:
		return q.refuse(ErrInUse, "parent", fmt.Sprintf("%q has jobs of its own: %d", errtext.Short(q.Parent), p.members))
	case len(p.below) == 0 && p.used():
		return q.refuse(ErrInUse, "parent", fmt.Sprintf("%q has usage of its own", errtext.Short(q.Parent)))
	}
	return nil
}

// lookupParent is Lookup with the root under its empty name.
func (t *Tree) lookupParent(name QueueID) (QueueIndex, bool) {
	if name == "" {
		return RootQueue, true
	}
	i, ok := t.byName[name]
	return i, ok
}

// add makes a queue without any quota.
func (t *Tree) add(name QueueID, parent QueueIndex) QueueIndex {
	// A parent that wanted to be served as a leaf has no jobs (see checkNew), so
	// there is nothing to serve; an inner queue is active through its children.
	t.Deactivate(parent)
	var i QueueIndex
	if last := len(t.free) - 1; last >= 0 {
		i = t.free[last]
		t.free = t.free[:last]
		t.nodes[i] = t.newNode(parent)
	} else {
		i = QueueIndex(len(t.nodes))
		t.nodes = append(t.nodes, t.newNode(parent))
	}
	t.births++
	t.byName[name], t.nodes[i].birth = i, t.births
	t.nodes[i].config.Name = name
	t.insert(i)
	t.version++
	return i
}

// compareSiblings is the order of the children of one queue: the higher priority,
// then the name.
func (t *Tree) compareSiblings(i, j QueueIndex) int {
	a, b := &t.nodes[i].config, &t.nodes[j].config
	if c := cmp.Compare(b.Priority, a.Priority); c != 0 {
		return c
	}
	return cmp.Compare(a.Name, b.Name)
}

// insert puts i in its place among its siblings. O(siblings), a move of memory.
func (t *Tree) insert(i QueueIndex) {
	p := &t.nodes[t.nodes[i].parent]
	at, _ := slices.BinarySearchFunc(p.below, i, t.compareSiblings)
	p.below = slices.Insert(p.below, at, i)
	t.order = t.order[:0]
}

// withdraw takes i from among its siblings. The order need not hold for it.
func (t *Tree) withdraw(i QueueIndex) {
	p := &t.nodes[t.nodes[i].parent]
	at := slices.Index(p.below, i)
	p.below = slices.Delete(p.below, at, at+1)
	t.order = t.order[:0]
}

// resort puts i in its place after its priority has changed.
func (t *Tree) resort(i QueueIndex) {
	t.withdraw(i)
	t.insert(i)
}

// Remove takes a queue out of the tree: a leaf without jobs and without usage
// (ErrInUse), which the tree has (ErrUnknown). O(depth log children).
func (t *Tree) Remove(name QueueID) error {
	i, ok := t.byName[name]
	if !ok {
		return &Error{Queue: name, Reason: "no queue has this name", Kind: ErrUnknown}
	}
	n := &t.nodes[i]
	switch {
	case len(n.below) > 0:
		return &Error{Queue: name, Reason: fmt.Sprintf("has queues below it: %d", len(n.below)), Kind: ErrInUse}
	case n.members > 0:
		return &Error{Queue: name, Reason: fmt.Sprintf("has jobs: %d", n.members), Kind: ErrInUse}
	case n.used():
		return &Error{Queue: name, Reason: "has usage", Kind: ErrInUse}
	}
	t.Deactivate(i)
	t.apply(&Queue{Name: name, Parent: n.config.Parent}, i) // takes its guarantees from those above
	t.withdraw(i)
	t.nodes[i] = node{parent: NoQueue, position: -1}
	t.free = append(t.free, i)
	delete(t.byName, name)
	return nil
}

// Retain notes one more job that names queue i, which must be a leaf
// (ErrInvalid) of the tree (ErrUnknown). While a queue has jobs it can neither be
// removed nor get queues below it.
func (t *Tree) Retain(i QueueIndex) error {
	if err := t.checkLeaf(i); err != nil {
		return err
	}
	t.nodes[i].members++
	return nil
}

// Release takes one Retain back. It is refused where there is none (ErrInvalid).
func (t *Tree) Release(i QueueIndex) error {
	if err := t.checkLeaf(i); err != nil {
		return err
	}
	n := &t.nodes[i]
	if n.members == 0 {
		return &Error{Queue: n.config.Name, Reason: "has no jobs", Kind: ErrInvalid}
	}
	n.members--
	return nil
}

// checkLeaf refuses what is not a leaf. It returns an error, not an *Error, so
// that its callers can pass it on as it is.
func (t *Tree) checkLeaf(i QueueIndex) error {
	switch {
	case !t.live(i):
		return &Error{Reason: fmt.Sprintf("no queue has the index %d", i), Kind: ErrUnknown}
	case !t.Leaf(i):
		return &Error{Queue: t.nodes[i].config.Name, Reason: "is not a leaf: jobs go to queues without queues below them", Kind: ErrInvalid}
	}
	return nil
}

// Lookup finds a queue by its name. The root has none.
func (t *Tree) Lookup(name QueueID) (QueueIndex, bool) {
	i, ok := t.byName[name]
	if !ok {
		return NoQueue, false
	}
	return i, true
}

// Name returns the name of a queue, empty for the root and for what is no queue.
func (t *Tree) Name(i QueueIndex) QueueID {
	if !t.live(i) {
		return ""
	}
	return t.nodes[i].config.Name
}

// Config returns a copy of what Set was given, with empty Amounts as nil.
func (t *Tree) Config(i QueueIndex) Queue {
	if !t.live(i) {
		return Queue{}
	}
	return t.nodes[i].config.clone()
}

// Parent returns the queue above i: Root for the topmost, None for the root and
// for what is no queue.
func (t *Tree) Parent(i QueueIndex) QueueIndex {
	if !t.live(i) {
		return NoQueue
	}
	return t.nodes[i].parent
}

// Leaf reports whether i is a queue without queues below it. The root is none.
func (t *Tree) Leaf(i QueueIndex) bool {
	return i != RootQueue && t.live(i) && len(t.nodes[i].below) == 0
}

// Len returns the number of queues, not counting the root.
func (t *Tree) Len() int { return len(t.byName) }

// Queues returns the names of all queues in byte order. O(n log n).
func (t *Tree) Queues() []QueueID { return slices.Sorted(maps.Keys(t.byName)) }

func (t *Tree) live(i QueueIndex) bool { return i >= 0 && int(i) < len(t.nodes) && t.nodes[i].live }
