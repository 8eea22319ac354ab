// Package state has the records by their names and in their orders, and asks them what one record
// alone cannot answer: which nodes are idle, when a gang is expected to end, what a request comes
// to. The fleet and the quota tree stand here as values; books alone changes them.
package state

import (
	"github.com/google/btree"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/effort"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/core/internal/losses"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/runtimes"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// A State has the records of a core.
//
// Its invariants, which Check of core tests after every step of every test:
//
//  1. Nodes are at the index that the fleet gave them; NodeByID has each of them.
//  2. A replica has at most one order out; Orders has it under its ID.
//  3. Every deadline, backoff and gang timeout stands in the timers.
//  4. A replica that is Repairing, or has members to stop and no order out, or is asked for a
//     checkpoint that nobody needs, is in the set of those to do.
//  5. Endings has the replicas that are expected to end, in order of that instant.
type State struct {
	catalogue *catalogue.Catalogue
	losses    *losses.Losses
	agenda    *agenda.Agenda

	Config berth.Config
	// Bounds are those of the work of a pass.
	Bounds effort.Bounds
	Now    berth.Time
	// LastOrder is the ID of the last order given.
	LastOrder berth.OrderID
	Fleet     *gang.Fleet
	Nodes     []*record.Node // by topology.NodeIndex; nil where vacant
	NodeByID  map[berth.NodeID]*record.Node
	Classes   hardware.Table[*record.Reservation]
	Quota     *quota.Tree
	Jobs      map[berth.JobID]*record.Job
	Replicas  int // of all jobs
	Orders    map[berth.OrderID]*record.Replica
	// Shapes and Patterns by their keys, which the pens write.
	Shapes   map[string]*record.Shape
	Patterns map[string]*record.Pattern
	key      []byte             // is written here
	asked    record.PatternSpec // of which that of a pattern is written
	// forgotten are the patterns that were the last to lose their last job: the next jobs may have
	// them. That at forgets is the oldest.
	forgotten [8]*record.Pattern
	forgets   int
	// Spares are kept of these pools, in order of name.
	Spares []*record.SparePool
	// Leaving has the replicas that are being stopped, or will be: victims, moves, drains.
	Leaving *btree.BTreeG[*record.Replica]
	// Returning has the replicas that back off and come back to where they stood.
	Returning *btree.BTreeG[*record.Replica]
	// Endings are the ends expected of what holds something.
	Endings *btree.BTreeG[Ending]
	// Opened has the nodes on which a reservation ended since the pass in progress has woken what
	// it wakes: the next pass looks at them, and at FreedNodes, on which something became free.
	Opened     []*record.Node
	FreedNodes []*record.Node
	// changed lists the nodes of which somebody may wish to know that what stands there, or what
	// stopping it costs, has changed; isChanged has them by index.
	changed   []topology.NodeIndex
	isChanged []bool
	// Todo holds the replicas that need an order from the next pass: those to
	// repair and those with members to stop. Timers holds what falls due later.
	Todo *btree.BTreeG[*record.Replica]
	// Lending has the replicas that lend or borrow, and of which something has changed that may
	// matter for that.
	Lending *btree.BTreeG[*record.Replica]
	Timers  *btree.BTreeG[record.Timer]
	// Followers are the jobs at gates that await the end of others. Slots are those that a known
	// job needs, Lanes those in which one waits for its slots.
	Followers *btree.BTreeG[record.Follower]
	Slots     map[record.SlotsKey]*record.Slots
	Lanes     map[record.LaneKey]*record.Lane
	// Backoffs counts the timers at which a replica has backed off.
	Backoffs int
	// out collects the orders of the pass in progress.
	out []berth.Order
	// Totals are counted where what they count is done.
	Totals *berth.Totals
	// Runtimes are those of jobs that finished.
	Runtimes *runtimes.Runtimes
}

// New returns the state of an empty fleet.
func New(catalogue *catalogue.Catalogue, losses *losses.Losses, agenda *agenda.Agenda, config berth.Config, fleet *gang.Fleet) *State {
	return &State{
		catalogue: catalogue, losses: losses, agenda: agenda,
		Config: config, Bounds: effort.Usual(), Fleet: fleet, NodeByID: map[berth.NodeID]*record.Node{}, Classes: hardware.NewTable[*record.Reservation](),
		Quota: quota.NewTree(), Jobs: map[berth.JobID]*record.Job{}, Orders: map[berth.OrderID]*record.Replica{}, Shapes: map[string]*record.Shape{},
		Patterns: map[string]*record.Pattern{}, Slots: map[record.SlotsKey]*record.Slots{}, Lanes: map[record.LaneKey]*record.Lane{}, Followers: btree.NewG(16, record.Follower.Less),
		Todo: btree.NewG(16, record.LessReplica), Timers: btree.NewG(16, record.Timer.Less), Endings: btree.NewG(16, Ending.Less),
		Leaving: btree.NewG(16, record.LessReplica), Returning: btree.NewG(16, record.LessReplica), Lending: btree.NewG(16, record.LessReplica), Totals: &berth.Totals{}, Runtimes: runtimes.New(config.Policy.RuntimeSamples),
	}
}
