package berth

import (
	"fmt"

	"github.com/berth-sched/berth/internal/decimal"
	"github.com/berth-sched/berth/quota"
)

// A FleetReport describes the fleet at an instant. GPU amounts are in
// thousandths of a GPU.
type FleetReport struct {
	Now   Time      `json:"now"`
	Nodes NodeCount `json:"nodes"`
	// GPUs of the whole fleet, and by product.
	GPUs     GPUCount       `json:"gpus"`
	Products []ProductCount `json:"products,omitempty"`
	// Resources are those that Config.Resources declares, in its order.
	Resources []ResourceCount `json:"resources,omitempty"`
	// Partitioned counts the GPUs that are divided, by table.
	Partitioned []PartitionedCount `json:"partitioned,omitempty"`
	// WorstBlastRadius is the GPU of which a fatal fault would take down the most jobs; nil:
	// no GPU is shared. See BlastRadius.
	WorstBlastRadius *WorstBlastRadius `json:"worstBlastRadius,omitempty"`
	// Replicas by state.
	Replicas ReplicaCount `json:"replicas"`
	// Waiting counts the replicas that wait for a place, by what stands in the
	// way as far as the core knows without searching.
	Waiting WaitingCount `json:"waiting"`
	// Queues in order of name, without the root.
	Queues []QueueReport `json:"queues,omitempty"`
	// Activity of the whole fleet; and of each tenant and pool that holds GPUs, in order of name.
	Activity ActivityCount `json:"activity,omitzero"`
	Tenants  []TenantCount `json:"tenants,omitempty"`
	Pools    []PoolCount   `json:"pools,omitempty"`
	// Idle has the replicas that leave idle what they hold, by job and number: see [IdlePolicy].
	Idle []IdleReport `json:"idle,omitempty"`
	// Caps has the caps of the policy at which a job waits, by queue, the caps of all users before
	// those of each, by name: see [QueueCaps].
	Caps []CapReport `json:"caps,omitempty"`
	// Budgets has those of the policy, by queue, From and Until: see [Budget].
	Budgets []BudgetReport `json:"budgets,omitempty"`
	// NodesByFreeGPUs[k] counts the schedulable nodes with exactly k whole free GPUs.
	NodesByFreeGPUs []int `json:"nodesByFreeGPUs,omitempty"`
	// Reservations in force: those made in advance by ID, then those of gangs in
	// policy order, then those of gangs that move, by job and replica.
	Reservations []ReservationReport `json:"reservations,omitempty"`
	// HotSpares by pool, and Health of the nodes that are in quarantine or burn-in.
	HotSpares []HotSparesReport `json:"hotSpares,omitempty"`
	// Health has the nodes that are in quarantine or burn-in, by name.
	Health []HealthReport `json:"health,omitempty"`
	// Fabric has the domains that have lost bandwidth, as FabricReported told, by their paths.
	Fabric []FabricReport `json:"fabric,omitempty"`
	// Draining has the nodes that are being drained, by name.
	Draining []DrainReport `json:"draining,omitempty"`
	// Totals since the core was made.
	Totals Totals `json:"totals"`
}

// A ResourceCount is how much the fleet has of a declared resource, on the nodes that take work and
// in use on the others, and how much of that members hold.
type ResourceCount struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	All  int64  `json:"all"`
	Held int64  `json:"held"`
}

// String is as in "scratch: 2000 GiB, of which 600 held".
func (c ResourceCount) String() string {
	unit := ""
	if c.Unit != "" {
		unit = " " + c.Unit
	}
	return fmt.Sprintf("%s: %d%s, of which %d held", c.Name, c.All, unit, c.Held)
}

