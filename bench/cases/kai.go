package cases

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// A kaiCase is a scenario of the KAI scheduler. What its words become:
//
//   - a queue's quota is its Guarantee and its overQuotaWeight its Weight (kai_queue.go);
//     preemptible: false is the class latency-critical, and may not borrow. As KAI never stops it
//     for another, whatever its queue uses, it has a MinRuntime that does not end: the class
//     alone would give back what is over the guarantee of its queue.
//   - a node's gpus are GPUs, its mig instances are GPUs in GPUModeMIG (kai_node.go).
//   - a job is a gang: minAvailable is Group.MinMembers, sub-groups are groups, a fraction is
//     a share of one tenant (kai_gang.go).
//   - pods that run are told as JobObserved, those that wait as JobSubmitted, in the order
//     of created and at that time. What is being evicted when the scenario starts is
//     pending: its pods leave at once.
//   - a round is passes until nothing more is ordered, everything ordered being carried
//     out and reported at once (kai_world.go).
//
// Compared are the fields that the file says are required, after rounds and after each
// of the stable_rounds that follow, in which nothing may be ordered (kai_judge.go).
type kaiCase struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Kind         string        `json:"kind"`
	Nodes        []kaiNode     `json:"nodes"`
	Queues       []kaiQueue    `json:"queues"`
	Topologies   []kaiTopology `json:"topologies"`
	Jobs         []kaiJob      `json:"jobs"`
	Expect       []kaiExpect   `json:"expect"`
	Rounds       int           `json:"rounds"`
	StableRounds int           `json:"stable_rounds"`
	// Asserted is what KAI's own test asserts of one action: see asserts.
	Asserted []string `json:"kai_asserted"`

	// Notes for people.
	Origin  json.RawMessage `json:"origin"`
	Source  json.RawMessage `json:"expect_source"`
	Needs   json.RawMessage `json:"needs"`
	Note    json.RawMessage `json:"note"`
	Core    json.RawMessage `json:"core"`
	Curated json.RawMessage `json:"curated"`
}

type kaiNode struct {
	Name        string            `json:"name"`
	GPUs        int               `json:"gpus"`
	MIG         map[string]int    `json:"mig"`
	MIGStrategy string            `json:"migStrategy"`
	Labels      map[string]string `json:"labels"`
}

type kaiQueue struct {
	Name   string  `json:"name"`
	Parent string  `json:"parent"`
	Quota  float64 `json:"quota"`
	Limit  float64 `json:"limit"`
	Weight float64 `json:"overQuotaWeight"`
	// Priority between siblings; 100 where it is absent.
	Priority *int32 `json:"priority"`
}

type kaiTopology struct {
	Name   string   `json:"name"`
	Levels []string `json:"levels"`
}

type kaiJob struct {
	Name         string         `json:"name"`
	Queue        string         `json:"queue"`
	Priority     int32          `json:"priority"`
	Preemptible  bool           `json:"preemptible"`
	MinAvailable *int           `json:"minAvailable"`
	Created      int            `json:"created"`
	Subgroups    *kaiSubgroup   `json:"subgroups"`
	Constraint   *kaiConstraint `json:"constraint"`
	Tasks        []kaiTask      `json:"tasks"`
}

type kaiSubgroup struct {
	Name         string         `json:"name"`
	MinAvailable *int           `json:"minAvailable"`
	MinSubGroup  *int           `json:"minSubGroup"`
	Constraint   *kaiConstraint `json:"constraint"`
	Children     []kaiSubgroup  `json:"children"`
}

type kaiConstraint struct {
	Topology  string `json:"topology"`
	Required  string `json:"required"`
	Preferred string `json:"preferred"`
}

type kaiTask struct {
	GPUs      float64        `json:"gpus"`
	MIG       map[string]int `json:"mig"`
	State     string         `json:"state"`
	Node      string         `json:"node"`
	Subgroup  string         `json:"subgroup"`
	GPUGroups []string       `json:"gpuGroups"`
	// NodeAffinity names nodes, or values of labels, any of which will do.
	NodeAffinity []string `json:"nodeAffinity"`
	Priority     int      `json:"priority"`
}

type kaiExpect struct {
	Job        string  `json:"job"`
	State      string  `json:"state"`
	Running    int     `json:"running_pods"`
	GPUs       float64 `json:"gpus_placed"`
	Node       string  `json:"node"`
	SameDomain string  `json:"same_domain"`

	// What KAI did, which is no requirement.
	Evicted int      `json:"evicted_pods"`
	Nodes   []string `json:"nodes_observed"`
}

const (
	kaiRunning = "running"
	kaiPending = "pending"
	kaiPartial = "partial"

	maxKAIRounds = 100
	maxKAIAmount = 1 << 20
	maxKAITasks  = 4096
)

