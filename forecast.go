package berth

import "fmt"

// A Forecast says when a replica that waits is expected to start. It is a guess from what is known
// now, and no promise. Earliest is not after Middle, and Middle not after Late. The zero value:
// unknown, or never.
type Forecast struct {
	// Earliest is when it would start if everything ended as expected, no other job came or was
	// served before it, and each order took until its deadline: victims of a preemption, those that
	// are asked and those that are yet to be, have their whole grace and a whole attempt of their
	// Release. So it is not before what can be, unless a job ends sooner than it said.
	Earliest Time `json:"earliest"`
	// Middle is an instant by which about as many start as do not, and Late one by which about
	// nine in ten do: both count with the jobs that stand before it in its queue, with all that
	// waits, and with its wait so far. How often they hold is measured: see
	// docs/results.md.
	Middle Time `json:"middle"`
	Late   Time `json:"late"`
}

// IsZero reports whether no start is expected.
func (f Forecast) IsZero() bool { return f == Forecast{} }

// String is Middle and Late, and Earliest where that is another instant than Middle, as in
// "2026-01-02T10:30:00.000Z, at the earliest at 2026-01-02T10:00:00.000Z, late at
// 2026-01-02T15:00:00.000Z"; "unset" where no start is expected.
func (f Forecast) String() string {
	switch {
	case f.IsZero():
		return unset
	case f.Earliest == f.Middle:
		return fmt.Sprintf("%v, late at %v", f.Middle, f.Late)
	}
	return fmt.Sprintf("%v, at the earliest at %v, late at %v", f.Middle, f.Earliest, f.Late)
}
