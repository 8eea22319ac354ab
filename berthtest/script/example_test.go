package script_test

import (
	"fmt"

	"github.com/berth-sched/berth/berthtest/script"
)

// A script comes back with what its commands print.
func Example() {
	out, err := script.Run([]byte(`# Two members, one order.
node n1..n2
queue q
job train queue=q members=2 gpus=8
pass
job next queue=q gpus=1
pass
explain next
`))
	fmt.Print(string(out))
	fmt.Println(err)
	// Output:
	// # Two members, one order.
	// node n1..n2
	// queue q
	// job train queue=q members=2 gpus=8
	// pass
	//   #1 bind train/0 incarnation 1 (fits): n1[0-7] n2[0-7] by 2m0s
	// job next queue=q gpus=1
	// pass
	//   no orders
	// explain next
	//   next/0 pending since 0s
	//     gpus: the gang (1 GPU) does not fit now
	//     level node: 0 of 2 have enough GPUs; 2 short of GPUs
	//     level fleet: 0 of 1 have enough GPUs; 1 short of GPUs
	//     would help: free GPUs for 1 more member (1 GPU)
	//     expected to start at 24h0m0s, late at 96h0m0s
	// <nil>
}

// A session runs commands one by one, as a shrunken script of a failing test does.
func ExampleSession() {
	s := script.NewSession()
	for _, line := range []string{"node n1", "queue q", "job a queue=q gpus=9", "pass", "lose n1 because fire", "lose n1"} {
		out, err := s.Do(line)
		fmt.Print("> ", line, "\n", out)
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// > node n1
	// > queue q
	// > job a queue=q gpus=9
	// > pass
	//   no orders
	// > lose n1 because fire
	// > lose n1
	//   refused, unknown: berth: nodeLost: node: node "n1" is not in the fleet
}
