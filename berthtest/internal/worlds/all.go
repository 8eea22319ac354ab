// Package worlds draws the worlds in which the core is tested, and runs one with the checker at
// every step. A world is a config, the faults of a simulation and what is told when; all of it
// follows from a seed. Its worlds are the same for ever: the golden hashes of berthtest/sim are
// theirs, so a new thing to draw gets a generator of its own, made of an old one.
package worlds

// A Kind is a way to draw a world, by name.
type Kind struct {
	Name string
	Draw Drawing
}

// All are the kinds of tiny worlds that come to rest whatever befalls them.
func All() []Kind {
	return []Kind{
		{"swapping", (*Generator).Swapping},
		{"contended", (*Generator).Contended},
		{"drained", (*Generator).Drained},
		{"moving", (*Generator).Moving},
		{"failing", (*Generator).Failing},
		{"segmented", (*Generator).Segmented},
		{"hectic", (*Generator).Hectic},
		{"swapped", (*Generator).Swapped},
		{"limited", (*Generator).Limited},
		{"lending", (*Generator).Lending},
		{"firm", (*Generator).Firm},
		{"lowered", (*Generator).Lowered},
		{"together", (*Generator).Together},
		{"capped", (*Generator).Capped},
		{"gated", (*Generator).Gated},
		{"crowded", (*Generator).Crowded},
		{"idling", (*Generator).Idling},
		{"recurring", (*Generator).Recurring},
		{"cleared", (*Generator).Cleared},
		{"tainted", (*Generator).Tainted},
		{"optional", (*Generator).Optional},
		{"budgeted", (*Generator).Budgeted},
		{"declared", (*Generator).Declared},
		{"nics", (*Generator).Nics},
		{"parted", (*Generator).Parted},
		{"surging", (*Generator).Surging},
		{"shared", (*Generator).Shared},
		{"switched-off", (*Generator).SwitchedOff},
		{"storm", (*Generator).Storm},
	}
}
