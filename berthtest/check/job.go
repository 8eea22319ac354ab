package check

import (
	"cmp"
	"fmt"

	"github.com/berth-sched/berth"
)

// A job is what is known of a job.
type job struct {
	// spec has the groups and the topology of the alternative that the job is; groups and topology
	// are its own, and at says which it is.
	spec      berth.Job
	groups    []berth.Group
	topology  berth.Topology
	at        int
	queue     *queue
	offsets   []int // flat index of each group's first member
	replicas  map[int]*replica
	cancelled bool
	// completed: it was told that it finished well. gate is what it waits for before it is tried;
	// nil: nothing.
	completed bool
	gate      *gate
	// former is the highest life of the replicas that are forgotten.
	former berth.Incarnation
	// length is how long it was expected to run when it came; 0: as the policy assumes.
	length berth.Duration
	// later is how much later than it was asked for a gang of it counts as asked for.
	later berth.Duration
	// observed jobs may stand where the core would not have placed them.
	observed bool
}

// A replica is one gang of a job, in one of the states that the manual draws.
type replica struct {
	job          *job
	number       int
	state        berth.ReplicaState
	incarnation  berth.Incarnation
	pendingSince berth.Time
	created      berth.Time // asked for
	started      berth.Time // while Running
	// runsUntil is for how long it may run, askedFrom when there is just the time for a checkpoint.
	runsUntil, askedFrom berth.Time
	// cameAt is when it last began to run other than where a place was kept for it; resumes:
	// it will run where one was.
	cameAt  berth.Time
	resumes bool
	// readyAt is the end of a backoff; attempts counts those in a row.
	readyAt  berth.Time
	attempts int
	members  []*member // by flat index; nil where pending
	// order that is out, or nil.
	order berth.Order
	// cause of the Release to come, and which attempts of it were given.
	cause    berth.CauseCode
	released int
	returning
	// left is the cause for which it last left its place, if one may be kept for it since.
	left berth.CauseCode
	// hastened: it has to leave before the deadline of the latest request, or another policy of
	// what is idle is in force than that for which it was asked. The request is taken back.
	hastened bool
	standIns
	// requeued counts how often it came back to the queue, by cause.
	requeued map[berth.CauseCode]int
	// stays: it was asked to leave a node, and need not any more.
	stays bool
	// gone: forgotten when released. backoff: pending only after a backoff.
	gone, backoff bool
	// observed: this life was told, not ordered.
	observed bool
	// alone has the domains that the gang has for itself, by their keys.
	alone map[string]bool
	// activeMilli is how busy its GPUs are, as was told.
	activeMilli int64
	// struck: hardware was taken from it, and it has not run since.
	struck bool
	// preemption of which it is a victim, or nil. first is the beneficiary of its last surplus
	// eviction.
	preemption *preemption
	first      berth.ReplicaRef
	// checkpointed is when it wrote the last checkpoint that is known of; tells: it told of
	// one by itself. evicted counts how often in a row it was evicted. When it was reclaimed it
	// rests, until an instant at least; mayRest: others of its queue were evicted for it, so that
	// it rests if their place was taken.
	checkpointed berth.Time
	tells        bool
	evicted      int
	rest         berth.Duration
	restsUntil   berth.Time
	mayRest      bool
	// cooling: that was so short a time ago, when it last had to, that only what is owed may
	// be taken from it.
	cooling bool
	// letIn: at some time it was placed on nodes that were set aside, so that it may be there until
	// these are needed.
	letIn bool
	// quiet is how busy it is, or by when it gives back.
	quiet quiet
	// idle says since when it leaves idle what it holds.
	idle idleness
	// avoided has the nodes where a member of it ever failed to start.
	avoided map[berth.NodeID]bool
}

// A member of a replica that is not pending.
type member struct {
	rep        *replica
	flat       int
	state      memberState
	at         berth.MemberPlacement
	bind       berth.OrderID // the Bind that placed it; 0: it was observed
	node       *node         // nil: holds nothing
	ran        bool          // it was known to run, and may be stopping now
	preemption *preemption   // that evicts it while its gang goes on, or nil
}

type memberState uint8

const (
	// absent: not placed, or over.
	absent memberState = iota
	// binding: in the Bind that is out.
	binding
	running
	// broke: died or failed to start while its gang was being bound. It keeps its
	// place until the next pass decides about the gang.
	broke
	// lost: went with its hardware while its gang was being bound.
	lost
	// stopping: in the Release that is out or to come.
	stopping
)