func (c *kaiCase) id() string { return c.ID }

// check refuses what the rest of this package relies on not to be there.
func (c *kaiCase) check() *Error {
	if c.Rounds < 0 || c.Rounds > maxKAIRounds || c.StableRounds < 0 || c.StableRounds > maxKAIRounds {
		return malformed("rounds", fmt.Sprintf("%d and %d are not from 0 to %d", c.Rounds, c.StableRounds, maxKAIRounds))
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		at := fmt.Sprintf("nodes[%d]", i)
		if n.GPUs < 0 || n.GPUs > maxKAIAmount {
			return malformed(at+".gpus", fmt.Sprintf("%d is out of range", n.GPUs))
		}
		if c.node(n.Name) != i {
			return malformed(at+".name", fmt.Sprintf("%q is doubled", n.Name))
		}
	}
	for i := range c.Queues {
		if err := c.checkQueue(i); err != nil {
			return err
		}
	}
	for i := range c.Jobs {
		if err := c.checkJob(i); err != nil {
			return err
		}
	}
	for i := range c.Expect {
		at, e := fmt.Sprintf("expect[%d]", i), &c.Expect[i]
		if c.job(e.Job) < 0 {
			return malformed(at+".job", fmt.Sprintf("there is no job %q", e.Job))
		}
		if e.State != kaiRunning && e.State != kaiPending && e.State != kaiPartial {
			return malformed(at+".state", fmt.Sprintf("%q is none of running, pending, partial", e.State))
		}
	}
	return nil
}

func (c *kaiCase) checkQueue(i int) *Error {
	q, at := &c.Queues[i], fmt.Sprintf("queues[%d]", i)
	if c.queue(q.Name) != i {
		return malformed(at+".name", fmt.Sprintf("%q is doubled", q.Name))
	}
	if q.Parent != "" && (c.queue(q.Parent) < 0 || c.queue(q.Parent) >= i) {
		return malformed(at+".parent", fmt.Sprintf("%q is not a queue before it", q.Parent))
	}
	if p := q.Priority; p != nil && (*p < -maxKAIAmount || *p > maxKAIAmount) {
		return malformed(at+".priority", fmt.Sprintf("%d is out of range", *p))
	}
	for _, amount := range []float64{q.Quota, q.Limit, q.Weight} {
		if math.IsNaN(amount) || amount > maxKAIAmount {
			return malformed(at, fmt.Sprintf("%v is out of range", amount))
		}
	}
	return nil
}

func (c *kaiCase) checkJob(i int) *Error {
	j, at := &c.Jobs[i], fmt.Sprintf("jobs[%d]", i)
	switch {
	case c.job(j.Name) != i:
		return malformed(at+".name", fmt.Sprintf("%q is doubled", j.Name))
	case c.queue(j.Queue) < 0:
		return malformed(at+".queue", fmt.Sprintf("there is no queue %q", j.Queue))
	case len(j.Tasks) == 0 || len(j.Tasks) > maxKAITasks:
		return malformed(at+".tasks", fmt.Sprintf("%d are not from 1 to %d", len(j.Tasks), maxKAITasks))
	case j.Created < -maxKAIAmount || j.Created > maxKAIAmount:
		return malformed(at+".created", fmt.Sprintf("%d is out of range", j.Created))
	}
	for k := range j.Tasks {
		t, at := &j.Tasks[k], fmt.Sprintf("%s.tasks[%d]", at, k)
		switch {
		case t.GPUs < 0 || t.GPUs > maxKAIAmount:
			return malformed(at+".gpus", fmt.Sprintf("%v is out of range", t.GPUs))
		case t.running() && c.node(t.Node) < 0:
			return malformed(at+".node", fmt.Sprintf("there is no node %q", t.Node))
		case !slices.Contains([]string{kaiRunning, kaiPending, "releasing", "pipelined"}, t.State):
			return malformed(at+".state", fmt.Sprintf("%q is none of running, pending, releasing, pipelined", t.State))
		}
		for profile, n := range t.MIG {
			if n < 0 || n > maxKAITasks {
				return malformed(at+".mig", fmt.Sprintf("%d of %s is out of range", n, profile))
			}
		}
	}
	return nil
}

func (c *kaiCase) node(name string) int {
	return slices.IndexFunc(c.Nodes, func(n kaiNode) bool { return n.Name == name })
}

func (c *kaiCase) queue(name string) int {
	return slices.IndexFunc(c.Queues, func(q kaiQueue) bool { return q.Name == name })
}

func (c *kaiCase) job(name string) int {
	return slices.IndexFunc(c.Jobs, func(j kaiJob) bool { return j.Name == name })
}

func (t *kaiTask) running() bool { return t.State == kaiRunning }