// A ReservationReport describes nodes that are set aside.
type ReservationReport struct {
	// ID of a reservation that was made in advance; else Job and Replica name the
	// gang that has it.
	ID      ReservationID `json:"id,omitempty"`
	Job     JobID         `json:"job,omitempty"`
	Replica int           `json:"replica,omitempty"`
	// Alternative of the job that it is for, from 1; 0: the job's own Groups.
	Alternative int `json:"alternative,omitempty"`
	// Moving: it is the place that is kept for a gang that backs off, or has to leave another, and
	// has not yet, or waits to be tried again. It starts there when that is over.
	Moving bool `json:"moving,omitempty"`
	// Partial: it is what is left to a gang of its place, without room for the rest.
	Partial bool `json:"partial,omitempty"`
	// Members is how many further members a gang that runs is to get there; 0: it is for a whole
	// gang.
	Members int `json:"members,omitempty"`
	// From is when it starts; for a gang, when it is expected to.
	From Time `json:"from"`
	// Until is when it ends by itself, and Every how long after From it begins again; zero: it does
	// not.
	Until Time     `json:"until"`
	Every Duration `json:"every,omitempty"`
	// Clear: the nodes are cleared for it (Reservation.Clear).
	Clear bool `json:"clear,omitempty"`
	// Nodes in order of name.
	Nodes []NodeID `json:"nodes"`
	// Conflicts are the jobs that may not be there at From and are, or are expected to
	// be. If the nodes are cleared, these are the jobs that have to leave and are still there.
	Conflicts []JobID `json:"conflicts,omitempty"`
}

// A NodeCount counts nodes.
type NodeCount struct {
	All      int `json:"all"`
	Cordoned int `json:"cordoned"`
	// Quarantined and InBurnIn count those that are not trusted yet, HotSpares those that are
	// kept for gangs that lose hardware.
	Quarantined int `json:"quarantined,omitempty"`
	InBurnIn    int `json:"inBurnIn,omitempty"`
	HotSpares   int `json:"hotSpares,omitempty"`
}

// A GPUCount says what becomes of the fleet's GPUs, in thousandths of a GPU. AllMilli =
// HeldMilli + FreeMilli + OutOfServiceMilli.
type GPUCount struct {
	AllMilli int64 `json:"allMilli"`
	// HeldMilli is held by members, whatever the state of the GPU.
	HeldMilli int64 `json:"heldMilli"`
	// FreeMilli is free on schedulable nodes, in healthy GPUs: whole ones and the rest of
	// shared ones.
	FreeMilli int64 `json:"freeMilli"`
	// OutOfServiceMilli is neither: failed GPUs; free ones that are cordoned, in quarantine or
	// on hold; and slices of divided GPUs that are in no instance.
	OutOfServiceMilli int64 `json:"outOfServiceMilli"`
	// StrandedMilli is the part of FreeMilli on which no waiting member fits by itself: the
	// fragmentation. Zero when no job waits.
	StrandedMilli int64 `json:"strandedMilli"`
	// LendableMilli is the part of HeldMilli that is held by jobs that lend, and idle: lent, or to
	// be had by borrowers. BorrowedMilli is what borrowers have of it, or have to give back yet. A
	// borrower counts in no other field: what it has yet to give back after its lender is gone is
	// out of service until then.
	LendableMilli int64 `json:"lendableMilli,omitempty"`
	BorrowedMilli int64 `json:"borrowedMilli,omitempty"`
}

// A ProductCount is the [GPUCount] of one product.
type ProductCount struct {
	Product string `json:"product"`
	GPUCount
}

// An ActivityCount says how much of GPUs is held, and how much of that is in use, as
// [ActivityReported] told: in thousandths of a GPU. Borrowers count in none of it, as the GPUs are
// their lenders'.
type ActivityCount struct {
	// HeldMilli is held by members, whatever the state of the GPU. ToldMilli is the part of it that
	// is held by replicas of which an activity was told in their present life; of the rest nothing
	// is known.
	HeldMilli int64 `json:"heldMilli"`
	ToldMilli int64 `json:"toldMilli,omitempty"`
	// ActiveMilli is what was told of ToldMilli: so ActiveMilli of ToldMilli is in use.
	ActiveMilli int64 `json:"activeMilli,omitempty"`
	// IdleMilli is the part of ToldMilli that is held by replicas in FleetReport.Idle.
	IdleMilli int64 `json:"idleMilli,omitempty"`
}

// A TenantCount is the [ActivityCount] of one tenant; empty: of the jobs that name none.
type TenantCount struct {
	Tenant TenantID `json:"tenant,omitempty"`
	ActivityCount
}

// A PoolCount is the [ActivityCount] of one pool; empty: of the nodes that name none.
type PoolCount struct {
	Pool string `json:"pool,omitempty"`
	ActivityCount
}

// An IdleReport describes a replica that leaves idle what it holds.
type IdleReport struct {
	Job     JobID    `json:"job"`
	Replica int      `json:"replica,omitempty"`
	Queue   QueueID  `json:"queue"`
	Tenant  TenantID `json:"tenant,omitempty"`
	// GPUMilli is what it holds, in thousandths of a GPU.
	GPUMilli int64 `json:"gpuMilli"`
	Idleness
}

