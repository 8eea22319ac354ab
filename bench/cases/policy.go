package cases

import "github.com/berth-sched/berth"

// atOnce is how the schedulers stop what runs whose scenarios are replayed: whoever may take
// from others does so in the next round. None of them weighs what is lost, spares for longer
// who had to yield before, or bounds how many have to in a time; what a scenario says about
// who runs in the end says nothing about when it would have been worth it.
func atOnce() berth.Preemption {
	return berth.Preemption{Respite: -1, Worth: berth.Worth{Unweighed: true, Queueing: -1}}
}
