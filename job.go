package berth

import (
	"fmt"

	"github.com/berth-sched/berth/countable"
)

// A Job is a gang: groups of members that are placed all together or not at
// all. A service is a number of identical gangs, its replicas, each of which
// comes and goes by itself. A job that is no service has one replica, number 0.
type Job struct {
	// ID is unique among the jobs that the core knows; ties are broken by it, the smaller
	// first.
	ID JobID `json:"id"`
	// Queue the job is charged to: a queue without children.
	Queue QueueID `json:"queue"`
	// Tenant is the trust domain: members share a GPU with members of the same tenant alone.
	// Empty: the trust domain is the queue, and members share a GPU with those jobs of the
	// queue alone that name no tenant either.
	Tenant TenantID `json:"tenant,omitempty"`
	// User is the one that the job counts for where the policy has caps for each user: see
	// [QueueCaps].
	User string `json:"user,omitempty"`
	// Class ranks the job within its queue, and says whether it may be preempted; zero: batch.
	Class Class `json:"class,omitzero"`
	// Priority orders jobs of one queue and class, higher first.
	Priority int32 `json:"priority,omitempty"`
	// Groups make up the gang, such as one driver and 64 workers.
	Groups []Group `json:"groups"`
	// Topology that the gang as a whole must or should keep.
	Topology Topology `json:"topology,omitzero"`
	// Alternatives are up to 7 other gangs that the job may run as, such as 16 A100 instead of 8
	// H100, the best first, behind Groups and Topology. See [Alternative].
	Alternatives []Alternative `json:"alternatives,omitempty"`
	// Choose says for which of the alternatives a job has a place kept that fits as none of them
	// yet; zero: for the first one that is expected ever to fit.
	Choose Choice `json:"choose,omitzero"`
	// SameLabels names up to 8 labels of nodes, such as the versions of driver and CUDA: each
	// has one value, whichever, on all nodes with members of the gang that claim GPUs or a part
	// of one, and a node without the label takes none of them. Members of the host alone go
	// anywhere. Of values that serve equally well the gang gets the one that sorts first.
	// Members that come later go by the first member that is there, as its node is labelled
	// then; a gang that runs stays when labels change under it.
	SameLabels []string `json:"sameLabels,omitempty"`
	// Service makes the job a service.
	Service *Service `json:"service,omitempty"`
	// MinRuntime before the job may be evicted, as far as Preemption.MaxMinRuntime lets it count;
	// see also [Preemption]. It does not protect a surplus.
	MinRuntime Duration `json:"minRuntime,omitempty"`
	// NonPreemptible: the job is never evicted for another, and not moved for another; drains, lost
	// hardware and its own time limit stop it all the same. It starts only if its GPUs fit into the
	// guarantee of its queue beside those of all other jobs there that are so: else Explain says
	// [ReasonQuota]. So what a queue has beyond its guarantee can always be reclaimed. A guarantee
	// that is lowered later stops none. Not for elastic gangs: others may have their surplus.
	NonPreemptible bool `json:"nonPreemptible,omitempty"`
	// MaxRuntime is the time limit of one run of the gang; zero: none. At the limit the gang is
	// stopped with [CauseMaxRuntime], and the job has ended. A gang that writes checkpoints is
	// asked for a last one Checkpoint.Cost before, or half of the limit before where no cost is
	// told, but no sooner than the policy's grace before; it is stopped without one if no pass
	// comes in time, or another order is out until the limit. A drain with an earlier deadline
	// shortens the time for it. Each incarnation has the limit anew, as in Slurm: what a gang that
	// was evicted did since its last checkpoint is lost, and that was not its doing. A job that
	// tells no ExpectedRuntime is expected to use its limit up. Not for services, and not below
	// MinRuntime or the time that a checkpoint takes.
	MaxRuntime Duration `json:"maxRuntime,omitempty"`
	// ExpectedRuntime once placed; zero: unknown. See Policy.RuntimeSamples for how far it is
	// believed, and Policy.AssumedRuntime for a job of which nothing is known. What
	// is expected to end before a reservation starts may use its nodes until then.
	ExpectedRuntime Duration `json:"expectedRuntime,omitempty"`
	// Program names what the job runs, such as its owner and its script. How long it is expected to
	// run is learned from jobs of the same program, or else from those of as many GPUs: see
	// Policy.RuntimeSamples.
	Program string `json:"program,omitempty"`
	// Checkpoint says what stopping the job costs. A job that can write a checkpoint is asked
	// for it before it is evicted.
	Checkpoint Checkpoint `json:"checkpoint,omitzero"`
	// GangTimeout is how long the gang may be pending before the core drops the
	// job and says why; zero: for ever. Not for services.
	GangTimeout Duration `json:"gangTimeout,omitempty"`
	// MaxRequeues caps how often the gang may come back to the queue, cause by cause: up to 16
	// causes, each once. When it comes back once more for one of them, the core drops the job in
	// the next pass, with [CauseMaxRequeues]. So a job that crashes by itself ends, and one that
	// was preempted or lost hardware comes back as often as that happens. Counted is from the
	// submission on, whatever lies between. Not for services.
	MaxRequeues []RequeueCap `json:"maxRequeues,omitempty"`
	// Begin is the instant before which the job does not start; zero, or one that is past: it may
	// start at once. See [Dependency] for what a job with a Begin, an After or an Array waits for.
	Begin Time `json:"begin,omitempty"`
	// After lists up to 1024 jobs, each once, that have to end before the job starts.
	After []Dependency `json:"after,omitempty"`
	// Array is that of which the job is one; nil: it is of none.
	Array *Array `json:"array,omitempty"`
	// Lend says that other jobs may use the GPUs that members hold whole while these are idle;
	// nil: they may not. See [Lend].
	Lend *Lend `json:"lend,omitempty"`
}

