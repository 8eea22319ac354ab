package journal_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/journal/storetest"
	"github.com/berth-sched/berth/quota"
)

// logged is what a process leaves that dies after its first pass: a snapshot, and a journal
// that was begun with it.
func logged() (snapshot []byte, file *bytes.Buffer) {
	sched, err := core.New(berth.Config{})
	if err != nil {
		panic(err)
	}
	if snapshot, err = sched.Snapshot(); err != nil {
		panic(err)
	}
	file = &bytes.Buffer{}
	w, err := journal.NewWriter(file, sched.Config())
	if err != nil {
		panic(err)
	}
	for _, event := range []berth.Event{
		berth.NodeJoined{Node: berth.Node{ID: "n1", GPUs: []berth.GPU{{Product: "H100-80GB"}}}},
		berth.QueueSet{Queue: quota.Queue{Name: "research"}},
		berth.JobSubmitted{Job: berth.Job{
			ID: "train", Queue: "research",
			Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}},
		}},
	} {
		w.Applied(1000, event, sched.Apply(1000, event))
	}
	orders, err := sched.Schedule(2000)
	if err != nil {
		panic(err)
	}
	w.Scheduled(2000, orders)
	if err := w.Flush(); err != nil { // and sync the file, before the orders are carried out
		panic(err)
	}
	return snapshot, file
}

func Example() {
	sched, _ := core.New(berth.Config{})
	var file bytes.Buffer
	w, _ := journal.NewWriter(&file, sched.Config())

	event := berth.NodeJoined{Node: berth.Node{ID: "n1", CPUMilli: 8000}}
	w.Applied(1000, event, sched.Apply(1000, event))
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

// An incident is replayed: a fresh core is told the same events, and a pass that orders anything
// else than it did then is named by its line.
func ExampleReplay() {
	_, file := logged()
	incident := bytes.Clone(file.Bytes())
	counts, err := journal.Replay(file)
	fmt.Printf("%+v %v\n", counts, err)

	tampered := bytes.Replace(incident, []byte(`"deadline":122000`), []byte(`"deadline":122001`), 1)
	_, err = journal.Replay(bytes.NewReader(tampered))
	fmt.Println(err != nil)
	// Output:
	// {Events:3 Passes:1 Orders:1} <nil>
	// true
}

// After a crash: the last snapshot, the journal that was begun with it, and then what is
// outstanding. A torn last line is what a crash leaves, and no error.
func ExampleRecover() {
	snapshot, file := logged()
	file.WriteString(`{"now":3000,"ev`)

	sched, err := core.Restore(snapshot)
	if err != nil {
		panic(err)
	}
	found, err := journal.Recover(sched, file)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%+v truncated %v\n", found.Counts, found.Truncated)
	for _, order := range sched.Outstanding() {
		fmt.Println("again:", order.Kind(), order.Header().Job)
	}
	// Output:
	// {Events:3 Passes:1 Orders:1} truncated true
	// again: bind train
}

// A core with each step durable before anything follows from it. The process dies after it
// was given an order, and the next one is given it again. Package boltstore has such a store
// in a file.
func ExampleDurable() {
	log := storetest.NewFileLog(1)
	options := journal.Options{Config: berth.Config{}}
	open := func() *journal.Durable {
		store, err := log.Open()
		if err != nil {
			panic(err)
		}
		d, err := journal.Open(context.Background(), store, options)
		if err != nil {
			panic(err)
		}
		return d
	}
	schedule := func(d *journal.Durable) {
		orders, err := d.Schedule(context.Background())
		if err != nil {
			panic(err) // nothing that is not durable was let out
		}
		for _, order := range orders {
			fmt.Println(order.Kind(), order.Header().Job)
		}
	}
	d := open()
	for _, event := range []berth.Event{
		berth.NodeJoined{Node: berth.Node{ID: "n1", GPUs: []berth.GPU{{Product: "H100-80GB"}}}},
		berth.QueueSet{Queue: quota.Queue{Name: "research"}},
		berth.JobSubmitted{Job: berth.Job{
			ID: "train", Queue: "research",
			Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}},
		}},
	} {
		if err := d.Apply(event); err != nil {
			panic(err)
		}
	}
	schedule(d)
	d = open() // another process
	fmt.Print("again: ")
	schedule(d)
	// Output:
	// bind train
	// again: bind train
}

// Handlers of requests tell a loop what they are told, and answer when that is durable. Those that
// wait at a time share one write.
func ExampleLoop() {
	store, err := storetest.NewFileLog(1).Open()
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	d, err := journal.Open(ctx, store, journal.Options{})
	if err != nil {
		panic(err)
	}
	carryOut := make(chan berth.Order, 10)
	loop := journal.NewLoop(d, func(orders []berth.Order) error {
		for _, order := range orders {
			carryOut <- order
		}
		return nil
	})
	stopped := make(chan error)
	go func() { stopped <- loop.Run(ctx) }()

	job := berth.Job{ID: "train", Queue: "research", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}}
	told, err := loop.Tell(
		ctx, berth.NodeJoined{Node: berth.Node{ID: "n1", GPUs: []berth.GPU{{Product: "H100-80GB"}}}},
		berth.JobSubmitted{Job: job}, berth.QueueSet{Queue: quota.Queue{Name: "research"}},
	)
	fmt.Println(told, "is durable;", err)
	_, err = loop.Tell(ctx, berth.QueueSet{Queue: quota.Queue{Name: "research"}}, berth.JobSubmitted{Job: job})
	fmt.Println("acknowledged:", err == nil)
	fmt.Println("to carry out:", (<-carryOut).Kind())
	stop()
	fmt.Println(<-stopped)
	// Output:
	// 1 is durable; berth: jobSubmitted: job.queue: there is no queue "research"
	// acknowledged: true
	// to carry out: bind
	// context canceled
}
