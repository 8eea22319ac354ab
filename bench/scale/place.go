package scale

import "github.com/berth-sched/berth/gang"

// A decision places something and gives something back.
type decision func() bool

// must is a decision for which there is room.
func (d decision) must(tb builder) {
	if !d() {
		tb.Fatal("it does not fit")
	}
}

// placing places a request and gives the same back.
func placing(tb builder, gpus int, members, each int) decision {
	fleet, _ := newFleet(tb, fillFor(gpus, members), []string{"spine", "leaf"}, domains)
	return searching(fleet, gangOf(members, each))
}

func searching(fleet *gang.Fleet, request *gang.Request) decision {
	placement := gang.Placement{}
	return func() bool { return fleet.Place(request, &placement) && fleet.ReleaseAll(&placement) == nil }
}
