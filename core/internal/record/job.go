package record

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/roster"
	"github.com/berth-sched/berth/core/internal/values"
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

// ReplicasOf is the number of gangs that the job asks for.
func ReplicasOf(j *berth.Job) int {
	if j.Service == nil {
		return 1
	}
	return j.Service.Replicas
}

// GroupOf finds a group by name, or returns -1.
func GroupOf(j *berth.Job, name string) int {
	return slices.IndexFunc(j.Groups, func(g berth.Group) bool { return g.Name == name })
}

// MayBurnIn reports whether a replica may be placed on hardware in burn-in: its loss is cheap.
func MayBurnIn(rep *Replica) bool {
	return rep.Job.Spec.Class != berth.ClassLatencyCritical && rep.Job.OnOneNode()
}

// OnOneNode reports whether a gang is on one node for certain.
func (j *Job) OnOneNode() bool {
	return j.Members() == 1 || j.Spec.Topology.Required == limits.LevelNode
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

// A Job is what the core keeps of a Job.
type Job struct {
	Spec     berth.Job
	Queue    quota.QueueIndex
	Shape    *Shape                 // of the whole gang
	Pattern  *Pattern               // that it shares its groups with
	Offsets  []int                  // flat index of each group's first member; one more: the total
	Replicas roster.Roster[Replica] // those that are in no batch
	Batches  []*Batch               // by number
	Live     int                    // replicas, those in batches too
	claims   []berth.GroupClaim
	JobPart
}

// Claims is what the members of each group ask for, for the Binds of the job. It shares no
// memory with the description, so that no reader of an order can change that.
func (j *Job) Claims() []berth.GroupClaim {
	if j.claims == nil {
		j.claims = make([]berth.GroupClaim, len(j.Spec.Groups))
		for i := range j.claims {
			g := &j.Spec.Groups[i]
			j.claims[i] = berth.GroupClaim{Group: g.Name, Claim: values.CloneClaim(g.Claim)}
		}
	}
	return j.claims
}

// Group returns the group of the member with a flat index.
func (j *Job) Group(flat int) int {
	g, found := slices.BinarySearch(j.Offsets, flat)
	if !found {
		return g - 1
	}
	// Groups may not be empty, so an offset belongs to the group it starts.
	return g
}

// Members is the number of members of the whole gang.
func (j *Job) Members() int { return j.Offsets[len(j.Offsets)-1] }

// Flat returns the flat index that a reference names, or -1.
func (j *Job) Flat(ref berth.MemberRef) int {
	g := GroupOf(&j.Spec, ref.Group)
	if g < 0 || ref.Index < 0 || ref.Index >= j.Spec.Groups[g].Members {
		return -1
	}
	return j.Offsets[g] + ref.Index
}
