package scale

import (
	"bytes"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/quota"
)

// journalOf is the journal of a small fleet, empty but for one job at a time. Each life is three
// events, a pass and an order.
func journalOf(tb builder, lives int) []byte {
	tb.Helper()
	var text bytes.Buffer
	sched, err := core.New(berth.Config{Levels: []string{"spine", "leaf"}})
	must(tb, err)
	w, err := journal.NewWriter(&text, sched.Config())
	must(tb, err)
	log := func(e berth.Event) {
		tell(tb, sched, e)
		w.Applied(sched.Now(), e, nil)
	}
	log(berth.QueueSet{Queue: quota.Queue{Name: "running"}})
	for i := range small / gpusPerNode {
		log(berth.NodeJoined{Node: nodeOf(i)})
	}
	for i := range lives {
		log(berth.JobSubmitted{Job: jobOf(fmt.Sprintf("job-%06d", i), "running", 1, 1<<(i%4))})
		orders := pass(tb, sched)
		w.Scheduled(sched.Now(), orders)
		if len(orders) != 1 {
			tb.Fatal("it does not fit")
		}
		bind := orders[0].Header()
		log(berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone})
		log(berth.JobFinished{Job: bind.Job, Incarnation: bind.Incarnation})
	}
	must(tb, w.Flush())
	return text.Bytes()
}
