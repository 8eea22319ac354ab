package baseline

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
)

// A Fit says which of the free GPUs of a node a member of so many GPUs gets, and how well
// it fits: of several nodes, and of several domains, the lowest figure wins, ties go to
// the name that comes first. It reports false where the member does not fit.
type Fit func(free berth.GPUSet, gpus int) (chosen berth.GPUSet, waste int, fits bool)

// BestFit takes the first free GPUs of the node with the fewest that suffice.
func BestFit(free berth.GPUSet, gpus int) (chosen berth.GPUSet, waste int, fits bool) {
	if free.Len() < gpus {
		return 0, 0, false
	}
	rest := uint64(free)
	for range gpus {
		rest &= rest - 1
	}
	return free &^ berth.GPUSet(rest), free.Len(), true
}

// Buddy divides a node as a buddy allocator does its memory: a member gets the next power of
// two of GPUs, aligned to it, and of all such blocks one in the smallest larger block that
// is free. Knowlton, "A Fast Storage Allocator", CACM 1965; HiveD places cells so. It
// chooses as many GPUs as are asked for: the rest of the block stays free for smaller ones.
func Buddy(free berth.GPUSet, gpus int) (chosen berth.GPUSet, waste int, fits bool) {
	for size := 1 << bits.Len(uint(gpus-1)); size <= berth.MaxGPUs; size *= 2 {
		for from := 0; from+size <= berth.MaxGPUs; from += size {
			block := berth.GPUSet(^uint64(0) >> (64 - size) << from)
			// Where it is the half of a larger free block, that one comes later.
			larger := berth.GPUSet(0)
			if 2*size <= berth.MaxGPUs {
				larger = berth.GPUSet(^uint64(0) >> (64 - 2*size) << (from &^ (2*size - 1)))
			}
			if free&block == block && (larger == 0 || free&larger != larger) {
				chosen, _, _ = BestFit(block, gpus)
				return chosen, size, true
			}
		}
	}
	return 0, 0, false
}

// A Space is what may be used: a set of GPUs for each node, in the order of names.
type Space []berth.GPUSet

// Take removes from a space what members hold, or are to hold.
func (s Space) Take(at Placement) {
	for _, p := range at {
		s[p.Node] &^= p.GPUs
	}
}

// Add puts it back.
func (s Space) Add(at Placement) {
	for _, p := range at {
		s[p.Node] |= p.GPUs
	}
}

// has reports whether a placement is in the space.
func (s Space) has(at Placement) bool {
	return !slices.ContainsFunc(at, func(p Spot) bool { return p.GPUs&^s[p.Node] != 0 })
}

// A Placement has a spot for each member, in the order of groups and members.
type Placement []Spot

// A Spot is GPUs of a node, which is named by its place in the order of names.
type Spot struct {
	Node int
	GPUs berth.GPUSet
}

// Overlaps reports whether two placements have a GPU in common.
func (at Placement) Overlaps(other Placement) bool {
	return slices.ContainsFunc(at, func(p Spot) bool {
		return slices.ContainsFunc(other, func(q Spot) bool { return p.Node == q.Node && p.GPUs&q.GPUs != 0 })
	})
}

// A fleet is where things are.
type fleet struct {
	fit   Fit
	nodes []node
	// domains of each level, the narrowest first, the fleet last: lists of nodes, in order of
	// the first of each.
	levels [][][]int
}

type node struct {
	spec     berth.Node
	all      berth.GPUSet
	cordoned bool
}

// join adds a node at its place in the order of names, and returns it.
func (f *fleet) join(spec berth.Node) (at int) {
	at, _ = f.find(spec.ID)
	f.nodes = slices.Insert(f.nodes, at, node{spec: spec, all: allOf(len(spec.GPUs))})
	f.levels = nil // made anew when they are needed
	return at
}

func allOf(gpus int) berth.GPUSet {
	if gpus == 0 {
		return 0
	}
	return berth.GPUSet(^uint64(0) >> (64 - gpus))
}

func (f *fleet) find(id berth.NodeID) (int, bool) {
	return slices.BinarySearchFunc(f.nodes, id, func(n node, id berth.NodeID) int { return cmp.Compare(n.spec.ID, id) })
}

// divide lists the domains.
func (f *fleet) divide() [][][]int {
	if f.levels != nil || len(f.nodes) == 0 {
		return f.levels
	}
	for depth := len(f.nodes[0].spec.Domains); depth >= 0; depth-- {
		var level [][]int
		index := map[string]int{}
		for i := range f.nodes {
			key := ""
			for _, name := range f.nodes[i].spec.Domains[:depth] {
				key += name + "\x00"
			}
			at, known := index[key]
			if !known {
				at = len(level)
				index[key] = at
				level = append(level, nil)
			}
			level[at] = append(level[at], i)
		}
		f.levels = append(f.levels, level)
	}
	return f.levels
}

// place finds a place for all members of a job in a space: each on the node where it fits
// best, one that has several members in the narrowest domain that holds them all, and there in
// the one that has the fewest free GPUs. Members go one after the other, so that of a gang with
// several groups a place may be missed. Cost: O(levels x nodes + members x nodes).
func (f *fleet) place(j *Job, free Space) Placement {
	free = f.open(j, free)
	if len(j.members) == 1 {
		if at, found := f.best(j.members[0], nil, free); found {
			return Placement{at}
		}
		return nil
	}
	for _, level := range f.divide() {
		var best []int
		least := 0
		for _, domain := range level {
			if room := f.room(j, domain, free); room > 0 && (best == nil || room < least) {
				best, least = domain, room
			}
		}
		if best != nil {
			if at := f.placeAll(j, best, slices.Clone(free)); at != nil {
				return at
			}
		}
	}
	return nil
}

// open is the part of a space on the nodes that a job asks for.
func (f *fleet) open(j *Job, free Space) Space {
	s := &j.Spec.Groups[0].Selector
	if len(s.Pools) == 0 && len(s.Products) == 0 {
		return free
	}
	free = slices.Clone(free)
	for i := range f.nodes {
		if !j.may(&f.nodes[i].spec) {
			free[i] = 0
		}
	}
	return free
}

// room is how many GPUs are free in a domain if its nodes hold as many members as a job has of
// each size, counted by themselves; else 0.
func (f *fleet) room(j *Job, domain []int, free Space) (gpus int) {
	for _, size := range j.sizes {
		slots := 0
		for _, n := range domain {
			slots += free[n].Len() / size.gpus
		}
		if slots < size.members {
			return 0
		}
	}
	for _, n := range domain {
		gpus += free[n].Len()
	}
	return gpus
}

func (f *fleet) placeAll(j *Job, domain []int, free Space) Placement {
	var at Placement
	for _, gpus := range j.members {
		best, found := f.best(gpus, domain, free)
		if !found {
			return nil
		}
		at = append(at, best)
		free[best.Node] &^= best.GPUs
	}
	return at
}

// best is the spot of a domain, or of the whole fleet, where a member fits best.
func (f *fleet) best(gpus int, domain []int, free Space) (best Spot, found bool) {
	least := 0
	consider := func(n int) {
		if free[n].Len() < gpus {
			return
		}
		if chosen, waste, fits := f.fit(free[n], gpus); fits && (!found || waste < least) {
			best, least, found = Spot{n, chosen}, waste, true
		}
	}
	if domain == nil {
		for n := range free {
			consider(n)
		}
		return best, found
	}
	for _, n := range domain {
		consider(n)
	}
	return best, found
}
