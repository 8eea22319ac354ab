// Package berth is the contract of a GPU scheduling core: the events that a core is told, the
// orders that it gives, the answers to questions about it, and the [Scheduler] between them.
// Package [github.com/berth-sched/berth/core] is the core itself:
//
//	sched, err := core.New(berth.Config{})
//
// This page is the manual of both.
//
// A core decides which accelerators each job gets, and when. It is the part of a GPU
// orchestrator that decides, as a library: the orchestrator tells it events ("this node
// joined", "this job was submitted", "that order is carried out") together with a clock
// reading, and gets back orders ("start these 64 members there", "stop those"). A core owns no
// containers, networks, storage or wire. It starts no goroutine, takes no lock, does no I/O,
// reads no clock and draws no random number, so the same events give the same orders, byte for
// byte: an incident is replayed on a laptop, a standby is kept by feeding it the same log, and
// a day of a 4,000-GPU fleet is simulated in seconds.
//
// # Tasks
//
// Each of these is an example that runs. go doc shows none: they are in the files
// example*_test.go of the package that is named, and on pages that are made of it.
//
//   - Start: [core.Example].
//   - Survive a crash: [journal.ExampleDurable]; by hand, [core.ExampleRestore].
//     Answer many callers when what they tell is durable: [journal.ExampleLoop].
//   - Have a limit kept that is lowered below what runs: [core.Example_overLimit].
//   - Count what berth does not know, such as scratch disk: [core.Example_resources].
//   - Drop a job that fails again and again: [core.Example_maxRequeues].
//   - Have a job run as another gang where its own does not fit: [core.Example_alternatives].
//   - Keep groups of a gang together, or apart, once or in copies: [core.Example_parts].
//   - Preempt batch work for a service: [core.Example_preempt]. Drain a node: [core.Example_drain].
//     Have a service drained without a moment below its number of replicas: [core.Example_surge].
//     Keep gangs off a switch that lost links: [core.Example_fabric].
//   - Divide GPUs into instances: [core.Example_divideGPUs].
//   - Reserve GPUs in advance: [core.Example_reserve]. Have nodes empty for maintenance at a given
//     time: [core.Example_clear].
//   - Run background jobs over GPUs that are held and idle: [core.Example_lend]. Find the jobs that
//     leave theirs idle, warn them and end them: [core.Example_idle].
//   - Begin jobs later, or one after the other: [core.Example_dependencies]. Run a few of many at a
//     time: [core.Example_array]. Cap the jobs of a queue, or of each user: [core.Example_caps].
//   - Give a queue so many GPU-hours until a given time: [core.Example_budget]. Guarantee it a
//     share of what the fleet has: [core.Example_shares].
//   - Have run times learned: [core.Example_runTimes]. End jobs at a limit: [core.Example_limit].
//   - Ask why a job waits: [core.ExampleCore_Explain], [core.ExampleCore_StartPlan].
//   - Adopt what runs already: [core.Example_adopt].
//   - Export metrics: [core.Example_metrics].
//   - Replay an incident: [journal.ExampleReplay]. Go on from it: [journal.ExampleRecover].
//   - Judge a policy: by a workload, [life.Example]; as of now, [core.ExampleCore_WhatIf].
//   - Choose among places by a rule of one's own: [core.Example_scorer].
//   - Read a refusal: [core.Example_refusal]. Keep a clock: [core.Example_clock].
//
// docs/ten-minutes.md builds an orchestrator with gangs, preemption, node loss and recovery
// step by step, and examples/quickstart is the smallest whole program.
//
// # Duties of the embedder
//
// Methods that are named Core.Diff and the like are those of the core of package core alone.
//
//  1. Make a core with core.New, or with core.Restore from a snapshot.
//  2. Tell it every event with [Scheduler.Apply], in the order in which the events become
//     known: nodes, queues, jobs, reports. An error is a refusal: nothing has changed, and
//     [Error] names the event, the field and the reason.
//  3. Run a pass with [Scheduler.Schedule] after events, and at the latest at the
//     instant that [Scheduler.NextWake] names. A pass in which nothing changed costs
//     next to nothing, so one too many does no harm.
//  4. Carry out the orders in the order of their IDs. Orders about one GPU must
//     not overtake each other; others may run at the same time. Members that a lost node
//     or GPU took stand in no order: [Scheduler.Lost] hands them over. Clean them up before
//     the orders of the next pass: their GPUs may be given to others in it.
//  5. Report how each order ended with [OrderReported], once, by its ID, before
//     its deadline. Passes alone look at deadlines, so a report counts until the first pass
//     after. Reports may come late, doubled or in any order: a report that no longer matters
//     is refused with [ErrStale], and nothing happens.
//  6. Make calls from one goroutine at a time, with instants that never go back.
//  7. To survive a crash, log each event before you acknowledge it, and the instant of each
//     pass before you carry out its orders, since the last [Scheduler.Snapshot]. After a
//     restart: core.Restore, repeat the log, clean up [Scheduler.Lost], report what you find
//     before the first pass, and carry out [Scheduler.Outstanding] again, member by member: a
//     member that runs under that Bind or is gone already is done. [Drop], [Withdraw] and
//     [WarnIdle] have no report, so hand them on before the next snapshot. Durable of package
//     journal does all of it. Or start anew and tell what runs with [JobObserved]; Core.Diff tells
//     the differences.
//
// # The loop
//
//	sched, err := core.New(berth.Config{Levels: []string{"spine", "leaf"}})
//	...
//	for {
//		var due <-chan time.Time // nothing falls due unless an event comes
//		if wake, ok := sched.NextWake(); ok {
//			due = time.After(wake.Sub(now()).Std())
//		}
//		select {
//		case event := <-events: // from the API server, the node agents
//			if err := sched.Apply(now(), event); err != nil {
//				log.Print(err) // refused; the core is as it was
//			}
//		case <-due:
//		}
//		for _, loss := range sched.Lost() {
//			cleanUp(loss) // members that hardware took, and no order names
//		}
//		orders, err := sched.Schedule(now())
//		...
//		for _, order := range orders {
//			switch o := order.(type) {
//			case berth.Bind:
//				go start(o) // ends, like all but the last three, by sending an OrderReported to events
//			case berth.Release:
//				go stop(o) // the members that it names; with Remaining, the others go on
//			case berth.RequestCheckpoint:
//				go checkpoint(o) // the gang runs on until it is released
//			case berth.Repartition:
//				go repartition(o)
//			case berth.Withdraw:
//				forget(o.Request) // the gang keeps its place after all
//			case berth.Drop:
//				tell(o.Job, o.Cause) // the core gave the job up
//			case berth.WarnIdle:
//				tell(o.Job, o.Cause) // it holds GPUs and leaves them idle
//			}
//		}
//	}
//
// # The clock
//
// A core has no clock: a [Time] comes with each call, and an instant before the last one, or
// after 2^61 milliseconds, is refused with [ErrClock]. Clocks of machines step back and jump ahead,
// so take one reading at the start of the process, and go on from there by the monotonic clock,
// which nobody sets:
//
//	base, began := max(berth.TimeOf(time.Now()), sched.Now()), time.Now()
//	now := func() berth.Time { return base.Add(berth.DurationOf(time.Since(began))) }
//
// Core.Now of a restored core is the last instant that it saw. A reading before it is a clock
// that was set back: base is then Core.Now, and all spans stay right. A reading far ahead of it
// is an outage, or a wrong clock: an instant told by mistake cannot be taken back, and all
// orders that are out would expire at once, so bound base by the longest outage that you
// believe in, as [core.Example_clock] does. Durable of package journal keeps such a clock.
// Few inputs are instants on the wall rather than spans: [Reservation], [Budget], the deadline of
// [NodeDraining], [CheckpointWritten] and [ObservedReplica].
//
// # Jobs
//
// A [Job] is a gang: one or more groups of members, all placed together or not at all. Each
// member has a [Claim]: whole GPUs, an instance or a share of one, or the host alone, with host
// CPU and memory. A group may start with fewer members than it asks for (Group.MinMembers) and
// grow. A job with a [Service] is a number of such gangs, called replicas, each placed whole by
// itself; [JobScaled] changes their number. Every other job has one replica, number 0.
//
// A replica is in one of five states ([ReplicaState]):
//
//	state      signal    next
//	pending    observed  running    the world began its life, and its members run
//	           bound     binding    a Bind starts it, or starts its missing members anew
//	           ended     gone       no member is left, and it does not come back
//	binding    awaited   binding    its Bind is out, and the report decides
//	           complete  running    each of its groups has its minimum
//	           reduced   repairing  some members are left, too few to run
//	           vacant    pending    no member is left
//	           stopped   releasing  all that is left of it is to be stopped
//	running    complete  running    each of its groups has its minimum
//	           reduced   releasing  some members are left, too few to run
//	           vacant    releasing  no member is left
//	           stopped   releasing  all that is left of it is to be stopped
//	repairing  bound     binding    a Bind starts it, or starts its missing members anew
//	           reduced   repairing  some members are left, too few to run
//	           vacant    pending    no member is left
//	           stopped   releasing  all that is left of it is to be stopped
//	releasing  reduced   releasing  some members are left, too few to run
//	           vacant    pending    no member is left
//	           ended     gone       no member is left, and it does not come back
//
// A running replica that is short of members gets further Bind orders (growth) and stays
// Running. A replica that is released for good is forgotten instead of becoming pending. Each
// time a replica leaves Pending its [Incarnation] goes up by one; reports about a former life
// are stale.
//
// A job may wait before its gate until an instant (Job.Begin), for the ends of other jobs
// (Job.After), for a slot of its array (Job.Array), which runs no more jobs at once than its
// width, and for the caps that the policy has on the jobs of a queue or a user ([QueueCaps]). Until
// then it is pending, and in the order of service not at all; its turn and its gang
// timeout count from there. [Dependency] has the rules. A job that can never start, as one that
// had to complete before did not, is given up by a [Drop] with [CauseDependency].
//
// Members that are stopped leave their GPUs to the next when the embedder reports that they are
// gone, and not before. So what has to be done between two jobs is done first: reset the GPUs,
// wipe their memory, check their health, and report the [Release] as done after that, or
// JobFinished where members ended by themselves. Until then all of it is held and charged as
// before. A Release that is not reported by its deadline is given anew, Policy.ReleaseAttempts
// times: choose Policy.ReleaseTimeout for the longest reset. A reset that failed is a [GPUFailed],
// so that the GPU is given to nobody: the member that held it is lost with it, and what else it
// held is free at once, so tell it when that is reset, too. What died by itself is free at once as
// well: where GPUs have to be reset after that, tell [NodeCordoned] before [MemberFailed], and
// [NodeUncordoned] once they are.
//
// # What each report does
//
// Down: the report, or a deadline that a pass finds. Across: the state of the replica that it is
// about, and the states that it can be in after it. "-" is where nothing comes of it: it does not
// occur, or is refused with [ErrStale], as is every report about an order that is not out, or about
// a former life.
//
//	                             pending  binding                      repairing           running                      releasing
//	Bind done                    -        pending, repairing, running  -                   running                      -
//	Bind partial                 -        pending, repairing, running  -                   running                      -
//	Bind failed                  -        pending, repairing           -                   running                      -
//	Bind, deadline               -        pending, releasing           -                   running                      -
//	Release done                 -        -                            -                   running                      pending, gone
//	Release partial              -        -                            -                   running                      pending, releasing, gone
//	Release failed               -        -                            -                   running                      releasing
//	Release, deadline            -        -                            -                   running                      pending, releasing, gone
//	RequestCheckpoint done       -        -                            -                   running, releasing           -
//	RequestCheckpoint partial    -        -                            -                   refused                      -
//	RequestCheckpoint failed     -        -                            -                   running, releasing           -
//	RequestCheckpoint, deadline  -        -                            -                   running, releasing           -
//	Repartition failed           -        binding                      -                   running                      pending, releasing, gone
//	MemberFailed                 -        binding                      pending, repairing  pending, running, releasing  -
//	NodeLost, GPUFailed          -        binding                      pending, repairing  pending, running, releasing  pending, releasing, gone
//	CheckpointWritten            -        refused                      refused             running                      -
//	JobFinished                  -        releasing, gone              gone                releasing, gone              releasing
//	JobCancelled                 gone     releasing, gone              releasing           releasing                    releasing
//
// Which of several it is:
//
//   - A gang that runs then is complete: each group has its minimum, and it grows later. With fewer
//     it is repairing, with none it is pending again, and backs off for Policy.RetryBackoff, longer
//     each time.
//   - What a Binding gang loses is noted, and decided when the Bind is reported, so that a gang has
//     one order out at a time. Until then those members count as placed, but not as alive: answers
//     and Outstanding leave them out.
//   - A Bind of a gang that runs is a growth. What of it does not start leaves the gang as it was;
//     when its deadline passes, its members are released, and the gang runs on.
//   - Members that a Release stopped are free; it stays out for the others. It is given again at
//     its deadline, and after Policy.ReleaseAttempts the members are presumed dead.
//   - A victim runs on if no beneficiary needs its place by the time of its checkpoint. A partial
//     checkpoint is refused: it is written as a whole.
//   - The GPUs of running members are free at once when the job finishes. Members that were being
//     started or stopped might come up yet, so they are released first.
//
// Repairing lasts from a report to the next pass. Releasing is over at once where no member is left
// to be stopped: the gang is pending, or gone. All states stand in docs/states.md, those of
// members, reservations and nodes too. Package berthtest/internal/protocol has the way of a victim.
//
// # Placement
//
// Package gang places a gang in the lowest topology domain that fits, there in the tightest,
// and so that it breaks the fewest whole nodes and domains; nodes that are set aside come last,
// and ties go to the smaller name. A [Topology] says what must hold and what would be good: a
// level for the gang and for each group, nested segments (the tensor-parallel group on its
// island), balance, spread, aligned rails, domains for itself. [Locality] is the dial between
// communication and packing for what is left open. Inside a node that tells its Links, members
// get the GPUs that reach each other best. A gang that needs several nodes gets those of which
// the NICs carry the most, if these hold all of it; [FabricReported] tells of switches and whole
// domains that carry less. Explain tells the [Bandwidth] that a placement is expected to give. A
// group gets GPUs of one product, unless it sets MixProducts, and a gang one value of each label of
// nodes in its SameLabels, such as the version of a driver: see [ProductFinding]. A node
// with taints takes the members alone that tolerate them: see [Taint].
//
// Between the gang and its groups there may be parts: groups that stay together, such as prefill
// and decode of a model on one NVLink domain each, once or in copies, such as a leader and seven
// workers four times; and parts may have to stand apart, in different racks. All of it starts
// together, and is one gang in whatever else happens to it. See [Part].
//
// A job may list further gangs that it can run as: eight H100, or else sixteen A100. It is started
// as the first that fits, the [Bind] says as which, and it waits as all of them again when it comes
// back. Where it fits as none, Job.Choose says for which it has a place kept: see [Alternative].
//
// Jobs that ask for the same are one question: once it is answered with no, none of them is
// looked at again until something changes that could help.
//
// # Resources of one's own
//
// Config.Resources declares up to [countable.MaxDeclared] further things that nodes have and
// members need: scratch disk, virtual functions of NICs, FPGAs. A [Node] says how much it has in
// Resources, a [Claim] how much each member needs, and a queue is guaranteed or limited to some
// by the same name. All is counted as host CPU and memory are: members of a node hold no more
// than it has, and victims, moves, reservations and explanations go by it. Amounts are in the
// unit of the [countable.Declaration], which answers name. A snapshot and a journal have the
// declarations, which never change.
//
// A node may be told to have less than its members hold: they stay, and nothing more goes there
// until it is enough again. Such resources count in no order and no fair share of queues, and are
// left out where the core learns from typical jobs. Licences of a fleet, which no node has, are
// no resource of this kind: Policy.Caps limits jobs by number.
//
// # Parts of a GPU
//
// The way in which a GPU is divided, its [GPUMode], says which members may share it:
//
//	mode        shared by                           a fatal fault of one process takes
//	whole       nobody                              its own gang
//	mig         anybody, in instances               the members of the same instance
//	mps         one tenant, side by side            everything on the GPU
//	time-slice  one tenant, interactive, in turn    its own gang
//
// Tenants that do not trust each other share a GPU by MIG alone. Core.BlastRadius tells for a
// GPU, [Scheduler.Explain] for a job and [Scheduler.Report] for the fleet what a fault would
// take down.
//
// A GPU is in one mode at a time. The layout that a member needs is ordered before its start:
// the [Bind] lists in After the [Repartition] that has to be done first.
//
// What is known of how a GPU is divided:
//
//	state     signal         next
//	known     ordered        changing  a Repartition is given
//	          told           known     GPUPartitioned tells how it is divided
//	          lost           known     it fails, or its node is lost
//	changing  reported       known     it is reported as done, or as failed
//	          expired        unknown   it is not reported in time, and no member holds what was ordered
//	          expired, held  provable  it is not reported in time, and members hold what was ordered
//	          proven         known     a member runs on what was ordered, and the order is overdue
//	          lost           unknown   it fails, or its node is lost
//	unknown   told           known     GPUPartitioned tells how it is divided
//	          lost           unknown   it fails, or its node is lost
//	provable  proven         known     a member runs on what was ordered, and the order is overdue
//	          told           known     GPUPartitioned tells how it is divided
//	          lost           unknown   it fails, or its node is lost
//
// A Repartition that failed leaves the GPU as it was. After its deadline it counts as done if a
// member runs on what was ordered; else the GPU is unknown and takes no member.
// Members that were being started when the deadline passed hold the GPU until their Bind is
// over: they may come up. If its report says that one of them runs, it does.
//
// The table of its product says how a GPU divides into instances (GPU.MIGTable, package mig),
// never arithmetic on slices. An instance goes where it leaves the most of what is in demand
// still possible: the profiles are weighed by what waits and what was given lately. A
// [Geometry] says for each pool what may change: nothing; the mode and the layout, at a cost
// and within rates; or the mode alone, while instances come and go with their members.
// Instances in use are never touched: a GPU whose instances are in the way of a member that has
// waited long enough gets a GPU hold, which keeps newcomers off until they have ended.
//
// An instance is charged the part of the memory slices that it has, so that a GPU never charges
// more than itself, however it is divided.
//
// # Quota
//
// Queues form a tree (package quota). No start exceeds a limit at any level. A job within the
// guarantee of its queue is served before any job that has to borrow; among the rest the queue
// with the higher priority goes first, and then the queue with the least use for its weight.
// With Policy.UsageHalfLife, a queue that had more than its share of late counts with less of
// its weight in that order; no running job is stopped for the past. Within a queue: the higher
// [Class], the higher priority, the earlier turn, the smaller ID. The turn of a job is its
// submission and Policy.Stretch times its expected run time: short jobs pass long ones, and none
// for ever.
//
// Idle capacity is lent: a queue may use more than its guarantee, up to its limit and its
// borrowing limit, as far as others lend. The part of a guarantee that a queue does not lend
// stays free for it, of what the fleet has: the sound GPUs and the hosts of nodes that take
// work, and what is in use on the others.
//
// A guarantee and a limit may be shares instead of amounts (GuaranteeShare and LimitShare of
// [quota.Queue]): so many thousandths of what the nearest queue above is guaranteed, or else of the
// sound GPUs, and the hosts, of nodes that take work. GPUs are rounded down to whole ones. The
// amounts follow with the event, or the pass, that tells of a node that joins, is lost, cordoned,
// drained, in quarantine or back, and of a GPU that fails or is repaired: what runs on a node that
// takes no more work is no part of the whole, so that guarantees do not fall with each job that
// leaves a drained node. Shares of one whole come to 1000 at most, and so guarantees are kept side
// by side whatever the fleet has; with no node that takes work they are nothing. A guarantee that
// rises is collected as any other, by the rules for preemption and their hysteresis; one that falls
// evicts nothing by itself. A limit that falls with the fleet keeps further jobs out, and
// [OverLimit] stops nothing for it: else a cordon would cost jobs on other nodes. A gang beyond
// such a limit has no other place, so that it leaves a drained node by the deadline, and not
// before. A node that flaps is held out of the fleet by [Health], and so moves no guarantee
// meanwhile. [QueueReport] has shares and amounts.
//
// A limit that is lowered stops nothing that runs, unless [OverLimit] says so: then the queue is
// brought within it, by as little as is needed. The surplus of elastic gangs goes first, then gangs
// of queues that borrow, of the lower class, of the lower priority, and those that began last, each
// by way of a checkpoint. They are released with [CauseOverLimit], and wait again.
// QueueReport.OverLimitSince tells of a queue that is over a limit.
//
// A guarantee and a limit are what a queue may use at a time. A [Budget] is what it and all below
// it may use in all between two instants, in GPU-hours: an allocation for a quarter, or a sum that
// was paid for. It is used up at the very instant at which the sum of what was charged reaches it;
// [Scheduler.NextWake] names that instant, and Report says when it will be at today's rate
// ([BudgetReport]). From then on no gang of these queues is started that claims GPUs, whatever is
// free: they stand in no order of service, count in no fair share, get no reservation and evict
// nobody, and cost a pass nothing. Explain says [ReasonBudget], and what would end it: the end of
// the budget, or a larger one. What runs runs on, or with Budget.Stop is asked for a checkpoint and
// stopped with [CauseBudget]. A gang that is not running waits, whatever stopped it: such gangs are
// not moved, and no other place is kept for them. What the core counted is in its snapshots; a core
// that is made anew counts from nothing, so tell it what is left. Slurm has the same as
// GrpTRESMins, without an end.
//
// # Reservations
//
// A gang that has waited for Policy.ReserveAfter may get a reservation once its turn has come, or
// half of Policy.AssumedRuntime is over; one of a class above batch, of a priority above 0, or
// that ran before, need not wait for its turn. The core plans, from the expected ends of what
// runs, where and when the gang will fit first, and sets those nodes aside. From then on a job is
// placed there only if it is expected to end before the gang starts, or ranks above the gang: in
// the same queue, by class and priority; in another, if it is within the guarantee of its queue
// and the gang would borrow, or, where they are alike in that, by class. Jobs that end in time
// are backfilled. Up to Policy.ReservedGangs gangs of several nodes, and as many that fit on one,
// the first in the order in which queues are served, have one at a time. So a gang that comes
// first and fits the fleet starts, from its turn on, within ReserveAfter and the longest expected
// run time of what runs, however much smaller work keeps coming, if no job runs for longer than
// it is expected to. Some do, where run times are learned: once a gang has waited for
// AssumedRuntime, its reservation lets in by the times told, and is put off, a few times, and not
// ended.
//
// A reservation ends when the gang starts, there or elsewhere; when one of its nodes goes,
// changes, is cordoned or loses a GPU; when a job that ranks above the gang takes its place;
// and when it has not come true Policy.ReservationTimeout after its instant, so that a job that
// never ends does not hold the nodes of another for ever: another one is planned then after
// ReserveAfter, and after twice as long each time. No capacity is held by a gang that does not
// start: two gangs that want the same last GPUs never have a part each.
//
// [ReservationSet] sets nodes aside in advance: a rack for maintenance, or 64 GPUs for a queue from
// ten to twelve, once or every so often (Reservation.Every). A job is not placed there if it could
// run into it by Job.ExpectedRuntime or, where the job does not say, Policy.AssumedRuntime. Running
// jobs are not stopped: [Scheduler.Report] names the conflicts.
//
// With Reservation.Clear they leave in time, and the nodes are empty when it begins. That goes as
// in a drain with a deadline Policy.ReleaseTimeout before the beginning. It starts when just the
// time for a checkpoint is left: a gang with a place elsewhere, which is kept for it then, moves
// there, and one without is asked for a checkpoint, stopped and waits. Jobs of the reservation's
// queue stay; all others leave, services and jobs that are never preempted among them. Explain and
// Core.Job tell a gang by when it has to leave, from the event on ([Departure]); the conflicts in
// Report are the jobs that are still there. A reservation that comes back clears its nodes each
// time. One that is removed or changed withdraws what it need not ask any more. To have jobs move
// sooner, drain the nodes.
//
// Everywhere else the expected run time is learned: from the jobs of the same Job.Program that
// finished, or else from those of as many GPUs, or from all (see Policy.RuntimeSamples). A job
// that is submitted before four have finished is expected to run for as long as it says. A
// service is expected to run for ever.
//
// Job.NonPreemptible has a job never evicted for another. Such jobs of a queue fit into its
// guarantee together, or wait, so that what the queue has beyond it can always be reclaimed.
//
// Job.MaxRuntime is a time limit that is enforced, as that of Slurm is: at the end of it the
// gang is released with [CauseMaxRuntime], after a last checkpoint if it writes any, and the job
// has ended. Totals.JobsOverrun counts these jobs, and Explain tells until when a gang may run. A
// job is expected to run for no longer, until it has run for longer than it said.
//
// Job.MaxRequeues caps how often a gang comes back to the queue, cause by cause: three times
// because its members died, say, and never because it was preempted. The next time the core drops
// the job, with [CauseMaxRequeues]. Explain counts (ReplicaExplanation.Requeues).
//
// # Idle GPUs
//
// A service that waits for users, or a notebook, holds GPUs that do nothing. A job with a [Lend]
// says that they may be lent, how fast it must have them back, and how much of their memory it uses
// itself. Background jobs with a claim to [Borrow] are placed over them, one for a GPU, of the
// same trust domain, with memory for both. A borrower is of class batch, and writes checkpoints or
// is stopped without one. It is charged for the host alone: the GPU is the lender's, in quota and
// ledger (LedgerLine.Borrowed). It never gets a free GPU, evicts nobody, and is evicted for nobody.
//
// The embedder tells how busy a replica is ([ActivityReported]): the part of the time in which its
// streaming multiprocessors work, and not "GPU utilization". A replica of which the last report
// says no more than [Lending].QuietMilli is quiet; after QuietFor its GPUs are lent. One that is
// busy again goes on undisturbed, and gets no order. Its borrowers are asked for a checkpoint in
// the next pass, with half of Lend.Within for it, and are stopped then, with [CauseGivenBack]: so
// tell a report above QuietMilli at once, and run a pass. The same holds where a lender is evicted,
// moved, scaled down, drained or gone: its GPU is free for others only once the borrower is off it.
// The borrower waits again, and starts over the next GPU that is idle.
//
// Both run on the GPU at the same time. Start the borrower so that it stands back in time slices,
// or pauses, and keep it to its memory (MemberPlacement.ShareMemoryMiB): no order does that. A
// fatal fault of a borrower takes its own gang alone, as in time slices.
//
// # Idle jobs
//
// Other jobs hold GPUs that they leave idle, and do not say that these may be lent. [IdlePolicy]
// finds them by the same reports: a replica that holds GPUs and has been quiet for QuietFor is
// idle. Report lists those (FleetReport.Idle), Explain and Core.Job tell it of each, and a
// [WarnIdle] goes out once. After Grace more nothing happens; or an elastic gang gives up what it
// has above its minimum, with [CauseIdleSurplus]; or the job ends with [CauseIdle], as at its time
// limit: after a last checkpoint if it writes any. It does not start again by itself, as it would
// be idle again; Totals.JobsIdle counts it. One that is busy meanwhile goes on, and gets no order.
// Jobs with a [Lend], and those that are never evicted, are named and warned alone; so are services
// where jobs end, as an autoscaler would start them again.
//
// Report has what is held and what is in use side by side, for the fleet and by queue, tenant and
// pool ([ActivityCount]). GPUs of replicas of which nothing was told are held, and neither idle nor
// in use.
//
// # Preemption
//
// Preemption is on unless Preemption.Mode says otherwise. A job that fits nowhere may take the
// place of running jobs by two rules (see [Preemption]). Within a queue, a job of a higher class,
// or of the same class and a higher priority, takes the place of one that is not latency-critical:
// preemption. Between queues, what was lent is given back: reclaim. A queue within its guarantee,
// or its fair share, takes from queues that use more than theirs. What a queue keeps is an amount,
// in whichever of its jobs: as much of its guarantee, or share, as they fill (package quota has the
// rules, and the proof that exchanges end). Its guarantee it keeps in jobs that run: those that are
// planned, being started, or have but a place kept for them may come to nothing, so that no running
// job is reclaimed on their account. A latency-critical job is never preempted within its queue;
// but its use above the guarantee of the queue is lent like all else, and reclaimed, unless all
// jobs of its queue fit in the guarantee.
//
// Idle capacity is used first. The victims are the set that does the least harm, and none of
// them could be left out (package preempt): jobs backfilled on nodes that are reserved for the
// beneficiary, then borrowed use before guaranteed use, the lower class before the higher,
// small jobs before large gangs, and then the least lost work. Surplus members of elastic gangs
// go before any job ends, if that is enough: see below. Each other victim is asked for a
// checkpoint first, if it can write one:
//
//	          RequestCheckpoint            Release
//	runs ──────────────────────▶ asked ──────────────▶ Releasing ──▶ Pending
//	  ▲ ╲                          │  Done, Failed, or     ▲
//	  │  ╲                Withdraw │  its deadline         │
//	  └───╲────────────────────────┘                       │
//	       ╲───────────────────────────────────────────────┘
//	         Release at once, if it writes no checkpoints
//
// The nodes that become free are set aside for the beneficiary, as in a reservation, and its quota
// is counted as used, so that no other job slips in between. It starts as soon as it fits, there or
// elsewhere; when it has started, or no longer waits, the victims that were asked and are not
// stopped yet go on ([Withdraw]). A preemption that takes longer than its deadlines and
// Policy.ReservationTimeout together is given up. A victim waits again with its age, in its next
// [Incarnation].
//
// No two jobs ever evict each other. Within a queue a victim is of a lower class, or of the same
// class and a lower priority, and those do not change. Between queues nothing is taken that is due.
// A gang rests after it was reclaimed, or lost to others the room that its queue made for it: 10
// minutes, twice as long each time, and the fifth time until it has run for a day. Meanwhile it
// evicts others of its queue only within the shares of its queues, and takes no room made for one:
// else they would come back, and so on. Costs, waits and rate limits only put off what is allowed.
//
// # Elastic gangs give first
//
// An elastic gang gives up its surplus, the members above the minimum of their group, by whole
// widest segments where there are any, so that the rest keeps its topology. Segments that have lost
// members go first: while the whole ones are the minimum, theirs count for nothing. It gets a
// [Release] of these members alone and stays Running: Release.Remaining tells with how many members
// it goes on, so that the job can resize, and Release.SurplusEvictions for which beneficiaries. It
// loses no work, so that nothing protects a surplus. A gang with Topology.Exclusive gives no parts.
//
// While a gang gives or gets members, a job that needs more of its surplus waits instead of
// evicting others. Members that are being stopped are stopped, even if no job needs their place any
// more. The gang grows again on idle capacity and, as far as its queue and all above it are within
// their guarantees, in the place of what others borrow: as the beneficiary of a preemption, with
// all of the members that the guarantee leaves it or else fewer. Nothing of its own queue goes for
// that, and nothing for a fair share; nor does any gang move, as a stop and a restart of one that
// keeps its guarantee cost more than a surplus is worth. Of several gangs the first in policy order
// grows first, to its full size: in turns each would resize, and none end sooner.
//
// # Cost, gain and hysteresis
//
// A preemption has a cost: for each GPU of each victim the work since its last checkpoint (or
// the time to write one, if it does so when asked), its restart, and the time for which it will
// wait, estimated by the run time of the beneficiary. [CheckpointWritten] tells of checkpoints
// that jobs write by themselves; a job that never tells is taken to write them at the interval
// that it states. The cost is paid when the gain is more: for each GPU that the beneficiary
// asks for, what its class is worth more than that of the victims, what its turn is worth, and
// the time that it has waited ([GainPolicy]; Config.Gain is another function). Until then it
// waits; a pass looks again at the very instant at which the preemption pays, and Explain names
// that instant, with both figures. A queue takes its guarantee back at any cost once a job has
// waited for that for Preemption.GuaranteeWithin. A job that writes no checkpoints loses all that
// it has done: for another queue it goes only then, or for a job of a higher class, unless
// Preemption.StopUnsaved says otherwise.
//
// [Preemption] damps preemptions by four means. A job runs for MinRuntime at least, which the
// policy says for all queues or for single ones, and a job for itself as far as MaxMinRuntime
// lets it; a victim runs for a Cooldown longer, twice as long each time. A RateLimit bounds
// evictions in the fleet, a QueueRateLimit those of each queue; jobs that wait for a rate are
// served in policy order, at the instant at which the rate lets them. And a Grace bounds how
// long a class may take to write a checkpoint. Rate limits delay even a queue that takes its
// guarantee back; a cooldown does not.
//
// # Drains and moves
//
// [NodeDraining] has a node emptied. A gang leaves as soon as there is another place for it:
// that is kept for it while it is asked for a checkpoint and stopped, and then it starts there.
// Members on other nodes come back to where they were, if they can, and only the others go
// elsewhere, as close by as there is room. A gang without another place goes on until it has
// just the time for a checkpoint before the deadline, and then waits as any other; without a
// deadline it stays. [NodeUncordoned] and [NodeCordoned] call a drain off. [Scheduler.Report]
// tells which replicas are left ([DrainReport]), Explain where each goes ([Departure]).
//
// A service with a [Service].Surge leaves its nodes without a moment below its number of replicas.
// Another replica starts first, where there is room beside all that runs and within the limits of
// its queue: with a number of its own, by a [Bind] because of [CauseSurge] that names in Instead
// the replica that it stands in for. That one is released, without a request for a checkpoint, as
// soon as the other is reported to run, and does not come back: so report such a Bind as done when
// the replica serves, and have Policy.BindTimeout leave time for that. Up to Surge of them are
// started at a time; one that does not come to run is forgotten, once its Bind is reported or
// overdue, and tried again after a backoff, on another node if it fits there. As long as there is
// no room the replica stays, until the deadline leaves just the time for a checkpoint, or to stop
// if it writes none: then it goes as any other gang. If another is being started in its place by
// then, or hardware takes it meanwhile, that other one goes on. The first then waits as any other
// gang, and may start again; it goes for good once the other runs. One that is not needed any more,
// as the drain is called off, is released. A stand-in counts as no replica for [JobScaled]: it goes
// with the replica that it stands in for. A core that is made anew in the middle of it may be told
// of all that run ([JobObserved]), and releases those that are too many. The numbers of replicas
// are then not those from 0 to Replicas.
//
// Free GPUs in pieces are no use to a gang that needs them in one. Where that alone keeps it
// waiting, [Scheduler.Explain] and Core.StartPlan propose a few moves of other gangs that would
// make room, and Policy.Defragmentation may have them ordered: if the wait that they save,
// times the GPUs, is more than what they cost. For a guarantee they are ordered whatever they
// cost. A gang that is moved has its new place kept for it. See [Defragmentation] and [Preemption].
//
// # Hardware that fails
//
// [NodeLost], [GPUFailed] and [XidReported] tell what fails; [LookupXid] says which Xids
// condemn a GPU. A gang that has its minimum left goes on, and grows again. Any other gang is
// stopped, by a Release with [CauseHardwareLost] and without a request for a checkpoint, and
// starts again from its last checkpoint: on its old nodes, which are kept for it meanwhile,
// with another for the one that is gone. If there is none, its old nodes are kept until the
// gang has had its turn to take the rest from others. The same holds for a gang whose members
// died, some or all, after its backoff, unless the job is at fault: see [MemberFailed].
//
// [HotSpares] keeps a few idle nodes of a pool for gangs that lost hardware or have to leave a
// node that is being drained, spread over the topology, so that a gang which has to stay in its
// domain finds one there. [Health] says how hardware is trusted again: a node that was lost too
// often takes no work for a time (quarantine), and repaired hardware takes for a time only
// low-cost work (burn-in). [NodeUncordoned] ends both: an operator vouches for the node.
//
// # Questions
//
// None of these changes anything. [Scheduler.Explain] tells where a job stands: why each
// replica waits, what would help and when it is expected to start: at the earliest, in the
// middle and late ([Forecast]; docs/results.md has by how much each errs); which victims make
// room for it, or which would have to if the policy did not forbid it; and for which beneficiary
// it makes room itself. Core.StartPlan tells what it would take to start a job now: which jobs to
// move, or to evict, and at what cost, or what speaks for its place (StartPlan.Choice);
// Core.WhatIf what a pass would order. Both may suppose further events. [Scheduler.Report]
// describes the fleet, Core.BlastRadius what a fault would take down, Core.Ledger the GPU time of
// each account, and Core.Diff where an observed world differs.
//
// # When an invariant breaks
//
// Nothing that a caller sends makes a core panic: bad input is an [Error], and the decoders
// return a value or an [Error] for any bytes. A panic with a [BrokenInvariant] is a defect of the
// core: two of its books disagree. It comes out of Apply, Schedule or a question. A core that
// panicked is half changed, and going on with it may start two members on one GPU: throw it
// away, and do as after a crash. The call that panicked is not in a journal, as package journal
// writes one; but a core is deterministic, and the next pass may panic again: then start anew
// from what runs ([JobObserved]). Snapshot, journal and the last call are the defect report.
//
// # What is stable
//
// [EncodeEvent] and [EncodeOrder] give every event and every order one line of JSON. Package
// journal writes, reads and replays files of them. From version 1 on:
//
//   - Names in Go, JSON keys, kinds of events and orders, and the words of codes ([CauseCode],
//     [ReasonCode], [DifferenceKind]) stay within a major version. New ones may come, so a switch
//     over them needs a default.
//   - Every release reads the snapshots and journals of the releases before it, of the same
//     major version. A snapshot of a version that a release does not know is refused with
//     [ErrUnsupported], in the field "version". Committed files of each version are read by a
//     test, and docs/format.md has both formats for readers in other languages.
//   - Decisions are not stable: another release may give other orders for the same events, and
//     the changelog says so. So a journal is recovered by the release that wrote it. To upgrade,
//     end the old release with a snapshot (Durable.Snapshot), and begin the new one with that.
//   - Sentences ([Reason], [Error], Text and Detail of any answer) are for people, and may change.
//
// # Glossary
//
//   - event: what a core is told ([Event]).
//   - order: what a core gives, to be carried out and reported ([Order], [OrderReported]).
//   - pass: one scheduling cycle, one run of [Scheduler.Schedule].
//   - job: a gang, or a service of several ([Job], [Service]).
//   - gang: members that start together or not at all ([Group]).
//   - alternative: another gang that a job may run as ([Alternative]).
//   - part, copy: groups of a gang that stay together; one of several such sets ([Part]).
//   - member: one process of a gang, on one node ([MemberPlacement], [MemberRef]).
//   - replica: one gang of a service; any other job has one ([ReplicaRef]).
//   - incarnation: one life of a replica, numbered from 1 ([Incarnation]).
//   - claim: what a member asks of its node ([Claim]).
//   - declared resource: what nodes have beside GPUs, CPU and memory ([countable.Declaration]).
//   - instance, share: parts of a GPU, by hardware and by software ([mig.Placement], [Share]).
//   - pool: nodes that are bought and operated together ([Node]).
//   - taint, toleration: what keeps members off a node, and what lets them go there ([Taint]).
//   - level, domain: a tier of the topology ("leaf"), and a part of it ("leaf-7") ([Config]).
//   - island, rail: nodes on one NVLink fabric; NICs of one index on one switch ([Fabric]).
//   - segment: members that stay in one domain together ([Segment]).
//   - locality: closeness against packing ([Locality]).
//   - oversubscription: uplinks that carry less than what comes up ([Oversubscription]).
//   - queue, guarantee, limit: the quota tree ([quota.Queue]).
//   - share of a queue: a guarantee or a limit in thousandths of what there is
//     ([quota.Thousandths]).
//   - tenant: a trust domain; it shares GPUs with itself alone ([TenantID]).
//   - class: batch, interactive or latency-critical ([Class]).
//   - to preempt, to reclaim: to evict within a queue, and between queues ([Preemption]).
//   - victim, beneficiary: the evicted replica, and the one that gets its place ([Victim]).
//   - surplus: members above the minimum of their group ([SurplusEviction]).
//   - cost, gain: what a preemption loses and wins, in GPU time ([Weighing], [GainPolicy]).
//   - cooldown: the time for which a victim is not evicted again ([Preemption]).
//   - withdraw: to take a request for a checkpoint back ([Withdraw]).
//   - lender, borrower of a GPU: the job that holds it and leaves it idle, and the one that runs
//     over it meanwhile ([Lend], [Borrow]). A queue that borrows is another thing ([Preemption]).
//   - quiet, idle: to say that its GPUs hardly work, and to have done so for long ([IdlePolicy]).
//   - reservation: nodes set aside, for a gang that waits or in advance ([Reservation]).
//   - backfill: a job on reserved nodes that ends in time ([Policy]).
//   - GPU hold: a GPU that takes no new members until it is empty ([Geometry]).
//   - geometry, repartition: how GPUs may divide, and the order that divides one ([Repartition]).
//   - cordon, drain: to keep new members off a node, and to empty it ([NodeDraining]).
//   - surge, stand-in: to start a replica before another stops, and the one that starts
//     ([Service]).
//   - clear: to have the nodes of a reservation empty when it begins ([Reservation]).
//   - defragmentation, move: joining free pieces, and one step of it ([Defragmentation]).
//   - gate: what a job waits for before it has its place in the order of service ([Dependency]).
//   - array: jobs of which so many run at once ([Array]).
//   - budget: the GPU time that a queue may use between two instants ([Budget]).
//   - cap: how many jobs of a queue or a user compete at a time ([QueueCaps]).
//   - quarantine, burn-in: no work, and low-cost work, for hardware that failed ([Health]).
//   - hot spare: an idle node kept for gangs that lose hardware ([HotSpares]).
//   - blast radius: what one fault takes down ([BlastRadius]).
//   - time limit: for how long one run of a gang may last (Job.MaxRuntime).
//   - forecast: when a replica that waits is expected to start ([Forecast]).
//   - start plan: what it would take to start a job ([StartPlan]).
//   - observed: seen to run, whatever the core thinks ([JobObserved], [World]).
//   - shortfall: what a domain is short of ([Shortfall]).
//
// # What this version does not do
//
// No running job is stopped for a Repartition. A borrower of a GPU is not stopped for what it has
// of the host, and has no surplus. A gang moves whole: all of it stops and starts again if one
// member has to go elsewhere. A forecast counts on a node that is to be cleared for a reservation
// only once that has begun. A node has GPUs of one product. A requirement that is not kept is
// refused with [ErrUnsupported], never ignored.
//
// [core.Example]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package
// [core.ExampleRestore]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-Restore
// [journal.ExampleDurable]: https://pkg.go.dev/github.com/berth-sched/berth/journal#example-Durable
// [journal.ExampleLoop]: https://pkg.go.dev/github.com/berth-sched/berth/journal#example-Loop
// [journal.ExampleRecover]: https://pkg.go.dev/github.com/berth-sched/berth/journal#example-Recover
// [core.Example_preempt]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Preempt
// [core.Example_overLimit]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-OverLimit
// [core.Example_parts]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Parts
// [core.Example_alternatives]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Alternatives
// [core.Example_maxRequeues]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-MaxRequeues
// [core.Example_drain]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Drain
// [core.Example_surge]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Surge
// [core.Example_fabric]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Fabric
// [core.Example_metrics]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Metrics
// [core.Example_divideGPUs]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-DivideGPUs
// [core.Example_lend]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Lend
// [core.Example_idle]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Idle
// [core.Example_reserve]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Reserve
// [core.Example_clear]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Clear
// [core.Example_runTimes]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-RunTimes
// [core.ExampleCore_Explain]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-Core.Explain
// [core.ExampleCore_StartPlan]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-Core.StartPlan
// [core.Example_dependencies]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Dependencies
// [core.Example_array]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Array
// [core.Example_caps]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Caps
// [core.Example_budget]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Budget
// [core.Example_shares]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Shares
// [core.Example_resources]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Resources
// [core.Example_limit]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Limit
// [core.Example_adopt]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Adopt
// [journal.ExampleReplay]: https://pkg.go.dev/github.com/berth-sched/berth/journal#example-Replay
// [life.Example]: https://pkg.go.dev/github.com/berth-sched/berth/bench/life#example-package
// [core.ExampleCore_WhatIf]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-Core.WhatIf
// [core.Example_scorer]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Scorer
// [core.Example_refusal]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Refusal
// [core.Example_clock]: https://pkg.go.dev/github.com/berth-sched/berth/core#example-package-Clock
package berth
