package migsim

import (
	"math/bits"

	"github.com/berth-sched/berth/mig"
)

// choice is what a policy would do with a GPU: where the instance goes and how good
// that is, less being better.
type choice struct {
	at   mig.Placement
	next mig.State
	cost int64
	ok   bool
}

// fixed is a policy that judges each GPU by its state alone: the least cost wins, and
// of equals the first GPU.
type fixed struct {
	choices  []choice // by state and profile
	profiles int
	first    bool // the first GPU that fits is enough
	after    int  // where the search begins
	rotate   bool // the search begins after the GPU that was taken last
}

// newFixed makes a policy from the cost of a start, which chooses among the starts of
// a GPU, and the cost of the GPU, given the start. Of equal starts the lowest wins.
func newFixed(l *mig.Lattice, startCost, gpuCost func(s, next mig.State, at mig.Placement) int64) *fixed {
	f := &fixed{profiles: l.Profiles(), choices: make([]choice, l.States()*l.Profiles())}
	var open []mig.Placement
	for s := range mig.State(l.States()) {
		for p := range f.profiles {
			best := &f.choices[int(s)*f.profiles+p]
			least := int64(0)
			open = l.AppendOpen(open[:0], s, p)
			for _, at := range open {
				next, err := l.PlaceAt(s, at)
				if err != nil {
					panic(err) // an open placement that cannot be placed: a fault of the lattice
				}
				if cost := startCost(s, next, at); !best.ok || cost < least {
					least = cost
					*best = choice{at: at, next: next, cost: gpuCost(s, next, at), ok: true}
				}
			}
		}
	}
	return f
}

func (f *fixed) Choose(fleet []mig.State, profile int) (int, mig.Placement, mig.State, bool) {
	gpu, best := 0, choice{}
	for i := range fleet {
		g := f.after + i
		if g >= len(fleet) {
			g -= len(fleet)
		}
		c := &f.choices[int(fleet[g])*f.profiles+profile]
		if c.ok && (!best.ok || c.cost < best.cost) {
			gpu, best = g, *c
			if f.first {
				break
			}
		}
	}
	if f.rotate && best.ok {
		f.after = (gpu + 1) % len(fleet)
	}
	return gpu, best.at, best.next, best.ok
}

func nothing(mig.State, mig.State, mig.Placement) int64 { return 0 }

func lowest(_, _ mig.State, at mig.Placement) int64 { return int64(at.Start) }

// mostOpen prefers the start that leaves the most placements open.
func mostOpen(l *mig.Lattice) func(s, next mig.State, at mig.Placement) int64 {
	return func(_, next mig.State, _ mig.Placement) int64 { return -int64(l.OpenInAll(next)) }
}

// FirstFit takes the first GPU that fits, and its lowest start.
func FirstFit(l *mig.Lattice) Policy {
	f := newFixed(l, lowest, nothing)
	f.first = true
	return f
}

// RoundRobin takes the first GPU that fits after the one that was taken last, and its
// lowest start.
func RoundRobin(l *mig.Lattice) Policy {
	f := newFixed(l, lowest, nothing)
	f.first, f.rotate = true, true
	return f
}

// BestFit takes the GPU with the fewest free memory slices, and the start that leaves
// the most placements open.
func BestFit(l *mig.Lattice) Policy {
	return newFixed(l, mostOpen(l), func(s, _ mig.State, _ mig.Placement) int64 {
		return -int64(bits.OnesCount32(uint32(l.Occupied(s))))
	})
}

// WorstFit takes the GPU with the most free memory slices, and the start that leaves
// the most placements open.
func WorstFit(l *mig.Lattice) Policy {
	return newFixed(l, mostOpen(l), func(s, _ mig.State, _ mig.Placement) int64 {
		return int64(bits.OnesCount32(uint32(l.Occupied(s))))
	})
}

// DriverOrder takes the first GPU that fits and leaves the start to the driver, as
// nvmlDeviceCreateGpuInstance and nvidia-smi mig -cgi without a placement do.
//
// How the driver chooses is not documented; this follows what it is seen to do on GPUs
// with eight memory slices. NVIDIA's MIG User Guide shows -cgi 19,14,5 go to 6:1, 4:2
// and 0:4, and that 19,19,14,9 fails at the 3g, which it calls a known issue: the
// instance IDs 13, 11, 3 that it prints are those of 6:1, 4:1 and 0:2, so that no half
// is left. Public logs of seven 1g show the IDs 13, 11, 12, 7, 8, 9, 10, which are the
// starts 6, 4, 5, 0, 1, 2, 3, and of three 2g the starts 4, 0, 2. So: the upper half
// first, in it the last quarter first, and upwards within each. For a 1g with two
// memory slices, and for products with another number of slices, that is an assumption.
func DriverOrder(l *mig.Lattice) Policy {
	memory := int64(l.Product().MemorySlices)
	f := newFixed(l, func(_, _ mig.State, at mig.Placement) int64 {
		start := int64(at.Start)
		switch {
		case 4*start >= 3*memory:
			return start - 2*memory
		case 2*start >= memory:
			return start - memory
		}
		return start
	}, nothing)
	f.first = true
	return f
}

// Scores returns the fragmentation score of each state by which MFI judges a GPU: the
// sum of the memory slices of the placements that overlap what is taken, of those
// profiles that need no more memory slices than are free.
func Scores(l *mig.Lattice) []int64 {
	scores := make([]int64, l.States())
	placements := l.Placements()
	for s := range scores {
		occupied := l.Occupied(mig.State(s))
		free := l.Product().MemorySlices - bits.OnesCount32(uint32(occupied))
		for _, at := range placements {
			if int(at.Size) <= free && at.Mask().Overlaps(occupied) {
				scores[s] += int64(at.Size)
			}
		}
	}
	return scores
}

// MFI is the fragmentation-aware policy of the paper: of all GPUs and starts the one
// that raises the score the least, or lowers it the most.
func MFI(l *mig.Lattice) Policy {
	scores := Scores(l)
	rise := func(s, next mig.State, _ mig.Placement) int64 { return scores[next] - scores[s] }
	return newFixed(l, rise, rise)
}
