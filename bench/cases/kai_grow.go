package cases

import (
	"fmt"
	"slices"
)

// The rules for gangs that run with less than all their members, and grow with KAI alone.
const (
	// ruleMoves: there is room for all that KAI lets grow, once something that runs has moved.
	ruleMoves = "moves"
	// ruleElastic: it grows by what others lose, to which it has a right by the share of its queue
	// or by its priority.
	ruleElastic = "elastic"
)

// ranAtStart is how many pods of a job run when the scenario starts.
func (c *kaiCase) ranAtStart(job int) int {
	n := 0
	for k := range c.Jobs[job].Tasks {
		if c.Jobs[job].Tasks[k].running() {
			n++
		}
	}
	return n
}

// growsInVain lists the jobs that have grown with KAI, and not here; false: something else
// differs in what runs.
func (w *kaiWorld) growsInVain() (list []int, alone bool) {
	for i := range w.c.Expect {
		e := &w.c.Expect[i]
		j := w.c.job(e.Job)
		switch ran, pods := w.c.ranAtStart(j), w.outcome(j).pods; {
		case pods == e.Running:
		case pods == ran && 0 < ran && ran < e.Running:
			list = append(list, j)
		case e.Running < ran: // loses with KAI
		default:
			return nil, false
		}
	}
	return list, len(list) > 0
}

// needsMoves reports whether all that differs is that gangs have not grown, where KAI stops
// nothing for them: all fits, and moves make the room.
func (c *kaiCase) needsMoves(w *kaiWorld) bool {
	grows, alone := w.growsInVain()
	room := c.fleetMilli()
	for i := range c.Expect {
		room -= milli(c.Expect[i].GPUs)
		if c.Expect[i].Running < c.ranAtStart(c.job(c.Expect[i].Job)) {
			return false
		}
	}
	return alone && len(grows) > 0 && room >= 0
}

// growsByLoss reports whether all that differs is that gangs have not grown, where others lose for
// them with KAI: those of the same queue by their lower priority, and those of other queues as
// the queue that gets it stays within its share. The sums are those of the last of them.
func (w *kaiWorld) growsByLoss(x *exchange) (sums string, does bool) {
	grows, alone := w.growsInVain()
	their := x.stopped(theirs)
	if !alone || len(their) == 0 || len(x.stopped(ours)) > 0 {
		return "", false
	}
	for _, j := range grows {
		job := &w.c.Jobs[j]
		leaf, _ := x.tree.Lookup(w.c.queueName(w.c.queue(job.Queue)))
		for _, loses := range their {
			switch {
			case loses.leaf == leaf && loses.priority < job.Priority:
				sums = fmt.Sprintf("priority %d over %d", job.Priority, loses.priority)
			case loses.leaf != leaf && x.sum(leaf, theirs) <= x.share(leaf):
				sums = x.figures(leaf)
			default:
				return "", false
			}
		}
	}
	return sums, true
}

// divided reports whether anything asks for instances, which are not counted as GPUs.
func (c *kaiCase) divided() bool {
	return slices.ContainsFunc(c.Jobs, func(j kaiJob) bool { return j.divided() })
}

func (j *kaiJob) divided() bool {
	return slices.ContainsFunc(j.Tasks, func(t kaiTask) bool { return len(t.MIG) > 0 })
}

// exchange is what runs at the start and in the end.
func (w *kaiWorld) exchange() (*exchange, bool) {
	c := w.c
	var jobs []exchanged
	for i := range c.Jobs {
		j := &c.Jobs[i]
		e := exchanged{name: j.Name, queue: c.queueName(c.queue(j.Queue)), priority: j.Priority, ours: milli(w.outcome(i).gpus)}
		for k := range j.Tasks {
			amount := milli(j.Tasks[k].GPUs)
			e.wants += amount
			if j.Tasks[k].running() {
				e.had += amount
			}
		}
		if e.theirs = e.ours; c.expected(i) != nil {
			e.theirs = milli(c.expected(i).GPUs)
		}
		jobs = append(jobs, e)
	}
	return newExchange(c.quotas(), c.fleetMilli(), jobs)
}
