package bench_test

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench"
)

// coolest is a policy of one's own: it spreads tasks so that no node has many.
type coolest struct{}

func (coolest) Score(f *bench.Fleet, k bench.Kind, n bench.Node) (int64, berth.GPUSet) {
	return -int64(len(f.Tasks(n))), bench.Tightest(f, k, n)
}

// A policy of one's own is a method that judges a node. What fits, ties and books are the
// session's.
func ExampleByScore() {
	nodes := []bench.NodeSpec{
		{Name: "a", CPUMilli: 64_000, MemoryMiB: 1 << 18, GPUs: 4, Model: "T4"},
		{Name: "b", CPUMilli: 64_000, MemoryMiB: 1 << 18, GPUs: 4, Model: "T4"},
	}
	s, err := bench.NewSession(nodes, bench.ByScore(coolest{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	half, _ := s.Kind(bench.Request{CPUMilli: 2000, GPUs: 1, Milli: 500})
	pair, _ := s.Kind(bench.Request{CPUMilli: 8000, GPUs: 2, Milli: 1000})
	for _, kind := range []bench.Kind{half, pair, half, pair, pair} {
		choice, ok, err := s.Place(kind)
		if err != nil || !ok {
			fmt.Println("no place", err)
			continue
		}
		fmt.Println(s.Fleet().Spec(choice.Node).Name, choice.GPUs)
	}
	// Output:
	// a 0
	// b 0-1
	// a 0
	// b 2-3
	// a 1-2
}
