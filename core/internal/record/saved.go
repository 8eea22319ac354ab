package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/demand"
	"github.com/berth-sched/berth/core/internal/effort"
	"github.com/berth-sched/berth/core/internal/losses"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/runtimes"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// A UsePart is the past use of queues, and GPU time.
type UsePart struct {
	Past   *quota.Past        `json:"past,omitempty"`
	Ledger *quota.LedgerState `json:"ledger,omitempty"`
	// OverLimit has the queues that use more than they may, if the policy asks.
	OverLimit []SavedOverLimit `json:"overLimit,omitempty"`
	// Budgets is what was used of those of the policy, in its order.
	Budgets []quota.LedgerAccount `json:"budgets,omitempty"`
}

// A SavedOverLimit is since when a queue uses more than it may.
type SavedOverLimit struct {
	Queue berth.QueueID `json:"queue"`
	Since berth.Time    `json:"since"`
}

// A SavedGPU is what the description of a GPU does not have.
type SavedGPU struct {
	GPU    int                `json:"gpu"`
	Order  *berth.Repartition `json:"order,omitempty"`
	Before *savedMode         `json:"before,omitempty"` // the order
	// Overdue: the order is not out any more.
	Overdue bool `json:"overdue,omitempty"`
	GPUPart
	// Unknown: an order about it got lost, so it takes nothing.
	Unknown bool `json:"unknown,omitempty"`
}

type savedMode struct {
	Mode      berth.GPUMode   `json:"mode"`
	Instances []mig.Placement `json:"instances,omitempty"`
}

// A SavedGPUHold is the GPU that is kept for a replica.
type SavedGPUHold struct {
	Node berth.NodeID `json:"node"`
	GPUHoldPart
}

// A SavedJob is a job as it was told, what has become of it, and its replicas by number.
type SavedJob struct {
	Job berth.Job `json:"job"`
	// Alternative is what the job is, of its own gang and its alternatives: see Job.
	Alternative int `json:"alternative,omitempty"`
	JobPart
	Gate     *Gate          `json:"gate,omitempty"`
	Replicas []SavedReplica `json:"replicas"`
}

// A RatesPart is when the rate limits of the fleet, and of queues, are full again.
type RatesPart struct {
	Evictions      *SavedMeter  `json:"evictions,omitempty"`
	QueueEvictions []SavedMeter `json:"queueEvictions,omitempty"`
	// Floors are what queues kept when they last gave.
	Floors []SavedFloor `json:"floors,omitempty"`
}

// A SavedFloor is the floor of a queue.
type SavedFloor struct {
	Queue    berth.QueueID `json:"queue"`
	GPUMilli int64         `json:"gpuMilli"`
}

// A SavedMeter is the meter of a queue, or of the fleet.
type SavedMeter struct {
	Queue berth.QueueID `json:"queue,omitempty"`
	Full  berth.Time    `json:"full,omitempty"`
	Held  berth.Time    `json:"held,omitempty"`
}

// A SavedNode is a node: as it was described, and what was told of it since.
type SavedNode struct {
	Node berth.Node `json:"node"`
	CordonPart
	GPUs []SavedGPU `json:"gpus,omitempty"`
	TrustPart
}

// A SavedOrder is an order as EncodeOrder has it.
type SavedOrder = json.RawMessage

// A SavedReplica is a replica: its parts, and what it refers to by name.
type SavedReplica struct {
	LifePart
	// Alike is how many more there are that differ from it in nothing but their numbers, which
	// follow on its own: replicas that wait, and of which nothing is noted.
	Alike int `json:"alike,omitempty"`
	RetryPart
	Members []SavedMember `json:"members,omitempty"`
	Order   *SavedOrder   `json:"order,omitempty"`
	ReleasePart
	// NoCapacity and NoQuota list the groups of which the core knows that what they
	// wait for does not fit; group 0 stands for a whole gang.
	NoCapacity []int `json:"noCapacity,omitempty"`
	NoQuota    []int `json:"noQuota,omitempty"`
	// Fresh lists those that are yet to be tried on nodes that are set aside.
	Fresh    []int                 `json:"fresh,omitempty"`
	EndsAt   berth.Time            `json:"endsAt,omitempty"`
	Reserved *SavedGangReservation `json:"reserved,omitempty"`
	Moving   *SavedGangReservation `json:"moving,omitempty"`
	Leaves   bool                  `json:"leaves,omitempty"`
	Active   int64                 `json:"activeMilli,omitempty"`
	ReservePart
	Sought bool `json:"sought,omitempty"` // another place was looked for in the round that goes on
	// Stalled, Hopeless: nothing has changed since those turns.
	Stalled   bool          `json:"stalled,omitempty"`
	Hopeless  bool          `json:"hopeless,omitempty"`
	Exclusive [][]string    `json:"exclusive,omitempty"`
	GPUHold   *SavedGPUHold `json:"gpuHold,omitempty"`
	LookPart
	// Looked: nothing has changed since its Turn.
	Looked bool `json:"looked,omitempty"`
	EvictionPart
	IdlePart
	SurgePart
	// Instead is the number of the replica that it stands in for; nil: none.
	Instead    *int       `json:"instead,omitempty"`
	Bids       []SavedBid `json:"bids,omitempty"`
	BidsAt     berth.Time `json:"bidAt,omitempty"`
	FailedBids int        `json:"failedBids,omitempty"`
	// Restored is what was made of it.
	Restored *Replica `json:"-"`
}

