package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

// SaveJobs lists all jobs with their replicas, by ID.
func (ad *Admission) SaveJobs() []record.SavedJob {
	list := []record.SavedJob{}
	for _, id := range slices.Sorted(maps.Keys(ad.state.Jobs)) {
		list = append(list, ad.saveJob(ad.state.Jobs[id]))
	}
	return list
}

func (ad *Admission) saveJob(j *record.Job) record.SavedJob {
	saved := record.SavedJob{Job: j.Spec, JobPart: j.JobPart, Replicas: []record.SavedReplica{}}
	for _, rep := range j.Replicas {
		if rep != nil {
			saved.Replicas = append(saved.Replicas, ad.saveReplica(rep))
		}
	}
	for _, t := range j.Batches {
		for number := t.Next; number < t.End; number++ {
			saved.Replicas = append(saved.Replicas, ad.saveReplica(t.Like(number)))
		}
	}
	slices.SortFunc(saved.Replicas, func(a, b record.SavedReplica) int { return cmp.Compare(a.Number, b.Number) })
	return saved
}

// RestoreJobs restores jobs, their replicas, and what these hold. What follows from it, and
// what is set aside for them, the parts restore whose it is.
func (ad *Admission) RestoreJobs(list []record.SavedJob) *berth.Error {
	for i := range list {
		if err := ad.restoreJob(&list[i]); err != nil {
			return refusal.In(err, errtext.Index("jobs", i))
		}
	}
	return nil
}

func (ad *Admission) restoreJob(s *record.SavedJob) *berth.Error {
	j, err := ad.NewJob(&s.Job)
	if err != nil {
		return refusal.In(err, "job")
	}
	if len(s.Replicas) == 0 && (s.Job.Service == nil || s.Cancelled) {
		return refusal.Of(berth.ErrInvalid, "replicas", "is empty")
	}
	ad.books.Admit(j)
	if s.Former > 2*limits.MaxIncarnation {
		return refusal.Of(berth.ErrInvalid, "former", fmt.Sprintf("%d exceeds %d", s.Former, berth.Incarnation(2*limits.MaxIncarnation)))
	}
	j.JobPart = s.JobPart
	for i := range s.Replicas {
		if err := ad.restoreReplica(j, &s.Replicas[i]); err != nil {
			return refusal.In(err, errtext.Index("replicas", i))
		}
	}
	return nil
}
