package core

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// BlastRadius tells which jobs a fatal fault on a GPU would take down. It refuses a GPU
// that is not there. Cost: O(members on the node x members of their gangs).
func (c *Core) BlastRadius(node berth.NodeID, gpu int) (berth.BlastRadius, error) {
	n, err := c.knownGPU(node, gpu)
	if err != nil {
		err.Event = "blastRadius"
		return berth.BlastRadius{}, err
	}
	b := berth.BlastRadius{Node: node, GPU: gpu, Mode: n.spec.GPUs[gpu].Mode}
	b.Device = n.casualties(gpu, func(*member, *replica) bool { return true })
	seen := map[processKey]bool{}
	n.membersOn(gpu, func(m *member, rep *replica) {
		key := processKey{rep, m.hold.Instance}
		if !seen[key] {
			seen[key] = true
			b.Processes = append(b.Processes, berth.ProcessFault{
				Job: rep.job.spec.ID, Replica: rep.Number, Instance: m.hold.Instance, Takes: n.takenWith(gpu, m, rep, b.Mode),
			})
		}
	})
	slices.SortFunc(b.Processes, func(x, y berth.ProcessFault) int {
		return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Replica, y.Replica), x.Instance.Compare(y.Instance))
	})
	return b, nil
}

// takenWith lists what a fault of a process of a member takes down.
func (n *node) takenWith(gpu int, m *member, rep *replica, mode berth.GPUMode) []berth.Casualty {
	return n.casualties(gpu, func(other *member, of *replica) bool {
		switch mode {
		case berth.ModeMPS:
			return true
		case berth.ModeMIG:
			return other.hold.Instance == m.hold.Instance
		}
		return of == rep
	})
}

// casualties lists the replicas that lose those of their members on a GPU that are meant,
// by job and number.
func (n *node) casualties(gpu int, meant func(*member, *replica) bool) []berth.Casualty {
	lost := map[*replica]int{}
	var list []*replica
	n.membersOn(gpu, func(m *member, rep *replica) {
		if meant(m, rep) {
			if lost[rep] == 0 {
				list = append(list, rep)
			}
			lost[rep]++
		}
	})
	slices.SortFunc(list, compareReplicas)
	var out []berth.Casualty
	for _, rep := range list {
		out = append(out, berth.Casualty{
			Job: rep.job.spec.ID, Replica: rep.Number, Members: lost[rep],
			Down: !rep.survives(func(m *member) bool { return m.node == n && berth.GPUSet(m.hold.GPUs).Has(gpu) && meant(m, rep) }),
		})
	}
	return out
}

// survives reports whether every group has its minimum without some of the members.
func (rep *replica) survives(lost func(*member) bool) bool {
	return rep.enoughOf(func(m *member) bool { return m.there() && !lost(m) })
}

// fate lists the other jobs that stand on the GPUs of a replica: those that a fault of
// one of its own processes would hit, and those that go with it if a GPU goes.
func (c *Core) fate(rep *replica) *berth.Fate {
	process, device := map[berth.JobID]bool{}, map[berth.JobID]bool{}
	for flat := range rep.members {
		m := &rep.members[flat]
		for _, gpu := range berth.GPUSet(m.hold.GPUs).Indexes() {
			m.node.membersOn(gpu, func(_ *member, other *replica) {
				if id := other.job.spec.ID; other.job != rep.job {
					device[id] = true
					process[id] = process[id] || m.node.spec.GPUs[gpu].Mode == berth.ModeMPS
				}
			})
		}
	}
	if len(device) == 0 {
		return nil
	}
	return &berth.Fate{Process: those(process), Device: those(device)}
}

// A processKey names the processes of a replica in one instance.
type processKey struct {
	rep      *replica
	instance mig.Placement
}

// those lists the jobs of a set that are in it, in order.
func those(set map[berth.JobID]bool) []berth.JobID {
	var list []berth.JobID
	for _, id := range slices.Sorted(maps.Keys(set)) {
		if set[id] {
			list = append(list, id)
		}
	}
	return list
}

// worse keeps the worse of two faults: more jobs that go, then more that are hit.
func worse(w *berth.WorstFault, v *berth.WorstFault) *berth.WorstFault {
	if w == nil || v.Down > w.Down || v.Down == w.Down && v.Jobs > w.Jobs {
		return v
	}
	return w
}

// worstOn finds the worst fault of a node's shared GPUs; nil: none is shared.
func (n *node) worstOn() *berth.WorstFault {
	var worst *berth.WorstFault
	var holders [berth.MaxGPUs]int
	for _, at := range n.members {
		for rest := at.rep.members[at.index].hold.GPUs; rest != 0; rest &= rest - 1 {
			holders[bits.TrailingZeros64(rest)]++
		}
	}
	for gpu := range n.spec.GPUs {
		if holders[gpu] < 2 {
			continue // no more than one job
		}
		hit := n.casualties(gpu, func(*member, *replica) bool { return true })
		v := &berth.WorstFault{Node: n.spec.ID, GPU: gpu, Jobs: len(hit)}
		for _, casualty := range hit {
			if casualty.Down {
				v.Down++
			}
		}
		worst = worse(worst, v)
	}
	return worst
}
