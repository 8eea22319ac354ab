package sim_test

import (
	"slices"
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// tainted is world, in which most nodes have taints, taints come and go while members run, and
// some groups and reservations tolerate them.
func (g *generator) tainted() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.world()
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.NodeJoined:
			e.Node.Taints = g.taints()
			list[i].Event = e
		case berth.JobSubmitted:
			e.Job.Groups = slices.Clone(e.Job.Groups)
			for j := range e.Job.Groups {
				e.Job.Groups[j].Selector.Tolerations = g.tolerations()
			}
			list[i].Event = e
		case berth.ReservationSet:
			e.Reservation.Selector.Tolerations = g.tolerations()
			list[i].Event = e
		}
	}
	g.list = list
	for range 2 * len(g.nodes) {
		n := one(g, g.nodes...)
		n.Taints = g.taints()
		g.at(g.instant(), berth.NodeUpdated{Node: n})
	}
	g.sort()
	return config, options, g.list
}

func (g *generator) taints() []berth.Taint {
	taint := func(key, value string) berth.Taint {
		return berth.Taint{Key: key, Value: value, Effect: berth.TaintNoSchedule}
	}
	return one(
		g, nil, nil, []berth.Taint{taint("spot", "")}, []berth.Taint{taint("dedicated", "ml")}, []berth.Taint{taint("dedicated", "web")},
		[]berth.Taint{taint("spot", ""), taint("dedicated", "ml")}, []berth.Taint{taint("dedicated", "ml"), taint("spot", "")},
	)
}

func (g *generator) tolerations() []berth.Toleration {
	spot, ml := berth.Toleration{Key: "spot"}, berth.Toleration{Key: "dedicated", Value: "ml", Effect: berth.TaintNoSchedule}
	dedicated, all := berth.Toleration{Key: "dedicated", Operator: berth.TolerationExists}, berth.Toleration{Operator: berth.TolerationExists}
	return one(g, nil, []berth.Toleration{spot}, []berth.Toleration{ml}, []berth.Toleration{dedicated, spot}, []berth.Toleration{all}, []berth.Toleration{ml, spot})
}

// Selectors hold: a member goes to no node with a taint that it does not tolerate, and a member
// that runs stays when its node is tainted.
func TestTaintedFleets(t *testing.T) {
	t.Parallel()
	cases := map[string]int{}
	for seed := range drawn.Seeds(6) {
		config, options, list := newGenerator(seed).tainted()
		r := runOf(config, options, list)
		r.must(t, seed)
		countTaints(r.log, cases)
		tellAgain(t, config, r.log, seed)
	}
	t.Logf("%v", cases)
	covers(t, cases, onTainted, taintedBelow)
}

const (
	onTainted    = "a member goes to a tainted node"
	taintedBelow = "a node is tainted below a member that does not tolerate it"
)

func countTaints(log []step, cases map[string]int) {
	taints, jobs, on := map[berth.NodeID][]berth.Taint{}, map[berth.JobID]berth.Job{}, map[berth.NodeID]berth.JobID{}
	for i := range log {
		if log[i].refused != nil {
			continue
		}
		switch e := log[i].event.(type) {
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
		for _, order := range log[i].actions {
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