// A CapReport says how far a cap is used up.
type CapReport struct {
	Queue QueueID `json:"queue"`
	// PerUser: it is the cap of the user named User; the jobs that name none are those of one. Else
	// it is the cap of the jobs of all.
	PerUser bool   `json:"perUser,omitempty"`
	User    string `json:"user,omitempty"`
	// Jobs of MaxJobs are past their gates, and claim GPUMilli of MaxGPUMilli, in thousandths of a
	// GPU; 0 at most: any number or amount.
	Jobs        int   `json:"jobs"`
	MaxJobs     int   `json:"maxJobs,omitempty"`
	GPUMilli    int64 `json:"gpuMilli"`
	MaxGPUMilli int64 `json:"maxGPUMilli,omitempty"`
	// Waiting counts the jobs that the cap holds for and that wait at their gates for slots alone,
	// of this cap or of another.
	Waiting int `json:"waiting"`
}

// A BudgetReport says how far a budget is used up. It is so once LeftMilliHours is 0 or less.
type BudgetReport struct {
	Budget
	// UsedMilliHours is what was used of it until now, in thousandths of a GPU-hour, rounded down;
	// LeftMilliHours is the rest, negative where it is overdrawn.
	UsedMilliHours int64 `json:"usedMilliHours"`
	LeftMilliHours int64 `json:"leftMilliHours"`
	// UsedMilli is what the queue and those below it use now, in thousandths of a GPU.
	UsedMilli int64 `json:"usedMilli"`
	// UsedUpAt is when it is used up if they go on to use as much; zero: it is by now, or not
	// before it ends.
	UsedUpAt Time `json:"usedUpAt,omitempty"`
	// Waiting counts the replicas there that wait because this budget, or another, is used up.
	Waiting int `json:"waiting,omitempty"`
}

// An Idleness says since when a replica leaves idle what it holds, and what comes of that.
type Idleness struct {
	// Since is when the reports of its activity began to say so, and ActiveMilli what the last one
	// said, in thousandths.
	Since       Time `json:"since"`
	ActiveMilli int  `json:"activeMilli,omitempty"`
	// Warned is when it was warned; zero: the next pass will.
	Warned Time `json:"warned,omitempty"`
	// Until is when Policy.Idle.Action is due; zero: nothing is to be done, or it is done, or under
	// way.
	Until Time `json:"until,omitempty"`
}

// A ReplicaCount counts replicas by state.
type ReplicaCount struct {
	Pending   int `json:"pending"`
	Binding   int `json:"binding"`
	Running   int `json:"running"`
	Repairing int `json:"repairing"`
	Releasing int `json:"releasing"`
}

// A WaitingCount counts what waits for a place: pending replicas, and running
// ones that want to grow.
type WaitingCount struct {
	// Ready ones have not been tried since something changed for them.
	Ready int `json:"ready"`
	// Capacity: they fit nowhere. Quota: a limit is in the way. Backoff: a start failed, and it
	// is not time yet to try again.
	Capacity int `json:"capacity"`
	Quota    int `json:"quota"`
	Backoff  int `json:"backoff"`
	// Gated: it is not time yet, or other jobs have to end first. See [Dependency].
	Gated int `json:"gated,omitempty"`
	// Budget: a budget of their queue is used up. See [Budget].
	Budget int `json:"budget,omitempty"`
}

// A QueueReport describes a queue.
type QueueReport struct {
	Queue QueueID `json:"queue"`
	// UsedMilli is what the queue and those below it use, GuaranteedMilli and LimitMilli what
	// is stated for GPUs, in thousandths of a GPU; nil: there is no limit.
	UsedMilli       int64  `json:"usedMilli"`
	GuaranteedMilli int64  `json:"guaranteedMilli,omitempty"`
	LimitMilli      *int64 `json:"limitMilli,omitempty"`
	// Share is what is stated for GPUs as shares, of which GuaranteedMilli and LimitMilli are what
	// they come to now; nil: nothing is.
	Share           *QueueShare `json:"share,omitempty"`
	WaitingReplicas int         `json:"waitingReplicas,omitempty"`
	// OverLimitSince is since when the queue uses more of something than it may, where the policy
	// has what runs beyond a limit stopped; zero: it does not. See OverLimit.
	OverLimitSince Time `json:"overLimitSince,omitempty"`
	// Activity of the queue and those below it: of what is held, which is UsedMilli.
	Activity ActivityCount `json:"activity,omitzero"`
}