// newJob enters a job that was accepted.
func (c *Checker) newJob(spec berth.Job) (*job, error) {
	q := c.queues[spec.Queue]
	switch {
	case c.jobs[spec.ID] != nil:
		return nil, broken(PromiseEvents, "job %s was accepted twice", spec.ID)
	case q == nil:
		return nil, broken(PromiseEvents, "job %s was accepted into queue %s, which is not known", spec.ID, spec.Queue)
	case len(q.children) > 0:
		return nil, broken(PromiseEvents, "job %s was accepted into queue %s, which has queues below it", spec.ID, spec.Queue)
	}
	for i := range spec.Groups {
		if g := &spec.Groups[i]; g.Members < 1 || g.MinMembers < 0 || g.MinMembers > g.Members {
			return nil, broken(PromiseEvents, "job %s was accepted with a group of %d, of at least %d", spec.ID, g.Members, g.MinMembers)
		}
	}
	if spec.MaxRuntime != 0 && (spec.MaxRuntime < spec.MinRuntime || spec.Service != nil) {
		return nil, broken(PromiseEvents, "job %s was accepted, which runs for %v at least and %v at most, or is a service", spec.ID, spec.MinRuntime, spec.MaxRuntime)
	}
	if err := cmp.Or(mayLend(&spec), mayHaveAlternatives(&spec)); err != nil {
		return nil, err
	}
	j := &job{spec: spec, groups: spec.Groups, topology: spec.Topology, queue: q, replicas: map[int]*replica{}, length: c.expect(&spec)}
	if spec.Service == nil {
		j.later = berth.Duration(max(0, c.policy.Stretch)) * min(c.lengthOf(j), c.policy.AssumedRuntime)
	}
	j.become(0)
	if err := c.oneWidth(j); err != nil {
		return nil, err
	}
	q.jobs++
	c.jobs[spec.ID] = j
	return j, nil
}

// wanted is the number of gangs that a job asks for when it comes.
func (j *job) wanted() int {
	if j.spec.Service == nil {
		return 1
	}
	return j.spec.Service.Replicas
}

// newReplica adds a replica with the lowest number that is free.
func (c *Checker) newReplica(j *job) *replica {
	number := 0
	for j.replicas[number] != nil {
		number++
	}
	rep := &replica{job: j, number: number, created: c.now, incarnation: j.former}
	j.replicas[number] = rep
	return rep
}

// group is the index of the group of the member with a flat index.
func (j *job) group(flat int) int {
	g := 0
	for flat >= j.offsets[g+1] {
		g++
	}
	return g
}

// flat is the flat index that a reference names, or -1.
func (j *job) flat(ref berth.MemberRef) int {
	for g := range j.spec.Groups {
		if j.spec.Groups[g].Name == ref.Group && ref.Index >= 0 && ref.Index < j.spec.Groups[g].Members {
			return j.offsets[g] + ref.Index
		}
	}
	return -1
}

// minimum of a group, without which its gang is not worth starting.
func minimum(g *berth.Group) int {
	if g.MinMembers == 0 {
		return g.Members
	}
	return g.MinMembers
}

func (m *member) group() *berth.Group { return &m.rep.job.spec.Groups[m.rep.job.group(m.flat)] }
func (m *member) claim() *berth.Claim { return &m.group().Claim }

func (m *member) ref() berth.MemberRef {
	return berth.MemberRef{Group: m.group().Name, Index: m.flat - m.rep.job.offsets[m.rep.job.group(m.flat)]}
}

func (m *member) String() string { return m.rep.String() + m.ref().String() }

func (rep *replica) key() gangKey { return gangKey{rep.job.spec.ID, rep.number} }

func (rep *replica) String() string { return fmt.Sprintf("%s/%d", rep.job.spec.ID, rep.number) }

// enlist gives a replica its members, none of them placed.
func (rep *replica) enlist() {
	j := rep.job
	rep.members = make([]*member, j.offsets[len(j.offsets)-1])
	for flat := range rep.members {
		rep.members[flat] = &member{rep: rep, flat: flat}
	}
}

// in lists the members in one of the given states.
func (rep *replica) in(states ...memberState) []*member {
	var list []*member
	for _, m := range rep.members {
		for _, s := range states {
			if m.state == s {
				list = append(list, m)
			}
		}
	}
	return list
}

func (rep *replica) has(state memberState) bool {
	for _, m := range rep.members {
		if m.state == state {
			return true
		}
	}
	return false
}

// short names a group that has fewer members in the given states than its
// minimum, or returns "".
func (rep *replica) short(states ...memberState) string {
	counts := make([]int, len(rep.job.spec.Groups))
	for _, m := range rep.in(states...) {
		counts[rep.job.group(m.flat)]++
	}
	for g, n := range counts {
		if least := minimum(&rep.job.spec.Groups[g]); n < least {
			return fmt.Sprintf("%d members of group %q, of at least %d", n, rep.job.spec.Groups[g].Name, least)
		}
	}
	return ""
}

// grows reports whether a replica wants further members and may get them.
func (rep *replica) grows() bool {
	return rep.state == berth.ReplicaRunning && rep.order == nil && rep.has(absent) && !rep.has(stopping) && !rep.idle.stays
}

// waits reports whether a replica stands in its queue.
func (rep *replica) waits() bool { return rep.wants() && !rep.job.isOutOfBudget() }

// waitsForBudget reports whether it would stand there if a budget were not used up.
func (rep *replica) waitsForBudget() bool { return rep.wants() && rep.job.isOutOfBudget() }

// wants reports whether a replica needs a place, or members, and neither a backoff nor a gate keeps
// it.
func (rep *replica) wants() bool {
	return rep.readyAt == 0 && rep.job.gate == nil && (rep.state == berth.ReplicaPending || rep.grows())
}
