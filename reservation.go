package berth

// A Reservation sets nodes aside for a time. Exactly one of Nodes, Domain and GPUs
// says which.
type Reservation struct {
	ID ReservationID `json:"id"`
	// From and Until bound the time. At Until the reservation ends by itself.
	From  Time `json:"from"`
	Until Time `json:"until"`
	// Every is how long after From the reservation begins again, with the same span: 24h for each
	// night, 168h for each week. Zero: it does not. It is longer than the span, and the reservation
	// comes back until it is removed. From and Until are then those of any occurrence, also of one
	// that is past, and the core goes by the one that is not over. A job is placed there only if it
	// ends before that one begins, and when it is over, the next pass goes by the one after it: so
	// the nodes are open to what is over before that. The nodes of one by number of GPUs stay the
	// same ones. The calendar is the embedder's: an instant that moves with daylight saving time is
	// told anew by [ReservationSet].
	Every Duration `json:"every,omitempty"`
	// Queue that may use the nodes at any time, with the queues below it; empty: none, as for
	// maintenance.
	Queue QueueID `json:"queue,omitempty"`
	// Nodes by name. Those that are not in the fleet are passed over until they join.
	Nodes []NodeID `json:"nodes,omitempty"`
	// Domain is the path of one: all nodes at or below it, also those that join
	// later.
	Domain []string `json:"domain,omitempty"`
	// GPUs is a number of them; the core picks whole nodes, those that are free
	// soonest first, in one domain of the required level.
	GPUs int `json:"gpus,omitempty"`
	// Selector and Required narrow the choice of GPUs: which nodes, and the level of the one
	// domain that they are in.
	Selector Selector `json:"selector,omitzero"`
	Required string   `json:"required,omitempty"`
	// Clear has the nodes empty at From of all that is not of Queue: as if they were drained by
	// Policy.ReleaseTimeout before From (see [NodeDraining]), gangs leave for another place that is
	// kept for them or, without one, wait. That begins when there is just the time left that a
	// checkpoint may take in any class (Preemption.CheckpointTimeout, Preemption.Grace). A job is
	// placed there only if it is expected to end before that. A reservation that is told later
	// leaves its jobs what time is left or, if Policy.ReleaseTimeout before From has passed, their
	// whole time. If it is removed or changed, gangs that were asked to leave and need not any more
	// go on. False: what runs there at From runs on.
	Clear bool `json:"clear,omitempty"`
	// Reason is for people.
	Reason string `json:"reason,omitempty"`
}
