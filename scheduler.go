package berth

// A Scheduler decides which accelerators each job gets, and when: what the loop of an
// orchestrator needs, and what its tests pretend to be. The type Core of package
// [github.com/berth-sched/berth/core] implements it, and answers more: what it knows of a
// job, a node or a queue, WhatIf, StartPlan, BlastRadius, Ledger, Diff.
//
// None of the methods may be called at the same time as another: a Scheduler is
// a state machine, not a server. Instants never go back from call to call.
type Scheduler interface {
	// Apply tells the core an event. An error means that the event was refused and
	// nothing changed; it wraps one of the sentinels of this package.
	Apply(now Time, e Event) error
	// Schedule runs a pass and returns the orders it gives, in the order of their
	// IDs. The slice is the caller's to keep.
	Schedule(now Time) ([]Order, error)
	// NextWake is the instant at which a pass has something to do even if no event comes.
	// It reports false when only an event can make a difference.
	NextWake() (Time, bool)
	// Lost lists what hardware took since the last pass: no order names it, so the
	// orchestrator cleans it up before it carries out the orders of the next one.
	Lost() []Loss
	// Outstanding returns the orders that are given and not reported, in the order of
	// their IDs. After a restart they are carried out again. Binds are without the members
	// that hardware took, or that died, since.
	Outstanding() []Order
	// Explain tells where a job stands: for each pending replica why, and what
	// would have to change.
	Explain(job JobID) (Explanation, error)
	// Report describes the fleet as it is now.
	Report() FleetReport
	// Snapshot returns the whole state. Restore of package core makes a core of it
	// that behaves as this one would.
	Snapshot() ([]byte, error)
}

// A Loss is what one replica held and lost, because a node or a GPU under it is gone. The core
// counts on it no more, and no order stops it, also where a whole gang went. So the
// orchestrator acts on it: it forgets what it keeps about the members, and stops what is left of
// their processes, before it carries out the orders of the next pass; with a log, before it logs
// that pass, which forgets the loss. What a [GPUFailed] took
// may still run, and the other GPUs that it held are given to others at once.
//
// What the gang has left is the subject of orders, as ever: it goes on, or a [Release] follows.
type Loss struct {
	Job         JobID       `json:"job"`
	Replica     int         `json:"replica,omitempty"`
	Incarnation Incarnation `json:"incarnation"`
	// At is the instant of the event, and Cause says what was lost.
	At    Time  `json:"at"`
	Cause Cause `json:"cause"`
	// Members that were lost, by group and index, with what they held: those that ran, and
	// those that were being started or stopped. One that was reported dead, or not to have started,
	// is not among them, though it may have kept its place until now: see [MemberFailed].
	Members []MemberPlacement `json:"members"`
}
