package berth

// A Scheduler decides which accelerators each job gets, and when: the part of a
// core that an orchestrator's own tests would pretend to be. The type Core of package
// [github.com/berth-sched/berth/core] implements it, and answers more: NextWake,
// Outstanding, WhatIf, StartPlan, BlastRadius, Ledger, Diff.
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
	// Explain tells where a job stands: for each pending replica why, and what
	// would have to change.
	Explain(job JobID) (Explanation, error)
	// Report describes the fleet as it is now.
	Report() FleetReport
	// Snapshot returns the whole state. Restore of package core makes a core of it
	// that behaves as this one would.
	Snapshot() ([]byte, error)
}
