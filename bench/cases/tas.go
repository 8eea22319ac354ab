package cases

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// A tasCase is a scenario of Kueue's topology-aware scheduling. What its words become:
//
//   - levels are Config.Levels; a last level "host" is the level "node". Where the last
//     level is not host, several nodes may share a leaf.
//   - required at a level is both Required and Preferred there: the gang goes into the
//     tightest domain of that level, whatever narrower one would hold it. preferred is
//     Preferred alone, unconstrained nothing.
//   - slices become Segments, with slices-only nothing else; options.balanced becomes
//     Balance at the preferred level.
//   - requests of one group are groups of one job. Others are jobs of their own,
//     submitted and placed in the order of the file, which is how the pod sets of a
//     workload are placed. The first that is not placed ends the scenario.
//   - resources are GPUs, host CPU and host memory: see tas_resources.go.
//
// Compared are whether a request is placed, how many of its pods each domain gets and,
// where the file says how many would have fitted, what Explain says to that.
type tasCase struct {
	ID       string       `json:"id"`
	Source   string       `json:"source"`
	Teaches  string       `json:"teaches"`
	Name     string       `json:"name"`
	Options  tasOptions   `json:"options"`
	Levels   []string     `json:"levels"`
	Nodes    []tasNode    `json:"nodes"`
	Requests []tasRequest `json:"requests"`
	Expect   []tasExpect  `json:"expect"`

	resources resources
}

type tasOptions struct {
	// ProfileMixed lets unconstrained requests take the leaves with the least that is
	// free first.
	ProfileMixed bool `json:"profile_mixed"`
	Balanced     bool `json:"balanced"`
}

type tasNode struct {
	Name     string           `json:"name"`
	Path     []string         `json:"path"`
	Capacity map[string]int64 `json:"capacity"`
}

type tasRequest struct {
	Name   string           `json:"name"`
	Count  int              `json:"count"`
	PerPod map[string]int64 `json:"per_pod"`
	Mode   string           `json:"mode"`
	Level  string           `json:"level"`
	Slices []tasSlice       `json:"slices"`
	Group  string           `json:"group"`
}

type tasSlice struct {
	Level string `json:"level"`
	Size  int    `json:"size"`
}

type tasExpect struct {
	Name       string          `json:"name"`
	Assignment []tasAssignment `json:"assignment"`
	Failure    *tasFailure     `json:"failure"`
}

type tasAssignment struct {
	Domain []string `json:"domain"`
	Count  int      `json:"count"`
}

type tasFailure struct {
	Fits    *int   `json:"fits"`
	Of      int    `json:"of"`
	Unit    string `json:"unit"`
	Message string `json:"kueue_message"`
}

const host = "host"

func (c *tasCase) id() string { return c.ID }

// check refuses nothing: what cannot be expressed is found where it is translated.
func (c *tasCase) check() *Error { return nil }

func (c *tasCase) run() Result {
	r := Result{ID: c.ID, Name: c.Name, Kind: c.kind()}
	sched, err := c.fleet()
	if err != nil {
		r.Detail = "cannot be expressed: " + err.Error()
		return r
	}
	c.compare(sched, &r)
	r.Agree = r.Detail == ""
	return r
}

// kind is the mode of the requests, with what else they ask for.
func (c *tasCase) kind() string {
	if len(c.Requests) == 0 {
		return "empty"
	}
	kind := c.Requests[len(c.Requests)-1].Mode
	add := func(set bool, word string) {
		if set {
			kind += ", " + word
		}
	}
	add(c.Options.Balanced, "balanced")
	add(slices.ContainsFunc(c.Requests, func(r tasRequest) bool { return r.Mode != "slices-only" && len(r.Slices) > 0 }), "slices")
	add(slices.ContainsFunc(c.Requests, func(r tasRequest) bool { return r.Group != "" }), "grouped")
	return kind
}

const queueName = "replay"