// An Alternative is another gang that a job may run as, in place of its own Groups and Topology.
// All else is said once for the job: class, priority, run times, SameLabels and the rest.
//
// A pass tries a job that waits as its own Groups first, then as each of Alternatives in order, and
// starts it as the first that fits; [Bind] says which that is, and [ReplicaExplanation]. It runs as
// that until it comes back to the queue, and then it waits as all of them again: a job that states
// alternatives says that its checkpoint can be resumed by each of them. (Moves, repairs and lost
// hardware that leaves it a place keep it what it is.)
//
// Where it fits as none, it has one reservation at the most, for the alternative that Choose names,
// and whichever fits before ends that. A preemption is planned for the first alternative, in order,
// for which the policy allows one: also for a later one where earlier ones would only have to wait.
// For the fair share of its queue a job counts with the alternative that asks for the most GPUs.
//
// Rejected: a job for each alternative of which the first to start cancels the others, as an
// embedder could submit them. Such jobs start twice in one pass, count twice in the share of their
// queue, and wait for each other's cancellation on GPUs that are set aside twice.
//
// Services, elastic gangs and borrowers have no alternatives, and no GPU is repartitioned or held
// for any but a job's own Groups: a claim for an instance in an alternative waits for one that is
// there.
type Alternative struct {
	// Groups make up the gang, as Job.Groups do.
	Groups []Group `json:"groups"`
	// Topology that the gang as a whole must or should keep.
	Topology Topology `json:"topology,omitzero"`
}

// A Dependency is a job that has to end before another starts.
//
// A job with a Begin, an After or an Array is gated, and so is one that a cap of the policy holds
// for (see [QueueCaps]): until Begin has come, each job of After has ended, and its array and all
// caps have a slot for it, the job is pending and has no place in the order of service. It is not
// tried, gets no reservation, makes no room, counts for no share of its queue and costs a pass
// nothing; Explain says what it waits for. From the moment at which nothing of that is left it is
// as a job that was submitted then: its turn and its GangTimeout count from there, so that nobody
// gains rank by submitting early. A gate opens once: a job that was started and comes back to the
// queue waits for none of it again. A job that is observed running is past it. Services have none
// of it: JobScaled is their way to begin later.
//
// The predecessor is known to the core when the dependent is submitted, else that is refused with
// [ErrUnknown]: the core forgets jobs that ended, and so no jobs can wait for each other in a
// circle. It is no service, as those end only when they are cancelled. A job that has ended before
// is left out of After by the embedder, which was told of its end.
//
// A predecessor has ended when the core forgets it, which is when nothing of it holds anything any
// more. It completed if JobFinished told so, without Failed. Any other end is for DependencyOK one
// that can never come right: the cancellation of the predecessor, its time limit, its own Drop. The
// next pass then gives the dependent up, by a [Drop] with [CauseDependency], and with it, in turn,
// those that depend on that.
type Dependency struct {
	Job JobID `json:"job"`
	// Kind says which ends count; zero: the job completes.
	Kind DependencyKind `json:"kind,omitzero"`
}

