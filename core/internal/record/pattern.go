package record

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/core/internal/values"
)

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
