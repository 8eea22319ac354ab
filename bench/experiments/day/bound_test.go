package day

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
)

const minute = berth.Time(berth.Minute)

func node(gpus int) sim.Arrival {
	return sim.Arrival{Event: berth.NodeJoined{Node: berth.Node{ID: "n", GPUs: make([]berth.GPU, gpus)}}}
}

func job(at berth.Time, id berth.JobID, gpus int, runtime berth.Duration) sim.Arrival {
	return sim.Arrival{At: at, Runtime: runtime, Event: berth.JobSubmitted{Job: berth.Job{
		ID: id, Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: gpus}}},
	}}}
}

func TestMostByHand(t *testing.T) {
	service := job(0, "s", 2, 0)
	spec := service.Event.(berth.JobSubmitted).Job
	spec.Service = &berth.Service{Replicas: 1}
	service.Event = berth.JobSubmitted{Job: spec}
	for name, c := range map[string]struct {
		arrivals []sim.Arrival
		want     float64
	}{
		"nothing":                  {[]sim.Arrival{node(4)}, 0},
		"more than there is":       {[]sim.Arrival{node(4), job(0, "a", 4, 30*berth.Minute), job(0, "b", 4, berth.Hour)}, 4000},
		"half of the time":         {[]sim.Arrival{node(4), job(30*minute, "a", 2, berth.Hour)}, 1000},
		"one after the other":      {[]sim.Arrival{node(4), job(0, "a", 4, 15*berth.Minute), job(30*minute, "b", 4, 15*berth.Minute)}, 2000},
		"a service beside a job":   {[]sim.Arrival{node(4), service, job(0, "a", 4, 15*berth.Minute)}, 3000},
		"wider than the fleet":     {[]sim.Arrival{node(4), job(0, "a", 8, 15*berth.Minute)}, 2000},
		"scaled down after a half": {[]sim.Arrival{node(4), service, {At: 30 * minute, Event: berth.JobScaled{Job: "s"}}}, 1000},
		"cancelled":                {[]sim.Arrival{node(4), job(0, "a", 4, berth.Hour), {At: 15 * minute, Event: berth.JobCancelled{Job: "a"}}}, 1000},
		"half of the fleet lost":   {[]sim.Arrival{node(4), job(0, "a", 4, berth.Hour), {At: 30 * minute, Event: berth.NodeLost{Node: "n"}}}, 2000},
	} {
		require.InDelta(t, c.want, Most(c.arrivals, 60*minute), 1e-6, name)
	}
}

// No scheduler holds more than the bound, but for what it loses and for what takes seconds to
// start and stop.
func TestNoSchedulerHoldsMore(t *testing.T) {
	for seed := range uint64(2) {
		o := Options{Seed: seed, Nodes: 24, Load: 130, Length: 12 * berth.Hour}
		arrivals := Plain(o.day(0).Arrivals())
		most := Most(arrivals, o.until())
		for _, l := range schedulers() {
			r, err := playOn(&l, o.day(0).Config(), arrivals, o.until(), &report.Progress{})
			require.NoError(t, err)
			lost := ofKind([]*report.Run{r}, report.Inference, report.HostOnly).LostGPUHours
			useful := r.Held - 1000*lost/12
			require.LessOrEqual(t, useful, 1.005*most, "%s: %v of %v", l.Name, useful, r.Capacity)
			require.Greater(t, useful, 0.7*most, "the bound says something")
		}
	}
}

// Every job of the plain day can be run by every scheduler that is compared.
func TestPlain(t *testing.T) {
	arrivals := Plain(workload.Reference{Seed: 1, Nodes: 40}.Arrivals())
	jobs, running := map[berth.JobID]bool{}, 0
	for _, a := range arrivals {
		switch e := a.Event.(type) {
		case berth.JobSubmitted:
			require.False(t, jobs[e.Job.ID], "%s is submitted once", e.Job.ID)
			jobs[e.Job.ID] = true
			require.Nil(t, e.Job.Service)
			for _, g := range e.Job.Groups {
				require.Positive(t, g.Claim.GPUs)
				require.Zero(t, g.MinMembers)
			}
			running++
		case berth.JobCancelled:
			require.True(t, jobs[e.Job])
			delete(jobs, e.Job)
		case berth.NodeJoined, berth.QueueSet:
		default:
			require.Failf(t, "not plain", "%T", e)
		}
	}
	require.Greater(t, running, 200)
}

// A service that grows to three replicas and shrinks to one gives up the latest.
func TestReplicasAreJobs(t *testing.T) {
	service := job(0, "s", 2, 0)
	spec := service.Event.(berth.JobSubmitted).Job
	spec.Service = &berth.Service{Replicas: 2}
	service.Event = berth.JobSubmitted{Job: spec}
	var told []string
	for _, a := range Plain([]sim.Arrival{
		service,
		{At: 1, Event: berth.JobScaled{Job: "s", Replicas: 3}},
		{At: 2, Event: berth.JobScaled{Job: "s", Replicas: 1}},
		{At: 3, Event: berth.JobScaled{Job: "s", Replicas: 2}},
	}) {
		switch e := a.Event.(type) {
		case berth.JobSubmitted:
			told = append(told, "+"+string(e.Job.ID))
		case berth.JobCancelled:
			told = append(told, "-"+string(e.Job))
		}
	}
	require.Equal(t, []string{"+s/0", "+s/1", "+s/2", "-s/2", "-s/1", "+s/3"}, told)
}
