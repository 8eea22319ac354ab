package scale

import (
	"bytes"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/quota"
)

// logOfLives is the journal of a fleet on which jobs come, run and end, so many between two passes.
func logOfLives(tb builder, gpus, lives, batch int) ([]byte, journal.Counts) {
	tb.Helper()
	sched, err := core.New(berth.Config{Levels: []string{"spine", "leaf"}})
	must(tb, err)
	var out bytes.Buffer
	w, err := journal.NewWriter(&out, sched.Config())
	must(tb, err)
	now := berth.Time(0)
	tell := func(e berth.Event) {
		err := sched.Apply(now, e)
		must(tb, err)
		w.Applied(now, e, err)
	}
	tell(berth.QueueSet{Queue: quota.Queue{Name: "research"}})
	for i := range gpus / gpusPerNode {
		tell(berth.NodeJoined{Node: nodeOf(i)})
	}
	for number := 0; number < lives; number += batch {
		for i := range batch {
			tell(berth.JobSubmitted{Job: jobOf(fmt.Sprintf("job-%07d", number+i), "research", 1, 1<<((number+i)%4))})
		}
		orders, err := sched.Schedule(now)
		must(tb, err)
		if len(orders) != batch {
			tb.Fatal(len(orders), " of ", batch, " fit")
		}
		w.Scheduled(now, orders)
		now = now.Add(berth.Second)
		for _, o := range orders {
			tell(berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone})
		}
		now = now.Add(berth.Second)
		for _, o := range orders {
			tell(berth.JobFinished{Job: o.Header().Job, Incarnation: o.Header().Incarnation})
		}
	}
	must(tb, w.Flush())
	return out.Bytes(), w.Counts()
}
