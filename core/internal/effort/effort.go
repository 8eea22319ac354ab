// Package effort bounds the work of a pass. What an event may say is bounded elsewhere, in limits.
package effort

import (
	"fmt"

	"github.com/berth-sched/berth/internal/limits"
)

// Bounds bound the work of one pass, beside the budgets of the policy. What a pass leaves over goes
// on in the next one, from where it stopped. A core has the usual ones; tests lower them in a
// snapshot, so that small worlds reach every one of them.
type Bounds struct {
	// Placed bounds what one pass places: the members of the minimum of each gang, and one for each
	// attempt to place a gang.
	Placed int `json:"placed"`
	// Moves is for how many gangs one pass looks for another place than where they stood.
	Moves int `json:"moves"`
	// Bids is for how many entries one pass looks for victims, and VictimSearches how many
	// searches that takes for one of them, or in all: after an eighth of so many searches a pass
	// looks for no other entry. What is imagined before the first search counts among these, up to
	// a half of them. Up to Candidates running jobs one search looks at all of them,
	// and where more run it begins with the jobs on no more nodes than that. Victims is how many
	// it looks at to find out whether farther queues may be asked.
	Bids           int `json:"bids"`
	VictimSearches int `json:"victimSearches"`
	Candidates     int `json:"candidates"`
	Victims        int `json:"victims"`
	// Movers is among how many gangs one search looks for those to move, and MoveTrials how often
	// it tries.
	Movers     int `json:"movers"`
	MoveTrials int `json:"moveTrials"`
	// Ahead is after how many expected checkpoints of victims a preemption is weighed.
	Ahead int `json:"ahead"`
	// Reshapes is for how many waiting requests one pass looks at all GPUs, Singles for how many
	// members that ask for the same, and Offers how many GPUs are tried, or changed, for one, and
	// in how many domains.
	Reshapes int `json:"reshapes"`
	Singles  int `json:"singles"`
	Offers   int `json:"offers"`
	// NodesLooked is after how many nodes that were looked at for GPUs to change no further
	// request has its turn in a pass.
	NodesLooked int `json:"nodesLooked"`
	// Ends is how many replicas a plan imagines ended.
	Ends int `json:"ends"`
	// Depth is how many jobs of one bucket a change on nodes that are set aside has tried there
	// because they are the first; beside them it has those tried that are let in if any is.
	Depth int `json:"depth"`
}

// Usual are those of a core that is not told otherwise.
func Usual() Bounds {
	return Bounds{
		Placed: 2048,
		Moves:  256,
		Bids:   16, VictimSearches: 2048, Candidates: 512, Victims: 4096,
		Movers: limits.MaxMovers, MoveTrials: 256, Ahead: 64,
		Reshapes: 8, Singles: 128, Offers: 1024, NodesLooked: 16_384,
		Ends: 65_536, Depth: 16,
	}
}

// each are the bounds in the order of their fields.
func (b *Bounds) each() [15]int {
	return [...]int{b.Placed, b.Moves, b.Bids, b.VictimSearches, b.Candidates, b.Victims, b.Movers, b.MoveTrials, b.Ahead, b.Reshapes, b.Singles, b.Offers, b.NodesLooked, b.Ends, b.Depth}
}

// Bad says why a core cannot have these bounds, or "" if it can: one leaves nothing to do, or more
// than usual.
func (b *Bounds) Bad() string {
	usual := Usual()
	most := usual.each()
	for i, n := range b.each() {
		if n < 1 || n > most[i] {
			return fmt.Sprintf("%d is outside 1..%d", n, most[i])
		}
	}
	return ""
}
