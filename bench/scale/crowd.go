package scale

import (
	"fmt"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

const queues = 300

// crowd is a core with a full fleet and jobs that wait for capacity: in 300 queues,
// of 20 shapes. A tenth of the GPUs is free, in crumbs that serve none of them.
type crowd struct {
	core *core.Core
	// full lists jobs each of which leaves a node empty when it ends.
	full []berth.JobID
	// number of each job that was submitted.
	number map[berth.JobID]int
}

// shapes that wait: 1 to 16 members of 5 or 8 GPUs, anywhere or in one leaf. No node
// takes two members.
const shapes = 20

// submit adds a job of a shape, in a queue.
func (c *crowd) submit(tb builder, number, kind int) {
	shape, queue := kind%shapes, kind/shapes%queues
	job := jobOf(fmt.Sprintf("waits-%07d", number), fmt.Sprintf("queue-%03d", queue), 1<<(shape/4), 5+3*(shape%2))
	if shape/2%2 == 1 {
		job.Topology.Required = "leaf"
	}
	c.number[job.ID] = kind
	tell(tb, c.core, berth.JobSubmitted{Job: job})
}

func newCrowd(tb builder, gpus, pending int) *crowd {
	tb.Helper()
	free := fillInCrumbs(gpus)
	c := &crowd{core: newCore(tb, free), number: map[berth.JobID]int{}}
	for i, n := range free {
		if n == 0 {
			c.full = append(c.full, berth.JobID(nodeName(i)))
		}
	}
	for q := range queues {
		tell(tb, c.core, berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(fmt.Sprintf("queue-%03d", q)), Weight: int64(1 + q%3)}})
	}
	for i := range pending {
		c.submit(tb, i, i)
	}
	if orders := pass(tb, c.core); len(orders) > 0 {
		tb.Fatal("somebody fits")
	}
	if at, more := c.core.NextWake(); more && at <= c.core.Now() {
		tb.Fatal("somebody is left to look at")
	}
	return c
}

// reserve lets the crowd wait for so long that the first gangs get reservations: until the turn of
// jobs that do not say how long they run.
func (c *crowd) reserve(tb builder) {
	tb.Helper()
	p := c.core.Config().Policy
	_, err := c.core.Schedule(c.core.Now().Add(max(p.ReserveAfter, berth.Duration(p.Stretch)*p.AssumedRuntime)))
	must(tb, err)
	for at, more := c.core.NextWake(); more && at == c.core.Now(); at, more = c.core.NextWake() {
		pass(tb, c.core) // one plans for no more than a few
	}
	if len(c.core.Report().Reservations) < c.core.Config().Policy.ReservedGangs {
		tb.Fatal("too few have a reservation")
	}
}

// completeToRest finishes a job that leaves a node empty and runs passes until nothing is due. They
// bind one that waited: or none, or several, where nodes are kept for a gang. To keep the crowd as
// it is, as many others of their kinds are submitted, from a number on. It returns how long the
// longest of the passes took, and how many were bound.
func (c *crowd) completeToRest(b bench, number int) (longest time.Duration, bound int) {
	c.finish(b)
	var all []berth.Order
	_, longest = passesTo(b, c.core, func(orders []berth.Order) { all = append(all, orders...) })
	b.StopTimer()
	c.replace(b, number, all)
	rest(b, c.core)
	b.StartTimer()
	return longest, len(all)
}

func (c *crowd) finish(tb builder) {
	tell(tb, c.core, berth.JobFinished{Job: c.full[0], Incarnation: 1})
	c.full = c.full[1:]
}

// replace reports orders done, each of which is a Bind, and submits as many others.
func (c *crowd) replace(tb builder, number int, orders []berth.Order) {
	for i, order := range orders {
		bind := order.Header()
		tell(tb, c.core, berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone})
		c.full = append(c.full, bind.Job)
		c.submit(tb, number+i, c.number[bind.Job])
		delete(c.number, bind.Job)
	}
}
