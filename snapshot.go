package berth

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/berth-sched/berth/quota"
)

// snapshotVersion is the version of the snapshot's format.
const snapshotVersion = 1

// A snapshot holds the facts and the promises, and nothing that follows from
// them: indexes are built anew by Restore. Everything in it is ordered by name,
// so that equal states have equal bytes.
type snapshot struct {
	Version    int           `json:"version"`
	Config     Config        `json:"config"`
	Now        Time          `json:"now"`
	LastAction ActionID      `json:"lastAction"`
	Totals     Totals        `json:"totals"`
	Nodes      []savedNode   `json:"nodes"`
	Queues     []quota.Queue `json:"queues"`
	Jobs       []savedJob    `json:"jobs"`
	// QuotaFreed, and Freed of a node: the next pass looks at what it could help.
	QuotaFreed bool `json:"quotaFreed,omitempty"`

	// Past use of queues, and GPU time.
	Past   *quota.Past        `json:"past,omitempty"`
	Ledger *quota.LedgerState `json:"ledger,omitempty"`

	Tables []savedTable `json:"tables,omitempty"`
	Pools  []savedPool  `json:"pools,omitempty"`
	// When to look again at what is in demand, and for GPUs to change.
	NextRank    Time `json:"nextRank"`
	NextReshape Time `json:"nextReshape"`

	Reservations []savedReservation `json:"reservations,omitempty"`
	// When and whether to look for gangs to reserve for, and for work to backfill.
	NextReserve Time `json:"nextReserve"`
	NextPreempt Time `json:"nextPreempt"`
	// When to look for another place for those who have to leave theirs; nil: when something
	// changes.
	NextMove    *Time `json:"nextMove,omitempty"`
	Homeless    bool  `json:"homeless,omitempty"`
	BackfillDue bool  `json:"backfillDue,omitempty"`
	// When the fleet, and queues, may have as many yield at once as their rates ever let.
	Evictions      *savedMeter  `json:"evictions,omitempty"`
	QueueEvictions []savedMeter `json:"queueEvictions,omitempty"`
	// OwnGain: it has a function of its own that says what a beneficiary gains.
	OwnGain  bool `json:"ownGain,omitempty"`
	Lessened bool `json:"lessened,omitempty"`

	// Nodes that were lost, in order of name, and whether to look for spares.
	Lost      []savedLoss `json:"lost,omitempty"`
	SparesDue bool        `json:"sparesDue,omitempty"`
}

// A savedReservation is one made in advance. Nodes are those that the core picked.
type savedReservation struct {
	Reservation Reservation `json:"reservation"`
	Nodes       []NodeID    `json:"nodes,omitempty"`
}

// A savedWindow is the reservation of a gang.
type savedWindow struct {
	From  Time     `json:"from"`
	Until Time     `json:"until"`
	Nodes []NodeID `json:"nodes"`
	// Where the gang is to be, if room is being made for it, and who has to go; Cause is that
	// of its Bind.
	Where []MemberPlacement `json:"where,omitempty"`
	Cause CauseCode         `json:"cause,omitempty"`
	// Remnant: it has what the gang has left of its place.
	Remnant bool         `json:"remnant,omitempty"`
	Victims []ReplicaRef `json:"victims,omitempty"`
}

