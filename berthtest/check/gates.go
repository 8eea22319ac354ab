package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// This file is what keeps jobs from being tried at all: begin times, the ends of other jobs, the
// widths of arrays, and caps. It looks at all jobs each time, and keeps no index of them.

// A gate is what a job waits for yet.
type gate struct {
	// begun: its begin time has come. left are the jobs that have not ended, with what counts as an
	// end. broken: one of them did not complete, and had to.
	begun  bool
	left   map[berth.JobID]berth.DependencyKind
	broken bool
}

// gateOf is the gate of a job that has just come; nil: nothing keeps it.
func (c *Checker) gateOf(j *job) (*gate, error) {
	spec := &j.spec
	if spec.Begin == 0 && len(spec.After) == 0 && spec.Array == nil && !c.isCapped(j) {
		return nil, nil
	}
	if spec.Service != nil {
		return nil, broken(PromiseGates, "service %s was accepted with a begin time, jobs to follow or an array", spec.ID)
	}
	g := &gate{begun: spec.Begin <= c.now, left: map[berth.JobID]berth.DependencyKind{}}
	for _, d := range spec.After {
		if before := c.jobs[d.Job]; before == nil || before == j || before.spec.Service != nil {
			return nil, broken(PromiseGates, "job %s was accepted, which follows job %s: that is not known, or a service", spec.ID, d.Job)
		}
		g.left[d.Job] = d.Kind
	}
	return g, nil
}

// sameArray reports whether two jobs are of one array.
func sameArray(a, b *job) bool {
	return a.spec.Array != nil && b.spec.Array != nil && a.queue == b.queue && a.spec.Array.Name == b.spec.Array.Name
}

// slotFree reports whether a job may start beside those of its array that have slots.
func (c *Checker) slotFree(j *job) bool {
	if j.spec.Array == nil {
		return true
	}
	taken := 0
	for _, other := range c.jobs {
		if other.gate == nil && sameArray(other, j) {
			taken++
		}
	}
	return taken < j.spec.Array.Width
}

// isCapped reports whether some cap holds for a job.
func (c *Checker) isCapped(j *job) bool {
	return j.spec.Service == nil && slices.ContainsFunc(c.capsFor(j.spec.User), func(r berth.CapReport) bool { return j.queue.below(r.Queue) })
}

// withinCaps reports whether a job keeps every cap, beside the jobs that are past their gates.
func (c *Checker) withinCaps(j *job) bool {
	for _, r := range c.capsFor(j.spec.User) {
		if !j.queue.below(r.Queue) {
			continue
		}
		switch c.countAt(&r); {
		case r.MaxJobs > 0 && r.Jobs >= r.MaxJobs && !r.PerUser:
			c.saw("kept back by a cap on the jobs of a queue")
			return false
		case r.MaxJobs > 0 && r.Jobs >= r.MaxJobs:
			c.saw("kept back by a cap on the jobs of a user")
			return false
		case r.MaxGPUMilli > 0 && asksMilli(j) > 0 && r.GPUMilli+asksMilli(j) > r.MaxGPUMilli:
			c.saw("kept back by a cap on the GPUs of a user")
			return false
		}
	}
	return true
}

