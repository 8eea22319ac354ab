package cases

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
)

// The rules that differences in the victims of KAI's scenarios come under.
const (
	// ruleMoves: what waits fits once something that runs has been moved.
	ruleMoves = "moves"
	// ruleElastic: a gang that runs grows by what others lose.
	ruleElastic = "elastic"
	// ruleFirm: what is not preemptible and over the quota of its queue is given back.
	ruleFirm = "firm"
	// ruleSibling: a queue has its own back from a sibling, where KAI takes from elsewhere for
	// a parent that has all that it is due.
	ruleSibling = "sibling"
	// ruleFewer: the same runs that waited, and less was stopped for it.
	ruleFewer = "fewer"
)

// noRoom are the reasons of what waits for what others have.
var noRoom = []berth.ReasonCode{
	berth.ReasonGPUs, berth.ReasonShares, berth.ReasonInstances, berth.ReasonHost, berth.ReasonFragmented,
}

// yieldRule finds the rule that a difference comes under, if it is about what runs when the
// scenario starts.
func (c *kaiCase) yieldRule(w *kaiWorld) string {
	more, fewer := c.apart(w)
	ran := func(j int) bool { return c.ranAtStart(j) > 0 }
	switch {
	case c.needsMoves(w, more, fewer):
		return ruleMoves
	case c.growsByLoss() && c.all(slices.Concat(more, fewer), ran):
		return ruleElastic
	case c.all(fewer, w.givesBack) && c.all(more, w.gains):
		return ruleFirm
	case c.all(more, ran) && w.amongSiblings(fewer, more):
		return ruleSibling
	case len(fewer) == 0 && len(w.stopped) > 0 && c.all(more, func(j int) bool { return w.outcome(j).pods <= c.ranAtStart(j) }):
		return ruleFewer
	}
	return w.exchangeRule(more, fewer)
}

// exchangeRule finds the rule for others being stopped than KAI stops, or nobody, for one
// job that waits.
func (w *kaiWorld) exchangeRule(more, fewer []int) string {
	c, incoming := w.c, -1
	for _, j := range slices.Concat(fewer, more) {
		by := j // that waits in vain
		if c.ranAtStart(j) > 0 && slices.Contains(fewer, j) {
			by = w.stoppedFor(j)
		} else if c.ranAtStart(j) > 0 {
			continue
		}
		if by < 0 || incoming >= 0 && by != incoming || slices.Contains(more, by) {
			return ""
		}
		incoming = by
	}
	if incoming < 0 || len(more) == 0 || c.expected(incoming) == nil {
		return ""
	}
	names := func(jobs []int) []string {
		var list []string
		for _, j := range jobs {
			if j != incoming {
				list = append(list, c.Jobs[j].Name)
			}
		}
		return list
	}
	x, ok := w.exchange(incoming)
	if !ok {
		return ""
	}
	return x.weigh(x.pick(names(fewer)), x.pick(names(more)))
}

// exchange is the scenario at its start, with a job that is to come.
func (w *kaiWorld) exchange(incoming int) (*exchange, bool) {
	c := w.c
	as := func(job int, milli int64) exchanged {
		j := &c.Jobs[job]
		e := exchanged{name: j.Name, queue: c.queueName(c.queue(j.Queue)), priority: j.Priority, milli: milli}
		if !j.Preemptible {
			e.class = berth.ClassLatencyCritical
		}
		return e
	}
	byAge := make([]int, len(c.Jobs))
	for i := range byAge {
		byAge[i] = i
	}
	slices.SortStableFunc(byAge, func(a, b int) int { return cmp.Compare(c.Jobs[a].Created, c.Jobs[b].Created) })
	waiting := []exchanged{as(incoming, milli(c.expected(incoming).GPUs))}
	var running []exchanged
	for _, j := range byAge {
		runs, waits := int64(0), int64(0)
		for k := range c.Jobs[j].Tasks {
			if t := &c.Jobs[j].Tasks[k]; t.running() {
				runs += milli(t.GPUs)
			} else {
				waits += milli(t.GPUs)
			}
		}
		if runs > 0 {
			running = append(running, as(j, runs))
		}
		if waits > 0 && j != incoming {
			waiting = append(waiting, as(j, waits))
		}
	}
	return newExchange(c.quotas(), c.fleetMilli(), running, waiting)
}

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

// moves reports whether KAI moves pods of a job that run.
func (c *kaiCase) moves(job int) bool {
	e := c.expected(job)
	nodes := map[string]int{}
	for k := range c.Jobs[job].Tasks {
		if t := &c.Jobs[job].Tasks[k]; t.running() {
			nodes[t.Node]++
		}
	}
	ran, there := c.ranAtStart(job), 0
	for node, n := range nodes {
		if e.Node != "" && node != e.Node {
			continue
		}
		if len(e.Nodes) > 0 {
			n = min(n, len(slices.DeleteFunc(slices.Clone(e.Nodes), func(other string) bool { return other != node })))
		}
		there += n
	}
	return there < min(ran, e.Running)
}