type savedNode struct {
	Node     Node       `json:"node"`
	Cordoned bool       `json:"cordoned,omitempty"`
	Freed    bool       `json:"freed,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Drains   bool       `json:"drains,omitempty"`
	DrainBy  Time       `json:"drainBy,omitempty"`
	GPUs     []savedGPU `json:"gpus,omitempty"`
	savedTrust
}

type savedJob struct {
	Job       Job            `json:"job"`
	Cancelled bool           `json:"cancelled,omitempty"`
	Former    Incarnation    `json:"former,omitempty"`
	Replicas  []savedReplica `json:"replicas"`
}

type savedReplica struct {
	Replica      int           `json:"replica"`
	State        State         `json:"state"`
	Incarnation  Incarnation   `json:"incarnation"`
	Created      Time          `json:"created"`
	PendingSince Time          `json:"pendingSince"`
	Started      Time          `json:"started"`
	CameAt       Time          `json:"cameAt"`
	Resumed      bool          `json:"resumed,omitempty"`
	ReadyAt      Time          `json:"readyAt,omitempty"`
	Struck       bool          `json:"struck,omitempty"`
	Backfilled   bool          `json:"backfilled,omitempty"`
	Attempts     int           `json:"attempts,omitempty"`
	Repairs      int           `json:"repairs,omitempty"`
	Avoid        []NodeID      `json:"avoid,omitempty"`
	Members      []savedMember `json:"members,omitempty"`
	Order        *actionJSON   `json:"order,omitempty"`
	Cause        Cause         `json:"cause,omitzero"`
	Attempt      int           `json:"attempt,omitempty"`
	Gone         bool          `json:"gone,omitempty"`
	Backoff      bool          `json:"backoff,omitempty"`
	// NoCapacity and NoQuota list the groups of which the core knows that what they
	// wait for does not fit; group 0 stands for a whole gang.
	NoCapacity []int `json:"noCapacity,omitempty"`
	NoQuota    []int `json:"noQuota,omitempty"`
	// Fresh lists those that are yet to be tried on nodes that are set aside.
	Fresh     []int        `json:"fresh,omitempty"`
	EndsAt    Time         `json:"endsAt,omitempty"`
	Reserved  *savedWindow `json:"reserved,omitempty"`
	Moving    *savedWindow `json:"moving,omitempty"`
	Leaves    bool         `json:"leaves,omitempty"`
	Active    int64        `json:"activeMilli,omitempty"`
	ReserveAt Time         `json:"reserveAt,omitempty"`
	Stalled   bool         `json:"stalled,omitempty"`
	Hopeless  bool         `json:"hopeless,omitempty"`
	Exclusive [][]string   `json:"exclusive,omitempty"`
	Drain     *savedDrain  `json:"drain,omitempty"`
	DrainAt   Time         `json:"drainAt,omitempty"`
	ReshapeAt Time         `json:"reshapeAt,omitempty"`
	PayAt     Time         `json:"payAt,omitempty"`
	Looked    bool         `json:"looked,omitempty"` // and nothing has changed since
	// Checkpointed, BidAt, and Bid: it was in vain, and nothing has changed since.
	Checkpointed Time `json:"checkpointed,omitempty"`
	Tells        bool `json:"tells,omitempty"`
	Evictions    int  `json:"evictions,omitempty"`
	RipeAt       Time `json:"ripeAt,omitempty"`
	BidAt        Time `json:"bidAt,omitempty"`
	Bid          bool `json:"bid,omitempty"`
	FailedBids   int  `json:"failedBids,omitempty"`
}

type savedMember struct {
	State string   `json:"state"`
	Bind  ActionID `json:"bind,omitempty"`
	Ran   bool     `json:"ran,omitempty"`
	// For is whom it yields to while the rest of its gang goes on.
	For ReplicaRef `json:"for,omitzero"`
	MemberPlacement
}

// The names of memberState; memberAbsent is not saved.
var memberStateNames = [...]string{"absent", "binding", "running", "failed", "lost", "stopping"}

// Snapshot returns the whole state as JSON. Cost: O(state).
func (c *Core) Snapshot() ([]byte, error) {
	s := snapshot{
		Version: snapshotVersion, Config: c.config, Now: c.now, LastAction: c.lastAction, Totals: *c.totals,
		Nodes: []savedNode{}, Queues: []quota.Queue{}, Jobs: []savedJob{},
		Tables: c.saveTables(), Pools: c.savePools(), Lost: c.lost.save(),
	}
	c.agenda.save(&s)
	c.savePast(&s)
	c.saveMeters(&s)
	for _, w := range c.windows {
		if w.isAdvance() {
			saved := savedReservation{Reservation: *w.advance}
			if w.advance.GPUs > 0 {
				saved.Nodes = w.nodeIDs()
			}
			s.Reservations = append(s.Reservations, saved)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.nodeByID)) {
		n := c.nodeByID[id]
		s.Nodes = append(s.Nodes, savedNode{n.spec, n.cordoned, n.freed, n.reason, n.drains, n.drainBy, n.saveGPUs(), n.saveTrust()})
	}
	s.Queues = c.savedQueues()
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		s.Jobs = append(s.Jobs, c.saveJob(c.jobs[id]))
	}
	b, err := json.Marshal(&s)
	if err != nil {
		return nil, &Error{Event: "snapshot", Kind: ErrInvalid, Reason: err.Error()}
	}
	return b, nil
}

// savedQueues lists the queues, every parent before its children.
func (c *Core) savedQueues() []quota.Queue {
	list := []quota.Queue{}
	done := map[quota.Index]bool{quota.Root: true}
	var add func(quota.Index)
	add = func(i quota.Index) {
		if done[i] {
			return
		}
		done[i] = true
		add(c.quota.Parent(i))
		list = append(list, c.quota.Config(i))
	}
	for _, name := range c.quota.Queues() {
		i, _ := c.quota.Lookup(name)
		add(i)
	}
	return list
}

func (c *Core) saveJob(j *job) savedJob {
	saved := savedJob{Job: j.spec, Cancelled: j.cancelled, Former: j.former, Replicas: []savedReplica{}}
	for _, rep := range j.replicas {
		if rep != nil {
			saved.Replicas = append(saved.Replicas, c.saveReplica(rep))
		}
	}
	return saved
}

func (c *Core) saveReplica(rep *replica) savedReplica {
	saved := savedReplica{
		Replica: rep.number, State: rep.state, Incarnation: rep.incarnation,
		Created: rep.created, PendingSince: rep.pendingSince, Started: rep.started, CameAt: rep.cameAt, Resumed: rep.resumed, ReadyAt: rep.readyAt,
		Struck: rep.struck, Backfilled: rep.backfilled, Attempts: rep.attempts, Repairs: rep.repairs, Avoid: rep.avoid,
		Cause: rep.cause, Attempt: rep.attempt, Gone: rep.gone, Backoff: rep.backoff,
		Active: rep.activeMilli, Drain: rep.saveDrain(), DrainAt: rep.drainAt, ReshapeAt: rep.reshapeAt, PayAt: rep.payAt,
		Looked: rep.looked == c.agenda.reshapeTurn,
		EndsAt: rep.endsAt, ReserveAt: rep.reserveAt, Stalled: c.stalled(rep), Hopeless: c.hopeless(rep),
		Checkpointed: rep.checkpointed, Tells: rep.tells, Evictions: rep.evictions, RipeAt: rep.ripeAt, BidAt: rep.bidAt, Bid: rep.bidTurn == c.agenda.preemptTurn, FailedBids: rep.failedBids,
		Reserved: c.saveWindow(rep.reserved), Moving: c.saveWindow(rep.moving), Leaves: rep.leaves,
	}
	if rep.exclusive != nil {
		saved.Exclusive = rep.exclusive.domains
	}
	for flat := range rep.members {
		if state := rep.members[flat].state; state != memberAbsent {
			saved.Members = append(saved.Members, c.saveMember(rep, flat))
		}
	}
	if rep.order != nil {
		w, _ := wrapAction(rep.order)
		saved.Order = &w
	}
	for _, e := range rep.entries {
		if e.bucket.shape.blockedAt >= 0 {
			saved.NoCapacity = append(saved.NoCapacity, e.group)
		}
		if e.bucket.quotaSlot >= 0 {
			saved.NoQuota = append(saved.NoQuota, e.group)
		}
		if e.freshAt >= 0 {
			saved.Fresh = append(saved.Fresh, e.group)
		}
	}
	return saved
}

func (c *Core) saveMember(rep *replica, flat int) savedMember {
	m := &rep.members[flat]
	saved := savedMember{State: memberStateNames[m.state], Bind: m.bind, Ran: m.ran}
	if m.yieldsTo != nil {
		saved.For = m.yieldsTo.ref()
	}
	if m.state.holds() {
		saved.MemberPlacement = c.placementOf(rep, flat)
	} else {
		g := rep.job.group(flat)
		saved.Group, saved.Index = rep.job.spec.Groups[g].Name, flat-rep.job.offsets[g]
	}
	return saved
}
