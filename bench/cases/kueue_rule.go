package cases

import "github.com/berth-sched/berth"

// ruleFits: the core admits the workload and stops nobody for it.
const ruleFits = "fits"

// rule finds the rule that a difference comes under, or "".
func (c *kueueCase) rule(w *world, ours, theirs []string) string {
	switch admitted := len(w.running[c.incoming()]) > 0; {
	case admitted && len(ours) == 0:
		return ruleFits
	}
	return ""
}

var _ = berth.Batch
