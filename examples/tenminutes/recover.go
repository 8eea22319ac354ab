package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
)

// crash dies between an order and its report, and goes on in what could be another process:
// it gets nothing but a folder.
func crash() {
	folder, err := os.MkdirTemp("", "tenminutes")
	check(err)
	defer os.RemoveAll(folder)

	o := newOrchestrator()
	o.begin(folder)
	o.tell(node("n1"), node("n2"), queue("research"))
	o.tell(job("train", berth.ClassBatch, 2))
	o.pass() // in the log, and not carried out: the process dies here
	fmt.Println("crash")

	o = resume(folder)
	for _, order := range o.core.Outstanding() {
		o.carryOut(order) // unless a look at the nodes says that it is done
	}
	o.begin(folder)
	o.until(berth.Time(berth.Hour))
	o.why("train")
}

// begin saves a snapshot, and begins the journal of what comes after it.
func (o *orchestrator) begin(folder string) {
	snapshot, err := o.core.Snapshot()
	check(err)
	check(os.WriteFile(filepath.Join(folder, "snapshot.json"), snapshot, 0o600))
	file, err := os.Create(filepath.Join(folder, "journal.jsonl"))
	check(err)
	o.log, err = journal.NewWriter(file, o.core.Config())
	check(err)
}

// resume restores the snapshot and repeats the journal. A real program syncs both files, and
// replaces them as a pair.
func resume(folder string) *orchestrator {
	snapshot, err := os.ReadFile(filepath.Join(folder, "snapshot.json"))
	check(err)
	sched, err := core.Restore(snapshot)
	check(err)
	file, err := os.Open(filepath.Join(folder, "journal.jsonl"))
	check(err)
	defer file.Close()
	found, err := journal.Recover(sched, file)
	check(err)
	fmt.Println("recovered", found.Events, "events and", len(found.Orders), "order")
	return &orchestrator{core: sched, now: sched.Now()}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
