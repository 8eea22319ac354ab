package state

import (
	"github.com/berth-sched/berth/core/internal/record"
)

// Admit makes a new job known.
func (st *State) Admit(j *record.Job) {
	st.Jobs[j.Spec.ID] = j
	j.Shape = st.gangShape(&j.Spec)
	j.Shape.Users++
	st.Totals.JobsAdmitted++
}

// NewReplicaAt makes a pending replica with a number that no other has. Its incarnations begin
// above those of the replicas of the job that are forgotten.
func (st *State) NewReplicaAt(j *record.Job, number int) *record.Replica {
	for number >= len(j.Replicas) {
		j.Replicas = append(j.Replicas, nil)
	}
	rep := &record.Replica{Job: j, LifePart: record.LifePart{Number: number, Created: st.Now, Incarnation: j.Former}}
	j.Replicas[number] = rep
	j.Live++
	st.Replicas++
	return rep
}

// RemoveReplica undoes NewReplicaAt.
func (st *State) RemoveReplica(rep *record.Replica) {
	j := rep.Job
	j.Replicas[rep.Number] = nil
	j.Vacant = min(j.Vacant, rep.Number)
	j.Live--
	st.Replicas--
	for len(j.Replicas) > 0 && j.Replicas[len(j.Replicas)-1] == nil {
		j.Replicas = j.Replicas[:len(j.Replicas)-1]
	}
}

// Dismiss forgets a job without replicas.
func (st *State) Dismiss(j *record.Job) { delete(st.Jobs, j.Spec.ID) }

// RemoveShape forgets a shape that nobody has any more.
func (st *State) RemoveShape(s *record.Shape) { delete(st.Shapes, s.Key) }
