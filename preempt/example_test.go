package preempt_test

import (
	"fmt"

	"github.com/berth-sched/berth/preempt"
)

func Example() {
	const minute = 60_000
	candidates := []preempt.Candidate{
		{ID: "pretraining", GPUMilli: 256_000, Checkpointable: true, CheckpointCost: 1 * minute},
		{ID: "evaluation", GPUMilli: 4_000, SinceCheckpoint: 20 * minute, RestartCost: 1 * minute, Domains: []int32{1}},
		{ID: "finetuning", GPUMilli: 4_000, SinceCheckpoint: 20 * minute, Checkpointable: true, CheckpointCost: minute / 2, RestartCost: 1 * minute, Domains: []int32{1}},
		{ID: "sweep", GPUMilli: 4_000, SinceCheckpoint: 5 * minute, RestartCost: 1 * minute, Domains: []int32{2}},
		{ID: "notebook", GPUMilli: 1_000, Class: 1, SinceCheckpoint: 90 * minute, Domains: []int32{2}},
	}
	// The beneficiary wants 8 GPUs on one node; node 2 has 3 free.
	fits := func(chosen []int) bool {
		free := map[int32]int64{2: 3_000}
		for _, i := range chosen {
			if candidates[i].ID == "pretraining" {
				return true
			}
			for _, node := range candidates[i].Domains {
				free[node] += candidates[i].GPUMilli
			}
		}
		return free[1] >= 8_000 || free[2] >= 8_000
	}
	choice, err := preempt.Choose(candidates, fits, preempt.Options{NeedMilli: 8_000})
	fmt.Println(choice.Result, choice.Cost/minute, "GPU-minutes", err)
	for _, i := range choice.Victims {
		fmt.Println(candidates[i].ID, candidates[i].Cost()/minute)
	}
	// Output:
	// chosen 90 GPU-minutes <nil>
	// finetuning 6
	// evaluation 84
}
