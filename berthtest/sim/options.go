package sim

import "github.com/berth-sched/berth"

// An Arrival is an event that the workload tells at an instant.
type Arrival struct {
	At    berth.Time
	Event berth.Event
	// Runtime, for JobSubmitted of a job that is no service: how long the gang runs,
	// counted from when its minimum runs, before JobFinished is told. A gang that is
	// taken back and placed again starts anew, unless Options.Resume says otherwise.
	// Zero: until it is cancelled.
	Runtime berth.Duration
}

// A Workload gives arrivals in the order of their instants.
type Workload interface {
	// Next returns the next arrival, or false when there are no more.
	Next() (Arrival, bool)
}

// FromSlice returns a workload of arrivals that are in order already.
func FromSlice(arrivals []Arrival) Workload {
	w := slice(arrivals)
	return &w
}

type slice []Arrival

func (s *slice) Next() (Arrival, bool) {
	if len(*s) == 0 {
		return Arrival{}, false
	}
	first := (*s)[0]
	*s = (*s)[1:]
	return first, true
}

// A Checker is told what passes between a simulation and its scheduler, and says what is
// wrong. *check.Checker of package berthtest/check is one; wrap it to assert more.
type Checker interface {
	// Applied and Rejected take an event that the scheduler accepted, or refused with an
	// error.
	Applied(now berth.Time, e berth.Event) error
	Rejected(now berth.Time, e berth.Event, refusal error) error
	// Lost takes what the scheduler says that hardware took, after each fact that it accepted.
	Lost(list []berth.Loss) error
	// Scheduled takes the orders of a pass, before they are carried out.
	Scheduled(now berth.Time, actions []berth.Order) error
	// Restored: the scheduler is now another one, made of a snapshot.
	Restored()
}

// Options say how the simulation goes. The zero value is an executor without
// delays or faults, and a pass after every instant at which something happened.
type Options struct {
	// StartDelay and StopDelay are how long the executor takes to carry out a
	// Bind and a Release.
	StartDelay, StopDelay berth.Duration
	// RepartitionDelay is how long the executor takes to carry out a Repartition.
	RepartitionDelay berth.Duration
	// PassInterval: passes are run at multiples of it. Zero: after every instant at
	// which something happened. Either way no pass is run when there is nothing to do:
	// nothing was told since the last one, and NextWake of the scheduler is later.
	PassInterval berth.Duration
	// Resume: a gang goes on from its last checkpoint in its next life, after
	// Checkpoint.RestartCost of its job: the one that it was asked for, or the last that it wrote
	// unasked, every Checkpoint.Interval. Otherwise it starts anew.
	Resume bool
	// Faults to make, from Seed.
	Faults Faults
	Seed   uint64
	// Restore makes a scheduler of a snapshot, for Faults.Restore. Nil: core.Restore, for
	// a *core.Core alone.
	Restore func(snapshot []byte) (berth.Scheduler, error)

	// CarryOut takes the orders in the place of the pretend executor, which then has nothing to
	// do: what becomes of an order is told by Simulation.Tell, now or at an instant that
	// Simulation.At is asked for. Of the Faults those of the executor do not happen. Nil: the
	// pretend executor carries orders out.
	CarryOut func(berth.Order) error
	// Passed is called after each pass, when its orders have been taken.
	Passed func() error

	// Checker is told everything that passes; what it finds wrong ends the run. Nil:
	// nothing is checked.
	Checker Checker
	// Applied sees every event that was told, with the scheduler's refusal or nil.
	Applied func(now berth.Time, e berth.Event, err error)
	// Scheduled sees the orders of every pass, also of one without orders.
	Scheduled func(now berth.Time, actions []berth.Order)
	// Restored sees every restore, before anything is asked of the new scheduler.
	Restored func(now berth.Time)
	// Stopped sees the end of every life of a gang that has a run time, but of those that were
	// cancelled: for how long its minimum ran, and how much of the run time that brought. The
	// difference is lost: work that is to be done again, and restarts.
	Stopped func(now berth.Time, job berth.JobID, ran, brought berth.Duration)
}

// Faults are probabilities, from 0 to 1.
type Faults struct {
	// Of each Bind: no member starts; some do not start.
	BindFail, BindPartial float64
	// Of each Release: no member stops at the first try; some do not.
	ReleaseFail, ReleasePartial float64
	// Of each Repartition: it fails, and so do the members that need it; it is done, and
	// reported as failed at first.
	RepartitionFail, ReportWrong float64
	// Of each RequestCheckpoint: no checkpoint is written. Of each Withdraw: the checkpoint
	// was written by then, and that is reported after it.
	CheckpointFail, WithdrawLate float64
	// Of each order: the report never comes; it comes late, perhaps after the
	// deadline or after later ones; it comes twice.
	ReportLost, ReportLate, ReportDouble float64
	// Of each order that ended without a fault: a report about an order or a life that
	// is over comes after it.
	ReportOld float64

	// Of each pass: up to three members of some gang die; all of them die, as by an NCCL abort,
	// which is told in one report or in one for each, and of half of which it is known what is
	// to blame; a node is lost; a GPU fails; the driver
	// reports an Xid of any kind about a GPU; a node is cordoned, or drained. Nodes and GPUs
	// come back after a while, between half of Outage and one and a half; two in three of the
	// nodes that are drained are to be empty half of that earlier, on average.
	MemberDie, GangDie, NodeLost, GPUFail, Xid, Cordon, Drain float64
	// Of each pass: a node goes for good, or one time in four all nodes of its pool, and others
	// come with as many GPUs, at once or after an outage. They differ in one thing: GPUs of another
	// kind that has been in the fleet, more or less memory of GPUs, NVLink, the host, the pool, or
	// where they stand; half of the time they have the names of those that went.
	Swap float64
	// Outage is how long hardware stays away on average; zero: 10 minutes.
	Outage berth.Duration

	// Of each call of the scheduler: it is replaced by one made of its Snapshot before.
	Restore float64

	// Until is when faults stop; zero: never. What is away then still comes back.
	Until berth.Time
}
