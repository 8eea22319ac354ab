package core

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/btree"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// A Core is the scheduling core. Make one with New or Restore.
//
// Its invariants, which Check tests after every step of every test:
//
//  1. A member holds capacity in the fleet if and only if its state says so, and
//     the fleet and the quota tree hold nothing else.
//  2. A replica has at most one order out. Members in state binding belong to its
//     Bind, members in state stopping to its Release. One that is asked for a checkpoint
//     is Running.
//  3. A replica that is Pending holds nothing and, unless it is backing off, stands
//     in the pending index. A Running replica stands there when it is short of
//     members, has no order out and is not backing off.
//  4. A replica that is Repairing, or has members to stop and no order out, or is asked
//     for a checkpoint that nobody needs, is in the set that the next pass works through.
//  5. A queue is active in the quota tree if and only if it has a ready bucket.
//  6. Every deadline, backoff and gang timeout stands in the timers.
//  7. A replica is leaving if and only if it has members to stop, is asked to leave on its own
//     account, or yields to another. Whoever it or one of its members yields to waits, has
//     nodes set aside, and lists it as a victim.
type Core struct {
	config berth.Config
	now    berth.Time
	// lastAction is the ID of the last order given.
	lastAction berth.ActionID

	fleet    *gang.Fleet
	nodes    []*node // by topology.Node; nil where vacant
	nodeByID map[berth.NodeID]*node
	classes  classTable
	owners   ownerTable
	graphs   graphTable

	quota  *quota.Tree
	ledger *quota.Ledger // nil: none is kept
	// capacities is what the fleet has, and untold of what the tree does not know yet.
	capacities map[quota.Resource]int64
	untold     []quota.Resource
	// restoring: charges are those of before, and no time passes.
	restoring bool
	queues    []*queue // by quota.Index; nil where vacant
	// toldNext is the version of the classes for which the tree knows what is next.
	toldNext int

	jobs     map[berth.JobID]*job
	replicas int // of all jobs
	orders   map[berth.ActionID]*replica

	// tables by name: those that were told, and those of package mig that were asked
	// for.
	tables map[string]*table
	// lender has the tables of the core of which this is a copy, while it is made: their
	// lattices never change.
	lender map[string]*table
	// repartitions are the orders about GPUs that are out; pools when GPUs were changed.
	repartitions map[berth.ActionID]*repartition
	pools        map[string]*pool
	// astray lists the GPUs that are to go back to their pool's layout, drains those that
	// are kept for a member, in order of replica.
	astray []gpuAt
	drains []*drain

	// agenda says what has changed, and which stages of a pass are due when.
	agenda agenda

	shapes       map[string]*shape
	demand       []int    // by level: whole gangs that wait for room in one domain of it
	blocked      []*shape // the shapes that are blocked, in no useful order
	quotaBlocked []*bucket
	// windows set nodes aside; in order of name.
	windows []*window
	// fresh has the entries that have come to blocked buckets since they were last tried on
	// nodes that are set aside.
	fresh []*entry
	// lost has the nodes that were lost; watched those that are on probation or on trial, in
	// order of name. trials has those on trial; nil: there are none.
	lost    lossMemory
	watched []*node
	trials  *window
	// spares are kept of these pools, in order of name. struck has the replicas that may use
	// them and wait.
	spares []*sparePool
	struck *btree.BTreeG[*replica]
	// leaving has the replicas that are being stopped, or will be to make room.
	leaving *btree.BTreeG[*replica]
	// stretching counts the replicas that run and may have more than their minimum.
	stretching int
	// earmarked: what those are to have for whom room is being made is charged to them;
	// uncounted are the queues of which is not known yet what they use without that.
	earmarked bool
	uncounted []quota.Index
	// shares are the fair shares of GPUs, as of the classes of demandVersion but for the queues
	// that were touched since; over counts those that use more than they are guaranteed,
	// keeping those that do not lend all of that.
	shares        *quota.Shares
	touched       []*queue
	waiting       [][]*entry // scratch of the rota
	over, keeping int
	demandVersion int
	chooser       preempt.Chooser
	// evictions of the whole fleet.
	evictions meter
	// endings are the ends expected of what holds something.
	endings *btree.BTreeG[ending]
	// opened has the nodes on which a window ended since the pass in progress has woken what it
	// wakes: the next pass looks at them, and at freedNodes, on which something became free.
	opened     []*node
	freedNodes []*node
	// minimums: elastic gangs are placed with their minimum. Until it is known how much more
	// there is for them, unbound lists what is placed, in policy order.
	minimums bool
	unbound  []unbound

	// todo holds the replicas that need an order from the next pass: those to
	// repair and those with members to stop. timers holds what falls due later.
	todo   *btree.BTreeG[*replica]
	timers *btree.BTreeG[timer]

	// out collects the orders of the pass in progress.
	out []berth.Action
	// placement is scratch for the search.
	placement gang.Placement
	// booked is scratch: the members that bookPlacement has booked so far.
	booked []int
	// totals are counted where what they count is done.
	totals *berth.Totals
}

