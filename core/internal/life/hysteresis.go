package life

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/limits"
)

// maxDoublings is how often a cooldown doubles at the most. A replica that ran for twice as long
// as that counts as never evicted.
const maxDoublings = 3

// A rest lasts for firstRest, to the minute, twice as long each time and, after maxRests, for good.
// A replica that has run for forgetRests counts as one that never had to.
const (
	firstRest   = 10 * berth.Minute
	maxRests    = 4
	forgetRests = 24 * berth.Hour
)

// ProtectedUntil is until when the policy and its own job protect a running replica. A queue that
// reclaims its guarantee does not wait for the cooldown.
func (l *Life) ProtectedUntil(rep *record.Replica, withinGuarantee bool) berth.Time {
	p := &l.state.Config.Policy.Preemption
	least := l.state.MinRuntimeOf(rep)
	if rep.Eviction.Get().Evictions > 0 && !withinGuarantee {
		least += max(0, p.Cooldown) << min(rep.Eviction.Get().Evictions-1, maxDoublings)
	}
	return rep.Started.Add(least)
}

// noteEviction counts how often in a row a replica was evicted. One that was reclaimed rests.
func (l *Life) noteEviction(rep *record.Replica, cause berth.CauseCode) {
	eviction := rep.Eviction.Note()
	if l.state.Now.Sub(rep.Started) >= max(0, l.state.Config.Policy.Preemption.Cooldown)<<(maxDoublings+1) {
		eviction.Evictions = 0
	}
	eviction.Evictions = min(eviction.Evictions+1, limits.MaxAttempts)
	if l.state.Now.Sub(rep.Started) >= forgetRests {
		eviction.Rests, eviction.RestsUntil = 0, 0
	}
	if cause == berth.CauseReclaimed {
		l.rest(rep)
	}
}

// rest has a replica rest: for a while it takes the place of others of its queue only within its
// shares. See package quota, where it says that exchanges end.
func (l *Life) rest(rep *record.Replica) {
	p := rep.Eviction.Note()
	p.RestsUntil = agenda.Never
	if p.Rests < maxRests {
		ends := l.state.Now.Add(firstRest<<p.Rests + berth.Minute - 1)
		p.RestsUntil = ends - ends%berth.Time(berth.Minute)
	}
	p.Rests = min(p.Rests+1, maxRests+1)
}

// RestDisplaced has the beneficiaries rest that lost their places to others in the pass.
func (l *Life) RestDisplaced() {
	for _, rep := range l.backlog.TakeDisplaced() {
		if rep.State != berth.ReplicaPending || rep.Entries == nil {
			continue
		}
		at := rep.BidsAt
		l.backlog.Unawait(rep)
		l.rest(rep)
		l.backlog.Await(rep)
		rep.BidsAt = at
		l.backlog.Due.NoteEntries(rep)
	}
}

// DescribeRest says for how long a replica rests.
func (l *Life) DescribeRest(rep *record.Replica) string {
	until, how := rep.Eviction.Get().RestsUntil, "any more"
	if until != agenda.Never {
		how = fmt.Sprintf("for another %v", until.Sub(l.state.Now))
	}
	return "no job of its queue is preempted for it " + how + ": it rests, after it was reclaimed or others took the place made for it"
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