// A QueueShare is what a queue states for GPUs as shares: see quota.Queue.GuaranteeShare.
type QueueShare struct {
	// GuaranteeShare and LimitShare are in thousandths of OfMilli; nil: it states none.
	GuaranteeShare *int64 `json:"guaranteeShare,omitempty"`
	LimitShare     *int64 `json:"limitShare,omitempty"`
	// OfMilli is what the nearest queue above is guaranteed that states a guarantee, or else what
	// the nodes have that take work, in thousandths of a GPU.
	OfMilli int64 `json:"ofMilli"`
}

// Totals count what happened since the core was made.
type Totals struct {
	// JobsAdmitted counts jobs that were submitted or observed, ReplicasStarted the times when
	// a gang began to run, JobsDropped the jobs that the core gave up, JobsOverrun those that it
	// stopped at their time limit, JobsIdle those that it stopped as they were idle.
	JobsAdmitted    int64 `json:"jobsAdmitted"`
	ReplicasStarted int64 `json:"replicasStarted"`
	JobsFinished    int64 `json:"jobsFinished"`
	JobsCancelled   int64 `json:"jobsCancelled"`
	JobsDropped     int64 `json:"jobsDropped"`
	JobsOverrun     int64 `json:"jobsOverrun,omitempty"`
	JobsIdle        int64 `json:"jobsIdle,omitempty"`
	Binds           int64 `json:"binds"`
	BindsFailed     int64 `json:"bindsFailed"`
	Releases        int64 `json:"releases"`
	// Repartitions of GPUs, of which RepartitionsForMembers for members that waited; GPUHolds
	// counts the GPUs that were kept for a member.
	Repartitions           int64 `json:"repartitions"`
	RepartitionsForMembers int64 `json:"repartitionsForMembers"`
	GPUHolds               int64 `json:"gpuHolds"`
	// Preemptions counts beneficiaries, CheckpointsRequested and RequestsWithdrawn the
	// requests to victims, ReplicasEvicted the replicas that were stopped, ReplicasShrunk how
	// often one went on with fewer members.
	Preemptions          int64 `json:"preemptions"`
	CheckpointsRequested int64 `json:"checkpointsRequested"`
	RequestsWithdrawn    int64 `json:"requestsWithdrawn"`
	ReplicasEvicted      int64 `json:"replicasEvicted"`
	ReplicasShrunk       int64 `json:"replicasShrunk"`
	// ReplicasGivenBack counts how often a borrower was stopped because its lender wanted its GPUs
	// back, or lost them.
	ReplicasGivenBack int64 `json:"replicasGivenBack,omitempty"`
	// ReplicasOverLimit counts how often a replica was stopped because its queue was over a limit.
	ReplicasOverLimit int64 `json:"replicasOverLimit,omitempty"`
	// ReplicasOutOfBudget counts how often a replica was stopped because a budget was used up.
	ReplicasOutOfBudget int64 `json:"replicasOutOfBudget,omitempty"`
	// Moves counts how often a place was kept for a gang that had to leave its own.
	Moves int64 `json:"moves"`
	// OrdersExpired counts orders that were not reported in time, ReplicasPresumedDead those
	// that were taken for stopped for want of a report.
	OrdersExpired        int64 `json:"ordersExpired"`
	ReplicasPresumedDead int64 `json:"replicasPresumedDead"`
	// Reservations counts those given to gangs, ReservationsExpired those that ended without a
	// start, ReplicasBackfilled the replicas started on nodes that were set aside.
	Reservations        int64 `json:"reservations"`
	ReservationsExpired int64 `json:"reservationsExpired"`
	ReplicasBackfilled  int64 `json:"replicasBackfilled"`
	// Xids counts those that were reported, Quarantines and BurnIns how often a node was put
	// in one, HotSparesUsed the hot spares to which a gang came that had lost hardware.
	Xids          int64 `json:"xids,omitempty"`
	Quarantines   int64 `json:"quarantines,omitempty"`
	BurnIns       int64 `json:"burnIns,omitempty"`
	HotSparesUsed int64 `json:"hotSparesUsed,omitempty"`
	// PlacementAttempts counts the searches for a place, without those that only find out
	// whether something that became free helps.
	PlacementAttempts int64 `json:"placementAttempts"`
}

