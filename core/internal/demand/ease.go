package demand

import (
	"slices"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
)

// An Ease is what a request for whole GPUs asks of each of its nodes, in a few numbers that are
// looked at without a look at the request. The zero value is of a request that takes more to tell.
type Ease struct {
	classes uint64 // a bit for each class of nodes that will do
	gpus    int
	host    countable.Amounts
	// declared is of the declared resources; nil: none.
	declared *countable.Declared
}

// EaseOf is the ease of the groups of a request: of one group, for which all nodes of its classes
// are alike.
func EaseOf(groups []gang.Group) (e Ease) {
	g := &groups[0]
	if len(groups) > 1 || g.Match != nil || g.Claim.GPUs == 0 {
		return e
	}
	for _, class := range g.Classes {
		if class >= 64 {
			return Ease{}
		}
		e.classes |= 1 << class
	}
	e.gpus, e.host, e.declared = g.Claim.GPUs, g.Claim.Host, g.Claim.Declared
	return e
}

// Equal reports whether two ask the same.
func (e Ease) Equal(o Ease) bool {
	same := e.declared.Equal(o.declared)
	e.declared, o.declared = nil, nil
	return same && e == o
}

// Easiest are some of the requests that came, none of which makes another one needless. The zero
// value has none.
type Easiest []Ease

// mostEasiest bounds those that are kept: each that comes is compared with them.
const mostEasiest = 16

// Has reports whether one is known that fits on every node on which another does.
func (l Easiest) Has(other *Ease) bool {
	for i := range l {
		if e := &l[i]; other.classes != 0 && other.classes&^e.classes == 0 && e.gpus <= other.gpus && e.host.Within(other.host) && e.declared.Within(other.declared) {
			return true
		}
	}
	return false
}

// Note enters one that is not known.
func (l *Easiest) Note(e *Ease) {
	one := Easiest{*e}
	left := slices.DeleteFunc(*l, func(other Ease) bool { return one.Has(&other) })
	if *l = left; e.classes != 0 && len(left) < mostEasiest {
		*l = append(left, *e)
	}
}