// An Array has jobs run no more than so many at once. All jobs of the queue that name it are of
// it, whatever they ask for. It is there as long as the core knows one of them.
//
// The jobs of an array are jobs: each has a name, a priority, a state and an end of its own. (An
// array as one job of many tasks would be a second kind of replica, one that ends, beside those of
// services, which do not.)
//
// An array has Width slots. A job takes one when it is otherwise ready to start, and has it until
// the core forgets the job: also while it waits for capacity, or again after an eviction. So jobs
// of an array are best alike in what they ask for. A slot that comes free goes to the one that is
// ready and of the highest class, then the highest priority, then the first turn, then the smaller
// ID. Jobs that were observed running have a slot each, however many they are.
type Array struct {
	// Name of the array in its queue.
	Name string `json:"name"`
	// Width is how many of its jobs may run at once: 1 to 65536. All that are known at a time
	// have one width; a job with another is refused with [ErrConflict].
	Width int `json:"width"`
}

// A Lend is the consent of a job to have background jobs run on its GPUs while it leaves them
// idle. GPUs that a replica holds whole are lent once it was quiet for Policy.Lending.QuietFor, as
// [ActivityReported] tells. The job is never asked and never stopped for that, and a replica that
// is busy again gets its GPUs back within Within. Borrowers are jobs of the same trust domain
// with claims that say [Borrow]. A job that borrows does not lend, nor does one that has domains
// for itself (Topology.Exclusive).
type Lend struct {
	// Within is how soon after the report of an activity above Policy.Lending.QuietMilli the
	// borrowers are ordered to stop, at the latest. A borrower that writes checkpoints has half
	// of it, or less by the policy's grace, to write a last one; the other half is for stopping
	// it. Zero: each borrower is stopped at once.
	Within Duration `json:"within,omitempty"`
	// MemoryMiB is the memory of each GPU that the job itself uses: 1 or more. The rest is lent.
	// Nothing is lent of a GPU with no more memory than that.
	MemoryMiB int64 `json:"memoryMiB"`
}

// A RequeueCap is how often a gang may come back to the queue for one cause.
type RequeueCap struct {
	// Cause is one for which gangs come back: [CauseBindFailed], [CauseBindExpired],
	// [CauseHardwareLost], [CauseMemberFailed], [CausePreempted], [CauseReclaimed], [CauseDrained],
	// [CauseMoved], [CauseGivenBack], [CauseOverLimit], [CauseBudget] or
	// [CauseRepartitionFailed].
	Cause CauseCode `json:"cause"`
	// Requeues is how often; 0: never.
	Requeues int `json:"requeues"`
}

// A RequeueCount is how often a gang has come back to the queue for one cause.
type RequeueCount struct {
	Cause CauseCode `json:"cause"`
	Times int       `json:"times"`
}

// A Service is the part of a job that makes it one.
type Service struct {
	// Replicas to keep running; JobScaled changes it. Zero is a service scaled to
	// nothing.
	Replicas int `json:"replicas"`
	// Surge has a replica that has to leave a node run on until another runs in its place. So many
	// may be started at a time for that, beside the Replicas and those that are being stopped, as
	// with maxSurge of a Kubernetes Deployment that has no maxUnavailable. 0: none; a replica is
	// stopped first, and starts elsewhere then. At most 1024. See "Drains and moves" in the
	// manual.
	Surge int `json:"surge,omitempty"`
}

