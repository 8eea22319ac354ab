package life

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/limits"
)

// maxDoublings is how often a cooldown doubles at the most. A replica that ran for twice as long
// as that counts as never evicted.
const maxDoublings = 3

// A replica that was reclaimed rests for firstRest, twice as long each time and, after maxRests,
// for good: so exchanges end.
const (
	firstRest = 10 * berth.Minute
	maxRests  = 8
)

// ProtectedUntil is until when the policy and its own job protect a running replica. A queue that
// reclaims its guarantee does not wait for the cooldown.
func (l *Life) ProtectedUntil(rep *record.Replica, withinGuarantee bool) berth.Time {
	p := &l.state.Config.Policy.Preemption
	least := max(rep.Job.Spec.MinRuntime, p.MinRuntime)
	if rep.Eviction.Get().Evictions > 0 && !withinGuarantee {
		least += max(0, p.Cooldown) << min(rep.Eviction.Get().Evictions-1, maxDoublings)
	}
	return rep.Started.Add(least)
}

// noteEviction counts how often in a row a replica was evicted, and has it rest if that was for
// another queue.
func (l *Life) noteEviction(rep *record.Replica) {
	eviction := rep.Eviction.Note()
	if l.state.Now.Sub(rep.Started) >= max(0, l.state.Config.Policy.Preemption.Cooldown)<<(maxDoublings+1) {
		eviction.Evictions = 0
	}
	eviction.Evictions = min(eviction.Evictions+1, limits.MaxAttempts)
	if rep.Beneficiary.Job.Queue != rep.Job.Queue {
		eviction.RestsUntil = agenda.Never
		if eviction.Reclaims < maxRests {
			eviction.RestsUntil = l.state.Now.Add(firstRest << eviction.Reclaims)
		}
		eviction.Reclaims = min(eviction.Reclaims+1, limits.MaxAttempts)
	}
}

// EvictionsReady is when the rate limit of the fleet allows the next eviction.
func (l *Life) EvictionsReady() berth.Time {
	return l.evictions.Ready(l.state.Config.Policy.Preemption.RateLimit, l.state.Now, 1)
}

// VictimsReady is when the rate limits of the fleet and of their queues allow victims together.
func (l *Life) VictimsReady(victims []*record.Replica) berth.Time {
	p := &l.state.Config.Policy.Preemption
	at := l.evictions.Ready(p.RateLimit, l.state.Now, len(victims))
	for _, q := range l.queuesOf(victims) {
		at = max(at, q.Evictions.Ready(p.QueueRateLimit, l.state.Now, countOf(q, victims)))
	}
	return at
}

// MeterVictims counts victims on the meters of the fleet and of their queues, if those allow all
// of them now. If not, the meters keep their tokens for these victims.
func (l *Life) MeterVictims(victims []*record.Replica) (at berth.Time) {
	at = l.VictimsReady(victims)
	p := &l.state.Config.Policy.Preemption
	l.evictions.Take(p.RateLimit, l.state.Now, at, len(victims))
	for _, q := range l.queuesOf(victims) {
		q.Evictions.Take(p.QueueRateLimit, l.state.Now, at, countOf(q, victims))
	}
	return at
}

// queuesOf lists the queues of replicas, each once.
func (l *Life) queuesOf(reps []*record.Replica) []*record.Queue {
	var list []*record.Queue
	for _, rep := range reps {
		if q := l.books.Queues[rep.Job.Queue]; !slices.Contains(list, q) {
			list = append(list, q)
		}
	}
	return list
}

// countOf counts the replicas of a queue.
func countOf(q *record.Queue, reps []*record.Replica) int {
	n := 0
	for _, rep := range reps {
		if rep.Job.Queue == q.Index {
			n++
		}
	}
	return n
}
