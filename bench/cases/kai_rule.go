package cases

import "slices"

// The rules that differences of KAI's scenarios come under. Each is told from the
// scenario, what it expects and what the core did.
const (
	// ruleOutOfModel: the scenario asks for what the core has no word for.
	ruleOutOfModel = "out of model"
	// ruleUnsupported: it asks for what this version refuses.
	ruleUnsupported = "unsupported"
	// ruleAlike: all is as expected but for nodes, and as much is left whole.
	ruleAlike = "alike"
	// ruleSubgroups: the core starts the sub-groups that suffice by minSubGroup; KAI none.
	ruleSubgroups = "minSubGroup"
)

// rule finds the rule that a difference comes under, or "".
func (c *kaiCase) rule(w *kaiWorld) string {
	if rule := c.yieldRule(w); rule != "" {
		return rule
	}
	if c.sameButPlaces(w) {
		switch ours, theirs := c.broken(w.places()), c.broken(c.expectedPlaces()); {
		case ours < theirs:
			return ruleWhole
		case ours == theirs:
			return ruleAlike
		}
		return ""
	}
	more, fewer := c.apart(w)
	if len(fewer) == 0 && c.all(more, func(j int) bool {
		return c.Jobs[j].Subgroups.choosy() && c.expected(j).State == kaiPending
	}) {
		return ruleSubgroups
	}
	return ""
}

// usedAtStart is what the jobs of a queue, and of those below it, run on when the scenario
// starts.
func (c *kaiCase) usedAtStart(queue int) int64 {
	used := int64(0)
	for i := range c.Jobs {
		if !slices.Contains(c.path(c.Jobs[i].Queue), queue) {
			continue
		}
		for k := range c.Jobs[i].Tasks {
			if t := &c.Jobs[i].Tasks[k]; t.running() {
				used += milli(t.GPUs)
			}
		}
	}
	return used
}

// path lists a queue and those above it.
func (c *kaiCase) path(queue string) []int {
	var list []int
	for ; queue != ""; queue = c.Queues[list[len(list)-1]].Parent {
		list = append(list, c.queue(queue))
	}
	return list
}

// apart lists the jobs of which more pods run than expected, and fewer.
func (c *kaiCase) apart(w *kaiWorld) (more, fewer []int) {
	for i := range c.Expect {
		j := c.job(c.Expect[i].Job)
		out := w.outcome(j)
		switch {
		case out.pods > c.Expect[i].Running:
			more = append(more, j)
		case out.pods < c.Expect[i].Running:
			fewer = append(fewer, j)
		}
	}
	return more, fewer
}

func (c *kaiCase) all(jobs []int, test func(int) bool) bool {
	return len(jobs) > 0 && !slices.ContainsFunc(jobs, func(j int) bool { return !test(j) })
}

// expected is what is expected of a job; nil: nothing.
func (c *kaiCase) expected(job int) *kaiExpect {
	at := slices.IndexFunc(c.Expect, func(e kaiExpect) bool { return e.Job == c.Jobs[job].Name })
	if at < 0 {
		return nil
	}
	return &c.Expect[at]
}

// choosy reports whether a job needs only some of its sub-groups.
func (s *kaiSubgroup) choosy() bool {
	return s != nil && (s.MinSubGroup != nil && *s.MinSubGroup < len(s.Children) ||
		slices.ContainsFunc(s.Children, func(c kaiSubgroup) bool { return c.choosy() }))
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
