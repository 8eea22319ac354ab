package berth

import (
	"fmt"
	"maps"
	"slices"
)

type savedJob struct {
	Job Job `json:"job"`
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
func (c *Core) restoreJobs(list []savedJob) *Error {
	for i := range list {
		if err := c.restoreJob(&list[i]); err != nil {
			return err.in(index("jobs", i))
		}
	}
	return nil
}

func (c *Core) restoreJob(s *savedJob) *Error {
	j, err := c.newJob(&s.Job)
	if err != nil {
		return err.in("job")
	}
	if len(s.Replicas) == 0 && (s.Job.Service == nil || s.Cancelled) {
		return refuse(ErrInvalid, "replicas", "is empty")
	}
	c.admit(j)
	if s.Former > 2*maxIncarnation {
		return refuse(ErrInvalid, "former", fmt.Sprintf("%d exceeds %d", s.Former, 2*maxIncarnation))
	}
	j.jobPart = s.jobPart
	for i := range s.Replicas {
		if err := c.restoreReplica(j, &s.Replicas[i]); err != nil {
			return err.in(index("replicas", i))
		}
	}
	return nil
}

// lookup finds a replica, or returns nil.
func (c *Core) lookup(ref ReplicaRef) *replica {
	j := c.jobs[ref.Job]
	if j == nil || ref.Replica < 0 || ref.Replica >= len(j.replicas) {
		return nil
	}
	return j.replicas[ref.Replica]
}
