package berth

import (
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// An Event is something that happened, as the embedder tells it to the core with
// [Scheduler.Apply]: by value, and not by pointer. The set of events is closed: the types of
// this file.
//
// A refused event changes nothing. It is refused with [ErrUnknown] if it names a node, GPU,
// queue or job that the core does not know, with [ErrDuplicate] if it adds a name that is
// taken, with [ErrConflict] if it cannot stand beside what the core holds, with [ErrLimit] if
// it would exceed [Limits], with [ErrStale] if it is about an order or a life that is over,
// and with [ErrInvalid] if it makes no sense by itself.
//
// No event looks for a place: a pass does. So an event costs about as much as it names: the
// members of its job, or those on its node.
type Event interface {
	// Kind is the event's name in JSON and in errors.
	Kind() string
	event()
}

// NodeJoined adds a node. A node that comes back after [NodeLost] joins anew, and is not
// cordoned; but the policy may put it in quarantine or burn-in: see [Health].
//
// An agent may register again: the same description of a node that is in the fleet is accepted,
// and changes nothing. Another description is refused with [ErrDuplicate]: NodeUpdated tells of
// it. Either is compared as NodeUpdated takes it, so that how GPUs are divided and which have
// failed is as the core knows it. What ran on a node that has restarted is gone: tell NodeLost
// first.
type NodeJoined struct {
	Node Node `json:"node"`
}

// Kind is "nodeJoined".
func (NodeJoined) Kind() string { return "nodeJoined" }

func (NodeJoined) event() {}

// NodeUpdated replaces the description of a node. While members run there, its
// domains, pool and the shape of its GPUs must stay; host capacity may shrink
// below what is held, which stops no member. A GPU that has failed stays so until
// [GPURepaired], whatever the description says. A first Table, or another, is another
// shape.
type NodeUpdated struct {
	Node Node `json:"node"`
}

// Kind is "nodeUpdated".
func (NodeUpdated) Kind() string { return "nodeUpdated" }

func (NodeUpdated) event() {}

// NodeCordoned stops new members from being placed on a node. What runs there
// goes on, also where the node was being drained.
type NodeCordoned struct {
	Node   NodeID `json:"node"`
	Reason string `json:"reason,omitempty"`
}

// Kind is "nodeCordoned".
func (NodeCordoned) Kind() string { return "nodeCordoned" }

func (NodeCordoned) event() {}

// NodeUncordoned opens a cordoned node again, or one that is being drained. Told of a node
// that is not cordoned, it ends its quarantine and its burn-in: the operator vouches for it.
type NodeUncordoned struct {
	Node NodeID `json:"node"`
}

// Kind is "nodeUncordoned".
func (NodeUncordoned) Kind() string { return "nodeUncordoned" }

func (NodeUncordoned) event() {}

// NodeDraining cordons a node and has everything leave it. A gang leaves as soon as there is
// another place for it, which is kept for it: it is asked for a checkpoint, if it writes any,
// stopped, and started there. A gang without another place goes on, until it has just the time
// left that it may take for a checkpoint before the deadline: then it is asked, stopped, and
// waits as any other. A replica of a service with a [Service].Surge goes once another runs in its
// place.
//
// Another NodeDraining changes the deadline: a gang that was asked to leave and has less time
// now is asked anew. [NodeUncordoned] and [NodeCordoned] end it: a gang that was asked and is not
// stopped yet goes on. Report tells what is left on the node.
type NodeDraining struct {
	Node NodeID `json:"node"`
	// Deadline by which the node has to be empty, as far as orders can see to that; zero:
	// nothing is stopped for which there is no other place.
	Deadline Time   `json:"deadline,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// Kind is "nodeDraining".
func (NodeDraining) Kind() string { return "nodeDraining" }

func (NodeDraining) event() {}

// NodeLost removes a node and everything that ran on it: a crash, or the end of
// a lease. The gangs it hits shrink, are repaired or are taken back.
type NodeLost struct {
	Node   NodeID `json:"node"`
	Reason string `json:"reason,omitempty"`
}

// Kind is "nodeLost".
func (NodeLost) Kind() string { return "nodeLost" }

func (NodeLost) event() {}

// GPUFailed condemns one GPU, as after a fatal Xid. Members that hold it are
// lost, as with [NodeLost]: no Release names them. As their machine is still up, stop them
// before anything is started on what else they held. An order about it that is out is
// over: how the GPU is divided is not known then, and after its repair it takes nothing
// before [GPUPartitioned].
type GPUFailed struct {
	Node   NodeID `json:"node"`
	GPU    int    `json:"gpu"`
	Reason string `json:"reason,omitempty"`
}

// Kind is "gpuFailed".
func (GPUFailed) Kind() string { return "gpuFailed" }

func (GPUFailed) event() {}

// XidReported tells of a fault that NVIDIA's driver reported about a GPU. A fault of the
// hardware condemns the GPU as [GPUFailed] does; one of the application has no effect, and any
// other only while the node is in burn-in: see [LookupXid] and [Health].
type XidReported struct {
	Node   NodeID `json:"node"`
	GPU    int    `json:"gpu"`
	Xid    int    `json:"xid"`
	Reason string `json:"reason,omitempty"`
}

// Kind is "xidReported".
func (XidReported) Kind() string { return "xidReported" }

func (XidReported) event() {}

// FabricReported tells how much of its bandwidth a domain of the topology has left: a switch lost
// links, say, or its counters of errors rise. The NICs of all nodes in the domain carry that part
// from then on; of domains inside one another the smallest part counts, and NICs that tell no rate
// count as 1 Mbit/s. So a gang that needs several nodes goes elsewhere while others hold all of it
// (see Node.NICs), and the [Bandwidth] that Explain tells takes it in. Gangs that run there go on,
// and a gang that fits nowhere else starts there.
//
// It holds until it is told anew, and is forgotten with the last node of the domain. For a single
// node [NodeUpdated] tells what its NICs carry. O(nodes of the domain).
type FabricReported struct {
	// Domain by the names on its path, the widest first, as Node.Domains begins.
	Domain []string `json:"domain"`
	// LeftMilli is the part that is left, in thousandths: 1000 is all of it, and ends the matter.
	LeftMilli int    `json:"leftMilli"`
	Reason    string `json:"reason,omitempty"`
}

// Kind is "fabricReported".
func (FabricReported) Kind() string { return "fabricReported" }

func (FabricReported) event() {}

// GPURepaired returns a failed GPU to service, with the mode and the instances that it had. If
// a reset took those away, tell [GPUPartitioned] too. The policy may put the node in burn-in:
// see [Health].
type GPURepaired struct {
	Node NodeID `json:"node"`
	GPU  int    `json:"gpu"`
}

// Kind is "gpuRepaired".
func (GPURepaired) Kind() string { return "gpuRepaired" }

func (GPURepaired) event() {}

// GPUPartitioned tells in which mode a GPU is and which instances it has: it was changed by
// hand, or a Repartition got lost. It must have all that members hold, and no order about the
// GPU may be out. Members that were being started there when a Repartition was not reported in
// time hold the GPU until their Bind is over: tell it again then.
type GPUPartitioned struct {
	Node NodeID `json:"node"`
	GPU  int    `json:"gpu"`
	// Mode has to be said: one that is left out is refused.
	Mode GPUMode `json:"mode"`
	// Instances that exist, in GPUModeMIG.
	Instances []mig.Placement `json:"instances,omitempty"`
}

// Kind is "gpuPartitioned".
func (GPUPartitioned) Kind() string { return "gpuPartitioned" }

func (GPUPartitioned) event() {}

// MIGTableSet tells how a product divides, as its driver reports it. It goes by the
// table's name, and wins over the table of package mig. A table that nodes go by cannot
// be changed.
type MIGTableSet struct {
	Table mig.Product `json:"table"`
}

// Kind is "migTableSet".
func (MIGTableSet) Kind() string { return "migTableSet" }

func (MIGTableSet) event() {}

// ReservationSet sets nodes aside for a time, or changes the reservation of that ID: a
// maintenance window on a rack, or 64 GPUs for a team from ten to twelve. From now on a job is
// placed there only if it is expected to end before. No job is stopped for it, unless it clears its
// nodes (Reservation.Clear): Report names the jobs that run into it already.
type ReservationSet struct {
	Reservation Reservation `json:"reservation"`
}

// Kind is "reservationSet".
func (ReservationSet) Kind() string { return "reservationSet" }

func (ReservationSet) event() {}

// ReservationRemoved ends a reservation before its time.
type ReservationRemoved struct {
	Reservation ReservationID `json:"reservation"`
}

// Kind is "reservationRemoved".
func (ReservationRemoved) Kind() string { return "reservationRemoved" }

func (ReservationRemoved) event() {}

// QueueSet creates a queue or changes its quota. What runs beyond a limit that is lowered is
// stopped if the policy says so (see [OverLimit]), and runs on otherwise.
type QueueSet struct {
	Queue quota.Queue `json:"queue"`
}

// Kind is "queueSet".
func (QueueSet) Kind() string { return "queueSet" }

func (QueueSet) event() {}

// QueueRemoved removes a queue that has neither jobs nor children.
type QueueRemoved struct {
	Queue QueueID `json:"queue"`
}

// Kind is "queueRemoved".
func (QueueRemoved) Kind() string { return "queueRemoved" }

func (QueueRemoved) event() {}

// JobSubmitted adds a job. The ID of a job that is forgotten may be used again, but
// not before the last report about the former job has come. A job whose ID is known is refused
// with [ErrDuplicate]; one that is the same, whatever a service was scaled to since, with
// [ErrRepeated], which is an ErrDuplicate too.
type JobSubmitted struct {
	Job Job `json:"job"`
}

// Kind is "jobSubmitted".
func (JobSubmitted) Kind() string { return "jobSubmitted" }

func (JobSubmitted) event() {}

// JobObserved tells of a job that runs already: after a restart without a
// snapshot, or when an orchestrator hands over. The world wins: the placement is
// taken as it is, on cordoned nodes, over quota, over the host's capacity and
// against topology if need be, but never onto GPUs that are held or have failed.
type JobObserved struct {
	Job     Job               `json:"job"`
	Running []ObservedReplica `json:"running"`
}

// Kind is "jobObserved".
func (JobObserved) Kind() string { return "jobObserved" }

func (JobObserved) event() {}

// An ObservedReplica is a replica that runs already. Replicas of the job that are not observed
// are pending.
type ObservedReplica struct {
	Replica     int         `json:"replica,omitempty"`
	Incarnation Incarnation `json:"incarnation"`
	// Started is when it began to run.
	Started Time `json:"started"`
	// Alternative of the job that it runs as: of Job.Alternatives, from 1; 0: its own Groups.
	Alternative int `json:"alternative,omitempty"`
	// Members that run, and what each holds.
	Members []MemberPlacement `json:"members"`
}

// JobScaled changes the number of a service's replicas. Shrinking takes the
// replicas that do not run first, then the highest numbers. A stand-in counts with the replica
// that it stands in for, and goes with it.
type JobScaled struct {
	Job      JobID `json:"job"`
	Replicas int   `json:"replicas"`
}

// Kind is "jobScaled".
func (JobScaled) Kind() string { return "jobScaled" }

func (JobScaled) event() {}

// JobCancelled asks for the end of a job. Pending replicas go at once; the
// others are released by order, and the job is forgotten when they are.
type JobCancelled struct {
	Job JobID `json:"job"`
}

// Kind is "jobCancelled".
func (JobCancelled) Kind() string { return "jobCancelled" }

func (JobCancelled) event() {}

// JobFinished tells that a job ended by itself, well or badly: all of its members have exited
// and are cleaned up. The capacity of members that ran is free at once, and no order stops
// them; members that were being started or stopped are released by order. Not for services,
// which end when they are cancelled.
type JobFinished struct {
	Job         JobID       `json:"job"`
	Incarnation Incarnation `json:"incarnation"`
	// Failed jobs are not started again either, but for how long they ran says nothing of others.
	// Reason is for people and for the journal.
	Failed bool   `json:"failed,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Kind is "jobFinished".
func (JobFinished) Kind() string { return "jobFinished" }

func (JobFinished) event() {}

// MemberFailed tells that members died while their hardware is fine. The gang goes on if its
// minimum is left, else it is taken back, backs off, and starts anew where it stood. Members that
// are gone or being stopped are passed over; if none is left, the report is stale.
//
// Of a gang that is being bound the members that died keep their places until the Bind is reported
// and the next pass decides about the gang, and nothing else: see [Loss], [BlastRadius] and
// [Scheduler.Outstanding].
//
// How many of the members died makes no difference, nor in how many reports: an NCCL abort ends all
// of them, and of an elastic gang those come back as well that died since it began to back off.
// From the next pass on until the backoff is over the place is kept for the gang. Explain and
// [FleetReport] list it as a reservation, and it counts as used by the queue. The gang starts there
// at once then; if it cannot, the place is given up after Policy.ReservationTimeout at the latest.
//
// A job that ranks above the gang takes the place meanwhile, as nothing is to be evicted there:
// in the same queue a job of a higher class, or of the same class and a higher priority; of
// another queue a job within its guarantee, where the gang borrows. Then another place is kept, if
// there is one, as for the members whose nodes are lost, closed or set aside since.
//
// No place is kept if the job is at fault ([FaultJob]), or crashes in a loop: if this is not the
// first life in a row whose members died within Policy.MaxRetryBackoff of its start. Each such life
// counts as a failed start, so that the backoff is twice as long each time, as after a failed Bind.
type MemberFailed struct {
	Job         JobID       `json:"job"`
	Replica     int         `json:"replica,omitempty"`
	Incarnation Incarnation `json:"incarnation"`
	// Bind that started the members, if known: members that another Bind has started
	// since are passed over, so that a doubled report does not hit those that took
	// the place of the dead.
	Bind OrderID `json:"bind,omitempty"`
	// Members that died.
	Members []MemberRef `json:"members"`
	// Fault says what is to blame, if that is known: whether the place is kept depends on it.
	Fault  Fault  `json:"fault,omitzero"`
	Reason string `json:"reason,omitempty"`
}

// Kind is "memberFailed".
func (MemberFailed) Kind() string { return "memberFailed" }

func (MemberFailed) event() {}

// OrderReported tells how an order ended. It names the order by its ID; a
// report about an order that is over is stale.
type OrderReported struct {
	Order OrderID `json:"order"`
	// Outcome of the order as a whole; each order says what its outcomes mean. One that is left
	// out is refused.
	Outcome Outcome `json:"outcome"`
	// Members that failed, when Outcome is Partial.
	Members []MemberRef `json:"members,omitempty"`
	Reason  string      `json:"reason,omitempty"`
}

// Kind is "orderReported".
func (OrderReported) Kind() string { return "orderReported" }

func (OrderReported) event() {}

// ActivityReported tells how busy the GPUs of a replica are, as measured: the part of the
// time in which they work, such as SM activity, in thousandths. It holds until the next
// report, or the end of that life. It counts in the ledger, and says whether the GPUs of a job are
// idle: see [IdlePolicy] and, of one that lends, [Lending]. So tell the activity of the streaming
// multiprocessors (SM_ACTIVE of DCGM) rather than "GPU utilization", which is the time in which any
// kernel runs.
type ActivityReported struct {
	Job         JobID       `json:"job"`
	Replica     int         `json:"replica,omitempty"`
	Incarnation Incarnation `json:"incarnation"`
	// ActiveMilli is in thousandths of the GPUs' time: 0..1000.
	ActiveMilli int `json:"activeMilli"`
}

// Kind is "activityReported".
func (ActivityReported) Kind() string { return "activityReported" }

func (ActivityReported) event() {}

// CheckpointWritten tells that a replica wrote a checkpoint by itself. From then on its loss
// counts from there, and Checkpoint.Interval is no longer used as a guess. It does not answer
// a [RequestCheckpoint] that is out. One that is older than the last one known changes nothing.
type CheckpointWritten struct {
	Job         JobID       `json:"job"`
	Replica     int         `json:"replica,omitempty"`
	Incarnation Incarnation `json:"incarnation"`
	// At is when the state was saved that it would resume from: not before it began to run,
	// and not after now. Zero: now.
	At Time `json:"at,omitempty"`
}

// Kind is "checkpointWritten".
func (CheckpointWritten) Kind() string { return "checkpointWritten" }

func (CheckpointWritten) event() {}

// LedgerSettled drops what the ledger has of accounts under which nothing is in use, and
// of queues that use nothing: they were billed.
type LedgerSettled struct{}

// Kind is "ledgerSettled".
func (LedgerSettled) Kind() string { return "ledgerSettled" }

func (LedgerSettled) event() {}

// PolicyChanged replaces the whole policy from now on: fields that are zero get the defaults
// of this package, not those of [Config]. A pool cannot become per claim, or cease to be,
// while a Repartition is out there that has to do with instances.
type PolicyChanged struct {
	Policy Policy `json:"policy"`
}

// Kind is "policyChanged".
func (PolicyChanged) Kind() string { return "policyChanged" }

func (PolicyChanged) event() {}
