package cases

import (
	"fmt"
	"math"
	"strings"

	"github.com/berth-sched/berth"
)

func (c *kaiCase) run() Result {
	r := Result{ID: c.ID, Name: c.Name, Kind: c.kind()}
	w, wrong := c.world()
	if wrong != nil {
		wrong.Case = c.ID
		r.Detail, r.Rule, r.Err = wrong.Error(), wrong.rule(), wrong
		return r
	}
	r.Detail = w.replay()
	r.Agree = r.Detail == ""
	if !r.Agree {
		r.Rule, r.Sums = c.rule(w)
	}
	return r
}

// replay runs the rounds and returns the first difference.
func (w *kaiWorld) replay() string {
	for range w.c.Rounds {
		if _, err := w.round(); err != nil {
			return err.Error()
		}
	}
	if wrong := w.compare(); wrong != "" {
		return wrong
	}
	for i := range w.c.StableRounds {
		ordered, err := w.round()
		if err != nil {
			return err.Error()
		}
		if wrong := w.compare(); wrong != "" {
			return fmt.Sprintf("%d rounds later: %s", i+1, wrong)
		}
		if ordered {
			return fmt.Sprintf("%d rounds later there are still orders", i+1)
		}
	}
	return ""
}

// compare returns the first job that is not as expected.
func (w *kaiWorld) compare() string {
	for i := range w.c.Expect {
		e := &w.c.Expect[i]
		have := w.outcome(w.c.job(e.Job))
		if wrong := have.differs(e, w.c); wrong != "" {
			return e.Job + ": " + wrong
		}
	}
	return ""
}

// A kaiOutcome is what became of a job.
type kaiOutcome struct {
	state string
	pods  int
	gpus  float64
	nodes []string       // one for each pod that runs
	tasks map[int]string // the nodes by task
}

func (w *kaiWorld) outcome(job int) kaiOutcome {
	out := kaiOutcome{tasks: map[int]string{}}
	for i := range w.gangs {
		g := &w.gangs[i]
		if g.of != job {
			continue
		}
		for k := range g.parts {
			p := &g.parts[k]
			for n, task := range p.tasks {
				at, runs := w.running[g.job.ID][berth.MemberRef{Group: g.job.Groups[k].Name, Index: n * p.per}]
				if runs {
					out.pods++
					out.gpus += w.c.Jobs[job].Tasks[task].GPUs
					out.nodes = append(out.nodes, string(at.Node))
					out.tasks[task] = string(at.Node)
				}
			}
		}
	}
	switch out.pods {
	case 0:
		out.state = kaiPending
	case len(w.c.Jobs[job].Tasks):
		out.state = kaiRunning
	default:
		out.state = kaiPartial
	}
	return out
}

// differs says how an outcome differs from what is expected, or "".
func (o *kaiOutcome) differs(e *kaiExpect, c *kaiCase) string {
	switch {
	case o.state != e.State:
		return fmt.Sprintf("is %s; KAI: %s", o.state, e.State)
	case o.pods != e.Running:
		return fmt.Sprintf("%d pods run; KAI: %d", o.pods, e.Running)
	case math.Abs(o.gpus-e.GPUs) > 1e-6:
		return fmt.Sprintf("has %v GPUs; KAI: %v", o.gpus, e.GPUs)
	}
	for _, n := range o.nodes {
		if e.Node != "" && n != e.Node {
			return fmt.Sprintf("is on %s; KAI: %s", strings.Join(o.nodes, " "), e.Node)
		}
		if e.SameDomain != "" && c.Nodes[c.node(n)].Labels[e.SameDomain] != c.Nodes[c.node(o.nodes[0])].Labels[e.SameDomain] {
			return fmt.Sprintf("is in several domains of %s", e.SameDomain)
		}
	}
	return ""
}
