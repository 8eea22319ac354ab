package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

type savedJob struct {
	Job berth.Job `json:"job"`
	jobPart
	Replicas []savedReplica `json:"replicas"`
}

func (c *Core) saveJobs() []savedJob {
	list := []savedJob{}
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		list = append(list, c.saveJob(c.jobs[id]))
	}
	return list
}

func (c *Core) saveJob(j *job) savedJob {
	saved := savedJob{Job: j.spec, jobPart: j.jobPart, Replicas: []savedReplica{}}
	for _, rep := range j.replicas {
		if rep != nil {
			saved.Replicas = append(saved.Replicas, c.saveReplica(rep))
		}
	}
	return saved
}

// restoreJobs restores jobs, their replicas, and what these hold. What follows from it, and
// what is set aside for them, the parts restore whose it is.
func (c *Core) restoreJobs(list []savedJob) *berth.Error {
	for i := range list {
		if err := c.restoreJob(&list[i]); err != nil {
			return refusal.In(err, errtext.Index("jobs", i))
		}
	}
	return nil
}

func (c *Core) restoreJob(s *savedJob) *berth.Error {
	j, err := c.newJob(&s.Job)
	if err != nil {
		return refusal.In(err, "job")
	}
	if len(s.Replicas) == 0 && (s.Job.Service == nil || s.Cancelled) {
		return refusal.Of(berth.ErrInvalid, "replicas", "is empty")
	}
	c.admit(j)
	if s.Former > 2*limits.MaxIncarnation {
		return refusal.Of(berth.ErrInvalid, "former", fmt.Sprintf("%d exceeds %d", s.Former, berth.Incarnation(2*limits.MaxIncarnation)))
	}
	j.jobPart = s.jobPart
	for i := range s.Replicas {
		if err := c.restoreReplica(j, &s.Replicas[i]); err != nil {
			return refusal.In(err, errtext.Index("replicas", i))
		}
	}
	return nil
}

// lookup finds a replica, or returns nil.
func (c *Core) lookup(ref berth.ReplicaRef) *replica {
	j := c.jobs[ref.Job]
	if j == nil || ref.Replica < 0 || ref.Replica >= len(j.replicas) {
		return nil
	}
	return j.replicas[ref.Replica]
}
