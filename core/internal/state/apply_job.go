package state

import (
	"github.com/berth-sched/berth/core/internal/record"
)

// Admit makes a new job known.
func (st *State) Admit(j *record.Job) {
	st.Jobs[j.Spec.ID] = j
	j.Shape = st.gangShape(&j.Spec)
	j.Shape.Users++
	st.Totals.Submitted++
}

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
