package answer

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// BlastRadius tells which jobs a fatal fault on a GPU would take down. It refuses a GPU
// that is not there. Cost: O(members on the node x members of their gangs).
func (an *Answers) BlastRadius(node berth.NodeID, gpu int) (berth.BlastRadius, error) {
	n, err := an.gpus.KnownGPU(node, gpu)
	if err != nil {
		err.Event = "blastRadius"
		return berth.BlastRadius{}, err
	}
	b := berth.BlastRadius{Node: node, GPU: gpu, Mode: n.Spec.GPUs[gpu].Mode}
	b.Device = affected(n, gpu, func(*record.Member, *record.Replica) bool { return true })
	seen := map[record.ProcessKey]bool{}
	exposed(n, gpu, func(m *record.Member, rep *record.Replica) {
		key := record.ProcessKey{Rep: rep, Instance: m.Hold.Instance}
		if !seen[key] {
			seen[key] = true
			b.Processes = append(b.Processes, berth.ProcessFault{
				Job: rep.Job.Spec.ID, Replica: rep.Number, Instance: m.Hold.Instance, Affected: takenWith(n, gpu, m, rep, b.Mode),
			})
		}
	})
	slices.SortFunc(b.Processes, func(x, y berth.ProcessFault) int {
		return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Replica, y.Replica), x.Instance.Compare(y.Instance))
	})
	return b, nil
}

// exposed calls a function for the members on a GPU that a fault may hit: those of which a process
// may be there.
func exposed(n *record.Node, gpu int, use func(*record.Member, *record.Replica)) {
	n.MembersOn(gpu, func(m *record.Member, rep *record.Replica) {
		if m.State.MayRun() {
			use(m, rep)
		}
	})
}

// takenWith lists what a fault of a process of a member takes down.
func takenWith(n *record.Node, gpu int, m *record.Member, rep *record.Replica, mode berth.GPUMode) []berth.AffectedReplica {
	return affected(n, gpu, func(other *record.Member, of *record.Replica) bool {
		switch mode {
		case berth.GPUModeMPS:
			return true
		case berth.GPUModeMIG:
			return other.Hold.Instance == m.Hold.Instance
		}
		return of == rep
	})
}

// sharedBlastRadius lists the other jobs that stand on the GPUs of a replica: those that a fault of
// one of its own processes would hit, and those that go with it if a GPU goes.
func (an *Answers) sharedBlastRadius(rep *record.Replica) *berth.SharedBlastRadius {
	process, device := map[berth.JobID]bool{}, map[berth.JobID]bool{}
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if !m.State.MayRun() {
			continue
		}
		for _, gpu := range berth.GPUSet(m.Hold.GPUs).Indexes() {
			exposed(m.Node, gpu, func(_ *record.Member, other *record.Replica) {
				if id := other.Job.Spec.ID; other.Job != rep.Job {
					device[id] = true
					process[id] = process[id] || m.Node.Spec.GPUs[gpu].Mode == berth.GPUModeMPS
				}
			})
		}
	}
	if len(device) == 0 {
		return nil
	}
	return &berth.SharedBlastRadius{Process: those(process), Device: those(device)}
}

// worstOn finds the worst fault of a node's shared GPUs; nil: none is shared.
func worstOn(n *record.Node) *berth.WorstBlastRadius {
	var worst *berth.WorstBlastRadius
	var holders [berth.MaxGPUs]int
	for _, at := range n.Members {
		m := &at.Rep.Members[at.Index]
		if !m.State.MayRun() {
			continue
		}
		for rest := m.Hold.GPUs; rest != 0; rest &= rest - 1 {
			holders[bits.TrailingZeros64(rest)]++
		}
	}
	for gpu := range n.Spec.GPUs {
		if holders[gpu] < 2 {
			continue // no more than one job
		}
		hit := affected(n, gpu, func(*record.Member, *record.Replica) bool { return true })
		v := &berth.WorstBlastRadius{Node: n.Spec.ID, GPU: gpu, Jobs: len(hit)}
		for _, casualty := range hit {
			if casualty.Down {
				v.JobsDown++
			}
		}
		worst = worse(worst, v)
	}
	return worst
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
func worse(w *berth.WorstBlastRadius, v *berth.WorstBlastRadius) *berth.WorstBlastRadius {
	if w == nil || v.JobsDown > w.JobsDown || v.JobsDown == w.JobsDown && v.Jobs > w.Jobs {
		return v
	}
	return w
}

// affected lists the replicas that lose those of their members on a GPU of a node that are meant,
// by job and number.
func affected(n *record.Node, gpu int, meant func(*record.Member, *record.Replica) bool) []berth.AffectedReplica {
	lost := map[*record.Replica]int{}
	var list []*record.Replica
	exposed(n, gpu, func(m *record.Member, rep *record.Replica) {
		if meant(m, rep) {
			if lost[rep] == 0 {
				list = append(list, rep)
			}
			lost[rep]++
		}
	})
	slices.SortFunc(list, record.CompareReplicas)
	var out []berth.AffectedReplica
	for _, rep := range list {
		out = append(out, berth.AffectedReplica{
			Job: rep.Job.Spec.ID, Replica: rep.Number, Members: lost[rep],
			Down: !survives(rep, func(m *record.Member) bool { return m.Node == n && berth.GPUSet(m.Hold.GPUs).Has(gpu) && meant(m, rep) }),
		})
	}
	return out
}

// survives reports whether every group of a gang has its minimum without some of the members.
func survives(rep *record.Replica, lost func(*record.Member) bool) bool {
	for g := range rep.Job.Spec.Groups {
		left := 0
		for flat := rep.Job.Offset(g); flat < rep.Job.Offset(g+1) && flat < len(rep.Members); flat++ {
			if m := &rep.Members[flat]; m.There() && !lost(m) {
				left++
			}
		}
		if left < record.Least(&rep.Job.Spec.Groups[g]) {
			return false
		}
	}
	return true
}
