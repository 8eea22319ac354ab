// Package books holds and charges: what a member holds in the fleet, what its queue is charged for
// it, what the fleet has for queues to share, and the ledger. It is the one door to the gang.Fleet
// and to the quota tree.
package books

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/score"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/quota"
)

// Books keep account of what is held.
//
// Its invariants:
//
//  1. A member holds capacity in the fleet if and only if its state says so, and the fleet and
//     the quota tree hold nothing else but what is earmarked.
//  2. What a queue uses is the sum of what its members hold.
//  3. Earmarks are charged only while a pass looks for victims and moves, and never after it.
//  4. The sizes of a queue count the gangs without a surplus that run there, by their charge.
//  5. OverLimit has the queues that exceed a limit, each with the instant since when, if the policy
//     has what runs beyond a limit stopped.
//  6. Budgets count at the rates of what their queues use, and it is known which are used up.
//  7. Capacities has what the nodes add to the fleet: of one that takes no more work, what is in
//     use there.
type Books struct {
	catalogue *catalogue.Catalogue
	agenda    *agenda.Agenda
	state     *state.State
	scoring   *score.Scoring

	// Placement is what Place has found last; its memory is used again.
	Placement gang.Placement
	Ledger    *quota.Ledger // nil: none is kept
	// Capacities is what the fleet has, and untold of what the tree does not know yet.
	Capacities map[quota.Resource]int64
	untold     []quota.Resource
	left       []*record.Node // scratch: the nodes of members that UnbookAll frees
	// Restoring: the ledger is restored as it was saved, so that charges are not added to it.
	Restoring bool
	Queues    []*record.Queue // by quota.QueueIndex; nil where vacant
	// Earmarked: beneficiaries are charged with what they will hold;
	// uncounted are the queues of which is not known yet what they use without that.
	Earmarked bool
	uncounted []quota.QueueIndex
	// Lost is what hardware took since the last pass, in the order in which it did.
	Lost []berth.Loss
	// Shares are the fair shares of GPUs, as of the classes of demandVersion but for the
	// queues that were touched since; over counts those that use more than they are guaranteed,
	// keeping those that do not lend all of that.
	Shares        *quota.Shares
	Touched       []*record.Queue
	over, Keeping int
	demandVersion int
	// OverLimit are the queues that use more than they may, those further down first; of one depth,
	// in order of name. None, unless Policy.OverLimit.Stop.
	OverLimit []*record.Queue
	// Budgets are those of the policy, in its order. budgetsDue is not after the first instant at
	// which one of them begins, is used up or ends.
	Budgets    []*record.Budget
	budgetsDue berth.Time
	all        AllShares // scratch
	// Turns counts the entries that were put into policy order beyond those that are served.
	Turns   int
	waiting []pq.Heap[*record.Entry] // scratch of the policy order, by queue: empty but for one in progress
	active  []quota.QueueIndex       // scratch of the policy order
}

// New returns books in which nothing is held.
func New(catalogue *catalogue.Catalogue, agenda *agenda.Agenda, state *state.State, scoring *score.Scoring, config berth.Config) *Books {
	tree := state.Quota
	shares, err := quota.NewShares(tree, quota.GPUMilli, 1000)
	invariant.Must(err)
	invariant.Must(tree.Declare(config.Resources))
	invariant.Must(tree.SetHalfLife(int64(config.Policy.UsageHalfLife)))
	bk := &Books{
		catalogue: catalogue, agenda: agenda, state: state, scoring: scoring,
		Capacities: map[quota.Resource]int64{}, Shares: shares.WithoutPast(), demandVersion: -1,
	}
	if config.Ledger {
		bk.Ledger = &quota.Ledger{}
	}
	return bk
}
