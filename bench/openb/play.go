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

// Percent is how much of the GPUs was asked for at last: At tells of it and of all below.
func (r *Run) Percent() int { return len(r.points) - 1 }

// A Point is how the fleet stood while so many percent of its GPUs had arrived: means over the
// arrivals meanwhile, rounded to hundredths of a percent, as the published figures of a seed are.
type Point struct {
	// Percent of the fleet's GPUs that had been asked for.
	Percent int
	// Allocated is the part of the GPUs that is given to tasks, in percent.
	Allocated float64
	// Fragmented is the part of the GPUs that is free and of no use to typical requests (see
	// bench.Fragmentation), in percent; FragmentedOfFree is it in percent of what is free.
	Fragmented, FragmentedOfFree float64
}

// Unallocated is the part of the GPUs that is left over, in percent.
func (p Point) Unallocated() float64 { return 100 - p.Allocated }

// A point is a Point in the making: sums.
type point struct {
	arrivals                    int
	allocated, fragmented, idle float64
}

// At returns the point of a percent. Where no arrival brought the load to just that, it is the
// nearest below with one.
func (r *Run) At(percent int) Point {
	at := min(percent, len(r.points)-1)
	for at > 0 && r.points[at].arrivals == 0 {
		at--
	}
	p := Point{Percent: percent}
	if at < 0 || r.points[at].arrivals == 0 {
		return p
	}
	sum, n := &r.points[at], float64(r.points[at].arrivals)
	p.Allocated, p.Fragmented, p.FragmentedOfFree = hundredths(sum.allocated/n), hundredths(sum.fragmented/n), hundredths(sum.idle/n)
	return p
}

// hundredths rounds to them.
func hundredths(x float64) float64 { return math.Round(100*x) / 100 }
