package gang

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/google/btree"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// A Fleet is what is free and what is held, node by node. Make one with NewFleet.
//
// Invariants, which Check verifies:
//  1. A GPU is held whole by one hold, or in part by shares of one owner, or not at
//     all. The shares of a GPU take no more than all of its compute and memory, and
//     are no more than a node allows. A divided GPU is held in instances alone, which
//     are a valid layout, and with Fixed a part of the one that exists. Beside the hold of
//     a GPU whole, or without one, there may be one of a borrower.
//  2. A node counts in the tree with the number of its healthy undivided GPUs that
//     nobody holds, no borrower either, or as taking no work if it is not schedulable.
//  3. The index of shared GPUs has exactly those that can take more: compute left, or
//     lent and without a borrower, healthy, on a schedulable node. So has the index of
//     divided GPUs.
//  4. What is in use of the host of a node is the sum over its holds.
type Fleet struct {
	tree  *topology.Tree
	nodes []nodeState // by topology.NodeIndex

	// shared has the shared GPUs that can take more, by class of their node.
	shared []*btree.BTreeG[shareKey]
	// divided has what is known of divided GPUs, by class of their node, and rankings
	// how the places of a lattice are weighed.
	divided  []divided
	rankings []ranking
	// walked is how many nodes a domain may have that is walked for instances; the answer
	// does not depend on it.
	walked int
	// many is more classes than a group may list and be searched a place on all of them, also on
	// those of which nothing is free; the answer does not depend on it.
	many int

	// demand for whole domains, by level.
	demand []int64
	// scoreMember and scoreDomains are the caller's own, or nil.
	scoreMember  func(g *Group, places []Place)
	scoreDomains func(r *Request, places []Place)

	census    census
	stocks    stocks
	losses    losses
	search    search
	footprint footprint
	// together: the tree is told later what is free on the nodes that are untold.
	together bool
	untold   []topology.NodeIndex
	// seen and epoch find doubled classes in a request.
	seen  []uint64
	epoch uint64
	// generations counts how often a class got its first node.
	generations uint64
}

// A NodeSpec describes a node that joins.
type NodeSpec struct {
	// Name, Path, Class and GPUs are as for topology.Tree.AddNode. Nodes of one
	// class should have GPUs that are alike. Once the class has no nodes any more, its
	// number may be given to others.
	Name  string
	Path  []string
	Class topology.NodeClass
	GPUs  int
	// GPUMemoryMiB is the memory of each GPU; zero where it is not known, and then
	// shares are given without regard to memory only if they name none.
	GPUMemoryMiB int64
	// Lattice says how each GPU of the node can be divided (see SetPartitioning); nil: it cannot.
	// Nodes of one class have the same one.
	Lattice *mig.Lattice
	// MaxShares is the most shares of one GPU at a time, such as the clients that MPS
	// allows. 0: as many as there are thousandths.
	MaxShares int
	// Host is what the host has for members.
	Host countable.Amounts
	// Declared is what the node has of the resources that the caller declared; nil: nothing.
	Declared *countable.Declared
}

// A nodeState is what is free and held on one node.
type nodeState struct {
	live        bool
	schedulable bool
	untold      bool // the tree has yet to be told what is free
	class       topology.NodeClass
	generation  uint64 // of the class
	gpuMemory   int64
	maxShares   int32
	holds       int32
	geometry    *geometry // nil: its GPUs cannot be divided
	host        countable.Amounts
	hostUsed    countable.Amounts // may exceed host after Resize and Adopt
	// declared is what it has and uses of declared resources; nil: nothing, as on most nodes. It
	// is replaced and never changed.
	declared *declaredOn
	healthy  uint64
	whole    uint64 // GPUs held whole
	shared   uint64 // GPUs held in part
	divided  uint64 // GPUs divided into instances
	seated   uint64 // GPUs of which instances are held
	lent     uint64 // GPUs that may have a borrower while they are held whole
	borrowed uint64 // GPUs that have one, held whole beside or not
	vacated  uint64 // GPUs of a holder that is imagined gone, and the borrower with it
	slots    []slot // one for each GPU
	choose   func(free uint64, k int) uint64
}

