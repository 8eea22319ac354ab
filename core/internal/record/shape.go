package record

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/demand"
	"github.com/berth-sched/berth/core/internal/spec"
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
	return t.Exclusive == "" && (t.Required != "" || slices.ContainsFunc(s.Spec.Groups, func(g berth.Group) bool { return g.Topology.Required != "" }))
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

// A Pattern is what jobs have in common that ask for the same in the same words: their groups, and
// where these may go. Most jobs of a fleet are of few patterns, so that the groups are kept once,
// and a job that comes is known to be of a shape without looking at what it asks for.
type Pattern struct {
	Key string
	spec.Asked
	Shape   *Shape // of the whole gang
	Offsets []int  // flat index of each group's first member; one more: the total
	Users   int    // jobs
	claims  []berth.GroupClaim
	// Options are the patterns of what a job may run as, and At is which of them this one is. The
	// first is that of the job, which has the key and the users, and those of its alternatives are
	// known by it alone; nil: there are none.
	Options []*Pattern
	At      int
}

// Many is how many options there are: one, if the job has no alternatives.
func (p *Pattern) Many() int { return max(1, len(p.Options)) }

// Option is one of so many options; 0: the pattern of the job's own gang.
func (p *Pattern) Option(at int) *Pattern {
	if p.Options == nil {
		return p
	}
	return p.Options[at]
}

// NewPattern is the pattern of what is asked for, which it keeps, with those of the alternatives.
func NewPattern(key string, asked spec.Asked) *Pattern {
	p := &Pattern{Key: key, Asked: asked, Offsets: OffsetsOf(asked.Groups)}
	if len(asked.Alternatives) == 0 {
		return p
	}
	p.Options = append(p.Options, p)
	for i := range asked.Alternatives {
		as := asked.As(&asked.Alternatives[i])
		p.Options = append(p.Options, &Pattern{Asked: as, Offsets: OffsetsOf(as.Groups), At: i + 1})
	}
	for _, o := range p.Options {
		o.Options = p.Options
	}
	return p
}

// Claims is what the members of each group ask for, for the Binds of the jobs. It shares no
// memory with the description, so that no reader of an order can change that.
func (p *Pattern) Claims() []berth.GroupClaim {
	if p.claims == nil {
		p.claims = make([]berth.GroupClaim, len(p.Groups))
		for i := range p.claims {
			g := &p.Groups[i]
			p.claims[i] = berth.GroupClaim{Group: g.Name, Claim: values.CloneClaim(g.Claim)}
		}
	}
	return p.claims
}

// InStep checks that what follows from the groups of a pattern does.
func (p *Pattern) InStep() error {
	fresh := Pattern{Key: p.Key, Asked: p.Asked, Offsets: OffsetsOf(p.Groups)}
	if !slices.Equal(p.Offsets, fresh.Offsets) {
		return fmt.Errorf("its groups begin at %v, not at %v", p.Offsets, fresh.Offsets)
	}
	if p.claims != nil && !values.SameClaims(p.claims, fresh.Claims()) {
		return fmt.Errorf("its Binds say that it claims %v", p.claims)
	}
	return nil
}

// OffsetsOf lists the flat index of the first member of each group; one more: the total.
func OffsetsOf(groups []berth.Group) []int {
	offsets := make([]int, 1, 1+len(groups))
	for i := range groups {
		offsets = append(offsets, offsets[i]+groups[i].Members)
	}
	return offsets
}

// A PatternSpec is what a pattern is known by: its JSON is the key.
type PatternSpec struct {
	catalogue.TrustDomain // only where a GPU is shared

	spec.Asked
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
