package migsim

import "github.com/berth-sched/berth/mig"

// A Policy chooses where an instance goes. It may learn from what it is asked, and is
// then good for one run.
type Policy interface {
	// Choose returns the GPU, the placement and the state of the GPU after it, or false
	// if it refuses.
	Choose(fleet []mig.State, profile int) (gpu int, at mig.Placement, next mig.State, ok bool)
}

// A Result is what came of a run, without its warm-up.
type Result struct {
	Asked, Accepted int
	// MemoryAsked and MemoryAccepted are the memory slices of those requests.
	MemoryAsked, MemoryAccepted int
	// Score is the sum of the fragmentation scores of all GPUs after each slot.
	Score int64
	// Slots counted.
	Slots int
}

// Acceptance returns the accepted requests in percent.
func (r Result) Acceptance() float64 { return 100 * float64(r.Accepted) / float64(max(1, r.Asked)) }

// MemoryAcceptance returns the accepted memory slices in percent.
func (r Result) MemoryAcceptance() float64 {
	return 100 * float64(r.MemoryAccepted) / float64(max(1, r.MemoryAsked))
}

// Fragmentation returns the mean score of a GPU.
func (r Result) Fragmentation(gpus int) float64 {
	return float64(r.Score) / float64(max(1, r.Slots*gpus))
}

// Run plays the requests. Those of the first quarter warm the fleet up.
func (s Setup) Run(policy Policy, requests []Request) Result {
	return s.play(policy, requests, len(requests)/4)
}

// RunAll plays the requests and counts all of them.
func (s Setup) RunAll(policy Policy, requests []Request) Result {
	return s.play(policy, requests, 0)
}

type instance struct {
	gpu int
	at  mig.Placement
}

func (s Setup) play(policy Policy, requests []Request, warm int) Result {
	fleet := make([]mig.State, s.GPUs)
	scores := Scores(s.Lattice)
	memory := sizes(s.Lattice)
	ends := make([][]instance, len(requests)) // by the slot at whose start they go
	var result Result
	score := int64(s.GPUs) * scores[0]
	for slot, request := range requests {
		change := func(gpu int, next mig.State) {
			score += scores[next] - scores[fleet[gpu]]
			fleet[gpu] = next
		}
		for _, e := range ends[slot] {
			next, err := s.Lattice.Remove(fleet[e.gpu], e.at)
			if err != nil {
				panic(err) // the simulator lost an instance that it placed itself
			}
			change(e.gpu, next)
		}
		gpu, at, next, ok := policy.Choose(fleet, request.Profile)
		if ok {
			change(gpu, next)
			if end := slot + request.Slots; end < len(requests) {
				ends[end] = append(ends[end], instance{gpu, at})
			}
		}
		if slot >= warm {
			result.count(ok, memory[request.Profile], score)
		}
	}
	return result
}

func (r *Result) count(accepted bool, memory int, score int64) {
	r.Asked++
	r.MemoryAsked += memory
	r.Slots++
	r.Score += score
	if accepted {
		r.Accepted++
		r.MemoryAccepted += memory
	}
}

// Unfragmented plays the requests against a fleet that has no fragmentation, as if its
// instances were moved whenever that helps: one GPU with the memory and compute slices
// of all. It is a yardstick for what fragmentation costs and no bound: under overload a
// policy can accept more requests by having no room for large ones, and so more for
// small ones.
func (s Setup) Unfragmented(requests []Request) Result {
	product := s.Lattice.Product()
	type amount struct{ memory, compute int }
	free := amount{s.GPUs * product.MemorySlices, s.GPUs * product.ComputeSlices}
	ends := make([]amount, len(requests))
	var result Result
	for slot, request := range requests {
		free.memory += ends[slot].memory
		free.compute += ends[slot].compute
		p := &product.Profiles[request.Profile]
		ok := p.MemorySlices <= free.memory && p.ComputeSlices <= free.compute
		if ok {
			free.memory -= p.MemorySlices
			free.compute -= p.ComputeSlices
			if end := slot + request.Slots; end < len(requests) {
				ends[end].memory += p.MemorySlices
				ends[end].compute += p.ComputeSlices
			}
		}
		if slot >= len(requests)/4 {
			result.count(ok, p.MemorySlices, 0)
		}
	}
	return result
}
