package sim_test

import (
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Selectors hold: a member goes to no node with a taint that it does not tolerate, and a member
// that runs stays when its node is tainted.
func TestTaintedFleets(t *testing.T) {
	t.Parallel()
	cases := map[string]int{}
	for seed := range drawn.Seeds(6) {
		config, options, list := worlds.NewGenerator(seed).Tainted()
		r := worlds.RunOf(config, options, list)
		must(t, r, seed)
		countTaints(r.Log, cases)
		tellAgain(t, config, r.Log, seed)
	}
	t.Logf("%v", cases)
	covers(t, cases, onTainted, taintedBelow)
}

const (
	onTainted    = "a member goes to a tainted node"
	taintedBelow = "a node is tainted below a member that does not tolerate it"
)

func countTaints(log []worlds.Step, cases map[string]int) {
	taints, jobs, on := map[berth.NodeID][]berth.Taint{}, map[berth.JobID]berth.Job{}, map[berth.NodeID]berth.JobID{}
	for i := range log {
		if log[i].Refused != nil {
			continue
		}
		switch e := log[i].Event.(type) {
		case berth.NodeJoined:
			taints[e.Node.ID] = e.Node.Taints
			delete(on, e.Node.ID)
		case berth.NodeUpdated:
			taints[e.Node.ID] = e.Node.Taints
			if j, runs := jobs[on[e.Node.ID]]; runs && len(e.Node.Taints) > 0 && len(j.Groups[0].Selector.Tolerations) == 0 {
				cases[taintedBelow]++
			}
		case berth.JobSubmitted:
			jobs[e.Job.ID] = e.Job
		case berth.JobFinished:
			delete(jobs, e.Job)
		}
		for _, order := range log[i].Actions {
			bind, _ := order.(berth.Bind)
			for _, m := range bind.Members {
				on[m.Node] = bind.Job
				if len(taints[m.Node]) > 0 {
					cases[onTainted]++
				}
			}
		}
	}
}
