package bench

import (
	"math/rand"

	"github.com/berth-sched/berth"
)

// Random draws the node from those on which a task fits, each as likely as any other, and the
// GPU of a share from those with room for it. It is the lower end of the comparison in Weng et
// al., "Beware of Fragmentation" (USENIX ATC 2023).
func Random(seed int64) Policy {
	return &random{draw: rand.New(rand.NewSource(seed))}
}

type random struct{ draw *rand.Rand }

// reseed has it draw anew.
func (p *random) reseed(seed int64) { p.draw.Seed(seed) }

func (p *random) Choose(f *Fleet, k Kind, feasible []Node) Choice {
	n := feasible[p.draw.Intn(len(feasible))]
	return Choice{Place: Place{Node: n, GPUs: p.gpus(f, k, n)}}
}

func (p *random) gpus(f *Fleet, k Kind, n Node) berth.GPUSet {
	r := f.Request(k)
	if !r.Share() {
		return Free(f, k, n)
	}
	var chosen berth.GPUSet
	roomy := 0
	for g, milli := range f.Left(n) {
		if int(milli) < r.Milli {
			continue
		}
		roomy++ // each of the roomy ones so far is kept with the same chance
		if p.draw.Intn(roomy) == 0 {
			chosen = 1 << g
		}
	}
	return chosen
}

// FirstFit takes the first node on which a task fits, and there the first GPUs that have room:
// the oldest rule of bin packing (Ullman 1971; Johnson 1973).
func FirstFit() Policy { return firstFit{} }

type firstFit struct{}

func (firstFit) Choose(f *Fleet, k Kind, feasible []Node) Choice {
	n, r := feasible[0], f.Request(k)
	if !r.Share() {
		return Choice{Place: Place{Node: n, GPUs: Free(f, k, n)}}
	}
	for g, milli := range f.Left(n) {
		if int(milli) >= r.Milli {
			return Choice{Place: Place{Node: n, GPUs: 1 << g}}
		}
	}
	return Choice{} // not reached: it fits
}

// The vectors of DotProduct and BestFit are measured in the largest node of the openb fleet: its
// CPU in thousandths of a core, and its GPUs. They are constants of the published program, not
// properties of the fleet at hand.
const (
	unitCPU = 128_000
	unitGPU = 8 * WholeGPU
)

// DotProduct takes the node whose rest, as a vector of CPU and GPU, has the smallest dot product
// with the request: int(100 × (1 − (cpu × cpuLeft + gpu × gpuLeft) / 2)), with CPU in units of 128
// cores and GPU in units of 8. A share goes to the tightest GPU.
//
// The dot product as a measure of alignment is from Tetris (Grandl et al., SIGCOMM 2014), which
// takes the largest; this is the variant that "Beware of Fragmentation" (USENIX ATC 2023)
// compares with.
func DotProduct() Policy { return ByScore(dotProduct{}) }

type dotProduct struct{}

func (dotProduct) Score(f *Fleet, k Kind, n Node) (int64, berth.GPUSet) {
	r := f.Request(k)
	cpu := float64(float64(f.CPULeft(n)) / unitCPU * (float64(r.CPUMilli) / unitCPU))
	gpu := float64(float64(f.GPULeft(n)) / unitGPU * (float64(r.TotalMilli()) / unitGPU))
	return int64(100 * (1 - (cpu+gpu)/2)), Tightest(f, k, n)
}

// BestFit takes the node with the least left after the task: int(100 × (1 − (cpuLeft + gpuLeft) /
// 2)), with CPU in units of 128 cores and GPU in units of 8. A share goes to the tightest GPU.
//
// Best fit is as old as first fit; in this form it is the one that "Beware of Fragmentation"
// (USENIX ATC 2023) compares with, after Protean (Hadary et al., OSDI 2020). The published program
// then spreads the scores over 0 to 100, which is left out: the highest stays the highest, alone.
func BestFit() Policy { return ByScore(bestFit{}) }

type bestFit struct{}

func (bestFit) Score(f *Fleet, k Kind, n Node) (int64, berth.GPUSet) {
	r := f.Request(k)
	cpu := float64(0.5 * (float64(f.CPULeft(n)-r.CPUMilli) / unitCPU))
	gpu := float64(0.5 * (float64(f.GPULeft(n)-r.TotalMilli()) / unitGPU))
	return int64(100 * (1 - (cpu + gpu))), Tightest(f, k, n)
}
