package core

import (
	"slices"

	"github.com/berth-sched/berth"
)

// least is the number of members without which the gang does not start.
func least(g *berth.Group) int {
	if g.Min == 0 {
		return g.Replicas
	}
	return g.Min
}

// unitOf is the number of members that come and go together.
func unitOf(g *berth.Group) int {
	if len(g.Topology.Segments) == 0 {
		return 1
	}
	return g.Topology.Segments[0].Size
}

// replicasOf is the number of gangs that the job asks for.
func replicasOf(j *berth.Job) int {
	if j.Service == nil {
		return 1
	}
	return j.Service.Replicas
}

// groupOf finds a group by name, or returns -1.
func groupOf(j *berth.Job, name string) int {
	return slices.IndexFunc(j.Groups, func(g berth.Group) bool { return g.Name == name })
}
