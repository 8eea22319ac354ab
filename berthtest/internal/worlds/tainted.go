package worlds

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Tainted is world, in which most nodes have taints, taints come and go while members run, and
// some groups and reservations tolerate them.
func (g *Generator) Tainted() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.World()
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

func (g *Generator) taints() []berth.Taint {
	taint := func(key, value string) berth.Taint {
		return berth.Taint{Key: key, Value: value, Effect: berth.TaintNoSchedule}
	}
	return one(
		g, nil, nil, []berth.Taint{taint("spot", "")}, []berth.Taint{taint("dedicated", "ml")}, []berth.Taint{taint("dedicated", "web")},
		[]berth.Taint{taint("spot", ""), taint("dedicated", "ml")}, []berth.Taint{taint("dedicated", "ml"), taint("spot", "")},
	)
}

func (g *Generator) tolerations() []berth.Toleration {
	spot, ml := berth.Toleration{Key: "spot"}, berth.Toleration{Key: "dedicated", Value: "ml", Effect: berth.TaintNoSchedule}
	dedicated, all := berth.Toleration{Key: "dedicated", Operator: berth.TolerationExists}, berth.Toleration{Operator: berth.TolerationExists}
	return one(g, nil, []berth.Toleration{spot}, []berth.Toleration{ml}, []berth.Toleration{dedicated, spot}, []berth.Toleration{all}, []berth.Toleration{ml, spot})
}