// capsFor lists the caps of the policy on all jobs, and on those of each of these users: by queue,
// nothing counted yet.
func (c *Checker) capsFor(users ...string) (list []berth.CapReport) {
	for _, cap := range c.policy.Caps {
		if cap.MaxJobs > 0 {
			list = append(list, berth.CapReport{Queue: cap.Queue, MaxJobs: cap.MaxJobs})
		}
		if cap.MaxJobsPerUser > 0 || cap.MaxGPUMilliPerUser > 0 {
			for _, user := range users {
				list = append(list, berth.CapReport{Queue: cap.Queue, PerUser: true, User: user, MaxJobs: cap.MaxJobsPerUser, MaxGPUMilli: cap.MaxGPUMilliPerUser})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b berth.CapReport) int { return cmp.Compare(a.Queue, b.Queue) })
	return list
}

// againstCaps holds the caps of a report against those at which jobs wait.
func (c *Checker) againstCaps(r *berth.FleetReport) error {
	want := c.capsFor(c.users()...)
	for i := range want {
		c.countAt(&want[i])
	}
	want = slices.DeleteFunc(want, func(r berth.CapReport) bool { return r.Waiting == 0 })
	if !slices.Equal(want, r.Caps) {
		return broken(PromiseGates, "the report has the caps %v; they are %v", r.Caps, want)
	}
	return nil
}

// countAt counts the jobs that a cap holds for.
func (c *Checker) countAt(r *berth.CapReport) {
	for _, j := range c.jobs {
		switch g := j.gate; {
		case j.spec.Service != nil || !j.queue.below(r.Queue) || r.PerUser && j.spec.User != r.User:
		case g == nil:
			r.Jobs++
			r.GPUMilli += asksMilli(j)
		case g.begun && len(g.left) == 0 && !g.broken:
			r.Waiting++
		}
	}
}

// users are those that some job names, in order of name.
func (c *Checker) users() []string {
	known := map[string]bool{}
	for _, j := range c.jobs {
		known[j.spec.User] = true
	}
	return slices.Sorted(maps.Keys(known))
}

// asksMilli is what a job claims of GPUs at the most, whichever alternative it is.
func asksMilli(j *job) int64 {
	most := claimsMilli(j.groups)
	for i := range j.spec.Alternatives {
		most = max(most, claimsMilli(j.spec.Alternatives[i].Groups))
	}
	return most
}

// claimsMilli is what all members of some groups claim of GPUs, an instance for a whole one.
func claimsMilli(groups []berth.Group) (milli int64) {
	for i := range groups {
		g := &groups[i]
		each := int64(g.Claim.GPUs) * 1000
		if g.Claim.MIG != "" || g.Claim.MinInstance != nil {
			each = 1000
		}
		if g.Claim.Share != nil {
			each += int64(g.Claim.Share.GPUMilli)
		}
		milli += each * int64(g.Members)
	}
	return milli
}

// oneWidth: the jobs of an array that are known have one width.
func (c *Checker) oneWidth(j *job) error {
	for _, other := range c.jobs {
		if sameArray(other, j) && other.spec.Array.Width != j.spec.Array.Width {
			return broken(PromiseGates, "job %s was accepted with a width of %d, and job %s of its array has one of %d", j.spec.ID, j.spec.Array.Width, other.spec.ID, other.spec.Array.Width)
		}
	}
	return nil
}

// beginTimes notes the jobs that may begin by now.
func (c *Checker) beginTimes() {
	for _, j := range c.jobs {
		if j.gate != nil && !j.gate.begun && j.spec.Begin <= c.now {
			j.gate.begun = true
			c.saw("a begin time came")
		}
	}
}

// endForOthers notes at the gates of others that a job has ended.
func (c *Checker) endForOthers(ended *job) {
	for _, j := range c.jobs {
		if j.gate == nil {
			continue
		}
		kind, follows := j.gate.left[ended.spec.ID]
		switch delete(j.gate.left, ended.spec.ID); {
		case !follows:
		case ended.completed:
			c.saw("followed a job that completed")
		case kind == berth.DependencyAny:
			c.saw("followed a job that did not complete")
		default:
			j.gate.broken = true
		}
	}
}

// openGates has the jobs wait from now on that have nothing to wait for before: where an array or
// a cap has fewer slots than jobs that are ready, those of the highest rank.
func (c *Checker) openGates() {
	var ready []*replica
	for _, j := range c.jobs {
		if g := j.gate; g != nil && g.begun && len(g.left) == 0 && !g.broken {
			ready = append(ready, j.replicas[0])
		}
	}
	turn := func(rep *replica) berth.Time { return rep.created.Add(rep.job.later) }
	slices.SortFunc(ready, func(a, b *replica) int {
		return cmp.Or(compareRank(b, a), cmp.Compare(turn(a), turn(b)), byName(a, b))
	})
	for _, rep := range ready {
		if !c.slotFree(rep.job) {
			c.saw("kept back by the width of an array")
			continue
		}
		if !c.withinCaps(rep.job) {
			continue
		}
		rep.job.gate = nil
		rep.created = c.now
		c.pend(rep, false)
	}
}

// noneBroken: what can never start is dropped by the next pass.
func (c *Checker) noneBroken() error {
	for rep := range c.replicas() {
		if g := rep.job.gate; g != nil && g.broken {
			return broken(PromiseGates, "%s follows a job that did not complete, and was not dropped", rep)
		}
	}
	return nil
}

// dropBroken: a job is dropped for what it follows if that ended, and did not complete.
func dropBroken(rep *replica, d berth.Drop) error {
	if g := rep.job.gate; g == nil || !g.broken {
		return broken(PromiseGates, "order %d drops %s for a job that it follows, and none of these ended otherwise than it may", d.ID, rep)
	}
	return nil
}

// atGate: nothing is started that waits at a gate.
func atGate(rep *replica, b berth.Bind) error {
	if rep.job.gate != nil {
		return broken(PromiseGates, "order %d starts %s, whose begin time, predecessors, array or caps keep it", b.ID, rep)
	}
	return nil
}
