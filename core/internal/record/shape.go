package record

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/demand"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// A Shape is one request, as far as the search can tell requests apart.
type Shape struct {
	// Version of the class table that the requests were compiled for. What is looked at of all that
	// wait stands together: to load a shape is most of the time.
	Version int
	Ease    demand.Ease // of minimum
	GPUs    int         // the least number of whole GPUs that it can start with
	// BlockedAt is the position in its list of Backlog.Blocked, or -1.
	BlockedAt int
	Buckets   []*Bucket
	Key       string
	Request   gang.Request // all members, or at least the minimum
	Minimum   gang.Request // the minimum alone
	Charge    quota.Charge // of request; of one product, or of none in particular
	Least     quota.Charge // of minimum
	Spans     bool         // it needs more GPUs than any node for it has
	Spec      ShapeSpec
	// LooksAround: whether it fits depends on nodes on which no member would fit.
	LooksAround bool
	// Borrows: its members with GPUs stand over those that others hold and lend.
	Borrows bool
	// Levels in one domain of which the gang, a group or a segment is to be.
	Levels []topology.Level
	// Users counts the jobs and growth entries of this shape.
	Users int
}

// IsDomainBound reports whether the gang, or a group of it, must be in one domain of a level, which
// it may share with others.
func (s *Shape) IsDomainBound() bool {
	t := &s.Spec.Topology
	return t.Exclusive == "" && (t.Required != "" || t.Apart != "" ||
		slices.ContainsFunc(t.Parts, func(p berth.Part) bool { return p.Required != "" }) ||
		slices.ContainsFunc(s.Spec.Groups, func(g berth.Group) bool { return g.Topology.Required != "" }))
}

// A ShapeSpec is what a shape is compiled from. Its JSON is the shape's key.
type ShapeSpec struct {
	catalogue.TrustDomain // only where a GPU is shared

	Groups   []berth.Group
	Topology berth.Topology
	// SameLabels have one value on the nodes of all members with GPUs; for further members of a
	// running gang, the values that they have on the node Like.
	SameLabels []string     `json:",omitempty"`
	Like       berth.NodeID `json:",omitempty"`
	// NonPreemptible: it fits into the guarantee of its queue, or waits.
	NonPreemptible bool `json:",omitempty"`
	// Gang is how many GPUs all of a gang asks for, for further members of a running one; what no
	// node has is one number.
	Gang int `json:",omitempty"`
	// Within and Only restrict where further members of a running gang may go.
	Within topology.DomainIndex
	Only   berth.NodeID `json:",omitempty"`
	// RestsUntil of a gang that waits: those that rest are no measure for the others.
	RestsUntil berth.Time `json:",omitempty"`
	// Of names the running gang, if it has domains for itself.
	Of        berth.JobID `json:",omitempty"`
	OfReplica int         `json:",omitempty"`
}

type label struct{ key, value string }

// LabelsOf lists the labels that a group selects by, in order.
func LabelsOf(g *berth.Group) []label {
	if len(g.Selector.Labels) == 0 {
		return nil // to sort nothing allocates
	}
	var labels []label
	for _, key := range slices.Sorted(maps.Keys(g.Selector.Labels)) {
		labels = append(labels, label{key, g.Selector.Labels[key]})
	}
	return labels
}

// Fewest is how many members a gang of a compiled shape starts with at the least.
func (s *Shape) Fewest() (members int) {
	for i := range s.Minimum.Groups {
		members += s.Minimum.Groups[i].Members
	}
	return members
}

// IsElastic reports whether a gang of a shape may start with less than all of it.
func (s *Shape) IsElastic() bool {
	return slices.ContainsFunc(s.Request.Groups, func(g gang.Group) bool { return g.Members > g.MinMembers })
}

// IsSingle reports whether a shape is one member with no more than a GPU, which cannot
// lose to smaller work, or borrows, and has no claim to any GPU.
func (s *Shape) IsSingle() bool {
	return s.Borrows || len(s.Minimum.Groups) == 1 && s.Minimum.Groups[0].Members == 1 && s.GPUs < 2
}

// FirstWish is the first entry of a shape that GPUs may be repartitioned for; nil: none. They are
// for what a job asks for itself, and not for its alternatives: one look at a time is noted.
func (s *Shape) FirstWish() *Entry {
	var first *Entry
	for _, b := range s.Buckets {
		e := b.firstOwn()
		if e != nil && !e.Grows && b.QuotaSlot < 0 && (first == nil || CompareEntries(e, first) < 0) {
			first = e
		}
	}
	return first
}

// ClaimsDevice reports whether any member of a shape claims GPUs or a part of one for itself.
func (s *Shape) ClaimsDevice() bool {
	return !s.Borrows && slices.ContainsFunc(s.Spec.Groups, func(g berth.Group) bool { return values.WantsDevice(&g.Claim) })
}
