// Package berth is the contract of a GPU scheduling core: the events that a core is told,
// the orders that it gives, the answers to questions about it, and the [Scheduler]
// between them. Package [github.com/berth-sched/berth/core] is the core itself:
//
//	sched, err := core.New(berth.Config{})
//
// This page is the manual of both.
//
// A core decides which accelerators each job gets, and when. It is the part of a GPU
// orchestrator that decides, as a library: the orchestrator tells it events ("this node
// joined", "this job was submitted", "that order is carried out") together with a clock
// reading, and gets back orders ("start these 64 members there", "stop those"). A core
// owns no containers, networks, storage or wire. It starts no goroutine, takes no lock,
// does no I/O, reads no clock and draws no random number, so the same events give the same
// orders, byte for byte: an incident is replayed on a laptop, a replica is kept by feeding
// it the same log, and a day of a 4,000-GPU fleet is simulated in seconds.
//
// # Duties of the embedder
//
// Apply, Schedule, Explain, Report and Snapshot are methods of [Scheduler]. What only a
// core of package core has is written with its type: Core.NextWake.
//
//  1. Make a core with core.New, or with core.Restore from a snapshot.
//  2. Tell it every event with [Scheduler.Apply], in the order in which they become
//     known: nodes, queues, jobs, reports. An error means that the event was
//     refused, and that nothing changed.
//  3. Run a pass with [Scheduler.Schedule] after events, or at the latest at the
//     instant that Core.NextWake names. A pass in which nothing changed costs
//     next to nothing, so calling it too often is fine.
//  4. Carry out the orders in the order of their IDs. Orders about one GPU must
//     not overtake each other; others may run at the same time. What a [GPUFailed] or a
//     condemning [XidReported] took is lost, and in no order: stop what is left of it
//     before the next one about a GPU that it held.
//  5. Report how each order ended with [OrderReported], once, by its ID, before
//     its deadline. Reports may come late, doubled or in any order: the core
//     answers [ErrStale] to those that no longer matter, and nothing happens.
//  6. Make calls from one goroutine at a time, with instants that never go back.
//  7. To survive a crash, log the events, and the instants of the passes, since
//     the last [Scheduler.Snapshot], before carrying out the orders that follow from
//     them. After a restart: core.Restore, repeat the log, and carry out
//     Core.Outstanding again, member by member: what has been done already need
//     not be done twice. [Drop] and [Withdraw] have no report, so hand them on
//     before the next snapshot. Or start anew and tell what runs with [JobObserved];
//     Core.Diff tells what the core and the world disagree about.
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
//		orders, err := sched.Schedule(now())
//		...
//		for _, order := range orders {
//			switch o := order.(type) {
//			case berth.Bind:
//				go start(o) // ends, like all but the last two, by sending an OrderReported to events
//			case berth.Release:
//				go stop(o) // the members that it names; with Remaining, the others go on
//			case berth.RequestCheckpoint:
//				go checkpoint(o) // it runs on until it is released
//			case berth.Repartition:
//				go repartition(o)
//			case berth.Withdraw:
//				forget(o.Request) // it need not leave after all
//			case berth.Drop:
//				tell(o.Job, o.Cause) // it is given up
//			}
//		}
//	}
//
// examples/quickstart is a whole program of this kind.
//
// # Jobs
//
// A [Job] is a gang: one or more groups of members, all placed together or not
// at all. Each member has a [Claim]: whole GPUs, an instance or a share of one, or
// the host alone, with host CPU and memory. Groups may start with fewer members than they
// would like (Group.MinMembers) and grow. A job with a [Service] is a number of such
// gangs, called replicas, each placed whole by itself; [JobScaled] changes their
// number. Every other job has one replica, number 0.
//
// A replica is in one of five states:
//
//	           Bind                    Done
//	Pending ─────────▶ Binding ─────────────────────▶ Running
//	   ▲               │ ▲ │ │                          │ │
//	   │        Failed │ │ │ └──────────┐ deadline,     │ │ too few members left,
//	   ├───────────────┘ │ │ Partial    │ cancelled     │ │ has to yield or to leave,
//	   │            Bind │ ▼            │               │ │ cancelled, scaled down
//	   │ nobody left   Repairing        │               │ │
//	   ├─────────────────┘ │ no place,  │               │ │
//	   │                   │ cancelled  │               │ │
//	   │ nobody left       │            │               │ │
//	   ├───────────────────┼────────────┼───────────────┘ │
//	   │ Done;             ▼            │                 │
//	   └─ presumed ─── Releasing ◀──────┴─────────────────┘
//	      dead
//
// A running replica that is short of its replicas gets further Bind orders
// (growth) and stays Running. A replica that is released for good is forgotten
// instead of becoming pending. Each time a replica leaves Pending its
// [Incarnation] goes up by one; reports about a former life are stale.
//
// # What each report does
//
// Down: the report. Across: the state of the replica it is about. "stale" is
// [ErrStale] with no effect, as for every report about an order that is not out: one of a
// former life, say. "-" cannot occur: a deadline passes for an order that is out, and
// hardware is lost with members on it.
//
//	                    Pending   Binding            Running               Releasing
//	Bind Done           stale     Running (1)        Running, grown        stale
//	Bind Partial        stale     Repairing (1)      the others stay (5)   stale
//	Bind Failed         stale     Pending (1)(5)     the others stay (5)   stale
//	Bind, deadline      -         Releasing (5)      growth released (2)   -
//	Release Done        stale     stale              those are gone (2)    Pending or gone
//	Release Partial     stale     stale              the rest stays out    the rest stays out
//	Release Failed      stale     stale              stays out             stays out
//	Release, deadline   -         -                  given again (3)       given again (3)
//	RequestCheckpoint   stale     stale              Releasing (7)         stale
//	 Done, Failed, deadline
//	MemberFailed        stale     noted (4)          shrinks, Releasing (5) stale
//	CheckpointWritten   stale     refused            less is lost with it  stale
//	JobFinished         stale     Releasing (6)      gone (6)              not to come back
//	NodeLost, GPUFailed -         noted (4)          shrinks, Releasing    fewer to stop
//
//	(1) What counts is who runs then: with every group at its minimum the gang is
//	    Running, and grows later; with some, Repairing; with nobody, Pending.
//	(2) Only the members of that order; the gang stays Running. They are those of an
//	    unreported growth, or some above its minimum that have to yield.
//	(3) After Policy.ReleaseAttempts the members are presumed dead.
//	(4) Decided when the Bind is reported, so that a gang has one order out at a
//	    time. Until then those members count as placed.
//	(5) What replaces them waits for Policy.RetryBackoff, and longer each time.
//	(6) What runs is free at once. Members that were being started or stopped
//	    might come up yet, so they are released first.
//	(7) If nobody needs its place by then it runs on. Partial is refused: a checkpoint is
//	    written as a whole.
//
// Repairing lasts from a report to the next pass. MemberFailed, NodeLost and
// GPUFailed take more members away then; JobFinished ends it. Releasing is over at once
// where nobody is left to be stopped: the gang is Pending, or gone.
//
// The script command "machine replica" prints the whole table of a replica; there are tables of
// a member, an order, a GPU's mode, reservations and a node's health, too (internal/statetable).
//
// # Placement
//
// Package gang places a gang in the lowest topology domain that fits, there in the
// tightest, and so that it breaks the fewest whole nodes and domains; ties go to
// the smaller name. A [Topology] says what has to hold and what would be good: a
// level for the gang and for each group, nested segments (the tensor-parallel group on
// its island), balance, spread, aligned rails, domains for itself. [Locality] is
// the dial between communication and packing for what is left open. Inside a node
// that tells its Links, members get the GPUs that reach each other best. Explain
// tells the [Bandwidth] that a placement is expected to give.
//
// Jobs that ask for the same are one question: when it is answered with no, none of
// them is looked at again until something changes that could help.
//
// # Parts of a GPU
//
// Who may be together on a GPU depends on how it is divided, its [GPUMode]:
//
//	mode        who shares it                       a fatal fault of one process takes
//	whole       nobody                              its own gang
//	mig         anybody, in instances               what is in the same instance
//	mps         one tenant, side by side            everybody on the GPU
//	time-slice  one tenant, interactive, in turn    its own gang
//
// Tenants that do not trust each other share a GPU by MIG alone. Core.BlastRadius tells
// for a GPU, [Scheduler.Explain] for a job and [Scheduler.Report] for the fleet what goes when
// something goes wrong.
//
// A GPU is in one mode at a time. What a member needs is ordered before it is started:
// the [Bind] lists in After the [Repartition] that has to be done first.
//
//	                                   Done
//	as it was ── Repartition ─▶ out ─────────▶ as ordered
//	    ▲                        │ │ deadline, and a member runs on it ─▶ as ordered
//	    │        Failed          │ │
//	    └────────────────────────┘ │ deadline, and none does; GPUFailed
//	    │                          ▼
//	    └──── GPUPartitioned ─── unknown: it takes nobody
//
// How a GPU divides into instances its table says (GPU.MIGTable, package mig), never
// arithmetic on slices. Where an instance goes is where it leaves the most of what is
// in demand still possible: the profiles are weighed by what waits and what was given
// lately. A [Geometry] says for each pool what may change: nothing; the mode and the
// layout, at a price and within rates; or the mode alone, while instances come and go
// with their members. Instances in use are never touched: a GPU on which they are in the
// way of a member that has waited long enough is kept from newcomers until they have
// ended.
//
// An instance is charged the part of the memory slices that it has, so that a GPU never
// charges more than itself, however it is divided.
//
// # Quota
//
// Queues form a tree (package quota). No limit is exceeded at any level by what is
// started. A job that is within the guarantee of its queue is served before any that has
// to be borrowed for; among the rest the queue with the higher priority, and then the one
// with the least use for its weight, goes first. With Policy.UsageHalfLife, a queue that
// had more than it is entitled to of late counts with less of its weight in that order;
// nothing that runs is stopped for the past. Within a queue: the higher [Class], the
// higher priority, the longer wait, the smaller ID.
//
// Idle capacity is lent: a queue may use more than its guarantee, up to its limit and
// its borrowing limit, as far as others lend. What a queue does not lend of its
// guarantee stays free for it, of what the fleet has: the sound GPUs and the hosts of
// nodes that take work, and what is in use on the others.
//
// With Config.Ledger the core keeps account of GPU time: see Core.Ledger.
//
// # Reservations
//
// A gang that has waited for Policy.ReserveAfter may get a reservation: the core plans,
// from the ends that are expected of what runs, where and when it will fit first, and
// sets those nodes aside. From then on nothing is placed there that is expected to end
// later than the gang starts, unless it ranks above it: in the same queue, by class and
// priority; in another, if it is owed to its queue and the gang would be borrowed for,
// or, where they are alike in that, by class. What ends in time is backfilled. Up to
// Policy.ReservedGangs gangs of several nodes, and as many that fit on one, the first
// in the order in which queues are served, have one at a time; everything else is
// backfilled around them. So a gang that comes first
// and fits the fleet starts within ReserveAfter and the longest expected run time of
// what runs, however much smaller work keeps coming, if nothing runs for longer than it
// said.
//
// A reservation ends when the gang starts, there or elsewhere; when one of its nodes
// goes, changes, is cordoned or loses a GPU; when what ranks above the gang takes its
// place; and when it has not come true Policy.ReservationTimeout after its instant, so
// that a job that never ends does not hold the nodes of another for ever. No capacity is
// held by a gang that does not start: two gangs that want the same last GPUs never have
// a part each.
//
// [ReservationSet] sets nodes aside in advance: a rack for maintenance, or 64 GPUs for
// a queue from ten to twelve. Nothing is placed there whose expected end runs into it.
// What is expected is Job.ExpectedRuntime, or Policy.AssumedRuntime where a job does
// not say; a service is expected to run for ever. What runs already is not stopped:
// [Scheduler.Report] names it as a conflict.
//
// # Who has to yield
//
// What waits and fits nowhere may take the place of what runs, by two rules (see
// [Preemption]). Within a queue, a job of a higher class, or of the same class and a higher
// priority, takes the place of one that is not latency-critical: preemption. Between
// queues, what was lent is given back: reclaim. A queue that stays within its guarantee
// with what it asks for takes from those that use more than they are guaranteed, one
// that stays within its fair share from those that use more than theirs; nothing is taken
// that is due to its queue (package quota says what is), so that it cannot go round in
// circles. A latency-critical job is never preempted; but what it holds over the guarantee
// of its queue is lent like all else, and reclaimed. Who wants it never stopped gives its
// queue a guarantee in which it fits.
//
// What is idle is used first. Victims are those whose end does the least harm, and none
// that could be left out (package preempt): what was let in where nodes are reserved for the
// one that asks, then what was borrowed before what was not, the lower class before the
// higher, small jobs before large gangs, and then what loses the least work. What a gang has
// above its minimum goes before anything that would end, if that is enough: see below. Each
// of the others is asked for a checkpoint first, if it can write one:
//
//	          RequestCheckpoint            Release
//	runs ──────────────────────▶ asked ──────────────▶ Releasing ──▶ Pending
//	  ▲ ╲                          │  Done, Failed, or     ▲
//	  │  ╲                Withdraw │  its deadline         │
//	  └───╲────────────────────────┘                       │
//	       ╲───────────────────────────────────────────────┘
//	         Release at once, if it writes no checkpoints
//
// Package berthtest/internal/protocol draws the whole of it, and what becomes of reports that
// are late, lost or doubled.
//
// The nodes on which there will be room are set aside for whom it is made, as in a
// reservation, and its quota is counted as used, so that nobody slips in between. It
// starts as soon as it fits, there or elsewhere; if it does, or waits no more, who was
// asked and not stopped yet is told to go on ([Withdraw]). If that is not so in the time
// that all of it may take, and Policy.ReservationTimeout, it is given up. Whoever had
// to yield waits again with its age, in its next [Incarnation].
//
// No two jobs ever have to yield to each other, whatever they wait for. Within a queue who
// yields is of a lower class, or of the same and a lower priority, and those do not
// change: it can never be the other's turn. Among equals nobody yields at all. Between
// queues nothing is taken that is due. Prices, waits and rates only ever put off what
// these rules allow, and allow nothing more.
//
// # Elastic gangs give first
//
// An elastic gang gives up members above the minimum of their group, whole widest segments
// where there are any, so that what is left keeps its topology. It gets a [Release] of these
// alone and stays Running: Release.Remaining tells with how many members it goes on, so that
// the job can resize to that, and Release.SurplusEvictions for whom the others go, which may be several.
// There is no request for a checkpoint before it, as no work of the gang is lost, and neither
// a minimum run time, a respite nor a rate spares what is above the minimum: it is there for
// as long as nobody else needs the place.
//
// While a gang gives or gets members, who needs more of what it has above its minimum waits
// for the end of that, rather than that others end. Members that are being stopped are, even
// if nobody needs their place any more. The gang grows again like any that is short of
// members: on what is free, and never at the cost of others. A gang with domains for itself
// (Topology.Exclusive) gives no parts.
//
// # Price and calm
//
// Having somebody yield has a price: for each GPU of each victim the work since its last
// checkpoint (or the time to write one, if it does so when asked), its restart, and the
// time for which it will wait, estimated by the run time of who takes its place.
// [CheckpointWritten] tells of checkpoints that jobs write by themselves; a job that never
// tells is taken to write them at the interval that it states. The price is paid when what
// is gained is more: for each GPU that is asked for, what the class is worth more than
// that of the victims, what its turn is worth, and the time that it has waited ([GainPolicy];
// Config.Gain is another function). Until then it waits; a pass looks again at the very
// instant at which it will be worth it, and Explain names it, with both figures. What a
// queue is guaranteed it takes back at any price.
//
// Calm is kept by three means of [Preemption]. A job runs for MinRuntime at least, and who
// had to yield for a Respite longer, twice as long each time. A Rate bounds how many have
// to in the fleet, a QueueRateLimit in each queue; what waits for a rate is served in policy
// order, at the instant at which the rate lets it. And a Grace bounds how long a class may
// take to write a checkpoint. Rates bind also who takes back what it is guaranteed, and
// delay it; a respite does not.
//
// # Drains and moves
//
// [NodeDraining] has a node emptied. Whoever is there leaves as soon as there is another
// place for it: that is kept for it while it is asked for a checkpoint and stopped, and
// then it goes on there. Members on other nodes come back to where they were, if they can,
// and only the others go elsewhere, as close by as there is room. Who finds no place goes
// on until it has just the time for a checkpoint before the deadline, and then waits as
// any other; without a deadline it stays. [NodeUncordoned] and [NodeCordoned] call it off.
// [Scheduler.Report] tells who is left, Explain where each goes ([Departure]).
//
// Free GPUs in pieces are no use to a gang that needs them in one. Where that alone keeps
// it waiting, [Scheduler.Explain] and Core.StartPlan propose a few moves of others that
// would make room, and with Policy.Defragmentation ordered they are made: if the wait that they
// save, times the GPUs, is more than what they cost. Who is moved has its new place kept
// for it. See [Defragmentation].
//
// # Hardware that fails
//
// [NodeLost], [GPUFailed] and [XidReported] tell what fails; [LookupXid] says which Xids
// condemn a GPU. A gang that has its minimum left goes on, and grows again. The others are
// stopped, by a Release whose cause is that hardware was lost and which no request comes
// before, and start again from their last checkpoint: on the nodes they were on, which are
// kept for them meanwhile, with another for the one that is gone. If there is none, what they
// have left is kept until they had their turn to take the rest from others. So it is with a
// gang whose members died, after Policy.RetryBackoff.
//
// [HotSpares] keeps a few idle nodes of a pool for those that lost hardware or have to leave a
// node that is being drained, spread over the topology, so that a gang which has to stay in
// its domain finds one there. [Health] says how hardware is trusted again: a node that was lost
// too often takes no work for a time (probation), and what was repaired takes for a time only
// what is cheap to lose (trial). An operator who knows better tells [NodeUncordoned].
//
// # Questions
//
// None of these changes anything. [Scheduler.Explain] tells where a job stands: why each
// replica waits, what would help and when it is expected to start; for whom somebody makes
// room, who makes room for a job that waits, or why nobody does, and who would have to if
// the policy did not forbid it. Core.StartPlan tells what it would take to start a job
// now: whom to move, or to stop, and at what price; Core.WhatIf what a pass would order.
// Both may suppose further events. [Scheduler.Report] describes the fleet, Core.BlastRadius
// what a fault would take down, Core.Ledger who used how much, and Core.Diff where an
// observed world differs.
//
// # Journals
//
// [EncodeEvent] and [EncodeOrder] give every event and every order one line of
// stable JSON. Package journal writes, reads and replays files of them.
//
// # What this version does not do
//
// Nothing that runs is stopped for a reservation that was made in advance, for a Repartition,
// or for a gang that grows. A gang moves whole: it is stopped, all of it, and started again,
// also if one of its members alone has to go elsewhere. A node has GPUs of one product. What a
// job states and this version cannot keep is refused with [ErrUnsupported], never ignored.
package berth
