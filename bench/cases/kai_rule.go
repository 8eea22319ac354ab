package cases

import (
	"fmt"
	"slices"
	"strings"
)

// The rules that differences of KAI's scenarios come under, beside those of exchange.go and
// kai_grow.go. Each is told from the scenario, what it expects and what the core did.
const (
	// ruleOutOfModel: the scenario asks for what the core has no word for.
	ruleOutOfModel = "out of model"
	// ruleAsserted: the end is that which KAI's own test asserts of one action, though KAI itself
	// undoes it in the cycles that follow, of which the file tells.
	ruleAsserted = "asserted"
	// ruleWhole: all is as expected but for nodes, and more is left whole; ruleAlike: as much.
	ruleWhole = "whole"
	ruleAlike = "alike"
)

// rule finds the rule that a difference comes under, and the sums that tell, or "".
func (c *kaiCase) rule(w *kaiWorld) (rule, sums string) {
	switch {
	case c.asserts(w):
		return ruleAsserted, strings.Join(c.Asserted, ", ")
	case c.sameButPlaces(w):
		mine, their := c.broken(w.places()), c.broken(c.expectedPlaces())
		sums = fmt.Sprintf("%d GPUs in domains that are used in part; with theirs %d", mine, their)
		switch {
		case mine < their:
			return ruleWhole, sums
		case mine == their:
			return ruleAlike, sums
		}
		return "", ""
	case c.divided(): // not told in GPUs
		return "", ""
	case c.needsMoves(w):
		return ruleMoves, ""
	}
	x, ok := w.exchange()
	if !ok {
		return "", ""
	}
	if sums, does := w.growsByLoss(x); does {
		return ruleElastic, sums
	}
	if rule, sums = x.weigh(); rule != "" {
		sums = fmt.Sprintf("stops %s; theirs %s; %s", orNobody(names(x.stopped(ours))), orNobody(names(x.stopped(theirs))), sums)
	}
	return rule, sums
}

// asserts reports whether all that KAI's own test asserts is so in the end. A line says of a job
// or a task "task NAME-INDEX: STATE node=NODE"; what is bound, or is to be, runs in the end.
func (c *kaiCase) asserts(w *kaiWorld) bool {
	return len(c.Asserted) > 0 && !slices.ContainsFunc(c.Asserted, func(line string) bool {
		name, state, found := strings.Cut(line, ": ")
		kind, name, named := strings.Cut(name, " ")
		state, node, placed := strings.Cut(state, " node=")
		if !found || !named || !placed {
			return true
		}
		task := -1
		if at := strings.LastIndex(name, "-"); kind == "task" && at >= 0 {
			if _, err := fmt.Sscanf(name[at:], "-%d", &task); err != nil {
				return true
			}
			name = name[:at]
		}
		job := slices.IndexFunc(c.Jobs, func(j kaiJob) bool { return j.Name == name })
		if job < 0 || kind == "task" && (task < 0 || task >= len(c.Jobs[job].Tasks)) {
			return true
		}
		out := w.outcome(job)
		nodes, all := out.nodes, len(c.Jobs[job].Tasks)
		if kind == "task" {
			nodes, all = nil, 1
			if at, runs := out.tasks[task]; runs {
				nodes = []string{at}
			}
		}
		runs := state == "running" || state == "binding" || state == "pipelined"
		return runs && (len(nodes) != all || slices.ContainsFunc(nodes, func(n string) bool { return fmt.Sprintf("%q", n) != node && node != `""` })) ||
			!runs && len(nodes) > 0
	})
}

// expected is what is expected of a job; nil: nothing.
func (c *kaiCase) expected(job int) *kaiExpect {
	at := slices.IndexFunc(c.Expect, func(e kaiExpect) bool { return e.Job == c.Jobs[job].Name })
	if at < 0 {
		return nil
	}
	return &c.Expect[at]
}

// sameButPlaces reports whether all is as expected but for the nodes, and no pod is
// outside the domain that it should be in.
func (c *kaiCase) sameButPlaces(w *kaiWorld) bool {
	return !slices.ContainsFunc(c.Expect, func(e kaiExpect) bool {
		e.Node = ""
		out := w.outcome(c.job(e.Job))
		return out.differs(&e, c) != ""
	})
}

// places is how many GPUs are in use by node.
func (w *kaiWorld) places() map[string]float64 {
	on := map[string]float64{}
	for i := range w.c.Expect {
		out := w.outcome(w.c.job(w.c.Expect[i].Job))
		for _, n := range out.nodes {
			on[n] += out.gpus / float64(out.pods)
		}
	}
	return on
}

// expectedPlaces is how many are with KAI, as far as the file says.
func (c *kaiCase) expectedPlaces() map[string]float64 {
	on := map[string]float64{}
	for i := range c.Expect {
		e := &c.Expect[i]
		if e.Node != "" {
			on[e.Node] += e.GPUs
			continue
		}
		for _, n := range e.Nodes {
			on[n] += e.GPUs / float64(len(e.Nodes))
		}
	}
	return on
}

// broken sums the GPUs of the domains of all levels, nodes among them, of which a part
// is used and a part is not: what is no more there for a gang that wants one whole.
func (c *kaiCase) broken(on map[string]float64) int {
	keys := []string{hostname}
	if levels, err := c.levels(); err == nil {
		keys = append(keys, levels...)
	}
	total := 0
	for _, key := range keys {
		gpus, used := map[string]int{}, map[string]float64{}
		for i := range c.Nodes {
			n := &c.Nodes[i]
			gpus[n.domain(key)] += n.GPUs
			used[n.domain(key)] += on[n.Name]
		}
		for domain, all := range gpus {
			if used[domain] > 1e-6 && used[domain] < float64(all)-1e-6 {
				total += all
			}
		}
	}
	return total
}
