package openb

import "math"

// Options say how a draw is played. The zero value is the published experiment.
type Options struct {
	// Learn has policies learn the mix from what has arrived, instead of being told that of the
	// whole trace. They are told each time there are an eighth more arrivals.
	Learn bool
	// Placed, if not nil, is told of each task and its node, the empty name if it is dropped.
	Placed func(pod, node string)
}

// A Run is what came of a draw under a policy.
type Run struct {
	// Arrived and Placed are numbers of tasks; those that are not placed were dropped.
	Arrived, Placed int
	points          []point
}

// A point is how the fleet stood while so many percent of its GPUs had arrived: sums over the
// arrivals meanwhile.
type point struct {
	arrivals  int
	allocated float64
}

// Allocated is the part of the GPUs that is given to tasks, in percent, while so many percent of
// them had been asked for: the mean over the arrivals meanwhile, rounded to hundredths, as the
// published figures of a seed are. Where no arrival brought the load to just that, it is the
// nearest below with one.
func (r *Run) Allocated(percent int) float64 {
	at := min(percent, len(r.points)-1)
	for at > 0 && r.points[at].arrivals == 0 {
		at--
	}
	if at < 0 || r.points[at].arrivals == 0 {
		return 0
	}
	return hundredths(r.points[at].allocated / float64(r.points[at].arrivals))
}

// Unallocated is the part of the GPUs that is left over then, in percent.
func (r *Run) Unallocated(percent int) float64 { return 100 - r.Allocated(percent) }

// hundredths rounds to them.
func hundredths(x float64) float64 { return math.Round(100*x) / 100 }
