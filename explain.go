package berth

import (
	"github.com/berth-sched/berth/preempt"
)

// An Explanation tells where a job stands.
type Explanation struct {
	Job   JobID   `json:"job"`
	Queue QueueID `json:"queue"`
	Class Class   `json:"class"`
	// Cancelled: the job is on its way out.
	Cancelled bool `json:"cancelled,omitempty"`
	// Replicas in the order of their numbers, those that wait alike as one.
	Replicas []ReplicaExplanation `json:"replicas"`
	// Positions of the queue among its siblings, and of each queue above it, the topmost
	// first; nil if no replica waits.
	Positions []QueuePosition `json:"positions,omitempty"`
}

// A ReplicaExplanation tells where one replica stands, or where several do that wait alike.
type ReplicaExplanation struct {
	Replica int `json:"replica"`
	// Alike is how many more replicas there are that differ from this one in nothing but Replica
	// and Position, which follow on its own one by one. They wait, and nothing else is to be said
	// of them: so an explanation is no larger for a million of them.
	Alike       int          `json:"alike,omitempty"`
	State       ReplicaState `json:"state"`
	Incarnation Incarnation  `json:"incarnation,omitempty"`
	// Since is when it last became pending or, while Running, when it began to run.
	Since Time `json:"since"`
	// ExpectedEnd is Since plus the job's expected run time; zero: unknown.
	ExpectedEnd Time `json:"expectedEnd,omitempty"`
	// RunsUntil is when it has run for as long as Job.MaxRuntime lets it, and is stopped; zero: it
	// does not run, or has no limit.
	RunsUntil Time `json:"runsUntil,omitempty"`
	// Requeues counts how often it came back to the queue, for the causes of Job.MaxRequeues for
	// which it did, in order of cause.
	Requeues []RequeueCount `json:"requeues,omitempty"`
	// Alternative is what it is started, runs or is stopped as, of Job.Alternatives, from 1; 0: its
	// own Groups, or it is pending.
	Alternative int `json:"alternative,omitempty"`
	// Members that hold something.
	Members []MemberPlacement `json:"members,omitempty"`
	// Bandwidth that the placement is expected to give; nil while it has none.
	Bandwidth *Bandwidth `json:"bandwidth,omitempty"`
	// BlastRadius names the jobs that go with it if its GPUs go; nil: it shares none.
	BlastRadius *SharedBlastRadius `json:"blastRadius,omitempty"`
	// Order that is out about the replica; zero: none.
	Order OrderID `json:"order,omitempty"`
	// Beneficiary is the replica for which it is evicted, or the first of those for which its
	// surplus is; zero: none.
	Beneficiary ReplicaRef `json:"beneficiary,omitzero"`
	// LentMilli is how much of its GPUs is lent, in thousandths: Borrowers has those that stand
	// over them, by job and number, also those that have yet to give back; the rest is to be had.
	LentMilli int64        `json:"lentMilli,omitempty"`
	Borrowers []ReplicaRef `json:"borrowers,omitempty"`
	// GiveBackBy is by when a borrower is stopped that has to give back; zero: it has not.
	GiveBackBy Time `json:"giveBackBy,omitempty"`
	// Idleness is set if it leaves idle what it holds: see [IdlePolicy].
	Idleness *Idleness `json:"idleness,omitempty"`
	// Departure is set if it has to leave its place for another.
	Departure *Departure `json:"departure,omitempty"`
	// Instead is the replica that is released once this one runs; zero: none.
	Instead ReplicaRef `json:"instead,omitzero"`
	// Position among those of its queue that wait, from 1, in the order of service; zero:
	// it does not wait, or for a budget.
	Position int `json:"position,omitempty"`
	// Reason why it waits for a place, for a gang that runs short: why the first
	// group that does has to wait; nil if it does not wait.
	Reason *Reason `json:"reason,omitempty"`
}

