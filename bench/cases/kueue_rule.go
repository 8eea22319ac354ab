package cases

import (
	"slices"

	"github.com/berth-sched/berth/quota"
)

// rule finds the rule that a difference comes under, and the sums that tell, or "".
func (c *kueueCase) rule(admitted bool, mine, their []string) (rule, sums string) {
	if !admitted && len(mine) > 0 { // nobody is to go for nothing
		return "", ""
	}
	s, wrong := c.scale()
	if wrong != nil || len(s.keys) == 0 {
		return "", ""
	}
	queues, wrong := c.quotas(&s)
	if wrong != nil {
		return "", ""
	}
	free := int64(0)
	for i := range queues {
		if queues[i].Parent == "" {
			free += queues[i].Guarantee[quota.GPUMilli]
		}
	}
	capacity := free
	var jobs []exchanged
	for i := range c.Admitted {
		w := &c.Admitted[i]
		amount := s.amount(0, w.amounts()[s.keys[0]])
		j := exchanged{name: w.Name, queue: quota.QueueID(w.Queue), priority: w.Priority, had: amount, wants: amount}
		if !slices.Contains(mine, w.Name) {
			j.ours = amount
		}
		if !slices.Contains(their, w.Name) {
			j.theirs = amount
		}
		free -= amount
		jobs = append(jobs, j)
	}
	in := exchanged{name: c.Incoming.Name, queue: quota.QueueID(c.Incoming.Queue), priority: c.Incoming.Priority}
	in.wants = s.amount(0, c.Incoming.amounts()[s.keys[0]])
	if admitted {
		in.ours = in.wants
	}
	if len(their) > 0 || in.wants <= free { // what Kueue stops suffices
		in.theirs = in.wants
	}
	x, ok := newExchange(queues, capacity, append(jobs, in))
	if !ok {
		return "", ""
	}
	return x.weigh()
}
