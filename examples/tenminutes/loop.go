package main

import (
	"fmt"
	"log"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
)

// An orchestrator drives a core: it tells events, asks for orders and carries them out.
type orchestrator struct {
	core *core.Core
	now  berth.Time
	log  *journal.Writer // events, passes and orders; nil until step 5
}

func newOrchestrator() *orchestrator {
	sched, err := core.New(berth.Config{})
	if err != nil {
		log.Fatal(err)
	}
	return &orchestrator{core: sched}
}

// tell tells the core events. A refused one changes nothing.
func (o *orchestrator) tell(events ...berth.Event) {
	for _, event := range events {
		err := o.core.Apply(o.now, event)
		if err != nil {
			fmt.Println("refused:", err)
		}
		if o.log != nil {
			o.log.Applied(o.now, event, err)
		}
	}
}

// until lets time pass. A pass runs now, and whenever something falls due.
func (o *orchestrator) until(end berth.Time) {
	for {
		for _, order := range o.pass() {
			o.carryOut(order)
		}
		wake, ok := o.core.NextWake()
		if !ok || wake > end {
			break
		}
		o.now = wake
	}
	o.now = end
}

// pass asks for orders. They are in the log before anything is done about them.
func (o *orchestrator) pass() []berth.Order {
	for _, loss := range o.core.Lost() { // no order names these members: clean up after them
		o.say("lost", loss.Job, loss.Cause, loss.Members)
	}
	orders, err := o.core.Schedule(o.now)
	if err != nil {
		log.Fatal(err)
	}
	if o.log != nil {
		o.log.Scheduled(o.now, orders)
		if err := o.log.Flush(); err != nil {
			log.Fatal(err)
		}
	}
	return orders
}

// carryOut pretends to do what an order says, and reports it as done.
func (o *orchestrator) carryOut(order berth.Order) {
	h := order.Header()
	switch order := order.(type) {
	case berth.Bind:
		o.say("start", h.Job, h.Cause, order.Members)
	case berth.Release:
		o.say("stop", h.Job, h.Cause, order.Members)
	case berth.RequestCheckpoint:
		o.say("checkpoint", h.Job, h.Cause, nil)
	case berth.Repartition:
		o.say("divide a GPU for", h.Job, h.Cause, nil)
	case berth.Withdraw, berth.Drop, berth.WarnIdle:
		o.say(order.Kind(), h.Job, h.Cause, nil)
		return // these have no report
	}
	o.tell(berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone})
}

func (o *orchestrator) say(what string, job berth.JobID, cause berth.Cause, members []berth.MemberPlacement) {
	fmt.Printf("%v: %s %s", o.now.Sub(0), what, job)
	for _, m := range members {
		fmt.Printf(" [%d on %s, GPUs %v]", m.Index, m.Node, m.GPUs)
	}
	fmt.Printf(" (%s)\n", cause.Code)
}

// why prints where a job stands.
func (o *orchestrator) why(id berth.JobID) {
	e, err := o.core.Explain(id)
	if err != nil {
		fmt.Println(err)
		return
	}
	replica := e.Replicas[0]
	fmt.Printf("%v: %s is %v", o.now.Sub(0), id, replica.State)
	if replica.Reason != nil {
		fmt.Printf(" (%s): %v", replica.Reason.Code, replica.Reason)
	}
	fmt.Println()
}