// New makes a core with an empty fleet. It refuses a Config that makes no sense.
func New(config berth.Config) (*Core, error) {
	if err := config.Check(); err != nil {
		err.Event = "config"
		return nil, err
	}
	config = config.Clone()
	config.Limits = config.Limits.WithDefaults()
	config.Policy = config.Policy.WithDefaults()
	fleet, err := gang.NewFleet(config.Levels...)
	if err != nil {
		return nil, &berth.Error{Event: "config", Field: "levels", Kind: berth.ErrInvalid, Reason: err.Error()}
	}
	c := &Core{
		config:   config,
		fleet:    fleet,
		nodeByID: map[berth.NodeID]*node{},
		classes:  classTable{byKey: map[classKey]int{}},
		owners:   newOwnerTable(),
		graphs:   graphTable{byKey: map[string]*graphEntry{}},
		quota:    quota.NewTree(),
		jobs:     map[berth.JobID]*job{},
		orders:   map[berth.ActionID]*replica{},
		shapes:   map[string]*shape{},
		todo:     btree.NewG(16, lessReplica),
		timers:   btree.NewG(16, timer.less),
		endings:  btree.NewG(16, ending.less),
		leaving:  btree.NewG(16, lessReplica),
		struck:   btree.NewG(16, lessReplica),
		lost:     newLossMemory(),
		totals:   &berth.Totals{},

		tables:       map[string]*table{},
		repartitions: map[berth.ActionID]*repartition{},
		pools:        map[string]*pool{},
		capacities:   map[quota.Resource]int64{},

		toldNext:      -1,
		demandVersion: -1,
		agenda:        newAgenda(),
	}
	shares, err := quota.NewShares(c.quota, quota.GPU, 1000)
	must(err)
	c.shares = shares.WithoutPast()
	if config.Ledger {
		c.ledger = &quota.Ledger{}
	}
	must(c.quota.SetHalfLife(int64(config.Policy.UsageHalfLife)))
	c.demand = make([]int, fleet.Tree().NodeLevel()+1)
	c.ensureQueue(quota.Root)
	c.setSpares(config.Policy.Spares)
	return c, nil
}

// Config returns the configuration in force, with the defaults filled in.
func (c *Core) Config() berth.Config {
	return c.config.Clone()
}

// Now is the latest instant that the core has seen.
func (c *Core) Now() berth.Time { return c.now }

// Jobs lists the jobs that the core knows, by ID. O(jobs x log jobs).
func (c *Core) Jobs() []berth.JobID { return slices.Sorted(maps.Keys(c.jobs)) }

// NextWake is the instant at which a pass has something to do even if no fact
// comes: now when work is left over, else the next deadline, backoff or timeout.
// It reports false when only a fact can make a difference.
func (c *Core) NextWake() (berth.Time, bool) {
	if _, ready := c.quota.Next(); ready || c.todo.Len() > 0 || c.agenda.dueNow() {
		return c.now, true
	}
	at := min(c.agenda.next(), c.nextBid())
	if next, ok := c.timers.Min(); ok {
		at = min(at, next.at)
	}
	for _, w := range c.windows {
		at = min(at, w.Until)
	}
	at = min(at, c.nextChange())
	return max(at, c.now), at != never
}

// A timer is something that falls due: at most one of each kind for a replica, or the
// deadline of an order about a GPU.
type timer struct {
	at   berth.Time
	kind timerKind
	rep  *replica
	// repartition that expires; rep is nil.
	repartition *repartition
}

type timerKind uint8

const (
	// timerDeadline: the replica's order expires.
	timerDeadline timerKind = iota
	// timerBackoff: the replica may be tried again.
	timerBackoff
	// timerGang: the replica was pending for too long.
	timerGang
	// timerRepartition: an order about a GPU expires.
	timerRepartition
)

// less orders timers by instant, then orders about GPUs by ID, then job, replica and kind.
func (t timer) less(u timer) bool {
	switch {
	case t.at != u.at:
		return t.at < u.at
	case t.rep == nil || u.rep == nil:
		return t.rep == nil && (u.rep != nil || t.repartition.order.ID < u.repartition.order.ID)
	case t.rep != u.rep:
		return lessReplica(t.rep, u.rep)
	}
	return t.kind < u.kind
}

// compareReplicas orders replicas by job and number.
func compareReplicas(a, b *replica) int {
	if d := cmp.Compare(a.job.spec.ID, b.job.spec.ID); d != 0 {
		return d
	}
	return cmp.Compare(a.Number, b.Number)
}

// lessReplica is compareReplicas for ordered sets.
func lessReplica(a, b *replica) bool { return compareReplicas(a, b) < 0 }
