package journal_test

import (
	"bytes"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
)

func Example() {
	sched, _ := core.New(berth.Config{})
	var file bytes.Buffer
	w, _ := journal.NewWriter(&file, sched.Config())

	fact := berth.NodeJoined{Node: berth.Node{ID: "n1", CPUMilli: 8000}}
	w.Applied(1000, fact, sched.Apply(1000, fact))
	orders, _ := sched.Schedule(2000)
	w.Scheduled(2000, orders)
	if err := w.Flush(); err != nil {
		fmt.Println(err)
	}

	counts, err := journal.Replay(&file)
	fmt.Printf("%+v %v\n", counts, err)
	// Output:
	// {Events:1 Passes:1 Orders:0} <nil>
}
