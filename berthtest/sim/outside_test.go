package sim_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// An executor of one's own: every member takes its time to start, the workload goes on when a
// pass has placed something, and the checker sees all of it.
func TestCarryOut(t *testing.T) {
	const starts, runs = 20 * berth.Second, berth.Minute
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	var s *sim.Simulation
	var bound, ended []berth.Time
	waiting, next := 0, 0
	submit := func() error {
		waiting, next = waiting+1, next+1
		return s.Tell(sim.Arrival{Event: berth.JobSubmitted{Job: oneGPU(berth.JobID(rune('a' + next)))}})
	}
	s = sim.New(sched, sim.FromSlice(nil), sim.Options{
		Checker: check.New(berth.Config{}),
		CarryOut: func(a berth.Order) error {
			bind := a.(berth.Bind)
			bound, waiting = append(bound, s.Now()), waiting-1
			s.At(s.Now().Add(starts), func() error {
				return s.Tell(sim.Arrival{Event: berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone}})
			})
			s.At(s.Now().Add(starts+runs), func() error {
				ended = append(ended, s.Now())
				return s.Tell(sim.Arrival{Event: berth.JobFinished{Job: bind.Job, Incarnation: bind.Incarnation}})
			})
			return nil
		},
		Passed: func() error {
			if waiting > 0 || next == 3 {
				return nil
			}
			return submit()
		},
	})
	require.NoError(t, s.Tell(sim.Arrival{Event: berth.NodeJoined{Node: berth.Node{ID: "n", GPUs: []berth.GPU{{Product: "H100"}}}}}))
	require.NoError(t, s.Tell(sim.Arrival{Event: berth.QueueSet{Queue: quota.Queue{Name: "q"}}}))
	require.NoError(t, submit())
	require.NoError(t, s.Run(berth.Time(berth.Hour)))
	require.Equal(t, []berth.Time{0, berth.Time(80 * berth.Second), berth.Time(160 * berth.Second)}, bound)
	require.Equal(t, []berth.Time{berth.Time(80 * berth.Second), berth.Time(160 * berth.Second), berth.Time(240 * berth.Second)}, ended)
	require.Zero(t, sched.Report().Replicas.Pending)
}

// Tell returns what the scheduler refuses, and what a caller returns ends the run.
func TestTellRefused(t *testing.T) {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	s := sim.New(sched, sim.FromSlice(nil), sim.Options{})
	require.ErrorIs(t, s.Tell(sim.Arrival{Event: berth.OrderReported{Order: 7, Outcome: berth.OutcomeDone}}), berth.ErrUnknown)
	require.NoError(t, s.Tell(sim.Arrival{Event: berth.NodeJoined{Node: berth.Node{ID: "n", GPUs: []berth.GPU{{Product: "H100"}}}}}))
	wrong := errors.New("no more")
	s.At(5, func() error { return wrong })
	require.ErrorIs(t, s.Run(10), wrong)
	require.EqualValues(t, 5, s.Now())

	sched, err = core.New(berth.Config{})
	require.NoError(t, err)
	s = sim.New(sched, sim.FromSlice(nil), sim.Options{CarryOut: func(berth.Order) error { return wrong }})
	require.NoError(t, s.Tell(sim.Arrival{Event: berth.NodeJoined{Node: berth.Node{ID: "n", GPUs: []berth.GPU{{Product: "H100"}}}}}))
	require.NoError(t, s.Tell(sim.Arrival{Event: berth.QueueSet{Queue: quota.Queue{Name: "q"}}}))
	require.NoError(t, s.Tell(sim.Arrival{Event: berth.JobSubmitted{Job: oneGPU("j")}}))
	require.ErrorIs(t, s.Run(10), wrong)
}

// A GPU whose node did not say its mode is whole, and a look at it says so: a
// Repartition that nobody reported does not keep the GPU for ever.
func TestLookSaysMode(t *testing.T) {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	var told []berth.Event
	s := sim.New(sched, sim.FromSlice(nil), sim.Options{
		Checker: check.New(berth.Config{}),
		Faults:  sim.Faults{RepartitionFail: 1, ReportLost: 1, Outage: berth.Minute, Until: berth.Time(20 * berth.Minute)},
		Applied: func(_ berth.Time, e berth.Event, refused error) {
			if refused == nil {
				told = append(told, e)
			}
		},
	})
	job := oneGPU("j")
	job.Groups[0].Claim = berth.SharedGPU(berth.ShareMPS, 500)
	require.NoError(t, s.Tell(sim.Arrival{Event: berth.NodeJoined{Node: berth.Node{ID: "n", GPUs: []berth.GPU{{Product: "H100"}}}}}))
	require.NoError(t, s.Tell(sim.Arrival{Event: berth.QueueSet{Queue: quota.Queue{Name: "q"}}}))
	require.NoError(t, s.Tell(sim.Arrival{Event: berth.JobSubmitted{Job: job}}))
	require.NoError(t, s.Run(berth.Time(berth.Hour)))
	require.Contains(t, told, berth.GPUPartitioned{Node: "n", Mode: berth.GPUModeWhole})
}

// oneGPU is a job of the queue q.
func oneGPU(id berth.JobID) berth.Job {
	return berth.Job{ID: id, Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}}}
}
