package sim_test

import (
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// S1: members of a node hold no more of a declared resource than it has, and what a queue uses of
// it stays within its limit.
func TestDeclaredResources(t *testing.T) {
	t.Parallel()
	cases := map[string]int{}
	for seed := range drawn.Seeds(6) {
		config, options, list := worlds.NewGenerator(seed).Declared()
		r := worlds.RunOf(config, options, list)
		must(t, r, seed)
		countDeclared(r.Log, cases)
		tellAgain(t, config, r.Log, seed)
	}
	t.Logf("%v", cases)
	covers(t, cases, withDeclared, fullOfDeclared, lessDeclared)
}

const (
	withDeclared   = "a member has declared resources"
	fullOfDeclared = "members hold all that a node has of one"
	lessDeclared   = "a node has less than its members hold"
)

// countDeclared counts as if nothing was ever given back: it is about what happens, roughly.
func countDeclared(log []worlds.Step, cases map[string]int) {
	jobs, has, held := map[berth.JobID]berth.Job{}, map[berth.NodeID]int64{}, map[berth.NodeID]int64{}
	for i := range log {
		if log[i].Refused != nil {
			continue
		}
		switch e := log[i].Event.(type) {
		case berth.NodeJoined:
			has[e.Node.ID], held[e.Node.ID] = e.Node.Resources[worlds.Vfs], 0
		case berth.NodeUpdated:
			if has[e.Node.ID] = e.Node.Resources[worlds.Vfs]; has[e.Node.ID] < held[e.Node.ID] {
				cases[lessDeclared]++
			}
		case berth.JobSubmitted:
			jobs[e.Job.ID] = e.Job
		}
		for _, order := range log[i].Actions {
			bind, _ := order.(berth.Bind)
			for _, m := range bind.Members {
				for _, g := range jobs[bind.Job].Groups {
					if g.Name != m.Group || len(g.Claim.Resources) == 0 {
						continue
					}
					cases[withDeclared]++
					if held[m.Node] += g.Claim.Resources[worlds.Vfs]; held[m.Node] == has[m.Node] && held[m.Node] > 0 {
						cases[fullOfDeclared]++
					}
				}
			}
		}
	}
}
