// Package record has the records: node, replica, job, shape, queue, reservation. Each has its plain
// values, its saved form, and what it can tell by itself and by the records that it points to.
package record

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/internal/limits"
)

// The plain values of a record, by the part of the core that gives them. A part stands in the
// record and, with its JSON, in the record's saved form: a snapshot copies it as a whole, there
// and back, so that one more value is one more line here. What a record refers to, and what
// follows from something else, stands beside its parts. The names of all parts end alike, so that
// a refusal can leave them out (see withoutParts).

// A LifePart is where a replica is in its life.
type LifePart struct {
	Number int `json:"replica"`
	ReplicaStatePart
	// Incarnation of the current life, or of the last one when pending.
	Incarnation berth.Incarnation `json:"incarnation"`
	// Created is when the replica was asked for: its age in the queue, kept over
	// all its lives. PendingSince is when it last became pending, Started when it
	// last became running.
	Created      berth.Time `json:"created"`
	PendingSince berth.Time `json:"pendingSince"`
	Started      berth.Time `json:"started"`
	// CameAt is when it last began to run, moves and restarts after lost hardware left out: a gang
	// keeps its rank through both.
	CameAt berth.Time `json:"cameAt"`
	// Resumed: the Bind of this life took it to a place that was kept for it.
	Resumed bool `json:"resumed,omitempty"`
	// Observed: the world had begun this life. It may stand where no order would have placed it,
	// and so may members that orders have placed beside some of it.
	Observed bool `json:"observed,omitempty"`
}

// A RetryPart is what a replica has been through, as far as its next start has to heed it.
type RetryPart struct {
	// ReadyAt is the end of a backoff; zero: none.
	ReadyAt berth.Time `json:"readyAt,omitempty"`
	// LostHardware: hardware was taken from it, or had to be left, and it has not run since.
	LostHardware bool `json:"lostHardware,omitempty"`
	// LostOfSegments: it runs, and hardware took members of its segments; no pass has looked yet
	// whether these can be whole again.
	LostOfSegments bool `json:"lostOfSegments,omitempty"`
	// Backfilled: it was started where nodes were reserved for another, as it is expected to
	// end in time.
	Backfilled bool `json:"backfilled,omitempty"`
	// Attempts counts the starts that failed in a row: Binds, and lives whose members died soon
	// after it. Repairs counts the repairs of this life.
	Attempts int                     `json:"attempts,omitempty"`
	Repairs  int                     `json:"repairs,omitempty"`
	Crashes  int                     `json:"crashes,omitempty"` // lives in a row whose members died soon after the start
	Stood    []berth.MemberPlacement `json:"stood,omitempty"`   // where members were that died, and the rest once it is released
	// Avoid lists the nodes on which members failed to start since the replica last ran: the newest
	// maxAvoid of them. It goes there again only if it fits nowhere else.
	Avoid []berth.NodeID `json:"avoid,omitempty"`
	// Requeued counts how often it came back to the queue for the causes that its job caps, in
	// order of cause.
	Requeued []berth.RequeueCount `json:"requeued,omitempty"`
}

// Nothing reports whether a replica has been through nothing.
func (p RetryPart) Nothing() bool {
	return p.ReadyAt == 0 && !p.LostHardware && !p.LostOfSegments && !p.Backfilled && p.Attempts == 0 && p.Repairs == 0 && p.Crashes == 0 && len(p.Stood)+len(p.Avoid)+len(p.Requeued) == 0
}

// A ReleasePart is the Release that a replica is given, and what comes after it.
type ReleasePart struct {
	// Cause of the Release to give, and which attempt it is.
	Cause   berth.Cause `json:"cause,omitzero"`
	Attempt int         `json:"attempt,omitempty"`
	// Gone: forgotten once released, instead of pending again. Backoff: pending
	// only after a backoff.
	Gone    bool `json:"gone,omitempty"`
	Backoff bool `json:"backoff,omitempty"`
}

// Nothing reports whether there is no Release, and has been none.
func (p ReleasePart) Nothing() bool { return p == ReleasePart{} }

// A ReservePart is when to look again for a reservation for a replica that waits.
type ReservePart struct {
	// At is when it may get its next one. Vain counts those that did not come true since it was
	// last placed.
	At   berth.Time `json:"reserveAt,omitempty"`
	Vain int        `json:"reservedInVain,omitempty"`
	// StalledAt and HopelessAt are the turns at which it was found to be stalled, or hopeless.
	StalledAt  agenda.Turn `json:"-"`
	HopelessAt agenda.Turn `json:"-"`
}

