package record

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/roster"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/quota"
)

// Least is the number of members without which the gang does not start.
func Least(g *berth.Group) int {
	if g.MinMembers == 0 {
		return g.Members
	}
	return g.MinMembers
}

// UnitOf is the number of members that come and go together.
func UnitOf(g *berth.Group) int {
	if len(g.Topology.Segments) == 0 {
		return 1
	}
	return g.Topology.Segments[0].Size
}

// PlacedTogether reports whether where one member of a group goes depends on all others: it
// cannot be placed anew alone.
func PlacedTogether(t *berth.Topology) bool {
	return t.Balance != "" || t.Spread != "" || t.RailAligned
}

// MayBurnIn reports whether a replica may be placed on hardware in burn-in: its loss is cheap.
func MayBurnIn(rep *Replica) bool {
	return rep.Job.Spec.Class != berth.ClassLatencyCritical && rep.Job.OnOneNode()
}

// OnOneNode reports whether a gang is on one node for certain.
func (j *Job) OnOneNode() bool {
	return j.Members() == 1 || j.Spec.Topology.Required == limits.LevelNode
}

// TrustDomain is that of its members: see berth.Job.Tenant.
func (j *Job) TrustDomain() catalogue.TrustDomain {
	return catalogue.TrustDomainOf(j.Spec.Tenant, j.Spec.Queue)
}

// Borrows reports whether members of a job stand over GPUs that others lend.
func (j *Job) Borrows() bool { return j.Shape().Borrows }

// ClaimsGPUs reports whether some members of a job hold GPUs, or parts of one, that are not lent by
// another.
func (j *Job) ClaimsGPUs() bool {
	for i := range j.Spec.Groups {
		if c := &j.Spec.Groups[i].Claim; c.GPUs > 0 || c.Share != nil || c.MIG != "" || c.MinInstance != nil {
			return true
		}
	}
	return false
}

// IsElastic reports whether some group of a job may run with less than all of it.
func (j *Job) IsElastic() bool {
	for i := range j.Spec.Groups { // by reference: it is asked often, and a group is large
		if g := &j.Spec.Groups[i]; Least(g) < g.Members {
			return true
		}
	}
	return false
}

// A Job is what the core keeps of a Job. Many wait, so what jobs have in common is not kept with
// each of them.
//
// A job with alternatives is one of them at a time: Spec.Groups, Spec.Topology and Pattern are of
// that one, so that the code that asks for the needs of a gang knows no alternatives. A gang that
// holds anything, or has a place kept, is the one that stands there. While the core looks whether a
// waiting gang fits as one, the job is that one (Entry.Assume), and else the last that it was.
type Job struct {
	Spec     spec.Job
	Pattern  *Pattern
	Replicas roster.Roster[Replica] // those that are in no batch
	batches  *[]*Batch              // by number; nil: none, as few jobs have any
	Queue    quota.QueueIndex
	Live     int32 // replicas, those in batches too
	Gate     *Gate // nil: it is open
	JobPart
}

// NewJob is a record of a job of a pattern, in a queue. It shares no memory with the description.
func NewJob(j *berth.Job, p *Pattern, q quota.QueueIndex) *Job {
	return &Job{Spec: spec.JobOf(j, &p.Asked), Pattern: p, Queue: q}
}

// HasAlternatives reports whether a job may run as another gang than its own.
func (j *Job) HasAlternatives() bool { return j.Pattern.Options != nil }

// Alternative is what a job is, by its position among the options of its pattern.
func (j *Job) Alternative() int { return j.Pattern.At }

// Become makes a job one of its options.
func (j *Job) Become(at int) {
	j.Pattern = j.Pattern.Option(at)
	j.Spec.Asked = &j.Pattern.Asked
}

// Full is the job in the words of the contract, whichever of its alternatives it is. It shares
// memory with what the core keeps.
func (j *Job) Full() berth.Job {
	own := j.Spec
	own.Asked = &j.Pattern.Option(0).Asked
	return own.Full()
}

// Batches are those of a job, by number.
func (j *Job) Batches() []*Batch {
	if j.batches == nil {
		return nil
	}
	return *j.batches
}

// SetBatches changes which batches a job has.
func (j *Job) SetBatches(list []*Batch) {
	if j.batches = nil; len(list) > 0 {
		j.batches = &list
	}
}

// Length is how long each replica is expected to run; 0: as the policy assumes. It does not count
// for services.
func (j *Job) Length() berth.Duration { return cmp.Or(j.Learned, j.Spec.Told()) }

// Shape is the shape of the whole gang.
func (j *Job) Shape() *Shape { return j.Pattern.Shape }

// Offset is the flat index of the first member of a group; of one group more: the number of all.
func (j *Job) Offset(group int) int { return j.Pattern.Offsets[group] }

// Group returns the group of the member with a flat index.
func (j *Job) Group(flat int) int {
	g, found := slices.BinarySearch(j.Pattern.Offsets, flat)
	if !found {
		return g - 1
	}
	// Groups may not be empty, so an offset belongs to the group it starts.
	return g
}

// Members is the number of members of the whole gang.
func (j *Job) Members() int { return j.Pattern.Offsets[len(j.Pattern.Offsets)-1] }

// Flat returns the flat index that a reference names, or -1.
func (j *Job) Flat(ref berth.MemberRef) int {
	g := j.Spec.Group(ref.Group)
	if g < 0 || ref.Index < 0 || ref.Index >= j.Spec.Groups[g].Members {
		return -1
	}
	return j.Offset(g) + ref.Index
}
