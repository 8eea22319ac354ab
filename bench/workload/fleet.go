package workload

import (
	"strconv"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/quota"
)

const (
	levelSpine = "spine"
	levelLeaf  = "leaf"

	gpusPerNode  = machine.NodeGPUs
	nodesPerLeaf = 32 // a scalable unit
	leavesPerPod = 4  // that share a spine
	cpuMilli     = 112_000

	organisations = 10
	teamsPerOrg   = 24
)

// addNodes has the fleet join.
func (d *day) addNodes() {
	for i := range d.nodes {
		leaf := i / nodesPerLeaf
		n := machine.H100(number("node-", i, 4), "spine-"+strconv.Itoa(leaf/leavesPerPod), number("leaf-", leaf, 2))
		n.Pool, n.CPUMilli = "h100", cpuMilli
		d.fleet = append(d.fleet, n)
		d.tell(0, berth.NodeJoined{Node: n})
	}
}

// A team is a leaf of the quota tree.
type team struct {
	queue berth.QueueID
	org   berth.TenantID
}

// teams by what they do.
type teams struct{ serving, training, research []team }

// addQueues makes the quota tree: organisations with guarantees that add up to
// 84 % of the fleet, and teams that divide them evenly. What nobody is guaranteed
// or uses is shared by weight, which here is the guarantee. Research has limits, so
// that it cannot take the night over with notebooks.
func (d *day) addQueues() {
	total := int64(d.gpus) * 1000
	for o := range organisations {
		org := berth.QueueID(number("org-", o, 2))
		list, percent, limited := &d.teams.research, int64(4), true
		switch {
		case o < 4:
			list, percent, limited = &d.teams.serving, 12, false
		case o < 7:
			list, percent, limited = &d.teams.training, 8, false
		}
		guarantee := total * percent / 100
		d.addQueue(org, "", guarantee, limited)
		for t := range teamsPerOrg {
			name := org + "/" + berth.QueueID(number("team-", t, 2))
			d.addQueue(name, org, guarantee/teamsPerOrg, limited)
			*list = append(*list, team{name, berth.TenantID(org)})
		}
	}
}

func (d *day) addQueue(name, parent berth.QueueID, guarantee int64, limited bool) {
	q := quota.Queue{
		Name: name, Parent: parent, Weight: max(guarantee, 1),
		Guarantee: quota.Amounts{quota.GPUMilli: guarantee},
	}
	if limited {
		q.Limit = quota.Amounts{quota.GPUMilli: max(4*guarantee, 16_000)}
	}
	d.tell(0, berth.QueueSet{Queue: q})
}

// one draws a team.
func (r draw) one(list []team) team { return list[r.IntN(len(list))] }

// anyTeam draws a team of whatever kind.
func (d *day) anyTeam(r draw) team {
	switch r.pick(3, 3, 4) {
	case 0:
		return r.one(d.teams.serving)
	case 1:
		return r.one(d.teams.training)
	default:
		return r.one(d.teams.research)
	}
}