// MBps is a rate in megabytes (10^6 bytes) a second, one way: 50,000 is a NIC of
// 400 Gbit/s, 450,000 the NVLinks of an H100, which its data sheet calls 900 GB/s both
// ways together.
type MBps int64

// String prints GB/s, as in "450 GB/s".
func (b MBps) String() string { return decimal.Milli(int64(b)) + " GB/s" }

// A Bandwidth is what a placement is expected to give: an estimate from the rates of
// the links, for comparing placements. What is measured is lower, by protocol.
//
// It is the bus bandwidth of an all-reduce, as nccl-tests defines it (each GPU sends
// and receives that much; doc/PERFORMANCE.md there). The model:
//
//   - Inside a node it is what package nodegraph says of the set of GPUs; inside an
//     island of several nodes it is what a GPU's NVLinks carry together.
//   - Between islands, or nodes where they are no larger, a ring goes once through
//     each: no more than all NICs of the gang's nodes there carry together, where a node
//     with GPUs of others counts in proportion.
//   - A ring that leaves the domains of a level with a taper (Fabric.Oversubscription) goes once
//     out of each of them: no more than the share of the uplinks that falls to the
//     gang's nodes there. So a straggler behind an oversubscribed uplink slows all.
type Bandwidth struct {
	// AllReduce over the whole gang; zero: it has one GPU, or the rates are not known
	// (a node without NICs, say).
	AllReduce MBps `json:"allReduceMBps"`
	// Best is AllReduce as it would be on whole islands in one domain: the most that
	// this hardware can give to a gang of this size.
	Best MBps `json:"bestMBps"`
	// Tensor is the same inside the slowest innermost segment, or inside the slowest
	// member where there are no segments; zero: they have one GPU each.
	Tensor MBps `json:"tensorMBps"`
}

// A LedgerLine is the GPU time that was used under one account, in GPU-milliseconds.
type LedgerLine struct {
	Queue   QueueID  `json:"queue"`
	Class   Class    `json:"class,omitzero"`
	Product string   `json:"product"`
	Tenant  TenantID `json:"tenant,omitempty"`
	// Borrowed: the time is that of borrowers on GPUs that others held and left idle, which are
	// charged for them in a line of their own.
	Borrowed bool `json:"borrowed,omitempty"`
	// Allocated from each Bind on until what it gave is free again; Active is the part
	// of it in which the GPUs were busy, as far as ActivityReported told.
	Allocated int64 `json:"allocatedGPUMilliseconds"`
	Active    int64 `json:"activeGPUMilliseconds"`
}

// A QueueTime is the GPU time of a queue and all below it, in GPU-milliseconds: what it
// used under guarantees, and what it borrowed.
type QueueTime struct {
	Queue      QueueID `json:"queue"`
	Guaranteed int64   `json:"guaranteedGPUMilliseconds"`
	Borrowed   int64   `json:"borrowedGPUMilliseconds"`
}

// A PartitionedCount counts the divided GPUs that go by one table.
type PartitionedCount struct {
	MIGTable string `json:"migTable"`
	GPUs     int    `json:"gpus"`
	// Instances by profile, in the order of the table.
	Instances []InstanceCount `json:"instances"`
}

// An InstanceCount counts the instances of one profile.
type InstanceCount struct {
	Profile string `json:"profile"`
	// Held by members.
	Held int `json:"held"`
	// Free is how many more members could have one now, if all of them wanted this profile:
	// instances that exist and, where they come and go per claim, room for them. It leaves out
	// GPUs that take no members.
	Free int `json:"free"`
}

// A DrainReport describes a node that is being drained.
type DrainReport struct {
	Node   NodeID `json:"node"`
	Reason string `json:"reason,omitempty"`
	// Deadline by which it has to be empty; zero: there is none.
	Deadline Time `json:"deadline,omitempty"`
	// MembersLeft counts the members that hold something there, Replicas names the replicas
	// that they belong to, by job and number. With neither the node is empty.
	MembersLeft int          `json:"membersLeft"`
	Replicas    []ReplicaRef `json:"replicas,omitempty"`
}

