package journal_test

import (
	"bytes"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/journal"
)

func Example() {
	core, _ := berth.New(berth.Config{})
	var file bytes.Buffer
	w, _ := journal.NewWriter(&file, core.Config())

	fact := berth.NodeJoined{Node: berth.Node{ID: "n1", CPUMilli: 8000}}
	w.Applied(1000, fact, core.Apply(1000, fact))
	orders, _ := core.Schedule(2000)
	w.Scheduled(2000, orders)
	if err := w.Flush(); err != nil {
		fmt.Println(err)
	}

	counts, err := journal.Replay(&file)
	fmt.Printf("%+v %v\n", counts, err)
	// Output:
	// {Events:1 Passes:1 Orders:0} <nil>
}