// A SavedBid is what is known of a bid of a replica, or of one of its groups, that grows.
type SavedBid struct {
	Group int `json:"group"`
	BidPart
	// InVain: nothing has changed since its Turn.
	InVain bool `json:"inVain,omitempty"`
}

// A SavedMember is a member, and what it holds.
type SavedMember struct {
	State string `json:"state"`
	StartPart
	// Beneficiary is the job that it is evicted for while the rest of its gang continues.
	Beneficiary berth.ReplicaRef `json:"beneficiary,omitzero"`
	berth.MemberPlacement
}

// Plain reports whether a replica waits, and nothing is noted of it but what is known of its
// bucket: it may be one of a batch.
func (s *SavedReplica) Plain() bool {
	noted := s.LifePart != LifePart{Number: s.Number, Incarnation: s.Incarnation, Created: s.Created, PendingSince: s.Created} ||
		!s.RetryPart.Nothing() || !s.ReleasePart.Nothing() || !s.EvictionPart.Nothing() || !s.ReservePart.Nothing() || !s.LookPart.Nothing() || !s.IdlePart.Nothing() || !s.SurgePart.Nothing() ||
		s.Instead != nil || s.Sought || s.Stalled || s.Hopeless || s.Looked || len(s.Bids) > 0 || s.BidsAt != 0 || s.FailedBids != 0
	holds := len(s.Members) > 0 || s.Order != nil || s.EndsAt != 0 || s.Reserved != nil || s.Moving != nil || s.Leaves ||
		s.Active != 0 || len(s.Exclusive) > 0 || s.GPUHold != nil
	return !noted && !holds
}

// Join counts another replica, or those that are alike, as more of the kind of this one, if they
// are: both are plain.
func (s *SavedReplica) Join(next *SavedReplica) bool {
	ok := s.Number+s.Alike+1 == next.Number && s.Incarnation == next.Incarnation && s.Created == next.Created &&
		slices.Equal(s.NoCapacity, next.NoCapacity) && slices.Equal(s.NoQuota, next.NoQuota) && slices.Equal(s.Fresh, next.Fresh)
	if ok {
		s.Alike += 1 + next.Alike
	}
	return ok
}

// Check refuses what a replica in a state cannot have been through.
func (p *RetryPart) Check(state berth.ReplicaState) *berth.Error {
	switch {
	case p.LostHardware && state == berth.ReplicaRunning:
		return refusal.Of(berth.ErrInvalid, "lostHardware", "is set for a replica that runs")
	case p.Backfilled && state == berth.ReplicaPending:
		return refusal.Of(berth.ErrInvalid, "backfilled", "is set for a replica that waits")
	case !InRange(p.Attempts, p.Repairs, p.Crashes) || p.ReadyAt < 0:
		return RefuseCounter()
	case len(p.Avoid) > maxAvoid:
		return refusal.Of(berth.ErrLimit, "avoid", fmt.Sprintf("names %d nodes", len(p.Avoid)))
	}
	return nil
}

// Check refuses what is yet to come, or was before the epoch.
func (p *LifePart) Check(now berth.Time) *berth.Error {
	past := func(field string, at berth.Time) *berth.Error {
		if at >= 0 && at <= now {
			return nil
		}
		return refusal.Of(berth.ErrInvalid, field, fmt.Sprintf("%d is before the epoch, or yet to come", at))
	}
	return cmp.Or(past("created", p.Created), past("pendingSince", p.PendingSince), past("started", p.Started), past("cameAt", p.CameAt))
}

// Check refuses a counter out of range, and a checkpoint that is yet to come.
func (p *EvictionPart) Check(now berth.Time) *berth.Error {
	if !InRange(p.Evictions, p.Rests) || p.RestsUntil < 0 || p.RestsUntil > 0 && p.Rests == 0 || p.Checkpointed < 0 || p.Checkpointed > now {
		return RefuseCounter()
	}
	return nil
}

// InRange reports whether counters are as high as the core counts.
func InRange(counters ...int) bool {
	return slices.Min(counters) >= 0 && slices.Max(counters) <= limits.MaxAttempts
}

