package scale

import "github.com/berth-sched/berth/gang"

// A decision places something and gives something back.
type decision func() bool

// placing places a request and gives the same back.
func placing(tb builder, gpus int, members, each int) decision {
	free := fill(gpus)
	if members > 1 {
		free = fillForGang(gpus)
	}
	fleet, _ := newFleet(tb, free)
	request, placement := gangOf(members, each), gang.Placement{}
	return func() bool { return fleet.Place(request, &placement) && fleet.ReleaseAll(&placement) == nil }
}
