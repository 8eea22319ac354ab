package core_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// newMixed is a core with two nodes of 8 H100 and little CPU, and two of 4 A100 with much.
func newMixed(t *testing.T) *core.Core {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	mustApply(sched, 0, berth.QueueSet{Queue: quota.Queue{Name: "research"}})
	for i, n := range []berth.Node{
		{GPUs: berth.EqualGPUs(8, berth.GPU{Product: "H100", MemoryMiB: 81920}), CPUMilli: 32_000, MemoryMiB: 1 << 20},
		{GPUs: berth.EqualGPUs(8, berth.GPU{Product: "H100", MemoryMiB: 81920}), CPUMilli: 32_000, MemoryMiB: 1 << 20},
		{GPUs: berth.EqualGPUs(4, berth.GPU{Product: "A100", MemoryMiB: 81920}), CPUMilli: 96_000, MemoryMiB: 1 << 20},
		{GPUs: berth.EqualGPUs(4, berth.GPU{Product: "A100", MemoryMiB: 81920}), CPUMilli: 96_000, MemoryMiB: 1 << 20},
	} {
		n.ID = berth.NodeID(fmt.Sprintf("n%d", i+1))
		mustApply(sched, 0, berth.NodeJoined{Node: n})
	}
	return sched
}

// askedFor has so many jobs of a claim come and go.
func askedFor(t *testing.T, sched *core.Core, jobs int, claim berth.Claim) {
	for i := range jobs {
		id := berth.JobID(fmt.Sprintf("asked-%d-%d", sched.Now(), i))
		mustApply(sched, sched.Now()+1, claimed(id, 1, claim), berth.JobCancelled{Job: id})
	}
}

// What is asked for decides: on a fleet of which little is known a pair goes to the node that it
// leaves the least on; where many ask for four GPUs, it breaks the node that has more to give.
func TestWhatIsAskedForDecides(t *testing.T) {
	small := berth.WholeGPUs(1).WithHost(24_000, 0)
	sched := newMixed(t)
	require.Equal(t, "n3[0]", bound(t, sched, claimed("one", 1, small)), "A100 comes first, and has less to give")

	sched = newMixed(t)
	wide := claimed("", 1, berth.WholeGPUs(4).WithHost(90_000, 0))
	askedFor(t, sched, 40, wide.Job.Groups[0].Claim)
	require.Equal(t, "n1[0]", bound(t, sched, claimed("one", 1, small)), "n3 and n4 alone have CPU for what is asked for")
}

// TestDemandIsSaved: a core that is restored in the middle of its life decides as the other does,
// and what it knows of demand comes back as it was.
func TestDemandIsSaved(t *testing.T) {
	for seed := range drawn.Seeds(4) {
		r := rand.New(rand.NewPCG(seed, 7))
		one := newMixed(t)
		two := again(t, one)
		var running []berth.JobID
		for i := range 300 {
			now := berth.Time(i + 1)
			claim := berth.WholeGPUs(1 + r.IntN(4))
			if r.IntN(2) == 0 {
				claim = berth.SharedGPU(berth.ShareMPS, 100*(1+r.IntN(9)))
			}
			events := []berth.Event{claimed(berth.JobID(fmt.Sprintf("j%d", i)), 1, claim.WithHost(int64(r.IntN(8))*1000, 0))}
			running = append(running, berth.JobID(fmt.Sprintf("j%d", i)))
			if k := r.IntN(len(running)); len(running) > 6 {
				events = append(events, berth.JobCancelled{Job: running[k]})
				running = append(running[:k], running[k+1:]...)
			}
			if r.IntN(20) == 0 {
				two = again(t, two)
			}
			orders := schedule(t, one, now, events)
			require.Equal(t, orders, schedule(t, two, now, events), "seed %d, step %d", seed, i)
			for _, o := range orders {
				done := berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone}
				mustApply(one, now, done)
				mustApply(two, now, done)
			}
			a, err := one.Snapshot()
			require.NoError(t, err)
			b, err := two.Snapshot()
			require.NoError(t, err)
			require.Equal(t, string(a), string(b))
		}
	}
}