// A Departure is of a replica that has to leave its place, or has left it, for another; or that
// will have to, as a reservation is to clear its nodes while it is expected to be there.
type Departure struct {
	// Cause why it has to go; of one that has left, that of the Bind to come.
	Cause Cause `json:"cause"`
	// To has the nodes that are kept for it; empty: there is no other place for it yet.
	To []NodeID `json:"to,omitempty"`
	// Deadline by which it is stopped, or asked for a checkpoint before that, if there is no
	// place for it until then; zero: it is being stopped, or goes on until there is one.
	Deadline Time `json:"deadline,omitempty"`
	// StandIn is the replica that starts on the nodes of To before it goes; zero: none does. See
	// [Service].Surge.
	StandIn ReplicaRef `json:"standIn,omitzero"`
}

// What a core knows of a job, a node and a queue, for an embedder that keeps no second record of
// them. All of it is a copy, and the caller's to keep.

// A JobStatus is what the core knows of a job.
type JobStatus struct {
	// Job is the description that was submitted; Service.Replicas as it was scaled last.
	Job Job `json:"job"`
	// Cancelled: the job was cancelled or has finished, and its members are on their way out.
	Cancelled bool `json:"cancelled,omitempty"`
	// Replicas in the order of their numbers, those that are alike as one; with those that are
	// being scaled away.
	Replicas []ReplicaStatus `json:"replicas"`
}

// A ReplicaStatus is what the core knows of one gang of a job. Its members are in the order of
// groups and indexes.
type ReplicaStatus struct {
	Replica int `json:"replica"`
	// Alike is how many more replicas there are that differ from this one in nothing but their
	// numbers, which follow on its own one by one: they wait.
	Alike int          `json:"alike,omitempty"`
	State ReplicaState `json:"state"`
	// Incarnation is the current life, or the last one of a replica that is pending.
	Incarnation Incarnation `json:"incarnation"`
	// Since is when the replica became pending, or came to run; for what is neither, when it
	// last became pending.
	Since Time `json:"since"`
	// Alternative is what it is started, runs or is stopped as, of Job.Alternatives, from 1; 0: its
	// own Groups, or it is pending.
	Alternative int `json:"alternative,omitempty"`
	// Order that is out; zero: none is.
	Order OrderID `json:"order,omitempty"`
	// Instead is the replica that is released once this one runs; zero: none. See [Service].Surge.
	Instead ReplicaRef `json:"instead,omitzero"`
	// Starting members have a place, and are not known to run. Stopping ones hold their places
	// until they are reported gone.
	Starting []MemberPlacement `json:"starting,omitempty"`
	Running  []MemberPlacement `json:"running,omitempty"`
	Stopping []MemberPlacement `json:"stopping,omitempty"`
	// Idleness is set if it leaves idle what it holds: see [IdlePolicy].
	Idleness *Idleness `json:"idleness,omitempty"`
}

// A NodeStatus is what the core knows of a node.
type NodeStatus struct {
	// Node is the description that was told last, but for what the core knows better: the
	// modes, the instances and the failures of GPUs.
	Node Node `json:"node"`
	// Cordoned, for this Reason: the node takes no new members.
	Cordoned bool   `json:"cordoned,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Draining: what runs there has to leave, by DrainBy; zero: there is no deadline.
	Draining bool `json:"draining,omitempty"`
	DrainBy  Time `json:"drainBy,omitempty"`
	// QuarantineUntil and BurnInUntil are the ends of quarantine and burn-in; zero: the node
	// is in none.
	QuarantineUntil Time `json:"quarantineUntil,omitempty"`
	BurnInUntil     Time `json:"burnInUntil,omitempty"`
	// HotSpare: the node is kept for gangs that lose hardware.
	HotSpare bool `json:"hotSpare,omitempty"`
	// Members that hold something there, also while they are started or stopped, in the order
	// of job, replica, group and index.
	Members []ObservedMember `json:"members,omitempty"`
}

// A QueueStatus is what the core knows of a queue.
type QueueStatus struct {
	// Queue is the description that was told last.
	Queue quota.Queue `json:"queue"`
	// Guarantee and Limit are what its GuaranteeShare and its LimitShare come to now, and Of what
	// they are shares of.
	Guarantee quota.Amounts `json:"guarantee,omitempty"`
	Limit     quota.Amounts `json:"limit,omitempty"`
	Of        quota.Amounts `json:"of,omitempty"`
	// UsedMilli is what the queue and those below it use, in thousandths of a GPU.
	UsedMilli int64 `json:"usedMilli"`
	// RunningReplicas of its own jobs, and WaitingReplicas that want to start or to grow.
	RunningReplicas int `json:"runningReplicas,omitempty"`
	WaitingReplicas int `json:"waitingReplicas,omitempty"`
}
