package state

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/runtimes"
)

// Learned is how long a job that is submitted is expected to run by those that finished; 0: nothing
// was learned, no other than it tells, or it is a service.
func (st *State) Learned(j *record.Job) berth.Duration {
	if j.Spec.Service != nil {
		return 0
	}
	length := st.Runtimes.Expect(subject(j))
	if limit := j.Spec.MaxRuntime; limit > 0 {
		return min(length, limit)
	}
	return length
}

// LearnFrom learns from a gang that ends by itself, or by its limit. A gang that was stopped
// before, and went on from a checkpoint or began anew, teaches nothing: its last run says less.
func (st *State) LearnFrom(rep *record.Replica) {
	if rep.State == berth.ReplicaRunning && rep.Incarnation == 1 {
		st.Runtimes.Add(subject(rep.Job), st.Now.Sub(rep.Started))
	}
}

// subject is what the run time of a job depends on. Instances of MIG count as no GPUs: how many of
// which profile is told apart by the program alone.
func subject(j *record.Job) runtimes.Subject {
	s := runtimes.Subject{Program: j.Spec.Program, Told: j.Spec.Told()}
	for i := range j.Spec.Groups {
		g := &j.Spec.Groups[i]
		each := int64(g.Claim.GPUs) * 1000
		if g.Claim.Share != nil {
			each = int64(g.Claim.Share.GPUMilli)
		}
		s.GPUMilli += int64(g.Members) * each
	}
	return s
}
