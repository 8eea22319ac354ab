package bench

import (
	"math/bits"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
)

// GPUPacking uses GPUs that are in use before others, and nodes that are in use before idle ones.
// The score of a node is
//
//   - max(100 − free/100, 50) if the task gets a GPU that is in use, free being what that
//     GPU has left, in thousandths, and the division rounding down;
//   - max(50 − opened, 33) if it gets so many wholly free GPUs of a node with others in use;
//   - max(33 − GPUs, GPUs) on a node with so many GPUs, all free;
//   - 0 for a task without GPUs, which so goes to the first node.
//
// A share goes to the tightest GPU. As compared with in "Beware of Fragmentation" (USENIX ATC
// 2023), after MLaaS in the Wild (Weng et al., NSDI 2022).
func GPUPacking() Policy { return ByScore(gpuPacking{}) }

type gpuPacking struct{}

func (gpuPacking) Score(f *Fleet, k Kind, n Node) (int64, berth.GPUSet) {
	r := f.Request(k)
	if r.GPUs == 0 {
		return 0, 0
	}
	gpus, left := Tightest(f, k, n), f.Left(n)
	if f.Whole(n) == len(left) {
		return int64(max(33-len(left), len(left))), gpus
	}
	opened, free := 0, 0
	for rest := uint64(gpus); rest != 0; rest &= rest - 1 {
		if milli := int(left[bits.TrailingZeros64(rest)]); milli == WholeGPU {
			opened++
		} else {
			free += milli
		}
	}
	if opened > 0 {
		return int64(max(50-opened, 33)), gpus
	}
	return int64(max(100-free/100, 50)), gpus
}

// GPUClustering puts tasks with as many GPUs together; all shares are of one class. The score of a
// node is 25 × (8000 − left) / 8000, rounded down, with left as what its GPUs have left in
// thousandths, and
//
//   - 75 more if all its tasks with GPUs are of the class of the task;
//   - 50 more if some are;
//   - 25 more if it has no tasks with GPUs;
//   - 0 for a task without GPUs, which so goes to the first node.
//
// A share goes to the tightest GPU. As compared with in "Beware of Fragmentation" (USENIX ATC
// 2023), after Gandiva (Xiao et al., OSDI 2018).
func GPUClustering() Policy { return ByScore(gpuClustering{}) }

type gpuClustering struct{}

func (gpuClustering) Score(f *Fleet, k Kind, n Node) (int64, berth.GPUSet) {
	r := f.Request(k)
	if r.GPUs == 0 {
		return 0, 0
	}
	like, other := false, false
	for _, running := range f.Tasks(n) {
		switch o := f.Request(running.Kind); {
		case o.GPUs == 0:
		case o.GPUs == r.GPUs && o.Share() == r.Share():
			like = true
		default:
			other = true
		}
	}
	score := 25 * (unitGPU - f.GPULeft(n)) / unitGPU
	switch {
	case like && !other:
		score += 75
	case like:
		score += 50
	case !other:
		score += 25
	}
	return score, Tightest(f, k, n)
}

// Buddy gives whole GPUs in cells, as HiveD does (Zhao et al., OSDI 2020). The GPUs of a node, in
// the order of their indexes, form cells of 1, 2, 4, 8 and so on, each of two buddies of half its
// size; what is free is as large as can be. A task gets its GPUs, the first ones, of the smallest
// free cell that holds them, which is split for it; cells become whole again as tasks leave.
//
// Departures: HiveD divides no GPU. Here a share goes to the tightest GPU that is in use already,
// on any node, and else to the smallest free cell. HiveD has a task wait for which there is no
// cell; here it gets the first free GPUs wherever there are enough, as no other policy lets tasks
// wait that fit. A task that needs the host alone goes to the first node. Virtual clusters are not
// a matter of placement.
func Buddy() Policy { return ByScore(buddy{}) }

type buddy struct{}

// scattered is the score of a node without a cell: below that of all cells.
const scattered = -berth.MaxGPUs - 1

func (buddy) Score(f *Fleet, k Kind, n Node) (int64, berth.GPUSet) {
	r := f.Request(k)
	if r.GPUs == 0 {
		return 0, 0
	}
	if r.Share() {
		gpu := Tightest(f, k, n)
		if left := f.Left(n)[bits.TrailingZeros64(uint64(gpu))]; left < WholeGPU {
			return int64(WholeGPU - left), gpu
		}
	}
	var free berth.GPUSet
	for g, milli := range f.Left(n) {
		if milli == WholeGPU {
			free |= 1 << g
		}
	}
	gpus, size, fits := baseline.Buddy(free, r.GPUs)
	if !fits {
		return scattered, Free(f, k, n)
	}
	return -int64(size), gpus
}
