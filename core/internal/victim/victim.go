// Package victim looks for victims: of which queues something may be taken and what these keep,
// which of their jobs, or parts of jobs, suffice for a beneficiary at the least cost, and whether
// that pays. It stops nothing.
//
// A beneficiary waits, or runs and is to grow. One that runs takes back what its queue is
// guaranteed, at every level up to where the paths part, and nothing else: not of its own queue, as
// a member above the minimum is worth less than any job, and a gang of the highest priority would
// hold all others at their minimums; and not for a fair share, for which two elastic gangs would
// pass members to and fro with every change of demand, a resize on either side each time.
//
// Exchanges end with growth as they do without, by the proof of package quota (entitlement.go).
// What jobs fill of a guarantee is counted with the minimum of a gang as one job and each unit
// above it as another: growth is the start of some of these. With them all of the queue is within
// its guarantee, so that what is kept of it is its use, and the first sum rises by what the new
// members are charged; no queue that gives lets it fall. So a gang that has grown is no victim of
// those that gave, unless something ends by itself: what it holds is within the guarantee of its
// queue.
package victim

import (
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/evictable"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/quota"
)

// Victims are searched for. It owns no state but an index of what runs.
//
// Its invariants:
//
//  1. A search changes nothing: what it imagines on the fleet and the quota tree is back when a
//     method returns, but for Imagine and Options, which SetBack ends.
//  2. Victims are of other queues, or all of the own one, and those rank below the beneficiary.
//  3. What is chosen leaves every queue what package quota says that it keeps (entitlement.go).
//  4. A gang keeps its minimum, or goes as a whole.
//  5. Gain and cost say when victims go, and never which.
//  6. The index has of each node what stands there, as of the last look at it.
//  7. A job that writes no checkpoints goes for another queue only if the beneficiary is of a
//     higher class, or has waited for the guarantee of its queue for GuaranteeWithin, unless the
//     policy says otherwise. Until then a guarantee is weighed as all else is.
type Victims struct {
	state   *state.State
	books   *books.Books
	backlog *backlog.Backlog
	life    *life.Life
	search  *search.Search

	evictable *evictable.Index
	// gathered counts the candidates that searches have gathered on nodes.
	gathered int
	lenders  []quota.QueueIndex // scratch
}

// New returns one that stands on the rooms below.
func New(state *state.State, books *books.Books, backlog *backlog.Backlog, life *life.Life, search *search.Search) *Victims {
	return &Victims{state: state, books: books, backlog: backlog, life: life, search: search, evictable: evictable.New(state)}
}

// Work is how many places searches have looked at so far, how many of these they have weighed, and
// how many candidates they have gathered there.
func (v *Victims) Work() (places, weighed, candidates int) {
	return v.evictable.Looked, v.evictable.Weighed, v.gathered
}

// Prepare looks at the nodes on which something has changed, so that a pass that searches need not
// look at those of all passes before it.
func (v *Victims) Prepare() { v.evictable.Refresh() }

// NodesRebuilt counts the nodes that were looked at so far because something had changed on them.
func (v *Victims) NodesRebuilt() int { return v.evictable.Rebuilt }

// LowerBounds are the nodes on which something may be stopped with the least that each may cost to
// clear, the least on top. They are good until the next call.
func (v *Victims) LowerBounds() pq.Heap[evictable.NodeCost] { return v.evictable.LowerBounds() }

// SpotsAtFirst has searches find so many spots at first, or all of them: less than 0. It is for
// tests.
func (v *Victims) SpotsAtFirst(most int) { v.evictable.FindAtFirst(most) }

// CheckEvictable holds what victim searches go by against what runs.
func (v *Victims) CheckEvictable() error { return v.evictable.Check() }
