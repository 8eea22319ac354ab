package journal_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
)

// TestADurableIsSimulated: a simulation of three hours drives a Durable as it drives a core, with
// the same orders, of which none expires; and another process goes on from there.
func TestADurableIsSimulated(t *testing.T) {
	arrivals := []sim.Arrival{{Event: nodeOf("n", 2)}, {Event: queueOf("q")}}
	for i := range 12 {
		job := jobOf(berth.JobID(fmt.Sprint("job", i)))
		arrivals = append(arrivals, sim.Arrival{At: berth.Time(0).Add(berth.Duration(i+1) * berth.Minute), Event: job, Runtime: 25 * berth.Minute})
	}
	config := berth.Config{Levels: []string{"leaf"}}
	run := func(sched berth.Scheduler) (orders []string) {
		s := sim.New(sched, sim.FromSlice(arrivals), sim.Options{
			StartDelay: 5 * berth.Second, StopDelay: 5 * berth.Second, Checker: check.New(config),
			Scheduled: func(_ berth.Time, list []berth.Order) {
				for _, order := range list {
					text, err := json.Marshal(order)
					require.NoError(t, err)
					orders = append(orders, string(text))
				}
			},
		})
		require.NoError(t, s.Run(berth.Time(0).Add(3*berth.Hour)))
		return orders
	}
	sched, err := core.New(config)
	require.NoError(t, err)
	want := run(sched)
	require.Len(t, want, 12, "each job starts, and none is stopped")

	h := newHost(t)
	h.clock = journal.ManualClock{}
	h.open()
	require.Equal(t, want, run(h.Pretended(&h.clock)))
	state, now := h.state(), h.Now()
	h.open()
	require.Equal(t, state, h.state())
	require.Equal(t, now, h.Now())
}
