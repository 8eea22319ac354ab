package core

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
)

// describeKept names nodes that are on trial, or spares, for a reader.
func (c *Core) describeKept(w *window) string {
	if !w.isBurnIn() {
		return fmt.Sprintf("%d nodes that are kept as spares", len(w.nodes))
	}
	first := never
	for _, n := range w.nodes {
		first = min(first, n.trust.Trial)
	}
	return fmt.Sprintf("%d nodes on trial, the first for another %v", len(w.nodes), max(first.Sub(c.now), 0))
}

// withoutKept says what would let an entry onto the nodes that are set aside. Each of the ways
// is named that suffices by itself.
func (c *Core) withoutKept(e *entry, end berth.Time) string {
	s := e.bucket.shape
	enough := func(open func(*window) bool) bool {
		_, short := c.shortOf(e, c.widen(s.spec.Groups, &s.minimum, func(w *window) bool { return c.admits(w, e.rep, end) || open(w) }))
		return !short
	}
	var ways string
	add := func(way string) {
		if ways != "" {
			ways += ", or "
		}
		ways += way
	}
	if enough((*window).isSpares) {
		add("fewer spares in the policy")
	}
	if c.trials != nil && enough((*window).isBurnIn) {
		add("an end of the trial")
	}
	if ways == "" || enough(func(w *window) bool { return !w.isKept() }) {
		add("an end of the reservations in the way")
	}
	return ways
}

// explainProbation adds the nodes that would serve an entry and are on probation.
func (c *Core) explainProbation(e *entry, reason *berth.Reason) {
	count, first := 0, never
	for _, n := range c.watched {
		serves := func(g berth.Group) bool { return keyOf(&n.spec).admits(&g) && n.matchesLabels(labelsOf(&g)) }
		if n.trust.Probation != 0 && !n.Cordoned && slices.ContainsFunc(e.bucket.shape.spec.Groups, serves) {
			count++
			first = min(first, n.trust.Probation)
		}
	}
	if count > 0 {
		reason.Relax += fmt.Sprintf(", or an end of the probation of %d nodes, the first in %v", count, max(first.Sub(c.now), 0))
	}
}

// afterTrials is when all trials are over, if a request would fit now but for those.
func (c *Core) afterTrials(e *entry, request *gang.Request) (last berth.Time, fits bool) {
	if c.trials == nil {
		return 0, false
	}
	for _, n := range c.trials.nodes {
		last = max(last, n.trust.Trial)
	}
	end := c.endIfPlaced(e.rep)
	if !c.find(c.widen(e.bucket.shape.spec.Groups, request, func(w *window) bool { return w.isBurnIn() || c.admits(w, e.rep, end) })) {
		return 0, false
	}
	must(c.fleet.ReleaseAll(&c.placement))
	return last, true
}