// A Group is a set of like members of a gang.
type Group struct {
	// Name is unique in the job; the only group of a job may go without.
	Name string `json:"name,omitempty"`
	// Part of the gang that the group is of, by the name of one of Topology.Parts; empty: of none.
	Part string `json:"part,omitempty"`
	// Members is the number of members.
	Members int `json:"members"`
	// MinMembers is the least number of members to start with; zero: all of them, so that the gang
	// is not elastic. A gang that started short grows as capacity appears, and within the guarantee
	// of its queue takes back what others borrow; its members above the minimum are a surplus,
	// which it gives up, without a checkpoint, before any job is evicted whole.
	MinMembers int `json:"minMembers,omitempty"`
	// Claim is what each member needs, on one node.
	Claim Claim `json:"claim,omitzero"`
	// Selector restricts the nodes.
	Selector Selector `json:"selector,omitzero"`
	// MixProducts lets members of the group have GPUs of several products. Without it, all of
	// them have GPUs of one product, whichever of those that the selector allows: a gang runs at
	// the pace of its slowest GPU. The one is taken that holds the gang the best: with the most
	// of its members, the closest together, and with the fewest whole domains broken (see
	// Policy.Locality). Of products that do so equally well that is the one with less memory, so
	// that larger GPUs stay free for claims that need them, and then the one that sorts first.
	// Members that come later have what the first member that is there has. Groups of one gang
	// may have different products.
	MixProducts bool `json:"mixProducts,omitempty"`
	// Topology that the members of the group must or should keep among themselves.
	Topology Topology `json:"topology,omitzero"`
}

// A Claim is what one member needs on its node. At most one of GPUs, MIG, MinInstance, Share
// and Borrow is set; with none the member needs the host alone. [WholeGPUs], [MIGInstance],
// [InstanceWith], [SharedGPU], [BorrowedGPU] and [HostOnly] make claims that are one of these.
type Claim struct {
	// GPUs is a number of whole GPUs.
	GPUs int `json:"gpus,omitempty"`
	// MIG names the profile of one instance, such as "1g.10gb" or "cpx_nps1". Members with
	// instances share a GPU with any tenant: the hardware keeps them apart.
	MIG string `json:"mig,omitempty"`
	// MinInstance asks for one instance by what it has, of the cheapest profile that will
	// do.
	MinInstance *MinInstance `json:"minInstance,omitempty"`
	// Share is a part of one GPU.
	Share *Share `json:"share,omitempty"`
	// Borrow is one GPU that another job holds, lends and leaves idle.
	Borrow *Borrow `json:"borrow,omitempty"`
	// NVLink asks that the member's GPUs reach each other over NVLink.
	NVLink bool `json:"nvlink,omitempty"`
	// CPUMilli is host CPU in thousandths of a core.
	CPUMilli int64 `json:"cpuMilli,omitempty"`
	// MemoryMiB is host memory.
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
	// Resources is what each member needs of those that Config.Resources declares, by name. Each
	// amount is 1 or more.
	Resources map[string]int64 `json:"resources,omitempty"`
}

// What the functions that make claims return is a plain value: its other fields may be set, and
// JobSubmitted checks the whole.

// WholeGPUs is a claim for n whole GPUs of one node.
func WholeGPUs(n int) Claim { return Claim{GPUs: n} }

// MIGInstance is a claim for one instance of a profile, such as "3g.40gb" or "cpx_nps1".
func MIGInstance(profile string) Claim { return Claim{MIG: profile} }

// InstanceWith is a claim for one instance that has at least so many streaming multiprocessors
// and so much memory; zero: any.
func InstanceWith(minSMs int, minMemoryMiB int64) Claim {
	return Claim{MinInstance: &MinInstance{MinSMs: minSMs, MinMemoryMiB: minMemoryMiB}}
}

// SharedGPU is a claim for so many thousandths of one GPU, and memory in proportion. Members
// share with those of their trust domain alone: see Job.Tenant.
func SharedGPU(mode ShareMode, gpuMilli int) Claim {
	return Claim{Share: &Share{Mode: mode, GPUMilli: gpuMilli}}
}

// BorrowedGPU is a claim for one GPU that another job of the same trust domain holds, lends and
// leaves idle, with so much of its memory. See [Borrow].
func BorrowedGPU(memoryMiB int64) Claim { return Claim{Borrow: &Borrow{MemoryMiB: memoryMiB}} }

// HostOnly is a claim for the host alone: thousandths of a core, and MiB.
func HostOnly(cpuMilli, memoryMiB int64) Claim {
	return Claim{CPUMilli: cpuMilli, MemoryMiB: memoryMiB}
}