// A QueuePosition is where a queue stands among its siblings in the order of service,
// with the numbers that decide it. GPU amounts are in thousandths of a GPU.
type QueuePosition struct {
	Queue QueueID `json:"queue"`
	// Position among the siblings that have something that may be tried, from 1, and Siblings
	// how many these are; zero where the queue has nothing.
	Position int `json:"position,omitempty"`
	Siblings int `json:"siblings,omitempty"`
	// NextMilli is what the job asks for that the queue would be served next; of it
	// NextCoveredMilli are under guarantees, and the rest would be borrowed. WithinGuarantee:
	// all of it is under guarantees. Those queues come first.
	NextMilli        int64 `json:"nextMilli,omitempty"`
	NextCoveredMilli int64 `json:"nextCoveredMilli,omitempty"`
	WithinGuarantee  bool  `json:"withinGuarantee"`
	// Priority among siblings comes next.
	Priority int32 `json:"priority,omitempty"`
	// Used, how much of it is covered by guarantees, and what is guaranteed.
	UsedMilli       int64 `json:"usedMilli"`
	CoveredMilli    int64 `json:"coveredMilli,omitempty"`
	GuaranteedMilli int64 `json:"guaranteedMilli,omitempty"`
	// Share is what it states as shares; nil: nothing.
	Share *QueueShare `json:"share,omitempty"`
	// Weight, of which WeightFactorMilli thousandths count, for what was used of late; and
	// that use, on average.
	Weight            int64 `json:"weight"`
	WeightFactorMilli int64 `json:"weightFactorMilli"`
	AverageMilli      int64 `json:"averageMilli,omitempty"`
	// FairMilli is its fair share of the fleet: what it would get if every queue got its due,
	// by what all queues use and wait for now, without jobs that back off.
	FairMilli int64 `json:"fairMilli"`
}

// A Reason says why a replica waits for a place: for its gang, or for the rest of
// it.
type Reason struct {
	// Code is for programs. New codes may come, so a switch over them needs a default.
	Code ReasonCode `json:"code"`
	// Text is what is missing, in a sentence, with its numbers. Why no running job makes room is
	// in Preemption, so show both, as String does.
	Text string `json:"text"`
	// Remedy says what would let it start if nothing else changed.
	Remedy string `json:"remedy"`
	// Until is when the core looks at it again by itself; zero: when something
	// changes that could help.
	Until Time `json:"until,omitempty"`
	// After lists the jobs that have to end first, in the order in which the job lists them.
	After []JobID `json:"after,omitempty"`
	// Levels tells what was tried at each level of the topology, the narrowest first,
	// and what the domains there lacked.
	Levels []LevelFinding `json:"levels,omitempty"`
	// Products tells, of each group whose members are to have one product of several, or one value
	// of the job's SameLabels, what each product could hold by itself: in the order in which they
	// are taken where all else is equal.
	Products []ProductFinding `json:"products,omitempty"`
	// Alternative of the job of which all else is said here, from 1: the one for which a place is
	// kept; 0: its own Groups. Alternatives says why it does not start as one of the others.
	Alternative  int                  `json:"alternative,omitempty"`
	Alternatives []AlternativeFinding `json:"alternatives,omitempty"`
	// ExpectedStart is when it is expected to start; of replicas that wait alike, when the first of
	// them is, and of a job with alternatives as whichever is the soonest. Zero: unknown, or never.
	ExpectedStart Forecast `json:"expectedStart,omitzero"`
	// Reservation is set if the gang has one.
	Reservation *ReservationReport `json:"reservation,omitempty"`
	// CutShort: the search for victims took too long and ended early. There may be some all the
	// same.
	CutShort bool `json:"cutShort,omitempty"`
	// Preemption says in a sentence how it stands with the jobs that could make room for it.
	// Victims are those that do; PotentialVictims those that would have to, if the policy did
	// not forbid it, it paid or the rate limits allowed it. Weighing is set if it does not
	// pay.
	Preemption       string   `json:"preemption,omitempty"`
	Victims          []Victim `json:"victims,omitempty"`
	PotentialVictims []Victim `json:"potentialVictims,omitempty"`
	// Protected is set if the job is within the guarantee of its queue and no victims suffice that
	// may go: what other queues keep of theirs.
	Protected []Protection `json:"protected,omitempty"`
	// Moves are those that would make room for it, if there are any: see
	// Policy.Defragmentation. For a guarantee they go with PotentialVictims.
	Moves    []Move    `json:"moves,omitempty"`
	Weighing *Weighing `json:"weighing,omitempty"`
	// GPUHold is the GPU that takes no other member until it is empty, at the latest until the
	// instant in Until.
	GPUHold *GPURef `json:"gpuHold,omitempty"`
}

// String is Text, with Preemption if that says something, and with the texts of Alternatives: the
// sentence to show to the job's owner.
func (r Reason) String() string {
	text := r.Text
	if len(r.Alternatives) > 0 {
		text = as(r.Alternative) + ": " + text
	}
	if r.Preemption != "" {
		text += "; " + r.Preemption
	}
	for i := range r.Alternatives {
		text += "; " + as(r.Alternatives[i].Alternative) + ": " + r.Alternatives[i].Text
	}
	return text
}

// A Protection is what a queue keeps of its guarantee where a job of another queue could have its
// place. KeptMilli of UsedMilli stays, in thousandths of a GPU, in whichever of its jobs: any of
// those named may go that leave it so much, and none that do would let the other job start. Where
// the jobs that run are what the queue keeps, UsedMilli leaves out what is planned or being
// started.
type Protection struct {
	Queue          QueueID `json:"queue"`
	GuaranteeMilli int64   `json:"guaranteeMilli"`
	KeptMilli      int64   `json:"keptMilli"`
	UsedMilli      int64   `json:"usedMilli"`
	// Jobs are those on nodes that the other job could use, at most 16, and More counts the rest.
	Jobs []ReplicaRef `json:"jobs"`
	More int          `json:"more,omitempty"`
}

