package scale

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// A throngSize is how many queues share a full fleet, and how many jobs of how many shapes wait.
type throngSize struct{ gpus, queues, shapes, pending int }

func (s throngSize) String() string {
	return fmt.Sprintf("gpus=%d/queues=%d/shapes=%d/pending=%d", s.gpus, s.queues, s.shapes, s.pending)
}

// newThrongOf is a core with a full fleet that belongs to many queues in equal parts, a job to each
// node, and with jobs that wait in all of them. Each queue has its share, so that nothing is to be
// taken from anybody. What runs began at random within an hour, and some hours ago.
func newThrongOf(tb builder, size throngSize) *core.Core {
	tb.Helper()
	sched := newCore(tb, nil)
	_, err := sched.Schedule(berth.Time(4 * berth.Hour))
	must(tb, err)
	for q := range size.queues {
		tell(tb, sched, berth.QueueSet{Queue: quota.Queue{Name: throngQueue(q)}})
	}
	random := rand.New(rand.NewPCG(8, uint64(size.gpus)))
	for i := range size.gpus / gpusPerNode {
		name := nodeName(i)
		tell(tb, sched, berth.NodeJoined{Node: nodeOf(i)})
		job := jobOf(name, string(throngQueue(i%size.queues)), 1, gpusPerNode)
		observe(tb, sched, job, berth.Time(random.Int64N(int64(berth.Hour))), name, 1<<gpusPerNode-1)
	}
	size.wait(tb, sched)
	return sched
}

// wait adds the jobs that wait.
func (s throngSize) wait(tb builder, sched *core.Core) {
	tb.Helper()
	for i := range s.pending {
		tell(tb, sched, berth.JobSubmitted{Job: s.job(i)})
	}
	rest(tb, sched)
}

func throngQueue(i int) berth.QueueID { return berth.QueueID(fmt.Sprintf("queue-%05d", i)) }

// job is the i-th that waits. Of the first 20 shapes each has another number of members or GPUs;
// beyond those, shapes differ by host memory.
func (s throngSize) job(i int) berth.Job {
	shape := i / s.queues % s.shapes
	if s.shapes == s.pending {
		shape = i
	}
	kind := shape % shapes
	job := jobOf(fmt.Sprintf("waits-%07d", i), string(throngQueue(i%s.queues)), 1+kind/4, 1<<(kind%4))
	job.Groups[0].Claim.MemoryMiB += int64(shape / shapes)
	return job
}

// finishing is, each time, the end of another job of a throng ten minutes later, and all that
// follows until nothing is due.
func finishing(sched *core.Core) func(bench) (passes int, longest time.Duration) {
	number := 0
	return func(b bench) (int, time.Duration) {
		b.StopTimer()
		_, err := sched.Schedule(sched.Now().Add(10 * berth.Minute))
		must(b, err)
		rest(b, sched)
		b.StartTimer()
		tell(b, sched, berth.JobFinished{Job: berth.JobID(nodeName(number)), Incarnation: 1})
		number++
		return rest(b, sched)
	}
}

// restLimit is for how long a core is waited for to come to rest.
const restLimit = 2 * time.Minute

// rest runs passes until nothing is due at this instant, and counts them. What they order is done.
func rest(tb builder, sched *core.Core) (passes int, longest time.Duration) {
	tb.Helper()
	return passesTo(tb, sched, func(orders []berth.Order) {
		for _, o := range orders {
			tell(tb, sched, berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone})
		}
	})
}

// passesTo runs passes until nothing is due at this instant, counts them, and tells of what each
// orders.
func passesTo(tb builder, sched *core.Core, ordered func([]berth.Order)) (passes int, longest time.Duration) {
	tb.Helper()
	limit := time.Now().Add(restLimit)
	for {
		began := time.Now()
		orders := pass(tb, sched)
		longest = max(longest, time.Since(began))
		passes++
		ordered(orders)
		if at, due := sched.NextWake(); !due || at > sched.Now() {
			return passes, longest
		}
		if passes == 10_000 || time.Now().After(limit) {
			tb.Fatal("it does not rest after ", passes, " passes, of which the longest took ", longest)
		}
	}
}
