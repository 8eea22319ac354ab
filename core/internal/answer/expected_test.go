package answer_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/internal/limits"
)

// busy is a node of 8 GPUs with a job that runs for a span, and jobs of an hour that wait for it.
func busy(t roomtest.TB, runs berth.Duration, waits ...berth.JobID) *roomtest.Machine {
	m := roomtest.New(t, berth.Config{})
	m.Nodes(1, 8)
	m.Queue("a", 8)
	hour := func(id berth.JobID, length berth.Duration) berth.Job {
		j := job(id, 1, 8)
		j.ExpectedRuntime = length
		return j
	}
	m.Run(hour("runs", runs), "n1")
	for _, id := range waits {
		m.Wait(hour(id, berth.Hour))
	}
	place(m)
	return m
}

// ahead is how far ahead the instants are at which a job is expected to start. They are in order.
func ahead(t roomtest.TB, m *roomtest.Machine, id berth.JobID) (earliest, middle, late berth.Duration) {
	f := explain(t, m, id).Reason.ExpectedStart
	require.LessOrEqual(t, f.Earliest, f.Middle)
	require.LessOrEqual(t, f.Middle, f.Late)
	return f.Earliest.Sub(m.State.Now), f.Middle.Sub(m.State.Now), f.Late.Sub(m.State.Now)
}

func TestAForecastCountsWithWhatStandsBefore(t *testing.T) {
	m := busy(t, berth.Hour, "first", "second")
	earliest, middle, late := ahead(t, m, "first")
	require.Equal(t, berth.Hour, earliest)
	require.Equal(t, berth.Hour, middle, "it is next")
	require.Equal(t, 4*berth.Hour, late)
	// What waits keeps the fleet busy for two hours.
	earliest, middle, late = ahead(t, m, "second")
	require.Equal(t, berth.Hour, earliest, "if the first were not served before it")
	require.Equal(t, 90*berth.Minute+2*berth.Hour/14, middle)
	require.Equal(t, 4*berth.Hour+45*berth.Minute+2*berth.Hour*2/5, late)

	m = busy(t, berth.Hour, "first", "second", "third", "fourth")
	earliest, four, fourLate := ahead(t, m, "fourth")
	require.Equal(t, berth.Hour, earliest)
	require.Greater(t, four, middle)
	require.Greater(t, fourLate, late)
}

// A job that was passed by others for some time may be passed again; what stands before one with a
// reservation does not matter.
func TestAForecastCountsWithTheWaitAndWithReservations(t *testing.T) {
	m := busy(t, 2*berth.Hour, "first", "second")
	_, middle, late := ahead(t, m, "second")
	m.Later(berth.Hour)
	_, laterMiddle, laterLate := ahead(t, m, "second")
	// The end is nearer by an hour.
	require.Equal(t, middle-90*berth.Minute+10*berth.Minute, laterMiddle)
	require.Equal(t, late-285*berth.Minute+54*berth.Minute, laterLate)

	m.Reserve(replicaOf(m, "second"), m.State.Now.Add(berth.Hour), "n1")
	_, middle, late = ahead(t, m, "second")
	require.Equal(t, berth.Hour, middle)
	require.Equal(t, 4*berth.Hour+24*berth.Minute, late)
}

// What a gang has run for is no wait. It runs on a node of 8 GPUs, and waits for another to grow.
func TestAForecastOfGrowthCountsNoWait(t *testing.T) {
	m := roomtest.New(t, berth.Config{})
	m.Nodes(2, 8)
	m.Queue("a", 16)
	grows := job("grows", 2, 8)
	grows.Groups[0].MinMembers = 1
	m.Run(grows, "n1")
	other := job("other", 1, 8)
	other.ExpectedRuntime = 2 * berth.Hour
	m.Run(other, "n2")
	m.Later(berth.Hour)
	place(m)
	earliest, _, late := ahead(t, m, "grows")
	require.Equal(t, berth.Hour, earliest)
	require.Equal(t, 4*berth.Hour, late)
}

// What would take longer than an instant can tell comes at the last one.
func TestAForecastSaturates(t *testing.T) {
	m := roomtest.New(t, berth.Config{})
	m.Nodes(1, 1)
	m.Queue("a", 1)
	long := func(id berth.JobID, members, gpus int) berth.Job {
		j := job(id, members, gpus)
		j.ExpectedRuntime = limits.MaxSpan
		return j
	}
	m.Run(long("runs", 1, 1), "n1")
	for i := range 7 {
		m.Wait(long(berth.JobID(fmt.Sprintf("large-%d", i)), 65_536, 8))
	}
	m.Wait(long("small", 1, 1))
	place(m)
	earliest, middle, late := ahead(t, m, "small")
	require.Equal(t, berth.Duration(limits.MaxSpan), earliest)
	require.Greater(t, middle, earliest)
	require.Equal(t, berth.Time(math.MaxInt64), m.State.Now.Add(late))
}

// A fleet without GPUs has none to divide what is asked by.
func TestAForecastOfWhatAsksForNoGPUs(t *testing.T) {
	m := roomtest.New(t, berth.Config{})
	m.Nodes(1, 0)
	m.Queue("a", 0)
	host := func(id berth.JobID) berth.Job {
		j := job(id, 1, 0)
		j.Groups[0].Claim = berth.Claim{CPUMilli: m.NodeNamed("n1").Spec.CPUMilli}
		j.ExpectedRuntime = berth.Hour
		return j
	}
	m.Run(host("runs"), "n1")
	m.Wait(host("first"))
	m.Wait(host("second"))
	place(m)
	_, _, late := ahead(t, m, "second")
	require.Equal(t, 4*berth.Hour+45*berth.Minute, late)
}

func replicaOf(m *roomtest.Machine, id berth.JobID) *record.Replica {
	return m.State.Jobs[id].Replicas.At(0)
}