// A declaredOn is what a node has and uses of declared resources.
type declaredOn struct {
	has, used *countable.Declared
}

// declaredOf is nil where there is none.
func declaredOf(has, used *countable.Declared) *declaredOn {
	if has == nil && used == nil {
		return nil
	}
	return &declaredOn{has, used}
}

// declaredHas is what a node has of declared resources.
func (s *nodeState) declaredHas() *countable.Declared {
	if s.declared == nil {
		return nil
	}
	return s.declared.has
}

// declaredUsed is what members hold of that.
func (s *nodeState) declaredUsed() *countable.Declared {
	if s.declared == nil {
		return nil
	}
	return s.declared.used
}

// A slot is what is held of one GPU.
type slot struct {
	// The shares of the GPU: how many, of which tenant, and how much they add up to.
	shares int32
	milli  int32
	owner  Owner
	memory int64
	// How the GPU is divided, the instances that exist if that is Fixed, and those that
	// are held.
	division    Partitioning
	exist, held mig.State
	// The hold whose lowest GPU this is, if it holds whole GPUs. It makes a release
	// of something else recognisable.
	hold uint64
	host countable.Amounts
	// loans are what is lent of the GPU, and borrowed; nil: nothing. They are never changed, and so
	// shared by copies.
	loans *loans
}

// NewFleet returns a fleet without nodes over the levels of a topology, as for
// topology.NewTree, whose errors it returns.
func NewFleet(levels ...string) (*Fleet, error) {
	tree, err := topology.NewTree(levels...)
	if err != nil {
		return nil, err
	}
	f := &Fleet{tree: tree, walked: maxCompared, many: manyClasses, demand: make([]int64, tree.NodeLevel()+1)}
	f.search.bind(f)
	return f, nil
}

// Tree returns the topology with its counts. It is for reading: the fleet alone
// changes it.
func (f *Fleet) Tree() *topology.Tree { return f.tree }

// AddNode adds a node: schedulable, its GPUs healthy and undivided, nothing held. The
// errors are those of topology.Tree.AddNode, and ErrInvalid for amounts out of range and
// for another lattice than that of the nodes of the class. The first node of a lattice
// makes tables from it: some milliseconds for the largest.
func (f *Fleet) AddNode(s NodeSpec) (topology.NodeIndex, error) {
	if err := checkAmount(s.Name, "gpuMemoryMiB", s.GPUMemoryMiB); err != nil {
		return -1, err
	}
	if err := checkHost(s.Name, s.Host, s.Declared); err != nil {
		return -1, err
	}
	if s.MaxShares < 0 {
		return -1, &Error{Node: s.Name, Field: "maxShares", Reason: fmt.Sprintf("%d is negative", s.MaxShares), Kind: ErrInvalid}
	}
	if err := f.checkLattice(s.Name, s.Class, s.Lattice); err != nil {
		return -1, err
	}
	n, err := f.tree.AddNode(s.Name, s.Path, s.Class, s.GPUs)
	if err != nil {
		return -1, err
	}
	for int(n) >= len(f.nodes) {
		f.nodes = append(f.nodes, nodeState{})
		f.census.of = append(f.census.of, residence{condition: -1})
		f.stocks.of = append(f.stocks.of, stocked{stock: -1})
	}
	f.ensureClass(s.Class)
	generation, geometry := f.join(s.Class, s.Lattice)
	f.nodes[n] = nodeState{
		live: true, schedulable: true, class: s.Class, generation: generation, gpuMemory: s.GPUMemoryMiB,
		maxShares: int32(min(s.MaxShares, math.MaxInt32)), geometry: geometry,
		host: s.Host, declared: declaredOf(s.Declared, nil), healthy: lowMask(s.GPUs), slots: make([]slot, s.GPUs),
	}
	f.recount(n)
	f.touch(n)
	return n, nil
}