// A GPURef names a GPU.
type GPURef struct {
	Node NodeID `json:"node"`
	GPU  int    `json:"gpu"`
}

// An AlternativeFinding says why a job does not start as one of its alternatives.
type AlternativeFinding struct {
	// Alternative of Job.Alternatives, from 1; 0: the job's own Groups.
	Alternative int        `json:"alternative"`
	Code        ReasonCode `json:"code"`
	Text        string     `json:"text"`
	Remedy      string     `json:"remedy"`
	// ExpectedStart as this alternative; zero: unknown, or never.
	ExpectedStart Forecast `json:"expectedStart,omitzero"`
}

// A ProductFinding says what GPUs of one product could hold of a group that needs one product.
type ProductFinding struct {
	Group   string `json:"group,omitempty"`
	Product string `json:"product"`
	// Labels are those values of the job's SameLabels of which the numbers are: the ones that
	// come closest; nil if it fits, or names none.
	Labels map[string]string `json:"labels,omitempty"`
	// MembersFit of MembersNeeded would fit now, in one domain of the level that is required.
	MembersFit    int `json:"membersFit"`
	MembersNeeded int `json:"membersNeeded"`
	// Short is what it is short of: "nodes" (too few would fit if all were idle), "GPUs", "shares",
	// "instances", "host CPU", "host memory" or "capacity together" (in pieces there is enough);
	// empty if the group fits by itself, but not beside the others.
	Short string `json:"short,omitempty"`
}

// A LevelFinding says what the search found at one level.
type LevelFinding struct {
	Level string `json:"level"`
	// Domains is how many have a node that may serve the gang, DomainsLargeEnough how many of
	// them have GPUs enough for each group by itself.
	Domains            int `json:"domains"`
	DomainsLargeEnough int `json:"domainsLargeEnough"`
	// Shortfalls counts the domains in which it does not fit by the first thing that they are
	// short of, in this order.
	Shortfalls []Shortfall `json:"shortfalls,omitempty"`
	// Best is the domain, by its path, or the node in which the most members fit: MembersFit
	// of MembersNeeded.
	Best          string `json:"best,omitempty"`
	MembersFit    int    `json:"membersFit"`
	MembersNeeded int    `json:"membersNeeded"`
}

// A Shortfall counts the domains that are short of something.
type Shortfall struct {
	// What: "healthy nodes" (failed GPUs and cordoned nodes would do), "GPUs", "whole segments",
	// "host CPU", "host memory", "rails", "spread", "capacity for all groups".
	What    string `json:"what"`
	Domains int    `json:"domains"`
}

// A ReasonCode is a stable word for a reason. The set is open: a later release may add words, so
// decoding takes any; Reason.Text says each in a sentence.
type ReasonCode string

const (
	// ReasonTurn: nothing is known to be in the way; the next pass will try.
	ReasonTurn ReasonCode = "turn"
	// ReasonBackoff: a Bind failed, or members died, and the core waits before it tries again.
	// Reservation is the place that is kept for the gang meanwhile.
	ReasonBackoff ReasonCode = "backoff"
	// ReasonBegin: the begin time of the job, which is in Until, has not come. ReasonDependency:
	// the jobs in After have not ended. ReasonArray: all slots of its array are taken. ReasonCap: a
	// cap of the policy on its queue, or on one above it, is reached: see [QueueCaps].
	ReasonBegin      ReasonCode = "begin"
	ReasonDependency ReasonCode = "dependency"
	ReasonArray      ReasonCode = "array"
	ReasonCap        ReasonCode = "cap"
	// ReasonBudget: its queue, or one above it, has used up a budget, which ends at Until: see
	// [Budget]. Of several the last one ends then; zero: one of them has no end.
	ReasonBudget ReasonCode = "budget"
	// ReasonQuota: a limit of the queue, or of one above it, is in the way.
	ReasonQuota ReasonCode = "quota"
	// ReasonNoNodes: no node that takes work qualifies.
	ReasonNoNodes ReasonCode = "no-nodes"
	// ReasonTooLarge: the nodes that take work are too few, on the whole fleet or in each domain of
	// the level that the gang requires.
	ReasonTooLarge ReasonCode = "too-large"
	// ReasonGPUs: too few GPUs are free.
	ReasonGPUs ReasonCode = "gpus"
	// ReasonShares: too little is left of the GPUs that may be shared.
	ReasonShares ReasonCode = "shares"
	// ReasonInstances: too few instances of the profiles that would do are free.
	ReasonInstances ReasonCode = "instances"
	// ReasonLent: too few GPUs are held, lent and idle that a borrower may have: see Borrow.
	ReasonLent ReasonCode = "lent"
	// ReasonHost: too little host CPU or memory is free where GPUs are.
	ReasonHost ReasonCode = "host"
	// ReasonGeometry: it would fit if GPUs were divided otherwise, and that is under way,
	// or may come to pass.
	ReasonGeometry ReasonCode = "geometry"
	// ReasonReserved: there is room, but it is set aside for others.
	ReasonReserved ReasonCode = "reserved"
	// ReasonFragmented: enough is free, but not together: not on the same nodes, or
	// not in one domain of the required level.
	ReasonFragmented ReasonCode = "fragmented"
)