// fleet makes a core with the nodes of the scenario.
func (c *tasCase) fleet() (*core.Core, error) {
	if err := c.resources.assign(c); err != nil {
		return nil, err
	}
	config := berth.Config{Levels: c.Levels}
	if c.hosts() {
		config.Levels = c.Levels[:len(c.Levels)-1]
	}
	sched, err := core.New(config)
	if err != nil {
		return nil, err
	}
	if err := sched.Apply(0, berth.QueueSet{Queue: quota.Queue{Name: queueName}}); err != nil {
		return nil, err
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if len(n.Path) != len(c.Levels) {
			return nil, fmt.Errorf("the path of %s has %d names for %d levels", n.Name, len(n.Path), len(c.Levels))
		}
		node := c.resources.node(n)
		node.Domains = n.Path[:len(config.Levels)]
		if err := sched.Apply(0, berth.NodeJoined{Node: node}); err != nil {
			return nil, err
		}
	}
	return sched, nil
}

// hosts reports whether the narrowest level is the node itself.
func (c *tasCase) hosts() bool { return len(c.Levels) > 0 && c.Levels[len(c.Levels)-1] == host }

func (c *tasCase) level(name string) string {
	if name == host && c.hosts() {
		return "node"
	}
	return name
}

// compare replays the requests and notes the first difference, with the rule that it comes under.
func (c *tasCase) compare(sched *core.Core, r *Result) {
	for start := 0; start < len(c.Requests); {
		end := start + 1
		for c.Requests[start].Group != "" && end < len(c.Requests) && c.Requests[end].Group == c.Requests[start].Group {
			end++
		}
		if placed := c.replay(sched, c.Requests[start:end], r); r.Detail != "" || !placed {
			return
		}
		start = end
	}
}

// replay submits the job that some requests make together, has a pass place it, and
// compares. It notes the difference, and returns whether the job was placed.
func (c *tasCase) replay(sched *core.Core, requests []tasRequest, r *Result) (placed bool) {
	job, err := c.job(requests)
	if err != nil {
		r.Detail = err.Error()
		return false
	}
	expected := make([]*tasExpect, len(requests))
	for i := range requests {
		at := slices.IndexFunc(c.Expect, func(e tasExpect) bool { return e.Name == requests[i].Name })
		if at < 0 {
			r.Detail = "nothing is expected of " + requests[i].Name
			return false
		}
		expected[i] = &c.Expect[at]
	}
	refused := sched.Apply(sched.Now(), berth.JobSubmitted{Job: job})
	var bind *berth.Bind
	if refused == nil {
		actions, err := sched.Schedule(sched.Now())
		if err != nil {
			r.Detail = err.Error()
			return false
		}
		bind = bindOf(actions, job.ID)
	}
	if bind == nil {
		r.Detail = c.compareFailure(sched, job.ID, requests, expected, refused)
		return false
	}
	c.comparePlaced(bind, requests, expected, r)
	return true
}

// comparePlaced compares a placement, which also has to keep what was asked for.
func (c *tasCase) comparePlaced(bind *berth.Bind, requests []tasRequest, expected []*tasExpect, r *Result) {
	if r.Detail = c.broken(bind, requests); r.Detail != "" {
		return
	}
	var ours, theirs []map[string]int // pods by leaf
	for i := range requests {
		mine, other := c.domains(bind, requests[i].Name), map[string]int{}
		if expected[i].Failure != nil {
			r.Detail = fmt.Sprintf("%s is placed on %s; Kueue places it nowhere", requests[i].Name, describe(mine))
			return
		}
		for _, a := range expected[i].Assignment {
			other[strings.Join(a.Domain, "/")] += a.Count
		}
		ours, theirs = append(ours, mine), append(theirs, other)
		if r.Detail == "" && !maps.Equal(mine, other) {
			r.Detail = fmt.Sprintf("%s: %s; Kueue: %s", requests[i].Name, describe(mine), describe(other))
		}
	}
	if r.Detail != "" {
		r.Rule, r.Sums = c.rule(requests, ours, theirs)
	}
}

func bindOf(actions []berth.Order, id berth.JobID) *berth.Bind {
	for _, action := range actions {
		if bind, ok := action.(berth.Bind); ok && bind.Job == id {
			return &bind
		}
	}
	return nil
}

