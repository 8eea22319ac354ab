package berth

import (
	"fmt"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

// A QueueCaps says how many jobs of a queue and all below it, and of each user there, may be past
// their gates at a time. A job beyond a cap is gated, as one that follows another (see
// [Dependency]): it has no place in the order of service, and Explain says [ReasonCap].
//
// A job counts from when its gate opens until the core forgets it: also while it waits for
// capacity, and again after an eviction. So caps bound what competes, and quotas what is held. What
// comes free goes to the first job that stays within all caps on its queue and those above, by
// class, then priority, then turn, then ID: one that asks for more GPUs than its user has left does
// not hold back a smaller one of the same user. A cap that is lowered stops nothing, and a job that
// is observed running counts beyond it. Services do not count: their quota is their cap.
type QueueCaps struct {
	// Queue that this holds for; one that does not exist yet counts from when it does.
	Queue QueueID `json:"queue"`
	// MaxJobs of all users together, at most 65,536; zero: any number.
	MaxJobs int `json:"maxJobs,omitempty"`
	// MaxJobsPerUser of each Job.User, at most as many; zero: any number. Jobs that name no user
	// are those of one.
	MaxJobsPerUser int `json:"maxJobsPerUser,omitempty"`
	// MaxGPUMilliPerUser bounds what the jobs of each user claim together, with all of their
	// members, in thousandths of a GPU; zero: any amount. An instance of a divided GPU counts as a
	// whole one, as what it takes is known only when it is placed; what is borrowed over an idle
	// holder does not count. A job with alternatives counts as the one that claims the most.
	MaxGPUMilliPerUser int64 `json:"maxGPUMilliPerUser,omitempty"`
}

// checkCaps refuses a queue that comes twice, and what is no number.
func checkCaps(list []QueueCaps) *Error {
	if len(list) > limits.MaxQueuesOfPolicy {
		return refuse(ErrLimit, "", fmt.Sprintf("%d exceed %d", len(list), limits.MaxQueuesOfPolicy))
	}
	seen := make(map[QueueID]bool, len(list))
	for i := range list {
		if err := list[i].check(seen); err != nil {
			return err.in(errtext.Index("", i))
		}
	}
	return nil
}

func (c *QueueCaps) check(seen map[QueueID]bool) *Error {
	if err := checkQueueOnce(c.Queue, seen); err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"maxJobs", int64(c.MaxJobs), limits.MaxOrdinal},
		{"maxJobsPerUser", int64(c.MaxJobsPerUser), limits.MaxOrdinal},
		{"maxGPUMilliPerUser", c.MaxGPUMilliPerUser, limits.MaxAmount},
	} {
		if f.value < 0 || f.value > f.most {
			return refuse(ErrInvalid, f.name, fmt.Sprintf("%d is outside 0..%d", f.value, f.most))
		}
	}
	return nil
}

// checkQueueOnce refuses a queue without a name, and one that a policy names twice in one list. It
// notes in seen that the queue was named.
func checkQueueOnce(name QueueID, seen map[QueueID]bool) *Error {
	if err := checkName(string(name)); err != nil {
		return err.in("queue")
	}
	if seen[name] {
		return refuse(ErrDuplicate, "queue", fmt.Sprintf("%s comes twice", errtext.Short(string(name))))
	}
	seen[name] = true
	return nil
}
