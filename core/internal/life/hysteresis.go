package life

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/limits"
)

// maxRespite is how often a respite doubles at the most. Who ran for twice as long as that
// respite has forgotten that it had to yield before.
const maxRespite = 3

// ProtectedUntil is until when a replica that runs is spared by the policy and its own job; who
// takes what its queue is guaranteed need not wait for its respite.
func (l *Life) ProtectedUntil(rep *record.Replica, owed bool) berth.Time {
	p := &l.state.Config.Policy.Preemption
	least := max(rep.Job.Spec.MinRuntime, p.MinRuntime)
	if rep.Eviction.Evictions > 0 && !owed {
		least += max(0, p.Cooldown) << min(rep.Eviction.Evictions-1, maxRespite)
	}
	return rep.Started.Add(least)
}

// noteEviction counts how often in a row a replica has had to yield.
func (l *Life) noteEviction(rep *record.Replica) {
	if l.state.Now.Sub(rep.Started) >= max(0, l.state.Config.Policy.Preemption.Cooldown)<<(maxRespite+1) {
		rep.Eviction.Evictions = 0
	}
	rep.Eviction.Evictions = min(rep.Eviction.Evictions+1, limits.MaxAttempts)
}

// EvictionsReady is when the next one may have to yield, by the rate of the fleet.
func (l *Life) EvictionsReady() berth.Time {
	return l.evictions.Ready(l.state.Config.Policy.Preemption.RateLimit, l.state.Now, 1)
}

// VictimsReady is when victims may yield together at the earliest, by the rates of the fleet
// and of their queues.
func (l *Life) VictimsReady(victims []*record.Replica) berth.Time {
	p := &l.state.Config.Policy.Preemption
	at := l.evictions.Ready(p.RateLimit, l.state.Now, len(victims))
	for _, q := range l.queuesOf(victims) {
		at = max(at, q.Evictions.Ready(p.QueueRateLimit, l.state.Now, countOf(q, victims)))
	}
	return at
}

// MeterVictims counts victims on the meters of the fleet and of their queues, if those let
// all of them yield now. If not, what there is is kept for them until then.
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