// RefuseCounter refuses a counter, or an instant, that is out of range.
func RefuseCounter() *berth.Error {
	return refusal.Of(berth.ErrInvalid, "attempts", "a counter is out of range")
}

// A SavedReservation is one made in advance. Nodes are those that the core picked. Draining: it has
// begun to clear them.
type SavedReservation struct {
	Reservation berth.Reservation `json:"reservation"`
	Nodes       []berth.NodeID    `json:"nodes,omitempty"`
	Draining    bool              `json:"draining,omitempty"`
}

// A SavedGangReservation is the reservation of a gang.
type SavedGangReservation struct {
	SpanPart
	Nodes []berth.NodeID `json:"nodes"`
	// Where the gang of a plan will be, and the victims of the plan; Cause is that of its Bind.
	Where []berth.MemberPlacement `json:"where,omitempty"`
	Cause berth.CauseCode         `json:"cause,omitempty"`
	// Partial: it has what the gang has left of its place.
	Partial bool               `json:"partial,omitempty"`
	Victims []berth.ReplicaRef `json:"victims,omitempty"`
	OfQueue bool               `json:"ofQueue,omitempty"` // some of them are, or were, of its queue
}

// A savedPlace is a place that is set aside for a replica, and where it goes.
type savedPlace struct {
	Field string
	Moves bool
	Saved *SavedGangReservation
	At    **Reservation
	Of    berth.ReplicaState
}

// Kind is that of the reservation.
func (p *savedPlace) Kind() ReservationKind { return p.Saved.kindOf(p.Moves, p.Of) }

// A Snapshot holds what was told and what was promised, and nothing that follows from
// it: indexes are built anew by Restore. Everything in it is ordered by name, so that
// equal states have equal bytes.
//
// Every room saves and restores its own, here and in the records of nodes and replicas, in
// its files saved_*.go. Package core walks the rooms.
type Snapshot struct {
	Version   int           `json:"version"`
	Config    berth.Config  `json:"config"`
	Now       berth.Time    `json:"now"`
	LastOrder berth.OrderID `json:"lastOrder"`
	Totals    berth.Totals  `json:"totals"`
	Nodes     []SavedNode   `json:"nodes"`
	Queues    []quota.Queue `json:"queues"`
	Jobs      []SavedJob    `json:"jobs"`
	// QuotaFreed, and Freed of a node: the next pass looks at what it could help.
	QuotaFreed bool `json:"quotaFreed,omitempty"`
	UsePart
	Tables []catalogue.SavedTable `json:"tables,omitempty"`
	Pools  []catalogue.SavedPool  `json:"pools,omitempty"`
	// When to look again at what is in demand, and for GPUs to change.
	NextRank     berth.Time         `json:"nextRank"`
	NextReshape  berth.Time         `json:"nextReshape"`
	Reservations []SavedReservation `json:"reservations,omitempty"`
	// When and whether to look for gangs to reserve for, and for work to backfill.
	NextReserve berth.Time `json:"nextReserve"`
	NextPreempt berth.Time `json:"nextPreempt"`
	// When to look for a destination of departing gangs again; nil: when something changes.
	NextMove    *berth.Time `json:"nextMove,omitempty"`
	Homeless    bool        `json:"homeless,omitempty"`
	MovesLeft   bool        `json:"movesLeft,omitempty"`
	TakersLeft  bool        `json:"takersLeft,omitempty"`
	BackfillDue bool        `json:"backfillDue,omitempty"`

	RatesPart
	// OwnGain: it has a function of its own that says what a beneficiary gains.
	OwnGain bool `json:"ownGain,omitempty"`
	// Scorer is the name of the scorer that it has, and ScorerBooks what that keeps.
	Scorer      string `json:"scorer,omitempty"`
	ScorerBooks []byte `json:"scorerBooks,omitempty"`
	// Demand is what is known of what is asked for, where there is no scorer.
	Demand *demand.Saved `json:"demand,omitempty"`

	Lessened bool `json:"lessened,omitempty"`

	// Nodes that were lost, in order of name, and whether to look for spares.
	Lost      []losses.Record `json:"lost,omitempty"`
	SparesDue bool            `json:"sparesDue,omitempty"`
	// Fabric has the domains that have lost bandwidth, in order of their paths.
	Fabric []berth.FabricReport `json:"fabric,omitempty"`
	// LostMembers is what hardware took since the last pass.
	LostMembers []berth.Loss `json:"lostMembers,omitempty"`
	// Runtimes of jobs that finished.
	Runtimes []runtimes.Saved `json:"runtimes,omitempty"`
	Bounds   *effort.Bounds   `json:"bounds,omitempty"` // nil: the usual ones
}
