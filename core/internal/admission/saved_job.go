package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/internal/errtext"
)

// SaveJobs lists all jobs with their replicas, by ID.
func (ad *Admission) SaveJobs() []record.SavedJob {
	list := make([]record.SavedJob, 0, len(ad.state.Jobs))
	for _, id := range slices.Sorted(maps.Keys(ad.state.Jobs)) {
		list = append(list, ad.saveJob(ad.state.Jobs[id]))
	}
	return list
}

func (ad *Admission) saveJob(j *record.Job) record.SavedJob {
	saved := record.SavedJob{Job: j.Full(), Alternative: j.Alternative(), JobPart: j.JobPart, Gate: j.Gate.Clone(), Replicas: make([]record.SavedReplica, 0, 1)}
	saved.StandIns = 0 // they are counted again as they are restored
	for rep := range j.Replicas.All() {
		saved.Replicas = append(saved.Replicas, ad.saveReplica(rep))
	}
	for _, t := range j.Batches() {
		like := ad.saveReplica(t.Like(t.Next))
		like.Alike = t.Len() - 1
		saved.Replicas = append(saved.Replicas, like)
	}
	if j.Spec.Service != nil {
		saved.Replicas = joinAlike(saved.Replicas)
	}
	return saved
}

// joinAlike puts replicas in order of number, and those together that are alike: whether they
// are records by now is nobody's business.
func joinAlike(list []record.SavedReplica) []record.SavedReplica {
	slices.SortFunc(list, func(a, b record.SavedReplica) int { return cmp.Compare(a.Number, b.Number) })
	joined, plain := list[:0], false // whether the last of them is
	for i := range list {
		was := plain
		if plain = list[i].Plain(); !was || !plain || !joined[len(joined)-1].Join(&list[i]) {
			joined = append(joined, list[i])
		}
	}
	return joined
}

// RestoreJobs restores jobs, their replicas, and what these hold, and lists the replicas of which
// more is noted. What follows from it, and what is set aside for them, the parts restore the owner.
func (ad *Admission) RestoreJobs(list []record.SavedJob) ([]state.Noted, *berth.Error) {
	ad.state.Expect(len(list))
	var noted []state.Noted
	known := state.Patterns{}
	like := func(j *berth.Job) *record.Pattern { return ad.state.PatternLike(j, known) }
	for i := range list {
		if err := ad.restoreJob(&list[i], like); err != nil {
			return nil, refusal.In(err, errtext.Index("jobs", i))
		}
		for k := range list[i].Replicas {
			if s := &list[i].Replicas[k]; !s.Plain() {
				noted = append(noted, state.Noted{SavedReplica: s, Job: i, Replica: k})
			}
		}
	}
	return noted, nil
}

func (ad *Admission) restoreJob(s *record.SavedJob, patternOf func(*berth.Job) *record.Pattern) *berth.Error {
	j, err := ad.newJob(&s.Job, patternOf)
	if err != nil {
		return refusal.In(err, "job")
	}
	if len(s.Replicas) == 0 && (s.Job.Service == nil || s.Cancelled) {
		return refusal.Of(berth.ErrInvalid, "replicas", "is empty")
	}
	if err := refusal.Span(s.Later); err != nil {
		return refusal.In(err, "later")
	}
	if err := refusal.Span(s.Learned); err != nil {
		return refusal.In(err, "learned")
	}
	if s.Job.Service != nil && s.Learned != 0 {
		return refusal.Of(berth.ErrInvalid, "learned", "is set for a service, which is expected to run for ever")
	}
	if s.Gate != nil && (s.Job.Service != nil || len(s.Replicas) != 1 || !s.Replicas[0].Plain() || s.Cancelled || s.Completed) {
		return refusal.Of(berth.ErrInvalid, "gate", "is set for a job that does not just wait")
	}
	if s.Alternative < 0 || s.Alternative >= j.Pattern.Many() {
		return refusal.Of(berth.ErrInvalid, "alternative", fmt.Sprintf("%d is outside 0..%d, the alternatives of the job", s.Alternative, j.Pattern.Many()-1))
	}
	j.Gate = s.Gate.Clone()
	ad.books.Admit(j)
	j.Become(s.Alternative)
	j.JobPart = s.JobPart
	if j.Spec.Service != nil {
		j.Later = 0 // it was saved before services had their turn at once
	}
	for i, next := 0, 0; i < len(s.Replicas); i++ {
		r := &s.Replicas[i]
		if i > 0 && r.Number < next {
			return refusal.In(refusal.Of(berth.ErrDuplicate, "replica", fmt.Sprintf("%d comes twice, or out of order", r.Number)), errtext.Index("replicas", i))
		}
		next = r.Number + r.Alike + 1
		if err := ad.restoreReplica(j, &s.Replicas[i]); err != nil {
			return refusal.In(err, errtext.Index("replicas", i))
		}
	}
	return nil
}