// Nothing reports whether there is nothing to wait for.
func (p ReservePart) Nothing() bool { return p == ReservePart{} }

// A LookPart is when to look again for GPUs to change for a replica that waits.
type LookPart struct {
	// HoldAt: before it no GPU is kept for the replica.
	HoldAt berth.Time `json:"holdAt,omitempty"`
	// ReshapeAt is when to look again at the earliest if anything has changed since.
	ReshapeAt berth.Time `json:"reshapeAt,omitempty"`
	// PayAt is when GPUs may be changed for it, as was found at Turn: never, if nothing is to
	// be hoped for.
	PayAt berth.Time  `json:"payAt,omitempty"`
	Turn  agenda.Turn `json:"-"`
	// Tried is how many offers were tried since Turn, if a pass tries no more; Later: when another
	// pays.
	Tried int        `json:"lookTried,omitempty"`
	Later berth.Time `json:"lookLater,omitempty"`
}

// Nothing reports whether nobody has looked.
func (p LookPart) Nothing() bool { return p == LookPart{} }

// An EvictionPart is what a replica would lose, and has lost, by evictions, and when its time ends.
type EvictionPart struct {
	// Checkpointed is when it wrote the last checkpoint that is known of; Tells: it told of one
	// by itself.
	Checkpointed berth.Time `json:"checkpointed,omitempty"`
	Tells        bool       `json:"tells,omitempty"`
	Evictions    int        `json:"evictions,omitempty"` // how often in a row it was evicted
	Rests        int        `json:"rests,omitempty"`     // how often it has rested: see package life
	RestsUntil   berth.Time `json:"restsUntil,omitempty"`
	// LimitAt is when to look at how long it may run: in time to ask it for a checkpoint, or at the
	// end. 0: it does not run, may run for ever, or was asked.
	LimitAt berth.Time `json:"limitAt,omitempty"`
}

// An IdlePart is how long the GPUs of a replica have been idle, and what comes of that; or, of a
// borrower, by when it is to give back what it has.
type IdlePart struct {
	// Reported: an activity was reported in this life.
	Reported bool `json:"activityReported,omitempty"`
	// QuietSince is since when the reports say that a replica that lends is quiet, by the policy of
	// lending; 0: they do not.
	QuietSince berth.Time `json:"quietSince,omitempty"`
	// Lent: it has been quiet for long enough, and its GPUs are lent as far as it lends.
	Lent bool `json:"lent,omitempty"`
	// Within is the least span within which the lenders of a borrower want their GPUs back, as they
	// said when they last lent them. GiveBackBy is by when it is ordered to stop; 0: it may stay.
	Within     berth.Duration `json:"borrowedWithin,omitempty"`
	GiveBackBy berth.Time     `json:"giveBackBy,omitempty"`
	// LendAt is when to look at it: to lend its GPUs, or to have it give back; 0: not at all.
	LendAt berth.Time `json:"lendAt,omitempty"`
	// IdleSince is since when the reports say that it is quiet, by the policy of what is idle; 0:
	// they do not. WarnedAt is when it was warned; 0: it was not. IdleAt is when to look at it: to
	// warn it, or to act; 0: not at all.
	IdleSince berth.Time `json:"idleSince,omitempty"`
	WarnedAt  berth.Time `json:"warnedAt,omitempty"`
	IdleAt    berth.Time `json:"idleAt,omitempty"`
	// Stays: it was warned, and is given no further members: it is to give up its surplus.
	Stays bool `json:"idleStays,omitempty"`
}

// Nothing reports whether no activity was told, and there is nothing to give back.
func (p IdlePart) Nothing() bool { return p == IdlePart{} }

// Nothing reports whether there was no eviction, and is neither a checkpoint nor a limit.
func (p EvictionPart) Nothing() bool { return p == EvictionPart{} }

// LimitAt is when to look at how long a replica may run; 0: not at all.
func (rep *Replica) LimitAt() berth.Time { return rep.Eviction.Get().LimitAt }

// RestsAt reports whether a replica rests at an instant.
func (rep *Replica) RestsAt(now berth.Time) bool { return now < rep.Eviction.Get().RestsUntil }

// A SurgePart is what came of the replicas that were to start before this one leaves its node.
type SurgePart struct {
	// FailedStarts counts those that came to nothing in a row. Before At none is started, and on
	// the nodes of Shunned only if it fits nowhere else: members failed to start there.
	FailedStarts int            `json:"standInsFailed,omitempty"`
	At           berth.Time     `json:"standInAt,omitempty"`
	Shunned      []berth.NodeID `json:"standInShuns,omitempty"`
}