// RemoveNode removes a node on which nothing is held (ErrUnknown, ErrInUse).
func (f *Fleet) RemoveNode(n topology.NodeIndex) error {
	if err := f.checkNode(n); err != nil {
		return err
	}
	if f.nodes[n].holds > 0 {
		return &Error{
			Node: f.tree.NodeName(n), Field: "node", Kind: ErrInUse,
			Reason: fmt.Sprintf("%d members hold something there", f.nodes[n].holds),
		}
	}
	for gpus := f.nodes[n].divided; gpus != 0; gpus &= gpus - 1 {
		f.unindex(n, bits.TrailingZeros64(gpus)) // while it still has a name
	}
	if err := f.tree.RemoveNode(n); err != nil {
		return err
	}
	f.uncount(n)
	f.stocks.note(n)
	f.divided[f.nodes[n].class].nodes--
	f.nodes[n] = nodeState{}
	return nil
}

// SetHost changes what the host of a node has for members. It may be less than what is
// held there; nothing more goes there then until enough is released. Refusals:
// ErrUnknown, ErrInvalid.
func (f *Fleet) SetHost(n topology.NodeIndex, has countable.Amounts) error {
	if err := f.checkNode(n); err != nil {
		return err
	}
	if err := checkHost(f.tree.NodeName(n), has, nil); err != nil {
		return err
	}
	f.nodes[n].host = has
	f.touch(n)
	return nil
}

// SetDeclared is SetHost for declared resources.
func (f *Fleet) SetDeclared(n topology.NodeIndex, has *countable.Declared) error {
	if err := f.checkNode(n); err != nil {
		return err
	}
	if err := checkHost(f.tree.NodeName(n), countable.Amounts{}, has); err != nil {
		return err
	}
	f.nodes[n].declared = declaredOf(has, f.nodes[n].declaredUsed())
	f.touch(n)
	return nil
}

// SetClass moves a node to another hardware class with the same number of GPUs,
// whatever is held there. The errors are those of topology.Tree.SetClass, ErrUnknown, and
// ErrInvalid where the nodes of that class have another lattice. O(levels log nodes), and
// O(log GPUs) for each GPU of the node that is shared or divided.
func (f *Fleet) SetClass(n topology.NodeIndex, class topology.NodeClass) error {
	if err := f.checkNode(n); err != nil {
		return err
	}
	state := &f.nodes[n]
	if class == state.class {
		return nil
	}
	f.touch(n)
	if err := f.checkLattice(f.tree.NodeName(n), class, state.geometry.of()); err != nil {
		return err
	}
	if err := f.tree.SetClass(n, class); err != nil {
		return err
	}
	f.ensureClass(class)
	for gpus := state.shared | state.divided | state.lent; gpus != 0; gpus &= gpus - 1 {
		f.unindex(n, bits.TrailingZeros64(gpus))
	}
	f.divided[state.class].nodes--
	state.class = class
	state.generation, state.geometry = f.join(class, state.geometry.of())
	for gpus := state.shared | state.divided | state.lent; gpus != 0; gpus &= gpus - 1 {
		f.index(n, bits.TrailingZeros64(gpus))
	}
	return nil
}

// SetChooser says which k of the free GPUs of a node a member with k whole GPUs gets,
// free having k bits or more: the ones with the fastest paths between them, say. The
// function must be pure: the same answer to the same question. An answer that is not
// k of the free GPUs is passed over for the lowest k, and so is the function for an
// aligned group, whose rails decide. nil: the lowest. A node that is not there is
// passed over.
func (f *Fleet) SetChooser(n topology.NodeIndex, choose func(free uint64, k int) uint64) {
	if f.checkNode(n) == nil {
		f.nodes[n].choose = choose
	}
}

// choice is which k of its free GPUs a node gives.
func (s *nodeState) choice(k int) uint64 {
	free := s.free()
	if s.choose != nil {
		if got := s.choose(free, k); got&^free == 0 && bits.OnesCount64(got) == k {
			return got
		}
	}
	return lowest(free, k)
}

