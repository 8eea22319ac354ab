package bench

import (
	"math"
	"math/bits"

	"github.com/berth-sched/berth"
)

// FGD is fragmentation gradient descent (Weng et al., "Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023): a task goes where
// it raises the fragmentation the least, or lowers it the most. The score of a node is int(100 ×
// sigmoid((before − after) / 1000)), with the Fragmentation of the node before and after; for a
// share it is that of the best GPU of the node, of equals the first. Whole GPUs are the first free
// ones.
//
// The mix that the Session knows says what is typical. Without one nothing is fragmented, and a
// task goes to the first node.
//
// That the score is rounded to an integer is part of the algorithm: with the fraction it leaves
// more than half a percent more of the GPUs of the openb trace unused.
func FGD() Policy { return ByScore(&fgd{}) }

type fgd struct {
	measure *Fragmentation
	mixes   uint32
	before  []measured // by node
	left    []int16    // of a node, as it would be
}

// A measured is the fragmentation of a node at a version; its version is one more, so that the zero
// value is of none.
type measured struct {
	version uint32
	value   float64
}

func (p *fgd) Score(f *Fleet, k Kind, n Node) (int64, berth.GPUSet) {
	if mix, mixes := f.Mix(); p.measure == nil || p.mixes != mixes {
		p.measure, p.mixes = NewFragmentation(f, mix), mixes
		p.before = make([]measured, f.Nodes())
	}
	r, before := f.Request(k), p.now(f, n)
	p.left = append(p.left[:0], f.Left(n)...)
	cpu := f.CPULeft(n) - r.CPUMilli
	if !r.Share() {
		gpus := Free(f, k, n)
		for rest := uint64(gpus); rest != 0; rest &= rest - 1 {
			p.left[bits.TrailingZeros64(rest)] -= int16(r.Milli)
		}
		return descent(before, p.measure.with(n, cpu, p.left)), gpus
	}
	best, gpu := int64(-1), 0
	for g, milli := range p.left {
		if int(milli) < r.Milli || g > 0 && milli == p.left[g-1] {
			continue // no room, or as good as the one before
		}
		p.left[g] -= int16(r.Milli)
		if score := descent(before, p.measure.with(n, cpu, p.left)); score > best {
			best, gpu = score, g
		}
		p.left[g] = milli
	}
	return best, 1 << gpu
}

// now is the fragmentation of a node as it is.
func (p *fgd) now(f *Fleet, n Node) float64 {
	known := &p.before[n]
	if version := f.Version(n) + 1; known.version != version {
		known.version, known.value = version, p.measure.Of(n)
	}
	return known.value
}

// descent is the score of a change of fragmentation.
func descent(before, after float64) int64 {
	return int64(100 * (1 / (1 + math.Exp(-(before-after)/WholeGPU))))
}