// WithHost is the claim with host CPU, in thousandths of a core, and host memory for each member.
func (cl Claim) WithHost(cpuMilli, memoryMiB int64) Claim {
	cl.CPUMilli, cl.MemoryMiB = cpuMilli, memoryMiB
	return cl
}

// Host is what the claim asks of the host, by resource: for the limits of a member's cgroup, and
// for sums over members that take in a resource which a later release adds. Declared resources are
// in Resources alone.
func (cl *Claim) Host() countable.Amounts {
	return countable.Amounts{countable.CPUMilli: cl.CPUMilli, countable.MemoryMiB: cl.MemoryMiB}
}

// A MinInstance is an instance of a GPU, stated by what it has to have: "at least 30 SMs and
// 18 GiB". SMs are not in proportion to slices (an A100 divides 98 of its 108), so the tables
// of package mig say which profile serves. A quantity that a table does not know serves no
// claim for it.
type MinInstance struct {
	// MinSMs is a number of streaming multiprocessors; zero: any.
	MinSMs int `json:"minSMs,omitempty"`
	// MinMemoryMiB of device memory; zero: any.
	MinMemoryMiB int64 `json:"minMemoryMiB,omitempty"`
}

// A Share is a part of one GPU, together with other members of the same mode and the same
// trust domain: the tenant, or the queue of jobs that name no tenant. See Job.Tenant.
type Share struct {
	// Mode in which the GPU is shared; zero: MPS.
	Mode ShareMode `json:"mode,omitzero"`
	// GPUMilli is the part of the GPU's compute, in thousandths: 1 to 999.
	GPUMilli int `json:"gpuMilli"`
	// MemoryMiB is the part of its memory; zero: in proportion to Milli.
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
}

// A Borrow is one GPU that another job holds whole, lends (see [Lend]) and leaves idle. A GPU has
// one borrower at a time. Its compute is charged to no queue; what the member has of the host is,
// as always.
//
// A job with such a claim is a borrower. It is of class batch and no service, has no MinRuntime
// and starts with all of its members; those that claim no GPU need the host alone. Its GPUs are
// given back when the lender is busy again, or loses them: the borrower is then asked for a
// checkpoint, if it can write one, and stopped with [CauseGivenBack]. It waits again, and starts
// over another idle GPU. It never gets a free GPU, a reservation or the place of a running job.
type Borrow struct {
	// MemoryMiB of the GPU that the member uses: 1 or more, and no more than the lender leaves.
	MemoryMiB int64 `json:"memoryMiB"`
}

// A Selector restricts the nodes that a group may use. Its zero value allows all but those with
// taints.
type Selector struct {
	// Pools and Products: any of them will do; empty: all.
	Pools    []string `json:"pools,omitempty"`
	Products []string `json:"products,omitempty"`
	// MinGPUMemoryMiB and MinComputeCapability of each GPU.
	MinGPUMemoryMiB      int64             `json:"minGPUMemoryMiB,omitempty"`
	MinComputeCapability ComputeCapability `json:"minComputeCapability,omitzero"`
	// Labels that a node must carry with these values.
	Labels map[string]string `json:"labels,omitempty"`
	// Tolerations, up to 64, of the taints of nodes: each taint of a node has to be matched by one.
	Tolerations []Toleration `json:"tolerations,omitempty"`
}

