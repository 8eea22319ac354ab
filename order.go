package berth

import (
	"fmt"

	"github.com/berth-sched/berth/mig"
)

// An OrderID numbers orders in the order in which they were given, from 1.
type OrderID uint64

// An Incarnation numbers the lives of a replica, from 1: every time it is bound anew it gets
// the next number, so that a report about a former life is told from one about this life. A
// service that is scaled down and up again goes on above the lives of the replicas that went.
type Incarnation uint32

// An Order is what the core gives from Schedule. The set of orders is closed: the types of
// this file. Orders are immutable: the core keeps them, and the slices in them, until they are
// reported. The caller may keep them as long as it likes, and must not change them.
type Order interface {
	// Kind is the order's name in JSON.
	Kind() string
	// Header is what all orders have.
	Header() OrderHeader
	order()
}

// An OrderHeader is the common part of all orders.
type OrderHeader struct {
	// ID by which the order is reported, higher than that of every order before it.
	ID OrderID `json:"id"`
	// At is the instant of the pass that gave the order.
	At Time `json:"at"`
	// Deadline by which it must be reported; zero where no report is expected. See each order
	// for what happens when it passes.
	Deadline Time `json:"deadline,omitempty"`
	// Job, Replica and Incarnation for which it is given; a Repartition for no replica has
	// none.
	Job         JobID       `json:"job"`
	Replica     int         `json:"replica,omitempty"`
	Incarnation Incarnation `json:"incarnation,omitempty"`
	// Cause says why the order was given.
	Cause Cause `json:"cause"`
}

// Header returns the common part of the order.
func (o OrderHeader) Header() OrderHeader { return o }

// A Cause says why an order was given.
type Cause struct {
	// Code is for programs. New codes may come, so a switch over them needs a default.
	Code CauseCode `json:"code"`
	// Detail is for people, such as the reason given with the event behind it.
	Detail string `json:"detail,omitempty"`
	// Beneficiary is the replica that is to have the place of the victim; zero: there is none.
	Beneficiary ReplicaRef `json:"beneficiary,omitzero"`
}

// A ReplicaRef names a replica of a job.
type ReplicaRef struct {
	Job     JobID `json:"job"`
	Replica int   `json:"replica,omitempty"`
}

// String is "JOB/REPLICA".
func (r ReplicaRef) String() string { return fmt.Sprintf("%s/%d", r.Job, r.Replica) }

// A CauseCode is a stable word for a cause. The set is open: a later release may add words, so
// decoding takes any.
type CauseCode string