// Nothing reports whether no stand-in came to nothing.
func (p SurgePart) Nothing() bool { return p.FailedStarts == 0 && p.At == 0 && len(p.Shunned) == 0 }

// A BidPart is when to look for victims of an entry again. Each group of a gang that grows has one
// of its own: they find other victims.
type BidPart struct {
	// RipeAt: from then on it is looked at even if nothing has changed since; zero: never.
	RipeAt berth.Time `json:"ripeAt,omitempty"`
	// At is when to look again, at the earliest, as it was in vain at Turn.
	At   berth.Time  `json:"at,omitempty"`
	Turn agenda.Turn `json:"-"`
	// Round says among which gangs it looks next for some to move, beside victims.
	Round int `json:"round,omitempty"`
}

// A StartPart is how a member came to be where it is.
type StartPart struct {
	Bind berth.OrderID `json:"bind,omitempty"` // that placed it; 0: it was observed
	Ran  bool          `json:"ran,omitempty"`  // it was known to run, and may be stopping now
}

// A JobPart is what becomes of a job's replicas.
type JobPart struct {
	// Cancelled: every replica is on its way out.
	Cancelled bool `json:"cancelled,omitempty"`
	// Completed: it was told that the job finished, and did not fail.
	Completed bool `json:"completed,omitempty"`
	// StandIns counts the replicas that start in the place of others.
	StandIns uint16 `json:"-"`
	// Former is the highest incarnation of the replicas that are forgotten. Those
	// that come go on from there, because they may get the number of one that went.
	Former berth.Incarnation `json:"former,omitempty"`
	// Later is how much later than they were asked for its replicas count as submitted: see
	// [berth.Policy.Stretch].
	Later berth.Duration `json:"later,omitempty"`
	// Learned is how long each replica was expected to run when it was submitted, by what had been
	// learned; 0: nothing had, or no other than the job tells.
	Learned berth.Duration `json:"learned,omitempty"`
}

// A CordonPart is what was told of the use of a node.
type CordonPart struct {
	Cordoned bool `json:"cordoned,omitempty"`
	// Freed: it is in State.FreedNodes.
	Freed bool `json:"freed,omitempty"`
	// Reason why it is cordoned.
	Reason string `json:"reason,omitempty"`
	// Draining: its jobs have to leave, by DrainBy; 0: when there is capacity elsewhere.
	Draining bool       `json:"draining,omitempty"`
	DrainBy  berth.Time `json:"drainBy,omitempty"`
}

// A GPUPart is what the description of a GPU does not have.
type GPUPart struct {
	// ChangedAt is when the last change that touches GPUModeMIG was ordered; zero: none.
	ChangedAt berth.Time `json:"changedAt,omitempty"`
}

// A GPUHoldPart is which GPU of a node is kept for a replica, and for how long.
type GPUHoldPart struct {
	GPU   int        `json:"gpu"`
	Until berth.Time `json:"until"`
	// RetryAt is when the rates allow to change it, if they did not when it was clear;
	// zero: it was not.
	RetryAt berth.Time `json:"retryAt,omitempty"`
}

// A SpanPart is from when to when nodes are set aside.
type SpanPart struct {
	// From is the instant at which other jobs have to be gone.
	From  berth.Time `json:"from"`
	Until berth.Time `json:"until"`
}

// LookAnew forgets what was found out while a replica waited.
func (rep *Replica) LookAnew() { rep.Look, rep.BidsAt = values.Rare[LookPart]{}, 0 }

// ForgetStall notes that a replica is not stalled.
func (rep *Replica) ForgetStall() { rep.Reserve.Note().StalledAt.Forget() }

// ForgetDespair notes that a replica is not hopeless.
func (rep *Replica) ForgetDespair() { rep.Reserve.Note().HopelessAt.Forget() }

// CountFailedBid notes that a replica bid once more in vain.
func (rep *Replica) CountFailedBid() { rep.FailedBids = min(rep.FailedBids+1, limits.MaxAttempts) }

// Forget has a bid be looked at again as soon as its replica may bid.
func (p *BidPart) Forget() { p.Turn, p.RipeAt, p.At = 0, 0, 0 }

// MarkFreed notes whether a node stands in the list of those on which something became free.
func (n *Node) MarkFreed(freed bool) { n.Freed = freed }