// A Victim is a replica that is evicted for another, or would have to be.
type Victim struct {
	Job     JobID   `json:"job"`
	Replica int     `json:"replica,omitempty"`
	Queue   QueueID `json:"queue"`
	// GPUMilli is what it gives, in thousandths of a GPU.
	GPUMilli int64 `json:"gpuMilli"`
	// Members is how many of its members go while the rest goes on; zero: all of it goes.
	Members int `json:"members,omitempty"`
	// Cost is what is lost if it is stopped now, in GPU-milliseconds: work since its last
	// checkpoint or, if it writes one when asked, the time which that takes; its restart; and
	// the time for which it is expected to wait (see [GainPolicy]).
	Cost preempt.GPUMilliseconds `json:"costGPUMilliseconds,omitempty"`
	// Deadline by which a victim that was asked for a checkpoint is stopped; zero: it is being
	// stopped, or was not asked.
	Deadline Time `json:"deadline,omitempty"`
}

// A StartPlan is what it would take to start a replica that waits.
type StartPlan struct {
	// Fits: nothing. The next pass is expected to start it.
	Fits bool `json:"fits,omitempty"`
	// Alternative of the job that the plan is for, from 1; 0: its own Groups. The plan is for the
	// first that fits or, where none does, for the one that Reason is about.
	Alternative int `json:"alternative,omitempty"`
	// Moves of others that would make room, and what they cost and gain, in GPU-milliseconds:
	// see Policy.Defragmentation. Moves for a guarantee go with the victims, at any cost.
	Moves     []Move                  `json:"moves,omitempty"`
	MovesCost preempt.GPUMilliseconds `json:"movesCostGPUMilliseconds,omitempty"`
	MovesGain preempt.GPUMilliseconds `json:"movesGainGPUMilliseconds,omitempty"`
	// Victims are the replicas that would have to be evicted, or are already: the least harm
	// by which it would fit. Cost is what they would lose, in GPU-milliseconds.
	// Reason.Preemption says why they are not evicted, if they are not.
	Victims []Victim                `json:"victims,omitempty"`
	Cost    preempt.GPUMilliseconds `json:"costGPUMilliseconds,omitempty"`
	// Reason why it waits, and why nothing helps, if nothing does; nil: it does not wait.
	Reason *Reason `json:"reason,omitempty"`
	// Choice is where it would go, if it fits, is of one member, and what is asked for decides that
	// (see [Scorer]); else nil.
	Choice *PlaceChoice `json:"choice,omitempty"`
	// Text is the answer in a sentence.
	Text string `json:"text"`
}

// A PlaceChoice says where a member would go, and what speaks for that place.
type PlaceChoice struct {
	Node NodeID `json:"node"`
	// Instead is where it would go if Node, and all that are as good, had no place for it; empty:
	// there is none.
	Instead NodeID `json:"instead,omitempty"`
	// Keeps is the difference that makes to what is typically asked for, what is worth the most
	// first. It is empty if the kinds fit as often by themselves, and only fewer of them together.
	Keeps []KeptRoom `json:"keeps,omitempty"`
	// Text is all that in a sentence.
	Text string `json:"text"`
}

// A KeptRoom is room for one kind of members that is typically asked for.
type KeptRoom struct {
	Claim    Claim    `json:"claim"`
	Selector Selector `json:"selector,omitzero"`
	// Members is how many more of them still fit, if nothing else came, with the choice than with
	// what it is compared to; negative: fewer.
	Members int64 `json:"members"`
}

// A Move takes a gang from the nodes it is on to others.
type Move struct {
	Job     JobID   `json:"job"`
	Replica int     `json:"replica,omitempty"`
	Queue   QueueID `json:"queue"`
	// GPUMilli is what it has, in thousandths of a GPU.
	GPUMilli int64 `json:"gpuMilli"`
	// From and To are the nodes, in order of name.
	From []NodeID `json:"from"`
	To   []NodeID `json:"to"`
}