const (
	// CauseFits: the gang's turn came and it fits.
	CauseFits CauseCode = "fits"
	// CauseGrows: a gang that runs short of members got more of them, that were free.
	CauseGrows CauseCode = "grows"
	// CauseRepair: members that failed while binding were placed elsewhere.
	CauseRepair CauseCode = "repair"
	// CauseBindFailed: members of a Bind failed and could not be placed elsewhere.
	CauseBindFailed CauseCode = "bind-failed"
	// CauseBindExpired: a Bind was not reported in time.
	CauseBindExpired CauseCode = "bind-expired"
	// CauseFinished: the job ended while some members were being started or stopped.
	CauseFinished CauseCode = "finished"
	// CauseCancelled and CauseScaledDown: the caller asked.
	CauseCancelled  CauseCode = "cancelled"
	CauseScaledDown CauseCode = "scaled-down"
	// CauseHardwareLost: a node or a GPU was lost under the gang.
	CauseHardwareLost CauseCode = "hardware-lost"
	// CauseMemberFailed: members died and the gang is below its minimum.
	CauseMemberFailed CauseCode = "member-failed"
	// CauseGangTimeout: the job was pending for longer than its gang timeout.
	CauseGangTimeout CauseCode = "gang-timeout"
	// CauseMaxRequeues: the gang came back to the queue for one cause more often than
	// Job.MaxRequeues lets it.
	CauseMaxRequeues CauseCode = "max-requeues"
	// CauseDependency: a job that had to complete first ended otherwise.
	CauseDependency CauseCode = "dependency"
	// CauseMaxRuntime: the job ran for as long as it may.
	CauseMaxRuntime CauseCode = "max-runtime"
	// CauseIdle: it holds GPUs that it has left idle for too long. See [IdlePolicy].
	CauseIdle CauseCode = "idle"
	// CauseIdleSurplus: the same, and its gang goes on without what it has above its minimum.
	CauseIdleSurplus CauseCode = "idle-surplus"
	// CauseGivenBack: a GPU that it borrowed goes back to its holder, which is busy again, or that
	// the holder does not hold or lend any more.
	CauseGivenBack CauseCode = "given-back"
	// CauseOverLimit: its queue, or one above it, uses more than its limit: see [OverLimit].
	CauseOverLimit CauseCode = "over-limit"
	// CauseBudget: its queue, or one above it, has used up a budget: see [Budget].
	CauseBudget CauseCode = "budget"
	// CauseMode: a member is to use a GPU in another mode than it is in.
	CauseMode CauseCode = "mode"
	// CauseGeometry: the wait of a member has cost more than the change does.
	CauseGeometry CauseCode = "geometry"
	// CauseLayout: an idle GPU goes back to the layout of its pool.
	CauseLayout CauseCode = "layout"
	// CauseVictimsGone: the victims that were evicted for it are gone.
	CauseVictimsGone CauseCode = "victims-gone"
	// CauseReclaimed: what its queue has borrowed is given back to another queue.
	CauseReclaimed CauseCode = "reclaimed"
	// CausePreempted: a job of a higher class or priority in its queue takes its place.
	CausePreempted CauseCode = "preempted"
	// CauseDrained: the node has to be empty, as it is drained, or cleared for a reservation, which
	// is named then.
	CauseDrained CauseCode = "drained"
	// CauseSurge: it starts before another replica of its service stops, which has to leave its
	// node; or it stops as the other runs, or is not needed any more. It does not come back. See
	// [Service].Surge.
	CauseSurge CauseCode = "surge"
	// CauseMoved: it goes elsewhere, so that another gang finds in one piece what is free.
	CauseMoved CauseCode = "moved"
	// CauseResumed: it goes on where a place was kept for it.
	CauseResumed CauseCode = "resumed"
	// CauseNotNeeded: no beneficiary needs the place any more for which a checkpoint was
	// requested.
	CauseNotNeeded CauseCode = "not-needed"
	// CauseRepartitionFailed: the GPU under a member did not become what it needs.
	CauseRepartitionFailed CauseCode = "repartition-failed"
)

// A MemberPlacement is one member and what it holds.
type MemberPlacement struct {
	Group string `json:"group,omitempty"`
	Index int    `json:"index"`
	Node  NodeID `json:"node"`
	// GPUs the member holds: whole ones, or the one it shares or borrows.
	GPUs GPUSet `json:"gpus,omitempty"`
	// ShareMilli and ShareMemoryMiB of the shared GPU; zero for whole GPUs. A borrowed GPU has
	// the memory alone.
	ShareMilli     int   `json:"shareMilli,omitempty"`
	ShareMemoryMiB int64 `json:"shareMemoryMiB,omitempty"`
	// Borrowed: another job holds the GPU, and lends it. See [Borrow].
	Borrowed bool `json:"borrowed,omitempty"`
	// Instance of the GPU, such as "3g.40gb@4:4", that the member has. In a pool with
	// [GeometryPerClaim], the member's start creates it and its end destroys it.
	Instance mig.Placement `json:"instance,omitzero"`
}

// MPSActiveThreadPercentage is the CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of a member with a share:
// its thousandths of the GPU in percent, rounded down so that the members of a GPU
// never have more than all of it, but at least 1. ShareMemoryMiB is its
// CUDA_MPS_PINNED_DEVICE_MEM_LIMIT. Zero for a member without a share.
func (p *MemberPlacement) MPSActiveThreadPercentage() int {
	if p.ShareMilli == 0 {
		return 0
	}
	return max(p.ShareMilli/10, 1)
}

