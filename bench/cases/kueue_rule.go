package cases

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// ruleFits: the core admits the workload and stops nobody for it.
const ruleFits = "fits"

// rule finds the rule that a difference comes under, or "".
func (c *kueueCase) rule(admitted bool, ours, theirs []string) string {
	x, ok := c.exchange()
	if !ok {
		return ""
	}
	mine, their := x.pick(ours), x.pick(theirs)
	switch {
	case admitted && len(ours) == 0:
		return ruleFits
	case !admitted && len(ours) > 0: // nobody is to go for nothing
		return ""
	}
	return x.weigh(mine, their)
}

// exchange is the scenario before anybody goes.
func (c *kueueCase) exchange() (*exchange, bool) {
	s, wrong := c.scale()
	if wrong != nil {
		return nil, false
	}
	queues, wrong := c.quotas(&s)
	if wrong != nil {
		return nil, false
	}
	as := func(w *kueueWorkload) exchanged {
		e := exchanged{name: w.Name, queue: w.Queue, class: berth.ClassInteractive, priority: w.Priority}
		if len(s.keys) > 0 {
			e.milli = s.amount(0, w.amounts()[s.keys[0]])
		}
		return e
	}
	var running []exchanged
	for _, w := range c.byAge() {
		e := as(w)
		if e.spared = c.spares(w); w.Evicted {
			e.class = berth.ClassBatch
		}
		running = append(running, e)
	}
	capacity := int64(0)
	for i := range queues {
		if queues[i].Parent == "" {
			capacity += queues[i].Guarantee[quota.GPUMilli]
		}
	}
	return newExchange(queues, capacity, running, []exchanged{as(&c.Incoming)})
}
