package scale

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

const queues = 300

// crowd is a core with a full fleet and jobs that wait for capacity: in 300 queues,
// of 20 shapes. A tenth of the GPUs is free, in crumbs that serve none of them.
type crowd struct {
	core *core.Core
	// full lists jobs each of which leaves a node empty when it ends.
	full []berth.JobID
	// number of each job that was submitted.
	number map[berth.JobID]int
}

// shapes that wait: 1 to 16 members of 5 or 8 GPUs, anywhere or in one leaf. No node
// takes two members.
const shapes = 20

// submit adds a job of a shape, in a queue.
func (c *crowd) submit(tb testing.TB, number, kind int) {
	shape, queue := kind%shapes, kind/shapes%queues
	job := jobOf(fmt.Sprintf("waits-%07d", number), fmt.Sprintf("queue-%03d", queue), 1<<(shape/4), 5+3*(shape%2))
	if shape/2%2 == 1 {
		job.Topology.Required = "leaf"
	}
	c.number[job.ID] = kind
	tell(tb, c.core, berth.JobSubmitted{Job: job})
}

func newCrowd(tb testing.TB, gpus, pending int) *crowd {
	tb.Helper()
	free := fillInCrumbs(gpus)
	c := &crowd{core: newCore(tb, free), number: map[berth.JobID]int{}}
	for i, n := range free {
		if n == 0 {
			c.full = append(c.full, berth.JobID(nodeName(i)))
		}
	}
	for q := range queues {
		tell(tb, c.core, berth.QueueSet{Queue: quota.Queue{Name: fmt.Sprintf("queue-%03d", q), Weight: int64(1 + q%3)}})
	}
	for i := range pending {
		c.submit(tb, i, i)
	}
	require.Empty(tb, pass(tb, c.core), "nobody fits")
	c.rests(tb)
	return c
}

// rests asserts that the core has nothing to do at this instant. Later it may have:
// gangs that wait are considered for a reservation.
func (c *crowd) rests(tb testing.TB) {
	tb.Helper()
	at, more := c.core.NextWake()
	require.True(tb, !more || at > c.core.Now(), "nobody is left to look at")
}

// reserve lets the crowd wait for so long that the first gangs get reservations.
func (c *crowd) reserve(tb testing.TB) {
	tb.Helper()
	_, err := c.core.Schedule(c.core.Now().Add(c.core.Config().Policy.ReserveAfter))
	require.NoError(tb, err)
	for at, more := c.core.NextWake(); more && at == c.core.Now(); at, more = c.core.NextWake() {
		pass(tb, c.core) // one plans for no more than a few
	}
	require.GreaterOrEqual(tb, len(c.core.Report().Reservations), c.core.Config().Policy.ReservedGangs)
}

// complete finishes a job that leaves a node empty and runs a pass, which binds one
// that waited: or none, or several, where nodes are kept for a gang. To keep the
// crowd as it is, as many others of their kinds are submitted. It returns how long the
// event and the pass took, and how many were bound.
func (c *crowd) complete(tb testing.TB, number int) (spent time.Duration, bound int) {
	id := c.full[0]
	c.full = c.full[1:]
	start := time.Now()
	tell(tb, c.core, berth.JobFinished{Job: id, Incarnation: 1})
	actions := pass(tb, c.core)
	spent = time.Since(start)
	for i, action := range actions {
		bind := action.Header()
		tell(tb, c.core, berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone})
		c.full = append(c.full, bind.Job)
		c.submit(tb, number+i, c.number[bind.Job])
		delete(c.number, bind.Job)
	}
	return spent, len(actions)
}

// BenchmarkReserve is the pass that gives the first gangs their reservations.
func BenchmarkReserve(b *testing.B) {
	for _, gpus := range []int{small, large} {
		b.Run(fmt.Sprintf("gpus=%d", gpus), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				c := newCrowd(b, gpus, 1000)
				b.StartTimer()
				c.reserve(b)
			}
		})
	}
}

// BenchmarkIdlePass is a pass in which nothing changed.
func BenchmarkIdlePass(b *testing.B) {
	for _, pending := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pending=%d", pending), func(b *testing.B) {
			c := newCrowd(b, large, pending)
			b.ReportAllocs()
			for b.Loop() {
				pass(b, c.core)
			}
		})
	}
}

// BenchmarkCompletion is what it takes to tell that a job has finished and to run
// the pass that gives its place to one of those that wait. The rest of an op, a
// report and a submission, is not in ns/completion.
func BenchmarkCompletion(b *testing.B) {
	benchmarkCompletion(b, func(*crowd) {})
}

// BenchmarkCompletionReserved is BenchmarkCompletion while the first gangs have
// reservations.
func BenchmarkCompletionReserved(b *testing.B) {
	benchmarkCompletion(b, func(c *crowd) { c.reserve(b) })
}

func benchmarkCompletion(b *testing.B, prepare func(*crowd)) {
	for _, pending := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pending=%d", pending), func(b *testing.B) {
			c := newCrowd(b, large, pending)
			prepare(c)
			before := c.core.Report().Totals.PlacementAttempts
			number, spent := pending, time.Duration(0)
			b.ReportAllocs()
			for b.Loop() {
				took, bound := c.complete(b, number)
				spent += took
				number += bound
			}
			searches := c.core.Report().Totals.PlacementAttempts - before
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/completion")
			b.ReportMetric(float64(searches)/float64(b.N), "searches/completion")
		})
	}
}

// A completion costs a search for each shape that it could have helped, however
// many jobs wait.
func TestACompletionSearchesOncePerShape(t *testing.T) {
	for _, pending := range []int{1000, 20_000} {
		c := newCrowd(t, small, pending)
		for i := range 20 {
			before := c.core.Report().Totals.PlacementAttempts
			_, bound := c.complete(t, pending+i)
			require.Equal(t, 1, bound)
			// One of them is answered with yes, and asked once more.
			require.LessOrEqual(t, c.core.Report().Totals.PlacementAttempts-before, int64(shapes+1), "%d pending", pending)
		}
		require.NoError(t, c.core.Check())
	}
}

// An idle pass searches nothing and allocates nothing, whatever waits.
func TestAnIdlePassDoesNothing(t *testing.T) {
	c := newCrowd(t, small, 100_000)
	before := c.core.Report().Totals
	require.LessOrEqual(t, before.PlacementAttempts, int64(shapes), "one search answered for all that ask the same")
	require.Zero(t, testing.AllocsPerRun(100, func() { pass(t, c.core) }))
	require.Equal(t, before, c.core.Report().Totals)
}