// Ref names the member.
func (p *MemberPlacement) Ref() MemberRef { return MemberRef{p.Group, p.Index} }

// String is the member and what it holds, as in "workers[0] on n1, GPUs 0-7".
func (p MemberPlacement) String() string {
	on := fmt.Sprintf("%v on %s", p.Ref(), p.Node)
	switch {
	case p.Instance != (mig.Placement{}):
		return fmt.Sprintf("%s, %v of GPU %v", on, p.Instance, p.GPUs)
	case p.Borrowed:
		return fmt.Sprintf("%s, GPU %v borrowed", on, p.GPUs)
	case p.ShareMilli != 0:
		return fmt.Sprintf("%s, %d/1000 of GPU %v", on, p.ShareMilli, p.GPUs)
	case p.GPUs.Len() == 1:
		return fmt.Sprintf("%s, GPU %v", on, p.GPUs)
	case p.GPUs != 0:
		return fmt.Sprintf("%s, GPUs %v", on, p.GPUs)
	}
	return on
}

// Bind orders members to be started where it says: all members of a gang, or
// further members of one that runs already (growth or repair; the cause tells).
//
// A start is named by the ID of its Bind and the member: a repair or a growth starts the same
// index again in the same incarnation.
//
// The capacity is held from now on. Report Done when all run, Partial with the
// members that could not be started, Failed when none runs. The first pass after the deadline
// voids an unreported Bind: the core takes it back with a Release, so a member that is started
// late is stopped. Until that pass a report still counts.
type Bind struct {
	OrderHeader
	// Members to be started, each with what it holds from now on.
	Members []MemberPlacement `json:"members"`
	// Alternative of the job that it runs as: of Job.Alternatives, from 1; 0: its own Groups. The
	// groups of Members and Claims are those of that one.
	Alternative int `json:"alternative,omitempty"`
	// Instead is the replica that is released once this one is reported to run, and was to be there
	// only until then; zero: none. See [Service].Surge.
	Instead ReplicaRef `json:"instead,omitzero"`
	// Claims has what a member of each group of the gang asks for, in the order of the groups:
	// with the place of a member, all that is needed to start it. Read only.
	Claims []GroupClaim `json:"claims,omitempty"`
	// After lists the Repartitions, given before or with this order, without which
	// members cannot be started.
	After []OrderID `json:"after,omitempty"`
}

// Kind is "bind".
func (Bind) Kind() string { return "bind" }

// ClaimOf is the claim of a member of the order; zero for a group that the job has not.
func (b *Bind) ClaimOf(m *MemberPlacement) Claim {
	for i := range b.Claims {
		if b.Claims[i].Group == m.Group {
			return b.Claims[i].Claim
		}
	}
	return Claim{}
}

// A GroupClaim is what each member of a group asks for.
type GroupClaim struct {
	Group string `json:"group,omitempty"`
	Claim Claim  `json:"claim"`
}

func (Bind) order() {}

// Repartition orders a GPU into a mode and, in GPUModeMIG, from one layout to another: first
// the idle instances in Destroy are destroyed, then those in Create are created, in the order
// given; every layout on the way is valid. Instances that are in neither stay, and so does
// what runs on them.
//
// Report Done when the GPU is so, Failed when it is as it was. Members that were to be started
// on what failed to come about are placed elsewhere, or their gang is taken back. After the
// deadline the GPU takes nothing until [GPUPartitioned] tells how it is; if a member is known to
// run on what was ordered, it counts as done.
type Repartition struct {
	OrderHeader
	Node NodeID  `json:"node"`
	GPU  int     `json:"gpu"`
	Mode GPUMode `json:"mode"`
	// Destroy and Create are the steps. The mode changes after the last Destroy and
	// before the first Create.
	Destroy []mig.Placement `json:"destroy,omitempty"`
	Create  []mig.Placement `json:"create,omitempty"`
}