// SetSchedulable says whether a node takes work. What it holds stays. A node that
// is not there is passed over.
func (f *Fleet) SetSchedulable(n topology.NodeIndex, ok bool) {
	if f.checkNode(n) != nil || f.nodes[n].schedulable == ok {
		return
	}
	state := &f.nodes[n]
	for gpus := state.shared | state.divided | state.lent; gpus != 0; gpus &= gpus - 1 {
		f.unindex(n, bits.TrailingZeros64(gpus))
	}
	state.schedulable = ok
	f.touch(n)
	for gpus := state.shared | state.divided | state.lent; gpus != 0; gpus &= gpus - 1 {
		f.index(n, bits.TrailingZeros64(gpus))
	}
	f.recount(n)
}

// Schedulable reports whether a node takes work.
func (f *Fleet) Schedulable(n topology.NodeIndex) bool {
	return f.checkNode(n) == nil && f.nodes[n].schedulable
}

// SetHealthy says whether a GPU works. A failed GPU is not free: if it is held, it
// stays so until it is released. A GPU that is not there is passed over.
func (f *Fleet) SetHealthy(n topology.NodeIndex, gpu int, ok bool) {
	if f.checkNode(n) != nil || gpu < 0 || gpu >= len(f.nodes[n].slots) {
		return
	}
	state, bit := &f.nodes[n], uint64(1)<<gpu
	f.touch(n)
	f.unindex(n, gpu)
	state.healthy &^= bit
	if ok {
		state.healthy |= bit
	}
	f.index(n, gpu)
	f.recount(n)
}

// Healthy reports whether a GPU is there and works.
func (f *Fleet) Healthy(n topology.NodeIndex, gpu int) bool {
	return f.checkNode(n) == nil && gpu >= 0 && gpu < len(f.nodes[n].slots) && f.nodes[n].healthy>>gpu&1 == 1
}

// FreeMask returns the GPUs of a node that are healthy and not divided, and of which
// nothing is held, bit i for GPU i, whether or not the node takes work.
func (f *Fleet) FreeMask(n topology.NodeIndex) uint64 {
	if f.checkNode(n) != nil {
		return 0
	}
	return f.nodes[n].free()
}

// Taken reports whether all GPUs of a node are held whole or in shares, so that none of them can be
// divided otherwise. A node without GPUs is, and one that is not there.
func (f *Fleet) Taken(n topology.NodeIndex) bool {
	if f.checkNode(n) != nil {
		return true
	}
	state := &f.nodes[n]
	return state.occupied()|state.shared == lowMask(len(state.slots))
}

// Sound reports whether all GPUs of a node take newcomers, as far as their health says.
func (f *Fleet) Sound(n topology.NodeIndex) bool {
	return f.checkNode(n) == nil && f.nodes[n].healthy == lowMask(len(f.nodes[n].slots))
}

// Idle reports whether all GPUs of a node are free: healthy, undivided and held by nobody.
func (f *Fleet) Idle(n topology.NodeIndex) bool {
	return f.Sound(n) && f.nodes[n].free() == f.nodes[n].healthy
}

// Plain counts the GPUs of a node that are free, and those that are held whole; false: it has
// others beside them, failed, shared or divided, or is not there.
func (f *Fleet) Plain(n topology.NodeIndex) (free, whole int, ok bool) {
	if !f.Sound(n) || !f.nodes[n].plain() {
		return 0, 0, false
	}
	return bits.OnesCount64(f.nodes[n].free()), bits.OnesCount64(f.nodes[n].whole), true
}

// HostFree returns what the host of a node has left for members. It is negative where more
// is held than there is.
func (f *Fleet) HostFree(n topology.NodeIndex) countable.Amounts {
	if f.checkNode(n) != nil {
		return countable.Amounts{}
	}
	return f.nodes[n].hostFree()
}

func (s *nodeState) hostFree() countable.Amounts { return s.host.Minus(s.hostUsed) }

