package answer

import (
	"cmp"
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
	b.Device = n.AffectedReplicas(gpu, func(*record.Member, *record.Replica) bool { return true })
	seen := map[record.ProcessKey]bool{}
	n.MembersOn(gpu, func(m *record.Member, rep *record.Replica) {
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

// takenWith lists what a fault of a process of a member takes down.
func takenWith(n *record.Node, gpu int, m *record.Member, rep *record.Replica, mode berth.GPUMode) []berth.AffectedReplica {
	return n.AffectedReplicas(gpu, func(other *record.Member, of *record.Replica) bool {
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
		for _, gpu := range berth.GPUSet(m.Hold.GPUs).Indexes() {
			m.Node.MembersOn(gpu, func(_ *record.Member, other *record.Replica) {
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
	return &berth.SharedBlastRadius{Process: record.Those(process), Device: record.Those(device)}
}

// worstOn finds the worst fault of a node's shared GPUs; nil: none is shared.
func worstOn(n *record.Node) *berth.WorstBlastRadius {
	var worst *berth.WorstBlastRadius
	var holders [berth.MaxGPUs]int
	for _, at := range n.Members {
		for rest := at.Rep.Members[at.Index].Hold.GPUs; rest != 0; rest &= rest - 1 {
			holders[bits.TrailingZeros64(rest)]++
		}
	}
	for gpu := range n.Spec.GPUs {
		if holders[gpu] < 2 {
			continue // no more than one job
		}
		hit := n.AffectedReplicas(gpu, func(*record.Member, *record.Replica) bool { return true })
		v := &berth.WorstBlastRadius{Node: n.Spec.ID, GPU: gpu, Jobs: len(hit)}
		for _, casualty := range hit {
			if casualty.Down {
				v.JobsDown++
			}
		}
		worst = record.Worse(worst, v)
	}
	return worst
}