// Kind is "repartition".
func (Repartition) Kind() string { return "repartition" }

func (Repartition) order() {}

// Release orders members to be stopped. It names all members that the replica still holds; or,
// of one that goes on, those of a growth that was not reported, or surplus members that are
// evicted. The capacity of a member stays held until it is reported gone: all of them by Done,
// the others than those listed by Partial, none by Failed. For those that are left the order
// stays out and may be reported again. At the deadline it is given again with a new ID, up to
// Policy.ReleaseAttempts times; then the members are presumed dead.
type Release struct {
	OrderHeader
	// Members to be stopped, each with what it holds until it is reported gone.
	Members []MemberPlacement `json:"members"`
	// Attempt counts from 1.
	Attempt int `json:"attempt"`
	// Remaining tells a gang that goes on how many members of each group it has then. The
	// surplus goes by whole widest segments, so that the job can resize to that and keep its
	// topology.
	Remaining []GroupSize `json:"remaining,omitempty"`
	// SurplusEvictions tells for which beneficiaries members of a gang that goes on are
	// stopped, as far as these still wait for that; at first, Cause.Beneficiary is the first
	// of them.
	SurplusEvictions []SurplusEviction `json:"surplusEvictions,omitempty"`
}

// Kind is "release".
func (Release) Kind() string { return "release" }

func (Release) order() {}

// A GroupSize is a number of members of a group.
type GroupSize struct {
	Group   string `json:"group,omitempty"`
	Members int    `json:"members"`
}

// A SurplusEviction is surplus members that are stopped for another replica.
type SurplusEviction struct {
	Beneficiary ReplicaRef  `json:"beneficiary"`
	Members     []MemberRef `json:"members"`
}

// RequestCheckpoint asks a running gang to write a checkpoint, because it will have to leave
// its place: to Cause.Beneficiary, because the place is being drained, because it has run for
// as long as it may, because it is idle, or because what it borrowed is given back. It goes on
// until it is released, and is not given further members meanwhile.
//
// Report Done when the checkpoint is written, Failed when there will be none. In either case,
// and when the deadline passes without a report, a Release follows, unless a Withdraw comes
// first.
type RequestCheckpoint struct {
	OrderHeader
	// Members that run, and where.
	Members []MemberPlacement `json:"members,omitempty"`
}

// Kind is "requestCheckpoint".
func (RequestCheckpoint) Kind() string { return "requestCheckpoint" }

func (RequestCheckpoint) order() {}

// Withdraw takes back a [RequestCheckpoint] that was not reported yet: the gang keeps its place,
// and goes on. No report is expected.
type Withdraw struct {
	OrderHeader
	// Request is the ID of the RequestCheckpoint.
	Request OrderID `json:"request"`
}

// Kind is "withdraw".
func (Withdraw) Kind() string { return "withdraw" }

func (Withdraw) order() {}

// Drop tells that the core gave a job up and forgot it: the embedder should tell
// its owner. No report is expected.
type Drop struct {
	OrderHeader
}

// Kind is "drop".
func (Drop) Kind() string { return "drop" }

func (Drop) order() {}

// WarnIdle tells that a replica has been idle for as long as [IdlePolicy] says: the embedder should
// tell its owner. It is given once until the replica is busy again. No report is expected, and the
// replica may have another order out.
type WarnIdle struct {
	OrderHeader
	// Since is when the reports began to say so, and ActiveMilli what the last one said, in
	// thousandths.
	Since       Time `json:"since"`
	ActiveMilli int  `json:"activeMilli,omitempty"`
	// Until is when Action is due, unless it is busy before; zero: nothing will be done.
	Until  Time       `json:"until,omitempty"`
	Action IdleAction `json:"action,omitzero"`
}

// Kind is "warnIdle".
func (WarnIdle) Kind() string { return "warnIdle" }

func (WarnIdle) order() {}