// job translates requests that are placed together.
func (c *tasCase) job(requests []tasRequest) (berth.Job, error) {
	job := berth.Job{ID: berth.JobID(requests[0].Name), Queue: queueName}
	for i := range requests {
		r := &requests[i]
		group := berth.Group{Name: r.Name, Members: r.Count, Claim: c.resources.claim(r)}
		for _, s := range r.Slices {
			group.Topology.Segments = append(group.Topology.Segments, berth.Segment{Size: s.Size, Level: c.level(s.Level)})
		}
		level := c.level(r.Level)
		switch r.Mode {
		case "required":
			job.Topology.Required, job.Topology.Preferred = level, level
		case "preferred":
			job.Topology.Preferred = level
			if c.Options.Balanced {
				group.Topology.Balance = level
			}
		case "unconstrained", "slices-only":
		default:
			return job, fmt.Errorf("cannot be expressed: the mode %q", r.Mode)
		}
		job.Groups = append(job.Groups, group)
	}
	return job, nil
}

// domains counts the pods of a request by domain, named as in the file.
func (c *tasCase) domains(bind *berth.Bind, request string) map[string]int {
	counts := map[string]int{}
	for i := range bind.Members {
		m := &bind.Members[i]
		if m.Group != request {
			continue
		}
		at := slices.IndexFunc(c.Nodes, func(n tasNode) bool { return n.Name == string(m.Node) })
		counts[c.leaf(&c.Nodes[at])]++
	}
	return counts
}

// describe prints counts by domain in order of name.
func describe(counts map[string]int) string {
	var parts []string
	for domain, n := range counts {
		parts = append(parts, fmt.Sprintf("%s=%d", domain, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// compareFailure compares what is expected with a job that was not placed.
func (c *tasCase) compareFailure(sched *core.Core, id berth.JobID, requests []tasRequest, expected []*tasExpect, refused error) string {
	at := slices.IndexFunc(expected, func(e *tasExpect) bool { return e.Failure != nil })
	if at < 0 {
		why := "not placed"
		if refused != nil {
			why = refused.Error()
		} else if reason := reasonOf(sched, id); reason != nil {
			why = "not placed: " + reason.Text
		}
		return fmt.Sprintf("%s: %s", requests[0].Name, why)
	}
	failure := expected[at].Failure
	if refused != nil { // a job that makes no sense is no outcome of scheduling
		return fmt.Sprintf("%s: refused: %v", requests[at].Name, refused)
	}
	if failure.Fits == nil {
		return ""
	}
	return c.compareFits(reasonOf(sched, id), &requests[at], failure)
}

func reasonOf(sched *core.Core, id berth.JobID) *berth.Reason {
	e, err := sched.Explain(id)
	if err != nil || len(e.Replicas) == 0 {
		return nil
	}
	return e.Replicas[0].Reason
}

// compareFits compares how many pods or slices would have fitted. Explain counts
// members, at the level that is required, or in the fleet.
func (c *tasCase) compareFits(reason *berth.Reason, r *tasRequest, failure *tasFailure) string {
	level := "fleet"
	if r.Mode == "required" {
		level = c.level(r.Level)
	}
	if reason == nil {
		return fmt.Sprintf("%s waits without a reason", r.Name)
	}
	at := slices.IndexFunc(reason.Levels, func(f berth.LevelFinding) bool { return f.Level == level })
	if at < 0 {
		return fmt.Sprintf("%s: Explain has no finding at level %s; Kueue: %d of %d %ss fit", r.Name, level, *failure.Fits, failure.Of, failure.Unit)
	}
	ours, of := reason.Levels[at].MembersFit, r.Count
	if failure.Unit == "slice" && len(r.Slices) > 0 {
		ours, of = ours/r.Slices[0].Size, of/r.Slices[0].Size
	}
	if ours != *failure.Fits || of != failure.Of {
		return fmt.Sprintf("%s: Explain says that %d of %d %ss fit; Kueue: %d of %d", r.Name, ours, of, failure.Unit, *failure.Fits, failure.Of)
	}
	return ""
}