// DeclaredFree is HostFree for declared resources.
func (f *Fleet) DeclaredFree(n topology.NodeIndex) *countable.Declared {
	if f.checkNode(n) != nil {
		return nil
	}
	return f.nodes[n].declaredFree()
}

func (s *nodeState) declaredFree() *countable.Declared {
	return s.declaredHas().Minus(s.declaredUsed())
}

// ShareLeft returns what is left of a GPU for shares: compute in thousandths and memory in
// MiB. All of it where nobody holds the GPU, nothing where it is held whole, is divided, has
// failed or is not there. It has no regard to NodeSpec.MaxShares.
func (f *Fleet) ShareLeft(n topology.NodeIndex, gpu int) (milli int32, memoryMiB int64) {
	if f.checkNode(n) != nil || gpu < 0 || gpu >= len(f.nodes[n].slots) {
		return 0, 0
	}
	state := &f.nodes[n]
	if bit := uint64(1) << gpu; (state.occupied()|state.divided)&bit != 0 || state.healthy&bit == 0 {
		return 0, 0
	}
	return wholeMilli - state.slots[gpu].milli, state.gpuMemory - state.slots[gpu].memory
}

// AppendLeft appends what ShareLeft says of the compute of each GPU of a node.
func (f *Fleet) AppendLeft(into []int32, n topology.NodeIndex) []int32 {
	if f.checkNode(n) != nil {
		return into
	}
	state := &f.nodes[n]
	out := state.occupied() | state.divided | ^state.healthy
	for gpu := range state.slots {
		left := int32(wholeMilli)
		switch bit := uint64(1) << gpu; {
		case out&bit != 0:
			left = 0
		case state.shared&bit != 0:
			left -= state.slots[gpu].milli
		}
		into = append(into, left)
	}
	return into
}

// free is the set of healthy undivided GPUs that nobody holds.
func (s *nodeState) free() uint64 { return s.healthy &^ (s.occupied() | s.shared | s.divided) }

// Together has a function change what is held on nodes, and the tree told of each node once, when
// it returns. Until then the tree is as it was, so the function searches nothing.
func (f *Fleet) Together(change func()) {
	f.together = true
	change()
	f.together = false
	for _, n := range f.untold {
		f.nodes[n].untold = false
		f.recount(n)
	}
	f.untold = f.untold[:0]
}

// recount tells the tree what a node has free, at once or with what changes together with it.
func (f *Fleet) recount(n topology.NodeIndex) {
	state := &f.nodes[n]
	if f.together {
		if !state.untold {
			state.untold = true
			f.untold = append(f.untold, n)
		}
		return
	}
	if !state.schedulable {
		f.tree.SetFree(n, -1)
		return
	}
	f.tree.SetFree(n, bits.OnesCount64(state.free()))
}

// checkNode refuses a node that is not there.
func (f *Fleet) checkNode(n topology.NodeIndex) error {
	if n < 0 || int(n) >= len(f.nodes) || !f.nodes[n].live {
		return &Error{Field: "node", Reason: fmt.Sprintf("there is no node with index %d", n), Kind: ErrUnknown}
	}
	return nil
}

// checkHost refuses amounts of a host out of range.
func checkHost(node string, has countable.Amounts, declared *countable.Declared) error {
	for r, amount := range has {
		if err := checkAmount(node, countable.Resource(r).Field(), amount); err != nil {
			return err
		}
	}
	if i := outOfRange(declared); i >= 0 {
		return checkAmount(node, declaredField(i), declared[i])
	}
	return nil
}

func checkAmount(node, field string, amount int64) error {
	if amount < 0 || amount > MaxAmount {
		return &Error{
			Node: node, Field: field, Kind: ErrInvalid,
			Reason: fmt.Sprintf("%d is not within 0 and %d", amount, int64(MaxAmount)),
		}
	}
	return nil
}

// lowMask is the set of the n lowest GPUs.
func lowMask(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// lowest returns the n lowest GPUs of a set that has as many.
func lowest(gpus uint64, n int) uint64 {
	rest := gpus
	for range n {
		rest &= rest - 1
	}
	return gpus &^ rest
}