// A Topology is a wish about distance. Levels are named as in Config.Levels,
// or "node".
type Topology struct {
	// Required: all members inside one domain of this level.
	Required string `json:"required,omitempty"`
	// Preferred: the same, as long as there is such a domain; else the next wider
	// level that fits, up to Required.
	Preferred string `json:"preferred,omitempty"`
	// Segments keep members of a group together, every so many in index order: the
	// tensor-parallel group on its island. They may be nested, the widest first. An elastic
	// gang comes and goes by whole segments of the widest, which at the fleet's level says
	// just that. For groups, not for jobs.
	//
	// A segment that lost members to failed hardware gets others in its domain. If the domain
	// without hot spares could not hold all of it even when idle, those left are released with
	// [CauseHardwareLost]: the gang goes on with its whole segments and grows by whole ones or, if
	// these are fewer than its minimum, is stopped, and starts anew.
	Segments []Segment `json:"segments,omitempty"`
	// Balance divides the members of a group, or its widest segments, as evenly as
	// possible over as few domains of this level as hold it. For groups.
	Balance string `json:"balance,omitempty"`
	// Spread keeps the members of a group apart: over all domains of this level that
	// have a node for them, inside the required domain, their numbers differ by no
	// more than MaxSkew. For groups.
	Spread string `json:"spread,omitempty"`
	// MaxSkew of Spread; zero: 1.
	MaxSkew int `json:"maxSkew,omitempty"`
	// Exclusive: the domains of this level in which the gang stands take members of
	// no other gang. It starts only where they are idle. For jobs, not for groups.
	Exclusive string `json:"exclusive,omitempty"`
	// Parts are up to 64 sets of groups that stay together inside the domain of the gang, such as
	// the prefill and the decode of one model. For jobs, not for groups. See [Part].
	Parts []Part `json:"parts,omitempty"`
	// Apart: each copy of each of Parts is inside one domain of this level, and no two of them are
	// in the same: for two parts in two racks, say. It is narrower than Required, and not the node.
	// For jobs, not for groups.
	Apart string `json:"apart,omitempty"`
	// RailAligned: the group stays inside one domain of Fabric.RailLevel and uses
	// the same GPUs, and so the same NICs and rails, on every node; on one of them
	// it may use fewer. For groups with whole GPUs, on nodes with up to 8 of them.
	RailAligned bool `json:"railAligned,omitempty"`
}

// A Segment is a part of a group that stays together.
type Segment struct {
	// Size is the number of members. The group's members and minimum are multiples of
	// it, and it is a multiple of the size of the segment nested in it.
	Size int `json:"size"`
	// Level of the domain that each segment stays in. That of a nested segment is at
	// least as narrow.
	Level string `json:"level"`
}

// A Part is a set of groups of a gang that stay together, as those that name it in Group.Part: a
// level more between the gang and its groups. Each group keeps its own Topology inside. A part is
// placed, moved and repaired with its gang, all or nothing.
//
// With Copies the part is there several times: of a group with 28 members in a part with 4 copies,
// members 0 to 6 are of copy 0, members 7 to 13 of copy 1, and so on. So a leader and seven
// workers, four times, are a group of 4 and one of 28. All copies start together; a job that may
// start with fewer of them says so in Alternatives. What a group of such a part requires
// or prefers for itself holds for its members of each copy; it is not elastic, and neither
// balanced, spread nor on aligned rails, and its segments divide the members of a copy.
//
// Where several parts would each fit, and not all of them together, the search is exact as long as
// its steps do: package gang says how far.
//
// Rejected: a job for each part, which start together. Whatever the core does for a gang it would
// have to do for a set of them: places that are kept, victims, moves, a checkpoint, the return
// after lost hardware, an explanation. A gang with parts is one gang in all of that.
type Part struct {
	// Name is unique in the job.
	Name string `json:"name"`
	// Required: all members of a copy inside one domain of this level, which is no wider than
	// Topology.Apart. Empty: that level, or no tie.
	Required string `json:"required,omitempty"`
	// Copies is how often the part is there; zero: once. The members of its groups are multiples of
	// it; the parts of a gang have 1024 copies at the most.
	Copies int `json:"copies,omitempty"`
}

// A Checkpoint says what it costs to stop a job and to start it again.
type Checkpoint struct {
	// Supported: the job can write a checkpoint when asked.
	Supported bool `json:"supported,omitempty"`
	// Interval between the checkpoints that it writes unasked; zero: none.
	Interval Duration `json:"interval,omitempty"`
	// Cost is how long writing one takes.
	Cost Duration `json:"cost,omitempty"`
	// RestartCost is how long a restart takes until the job makes progress again.
	RestartCost Duration `json:"restartCost,omitempty"`
}

// A MemberRef names one member of a replica.
type MemberRef struct {
	Group string `json:"group,omitempty"`
	Index int    `json:"index"`
}

// String is "GROUP[INDEX]".
func (m MemberRef) String() string { return fmt.Sprintf("%s[%d]", m.Group, m.Index) }

// WantsInstance reports whether the claim is for an instance of a divided GPU, named by its profile
// or by what it has to have. The placement then has a MemberPlacement.Instance, by which an
// orchestrator finds the device to hand to the member.
func (cl *Claim) WantsInstance() bool { return cl.MIG != "" || cl.MinInstance != nil }
