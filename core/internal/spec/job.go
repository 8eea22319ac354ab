// Package spec has the descriptions of jobs and nodes as the core keeps them. Jobs that ask for the
// same share one copy of that, and a node has one copy of the properties that its GPUs share.
// CheckNode, CheckClaim and CheckSelector refuse what makes no sense, before it is kept.
//
// It holds no state.
package spec

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/values"
)

// A Job is the description of a job. What it asks for it shares with the jobs that ask for the
// same in the same words. Of a job with alternatives that is what it asks for as one of them: see
// record.Job.
type Job struct {
	ID       berth.JobID
	Queue    berth.QueueID
	Tenant   berth.TenantID
	Class    berth.Class
	Priority int32
	*Asked
	Service         *berth.Service
	MinRuntime      berth.Duration
	MaxRuntime      berth.Duration
	ExpectedRuntime berth.Duration
	Program         string
	Checkpoint      berth.Checkpoint
	GangTimeout     berth.Duration
	Lend            *berth.Lend
	Gates           *Gates
}

// Gates are what a job waits for before it has its place in the order of service: see
// berth.Dependency.
type Gates struct {
	Begin berth.Time
	After []berth.Dependency
	Array *berth.Array
	// User is one of the users that have slots of their own.
	User string
}

// gatesOf are those of a job; nil: it has none. They share no memory with the job.
func gatesOf(j *berth.Job) *Gates {
	if j.Begin == 0 && len(j.After) == 0 && j.Array == nil && j.User == "" {
		return nil
	}
	return &Gates{Begin: j.Begin, After: slices.Clone(j.After), Array: values.Copied(j.Array), User: j.User}
}

// Gating is what a job waits for before it has its place; nothing where Gates is nil.
func (j *Job) Gating() Gates {
	if j.Gates == nil {
		return Gates{}
	}
	return *j.Gates
}

// Asked is what jobs ask for.
type Asked struct {
	Groups   []berth.Group
	Topology berth.Topology
	// Alternatives are other gangs that the job may run as. What it is as one of them has none.
	Alternatives []berth.Alternative `json:",omitempty"`
	Choose       berth.Choice        `json:",omitzero"`
	SameLabels   []string            `json:",omitempty"`
	// NonPreemptible: it fits into the guarantee of its queue, or waits.
	NonPreemptible bool `json:",omitempty"`
	// MaxRequeues is no part of a request, but jobs of one kind have the same.
	MaxRequeues []berth.RequeueCap `json:",omitempty"`
}

// AskedBy is what a job asks for. It shares memory with the job.
func AskedBy(j *berth.Job) Asked {
	return Asked{
		Groups: j.Groups, Topology: j.Topology, Alternatives: j.Alternatives, Choose: j.Choose,
		SameLabels: j.SameLabels, NonPreemptible: j.NonPreemptible, MaxRequeues: j.MaxRequeues,
	}
}

// As is what a job asks for that runs as one of its alternatives. It shares memory with the job.
func (a *Asked) As(other *berth.Alternative) Asked {
	c := *a
	c.Groups, c.Topology, c.Alternatives, c.Choose = other.Groups, other.Topology, nil, 0
	return c
}

// Simple reports whether groups are all that is asked for.
func (a *Asked) Simple() bool {
	t := &a.Topology
	whole := t.Required == "" && t.Preferred == "" && t.Exclusive == "" && len(t.Parts) == 0 && t.Apart == ""
	parted := len(t.Segments) > 0 || t.Balance != "" || t.Spread != "" || t.MaxSkew != 0 || t.RailAligned
	return whole && !parted && len(a.Alternatives) == 0 && a.Choose == 0 && len(a.SameLabels) == 0 && !a.NonPreemptible && len(a.MaxRequeues) == 0
}

// Clone returns a copy that shares no memory that the caller could change.
func (a *Asked) Clone() Asked {
	c := *a
	c.Groups, c.Topology, c.SameLabels = values.CloneGroups(a.Groups), values.CloneTopology(a.Topology), slices.Clone(a.SameLabels)
	c.Alternatives, c.MaxRequeues = values.CloneAlternatives(a.Alternatives), slices.Clone(a.MaxRequeues)
	return c
}

// JobOf is the description of a job, which asks for what is given. It shares no memory with the
// job.
func JobOf(j *berth.Job, asked *Asked) Job {
	return Job{
		ID: j.ID, Queue: j.Queue, Tenant: j.Tenant, Class: j.Class, Priority: j.Priority, Asked: asked, Service: values.Copied(j.Service),
		MinRuntime: j.MinRuntime, MaxRuntime: j.MaxRuntime, ExpectedRuntime: j.ExpectedRuntime, Program: j.Program, Checkpoint: j.Checkpoint, GangTimeout: j.GangTimeout,
		Lend: values.Copied(j.Lend), Gates: gatesOf(j),
	}
}

// Full is the job, as one of its alternatives, in the words of the contract. It shares memory with
// what the core keeps.
func (j *Job) Full() berth.Job {
	gates := j.Gating()
	return berth.Job{
		ID: j.ID, Queue: j.Queue, Tenant: j.Tenant, Class: j.Class, Priority: j.Priority,
		Groups: j.Groups, Topology: j.Topology, Alternatives: j.Alternatives, Choose: j.Choose,
		SameLabels: j.SameLabels, NonPreemptible: j.NonPreemptible, Service: j.Service,
		MinRuntime: j.MinRuntime, MaxRuntime: j.MaxRuntime, ExpectedRuntime: j.ExpectedRuntime, Program: j.Program, Checkpoint: j.Checkpoint, GangTimeout: j.GangTimeout,
		MaxRequeues: j.MaxRequeues, Lend: j.Lend, Begin: gates.Begin, After: gates.After, Array: gates.Array, User: gates.User,
	}
}

// Told is how long the job tells that it runs, which is no longer than it may; 0: it tells nothing.
func (j *Job) Told() berth.Duration {
	if j.MaxRuntime > 0 && (j.ExpectedRuntime == 0 || j.ExpectedRuntime > j.MaxRuntime) {
		return j.MaxRuntime
	}
	return j.ExpectedRuntime
}

// Preferred reports whether somebody put the job before others, by class or priority.
func (j *Job) Preferred() bool { return j.Class > berth.ClassBatch || j.Priority > 0 }

// Group is the position of a group by name, or -1.
func (j *Job) Group(name string) int {
	return slices.IndexFunc(j.Groups, func(g berth.Group) bool { return g.Name == name })
}

// Gangs is the number of gangs that the job asks for.
func (j *Job) Gangs() int {
	if j.Service == nil {
		return 1
	}
	return j.Service.Replicas
}
