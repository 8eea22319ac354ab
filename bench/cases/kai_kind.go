package cases

import "slices"

// kind is that of the file, or else what the scenario is about as far as it can be
// told: victims, or what the jobs ask for.
func (c *kaiCase) kind() string {
	if c.Kind != "" {
		return c.Kind
	}
	loser, moved := c.evicted()
	switch {
	case loser >= 0 && c.gains(c.Jobs[loser].Queue):
		return "preempt"
	case loser >= 0:
		return "reclaim"
	case moved:
		return "consolidation"
	}
	for _, feature := range []struct {
		name string
		has  func(*kaiJob) bool
	}{
		{"mig", (*kaiJob).divided},
		{"fraction", func(j *kaiJob) bool {
			return slices.ContainsFunc(j.Tasks, func(t kaiTask) bool { return t.GPUs > 0 && t.GPUs < 1 })
		}},
		{"topology", func(j *kaiJob) bool { return j.Constraint != nil || j.Subgroups.constrained() }},
		{"subgroups", func(j *kaiJob) bool { return j.Subgroups != nil }},
		{"elastic", func(j *kaiJob) bool { return j.MinAvailable != nil && *j.MinAvailable < len(j.Tasks) }},
		{"gang", func(j *kaiJob) bool { return len(j.Tasks) > 1 }},
	} {
		if slices.ContainsFunc(c.Jobs, func(j kaiJob) bool { return feature.has(&j) }) {
			return feature.name
		}
	}
	switch {
	case slices.ContainsFunc(c.Jobs, func(j kaiJob) bool { return j.Queue != c.Jobs[0].Queue }):
		return "fairness"
	case slices.ContainsFunc(c.Jobs, func(j kaiJob) bool { return !j.Preemptible }):
		return "quota"
	}
	return "order"
}

// gains reports whether a job of a queue that waits is expected to run.
func (c *kaiCase) gains(queue string) bool {
	return slices.ContainsFunc(c.Expect, func(e kaiExpect) bool {
		j := &c.Jobs[c.job(e.Job)]
		waiting := slices.ContainsFunc(j.Tasks, func(t kaiTask) bool { return !t.running() })
		return j.Queue == queue && waiting && e.Running > 0
	})
}

func (s *kaiSubgroup) constrained() bool {
	return s != nil && (s.Constraint != nil || slices.ContainsFunc(s.Children, func(c kaiSubgroup) bool { return c.constrained() }))
}

// evicted tells, from what is expected, whether pods that run are lost to others, and
// the first job that loses some, or -1, and whether any are moved.
func (c *kaiCase) evicted() (loser int, moved bool) {
	loser = -1
	for i := range c.Expect {
		e := &c.Expect[i]
		j := c.job(e.Job)
		var nodes []string
		for k := range c.Jobs[j].Tasks {
			if t := &c.Jobs[j].Tasks[k]; t.running() {
				nodes = append(nodes, t.Node)
			}
		}
		if (e.Running < len(nodes) || e.Evicted > 0) && loser < 0 {
			loser = j
		}
		moved = moved || e.Evicted > 0
		for _, n := range nodes {
			if e.Node != "" && n != e.Node || len(e.Nodes) > 0 && !slices.Contains(e.Nodes, n) {
				moved = true
			}
		}
	}
	return loser, moved
}
