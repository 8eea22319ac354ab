package gang

import (
	"cmp"
	"encoding/binary"
	"math/bits"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

// A Stock is what is left on each of the nodes that are alike where room is looked for: those of
// one class with as much left of the host, and of each GPU.
type Stock struct {
	// Class of the nodes.
	Class topology.NodeClass
	// Left of each GPU in thousandths, in ascending order: 1000 where it is free, 0 where it is
	// held whole, is divided, has failed, or takes no more shares.
	Left []int16
	// Host is what the host has left.
	Host countable.Amounts
	// Declared is what is left of declared resources; nil: nothing.
	Declared *countable.Declared
	// Tag is the caller's: nil in a new stock. It is left as it is while there are nodes like that,
	// and no longer than the class has nodes.
	Tag any

	generation uint64 // of the class
	key        string
	birth      uint32 // tells it from what had its number before
	nodes      []topology.NodeIndex
}

// Nodes is how many nodes have this left.
func (s *Stock) Nodes() int { return len(s.nodes) }

// stocks are the nodes that take work, by what they have left.
//
// A node that changes is only noted, and counted anew when somebody asks: what that costs is
// proportional to what changed since.
//
// Invariants, which Check verifies:
//  1. A node that takes work is in the stock that its state comes to, or is stale; others are in
//     none.
//  2. Lists has the numbers of the stocks with nodes, by class.
//  3. No stock has the key of another. A key has the generation of the class, and not its number:
//     nodes of another kind that get the number later have stocks of their own.
type stocks struct {
	on    bool // nobody asks otherwise
	list  []Stock
	byKey map[string]int32
	// lists are those with nodes, by class. The others keep their key, as they are likely to be
	// back.
	lists  [][]int32
	at     []int32 // of a stock: its place in its list
	live   int     // how many have nodes
	of     []stocked
	stale  []topology.NodeIndex
	births uint32

	key   []byte
	parts []stockPart
}

// A stocked says where a node is: its stock, or -1, and its place there.
type stocked struct {
	stock, at int32
	stale     bool
}

// A stockPart is what one GPU has left: for shares of an owner, or of anybody.
type stockPart struct {
	left   int32
	owner  Owner
	memory int64
	shares int32
}

// keptVacant is how many stocks without nodes are kept, beside twice as many as there are with
// nodes.
const keptVacant = 1024

// note notes that a node is not as it was counted.
func (k *stocks) note(n topology.NodeIndex) {
	if !k.on {
		return
	}
	if at := &k.of[n]; !at.stale {
		at.stale = true
		k.stale = append(k.stale, n)
	}
}

// takeStock counts all nodes from now on.
func (f *Fleet) takeStock() {
	k := &f.stocks
	if k.on {
		return
	}
	k.on, k.byKey = true, map[string]int32{}
	for n := range f.nodes {
		k.note(topology.NodeIndex(n))
	}
}

// stocktake counts the nodes that changed.
func (f *Fleet) stocktake() *stocks {
	k := &f.stocks
	for _, n := range k.stale {
		at := &k.of[n]
		at.stale = false
		state := &f.nodes[n]
		if !state.live || !state.schedulable {
			k.leave(n)
			continue
		}
		k.writeKey(state)
		if at.stock >= 0 && k.list[at.stock].key == string(k.key) {
			continue
		}
		k.leave(n)
		k.enter(n, k.find(state))
	}
	k.stale = k.stale[:0]
	if len(k.list) > keptVacant+3*k.live {
		k.sweep()
	}
	return k
}

// leave takes a node out of its stock.
func (k *stocks) leave(n topology.NodeIndex) {
	at := &k.of[n]
	if at.stock < 0 {
		return
	}
	s := &k.list[at.stock]
	last := len(s.nodes) - 1
	s.nodes[at.at] = s.nodes[last]
	k.of[s.nodes[at.at]].at = at.at
	s.nodes = s.nodes[:last]
	if last == 0 {
		list := k.lists[s.Class]
		i, end := k.at[at.stock], len(list)-1
		list[i] = list[end]
		k.at[list[i]] = i
		k.lists[s.Class] = list[:end]
		k.live--
	}
	at.stock = -1
}

// enter puts a node into a stock.
func (k *stocks) enter(n topology.NodeIndex, stock int32) {
	s := &k.list[stock]
	if len(s.nodes) == 0 {
		for int(s.Class) >= len(k.lists) {
			k.lists = append(k.lists, nil)
		}
		k.at[stock] = int32(len(k.lists[s.Class]))
		k.lists[s.Class] = append(k.lists[s.Class], stock)
		k.live++
	}
	k.of[n].stock, k.of[n].at = stock, int32(len(s.nodes))
	s.nodes = append(s.nodes, n)
}

// find is the number of the stock with the key at hand, which a state has.
func (k *stocks) find(state *nodeState) int32 {
	if i, known := k.byKey[string(k.key)]; known {
		return i
	}
	i := int32(len(k.list))
	k.list, k.at = append(k.list, Stock{}), append(k.at, 0)
	k.births++
	s := &k.list[i]
	*s = Stock{Class: state.class, Left: k.leftOf(state), Host: state.hostFree(), Declared: state.declaredFree(), generation: state.generation, key: string(k.key), birth: k.births}
	k.byKey[s.key] = i
	return i
}

// leftOf is what the GPUs of a state have left, of which the key is at hand.
func (k *stocks) leftOf(state *nodeState) []int16 {
	left := make([]int16, len(state.slots))
	if state.plain() {
		free := bits.OnesCount64(state.free())
		for g := len(left) - free; g < len(left); g++ {
			left[g] = wholeMilli
		}
		return left
	}
	for g := range k.parts {
		left[g] = int16(k.parts[g].left)
	}
	return left
}

// sweep forgets the stocks without nodes. The others get new numbers.
func (k *stocks) sweep() {
	kept := int32(0)
	for i := range k.list {
		s := &k.list[i]
		if len(s.nodes) == 0 {
			delete(k.byKey, s.key)
			continue
		}
		k.births++
		s.birth = k.births
		k.list[kept] = *s
		k.byKey[s.key], k.at[kept] = kept, k.at[i]
		k.lists[s.Class][k.at[i]] = kept
		for _, n := range s.nodes {
			k.of[n].stock = kept
		}
		kept++
	}
	clear(k.list[kept:])
	k.list, k.at = k.list[:kept], k.at[:kept]
}

// writeKey makes the key of a state, and the parts of one with shared GPUs.
func (k *stocks) writeKey(state *nodeState) {
	b := binary.AppendUvarint(k.key[:0], state.generation)
	b = binary.AppendVarint(b, state.gpuMemory)
	b = binary.AppendUvarint(b, uint64(state.maxShares))
	left := state.hostFree()
	for r := range left {
		b = binary.AppendVarint(b, left[r])
	}
	size := byte(len(state.slots))
	if left := state.declaredFree(); left != nil {
		for i := range left {
			b = binary.AppendVarint(b, left[i])
		}
		size |= 0x80
	}
	b = append(b, size)
	if k.key = b; state.plain() {
		k.key = append(b, byte(bits.OnesCount64(state.free())))
		return
	}
	k.listParts(state)
	for i := range k.parts {
		p := &k.parts[i]
		b = binary.AppendUvarint(b, uint64(p.left))
		b = binary.AppendUvarint(b, uint64(p.owner))
		b = binary.AppendVarint(b, p.memory)
		b = binary.AppendUvarint(b, uint64(p.shares))
	}
	k.key = b
}

// listParts lists what the GPUs of a state have left, the least first.
func (k *stocks) listParts(state *nodeState) {
	k.parts = k.parts[:0]
	out := state.occupied() | state.divided | ^state.healthy
	for gpu := range state.slots {
		slot, p := &state.slots[gpu], stockPart{left: wholeMilli}
		switch bit := uint64(1) << gpu; {
		case out&bit != 0:
			p = stockPart{}
		case state.shared&bit != 0:
			if p = (stockPart{wholeMilli - slot.milli, slot.owner, slot.memory, slot.shares}); state.sharesLeft(slot) == 0 {
				p.left = 0
			}
			if state.maxShares == 0 || state.maxShares >= wholeMilli {
				p.shares = 0 // how many there are is all the same
			}
		}
		// An insertion sort: the GPUs are few, and nearly in order.
		k.parts = append(k.parts, p)
		for i := gpu; i > 0 && compareParts(&k.parts[i], &k.parts[i-1]) < 0; i-- {
			k.parts[i], k.parts[i-1] = k.parts[i-1], k.parts[i]
		}
	}
}

func compareParts(a, b *stockPart) int {
	return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.owner, b.owner), cmp.Compare(a.memory, b.memory), cmp.Compare(a.shares, b.shares))
}