// needsMoves reports whether all that differs is that something waits for room, or has not
// grown into it, which KAI makes by moving what runs: as far as is known of what it did,
// or as nothing that runs loses anything.
func (c *kaiCase) needsMoves(w *kaiWorld, more, fewer []int) bool {
	moved, lost, room := false, false, c.fleetMilli()
	for i := range c.Expect {
		j := c.job(c.Expect[i].Job)
		moved = moved || c.moves(j)
		lost = lost || c.Expect[i].Running < c.ranAtStart(j)
		room -= milli(c.Expect[i].GPUs)
	}
	switch {
	case room < 0: // nor would moving anything help
		return false
	case len(fewer) == 0:
		return moved && len(more) == 0 && !w.started()
	}
	return (moved || !lost && !c.divided()) && !slices.ContainsFunc(more, func(j int) bool { return c.ranAtStart(j) == 0 }) &&
		c.all(fewer, func(j int) bool {
			if ran := c.ranAtStart(j); ran > 0 {
				return c.moves(j) || w.outcome(j).pods >= ran
			}
			reason := reasonOf(w.core, berth.JobID(c.Jobs[j].Name))
			return reason != nil && slices.Contains(noRoom, reason.Code)
		})
}

// divided reports whether anything asks for instances, which are not counted as GPUs.
func (c *kaiCase) divided() bool {
	return slices.ContainsFunc(c.Jobs, func(j kaiJob) bool {
		return slices.ContainsFunc(j.Tasks, func(t kaiTask) bool { return len(t.MIG) > 0 })
	})
}

// started reports whether anything runs that did not when the scenario started.
func (w *kaiWorld) started() bool {
	return slices.ContainsFunc(w.c.Expect, func(e kaiExpect) bool {
		j := w.c.job(e.Job)
		return w.outcome(j).pods > w.c.ranAtStart(j)
	})
}

// growsByLoss reports whether a gang that runs is expected to grow
// by what others lose.
func (c *kaiCase) growsByLoss() bool {
	grows, lost := false, false
	for i := range c.Expect {
		e := &c.Expect[i]
		ran := c.ranAtStart(c.job(e.Job))
		grows = grows || 0 < ran && ran < e.Running
		lost = lost || e.Running < ran
	}
	return grows && lost
}

// jobOf is the job of the scenario that a job of the core stands for, or -1.
func (w *kaiWorld) jobOf(id berth.JobID) int {
	at := slices.IndexFunc(w.gangs, func(g kaiGang) bool { return g.job.ID == id })
	if at < 0 {
		return -1
	}
	return w.gangs[at].of
}

// stoppedFor is the job for which one was stopped, or -1.
func (w *kaiWorld) stoppedFor(job int) int {
	for i := range w.gangs {
		if g := &w.gangs[i]; g.of == job {
			if id, stopped := w.stopped[g.job.ID]; stopped {
				return w.jobOf(id)
			}
		}
	}
	return -1
}

// gains reports whether somebody was stopped for a job.
func (w *kaiWorld) gains(job int) bool {
	for id := range w.stopped {
		if stopped := w.jobOf(id); stopped >= 0 && w.stoppedFor(stopped) == job {
			return true
		}
	}
	return false
}

// parting is the position in the path of one queue of the first that is in that of another
// too; the length of the path, if it is the root.
func (c *kaiCase) parting(of, other string) int {
	path, with := c.path(of), c.path(other)
	if at := slices.IndexFunc(path, func(q int) bool { return slices.Contains(with, q) }); at >= 0 {
		return at
	}
	return len(path)
}

// givesBack reports whether a job that is not preemptible was stopped for one of another
// queue, and its own, or one above it, uses more than its quota.
func (w *kaiWorld) givesBack(job int) bool {
	c, by := w.c, w.stoppedFor(job)
	if by < 0 || c.Jobs[job].Preemptible || c.Jobs[job].Queue == c.Jobs[by].Queue {
		return false
	}
	below := c.path(c.Jobs[job].Queue)[:c.parting(c.Jobs[job].Queue, c.Jobs[by].Queue)]
	return slices.ContainsFunc(below, func(q int) bool { return c.overQuota(q, 0) })
}

// overQuota reports whether a queue has more than its quota at the start, and with more.
func (c *kaiCase) overQuota(queue int, more int64) bool {
	return c.Queues[queue].Quota >= 0 && c.usedAtStart(queue)+more > milli(c.Queues[queue].Quota)
}

// amongSiblings reports whether jobs were stopped for one that runs with KAI too, which
// parts from them further down than from those that KAI stops; and whether its queue there
// would have more than its quota if those went for it.
func (w *kaiWorld) amongSiblings(stopped, spared []int) bool {
	c := w.c
	return c.all(stopped, func(j int) bool {
		by := w.stoppedFor(j)
		return by >= 0 && c.all(spared, func(k int) bool {
			queue := c.Jobs[by].Queue
			near, far := c.parting(queue, c.Jobs[j].Queue), c.parting(queue, c.Jobs[k].Queue)
			return near < far && c.overQuota(c.path(queue)[far-1], milli(w.outcome(by).gpus))
		})
	})
}
