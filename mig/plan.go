package mig

import "math/bits"

// Plan returns the steps that lead from one layout to another with the fewest
// instances destroyed. held is the part of from that is in use: a layout whose
// instances must stay. Every layout on the way is valid: first what the new layout
// does not have is destroyed, then what the old one did not have is created, each
// in the order of Placements. An instance cannot move, so fewer steps lead nowhere.
// No step is needed if both are the same.
//
// The error is an *Error: with ErrUnknown if the lattice does not have one of the
// states; with ErrNotPlaced if held has an instance that from does not have; with
// ErrConflict if held has one that to does not have. It names the instance.
// Complexity: one step for each instance of the two.
func (l *Lattice) Plan(from, to, held State) ([]Step, error) {
	for _, s := range [...]State{from, to, held} {
		if !l.has(s) {
			return nil, l.refuseState(s)
		}
	}
	if lost := l.sets[held] &^ l.sets[from]; lost != 0 {
		return nil, l.refuse(l.first(lost), "is held, and no such instance is there", ErrNotPlaced)
	}
	if lost := l.sets[held] &^ l.sets[to]; lost != 0 {
		return nil, l.refuse(l.first(lost), "is held, and the new layout does not have it", ErrConflict)
	}
	return l.steps(from, to), nil
}

// PlanFor returns the steps that lead from one layout to some layout in which, for
// each profile p, at least counts[p] instances are idle: not of held, which is the
// part of from that is in use and stays. Idle instances that are there already
// count. It destroys as few instances as can be; then it creates as few as can be;
// then it leaves the most placements open; and among equals it chooses the least
// state. The steps are those of Plan. It returns false, and from, if there is no
// such layout, if held is no part of from, or if a count is negative.
//
// Complexity: at most one call of Arrange for each set of idle instances, smaller
// sets first, until one is enough: 128 calls for the seven instances of an H100,
// and mostly a few.
func (l *Lattice) PlanFor(from, held State, counts []int) (State, []Step, bool) {
	to, ok := l.reach(from, held, counts)
	if !ok {
		return from, nil, false
	}
	return to, l.steps(from, to), true
}

// reach returns the layout to which PlanFor leads, without the steps, and
// allocates nothing.
func (l *Lattice) reach(from, held State, counts []int) (State, bool) {
	if !l.has(from) || !l.has(held) || l.sets[held]&^l.sets[from] != 0 {
		return from, false
	}
	// What cannot join what is held cannot be had at all, and what can is had at
	// the latest when all that is idle is gone.
	if _, ok := l.Arrange(held, counts); !ok {
		return from, false
	}
	var idle [MaxMemorySlices]uint8
	n := 0
	for rest := l.sets[from] &^ l.sets[held]; rest != 0; rest &= rest - 1 {
		idle[n] = uint8(bits.TrailingZeros64(rest))
		n++
	}
	for destroyed := range n + 1 {
		if to, ok := l.reachBy(from, held, counts, idle[:n], destroyed); ok {
			return to, true
		}
	}
	return from, false
}

// reachBy is Reach if just so many of the idle instances are destroyed.
func (l *Lattice) reachBy(from, held State, counts []int, idle []uint8, destroyed int) (State, bool) {
	best, fewest, most := from, -1, -1
	for some := uint64(1)<<destroyed - 1; some < 1<<len(idle); some = nextOfSize(some) {
		base := from
		for rest := some; rest != 0; rest &= rest - 1 {
			base = l.after(base, int(idle[bits.TrailingZeros64(rest)]))
		}
		var missing [MaxProfiles]int
		created := 0
		left := l.sets[base] &^ l.sets[held]
		for p := range min(len(counts), len(l.ofProfile)) {
			missing[p] = max(0, counts[p]-bits.OnesCount64(left&l.ofProfile[p]))
			created += missing[p]
		}
		if fewest >= 0 && created > fewest {
			continue
		}
		to, ok := l.Arrange(base, missing[:len(l.ofProfile)])
		if !ok {
			continue
		}
		open := bits.OnesCount64(l.open[to])
		if fewest < 0 || created < fewest || open > most || open == most && to < best {
			best, fewest, most = to, created, open
		}
	}
	return best, fewest >= 0
}

// nextOfSize returns the least greater set with as many members: Gosper's hack, as
// in item 175 of HAKMEM. After the empty set comes one past all sets.
func nextOfSize(set uint64) uint64 {
	if set == 0 {
		return 1 << 63
	}
	lowest := set & -set
	carried := set + lowest
	return carried | (set^carried)>>(bits.TrailingZeros64(set)+2)
}

// steps lists the steps of a plan.
func (l *Lattice) steps(from, to State) []Step {
	var steps []Step
	for rest := l.sets[from] &^ l.sets[to]; rest != 0; rest &= rest - 1 {
		steps = append(steps, Step{Placement: l.placements[bits.TrailingZeros64(rest)]})
	}
	for rest := l.sets[to] &^ l.sets[from]; rest != 0; rest &= rest - 1 {
		steps = append(steps, Step{Create: true, Placement: l.placements[bits.TrailingZeros64(rest)]})
	}
	return steps
}

// first names the first placement of a set.
func (l *Lattice) first(set uint64) string {
	return l.placements[bits.TrailingZeros64(set)].String()
}