// again is a core that was saved and restored.
func again(t *testing.T, c *core.Core) *core.Core {
	b, err := c.Snapshot()
	require.NoError(t, err)
	c, err = core.Restore(b)
	require.NoError(t, err)
	return c
}

func schedule(t *testing.T, c *core.Core, now berth.Time, events []berth.Event) []berth.Order {
	mustApply(c, now, events...)
	orders, err := c.Schedule(now)
	require.NoError(t, err)
	return orders
}

// A demand that nobody can have is refused by its field.
func TestRestoreRefusesWhatIsNoDemand(t *testing.T) {
	sched := newMixed(t)
	askedFor(t, sched, 40, berth.WholeGPUs(2))
	b, err := sched.Snapshot()
	require.NoError(t, err)
	const known = `{"claim":{"gpus":2},"weight":40}`
	for _, c := range []struct{ put, field string }{
		{`{"claim":{"gpus":65},"weight":32,"time":32}`, "demand.kinds[0].claim.gpus"},
		{`{"claim":{"gpus":2},"weight":0,"time":32}`, "demand.kinds[0]"},
		{`{"claim":{"gpus":2},"weight":32,"time":32}`, "demand.kinds[0]"},
		{`{"claim":{"gpus":2},"weight":32,"timed":33,"time":33}`, "demand.kinds[0]"},
		{`{"claim":{"gpus":2},"weight":32,"timed":32,"time":31}`, "demand.kinds[0]"},
		{`{"claim":{"gpus":2},"weight":32,"timed":1,"time":86401}`, "demand.kinds[0]"},
		{`{"claim":{"mig":"1g.10gb"},"weight":32,"time":32}`, "demand.kinds[0]"},
		{`{"claim":{"gpus":2,"cpuMilli":-1},"weight":32,"time":32}`, "demand.kinds[0].claim.cpuMilli"},
	} {
		require.Contains(t, string(b), known)
		_, err := core.Restore([]byte(strings.Replace(string(b), known, c.put, 1)))
		var refusal *berth.Error
		require.ErrorAs(t, err, &refusal, c.put)
		require.Equal(t, c.field, refusal.Field)
	}
	for _, c := range []struct{ from, to, field string }{
		{`"alone":`, `"alone":-`, "demand.typical[0]"},
		{`"company":`, `"company":9999999`, "demand.typical[0]"},
		{`"free":{`, `"free":{"tape":7,`, `demand.free["tape"]`},
		{`"free":{`, `"free":{"gpuMilli:T4":7,`, `demand.free["gpuMilli:T4"]`},
		{`"free":{"cpuMilli":`, `"free":{"cpuMilli":-`, `demand.free["cpuMilli"]`},
	} {
		require.Contains(t, string(b), c.from)
		_, err = core.Restore([]byte(strings.Replace(string(b), c.from, c.to, 1)))
		var refusal *berth.Error
		require.ErrorAs(t, err, &refusal, c.to)
		require.Equal(t, c.field, refusal.Field)
	}
}

// A service runs for ever, and nobody knows how long a job without a run time does: each of their
// members counts as the mean of those that state one. So a fleet with many services keeps nodes
// whole for gangs that run for minutes.
func TestDemandOfServicesIsNotAllOfTheTime(t *testing.T) {
	sched := newMixed(t)
	for i := range 64 {
		submitted := claimed(berth.JobID(fmt.Sprintf("j%d", i)), 1, berth.WholeGPUs(1))
		j := &submitted.Job
		switch {
		case i%4 == 0:
			j.Groups[0].Claim.GPUs, j.ExpectedRuntime = 8, 10*berth.Minute
		case i%4 == 1:
			j.Service = &berth.Service{Replicas: 1}
		}
		mustApply(sched, 1, submitted)
	}
	b, err := sched.Snapshot()
	require.NoError(t, err)
	require.Regexp(t, `"typical":\[{"claim":{"gpus":1},"weight":48,"timed":48,"time":28800,[^}]*},{"claim":{"gpus":8},"weight":16,"timed":16,"time":9600,[^}]*}\],"time":38400`, string(b))
}
