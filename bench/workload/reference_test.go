package workload_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

func TestReferenceIsDrawnFromItsSeed(t *testing.T) {
	day := workload.Reference{Seed: 7, Nodes: 100}
	first, err := json.Marshal(day.Arrivals())
	require.NoError(t, err)
	again, err := json.Marshal(day.Arrivals())
	require.NoError(t, err)
	require.Equal(t, string(first), string(again))
	other, err := json.Marshal(workload.Reference{Seed: 8, Nodes: 100}.Arrivals())
	require.NoError(t, err)
	require.NotEqual(t, string(first), string(other))
}

// TestReferenceIsWhatItSays counts what its comment promises.
func TestReferenceIsWhatItSays(t *testing.T) {
	day := workload.Reference{Seed: 1}
	list := day.Arrivals()
	require.True(t, slices.IsSortedFunc(list, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) }))
	require.LessOrEqual(t, list[len(list)-1].At, berth.Time(0).Add(day.Length()))

	kinds, leaves := map[string]int{}, map[string]int{}
	queues, gangs := 0, map[int]int{}
	replicas, services := map[berth.JobID]int{}, 0
	shares, slices, hosts := 0, 0, 0
	for _, a := range list {
		kinds[a.Event.Kind()]++
		switch e := a.Event.(type) {
		case berth.NodeJoined:
			if a.At == 0 {
				require.Len(t, e.Node.GPUs, 8)
				require.Len(t, e.Node.NICs, 8)
				leaves[strings.Join(e.Node.Domains, "/")]++
			}
		case berth.QueueSet:
			queues++
		case berth.JobScaled:
			replicas[e.Job] = max(replicas[e.Job], e.Replicas)
		case berth.JobSubmitted:
			gpus := 0
			for _, g := range e.Job.Groups {
				gpus += g.Members * g.Claim.GPUs
			}
			claim := e.Job.Groups[0].Claim
			switch {
			case e.Job.Service != nil:
				services++
				replicas[e.Job.ID] = e.Job.Service.Replicas
			case gpus >= 64:
				gangs[gpus]++
				require.Len(t, e.Job.Groups, 2, "a driver and workers")
				require.Positive(t, a.Runtime)
			case gpus == 0 && claim.Share == nil:
				hosts++
			}
			if claim.Share != nil {
				shares++
				if claim.Share.Mode == berth.ShareTimeSlice {
					slices++
				}
			}
			if e.Job.Service == nil {
				require.Positive(t, a.Runtime)
				require.GreaterOrEqual(t, e.Job.ExpectedRuntime, a.Runtime)
			}
		}
	}
	total := 0
	for _, n := range replicas {
		total += n
	}
	require.Len(t, leaves, 16)
	require.Equal(t, 32, leaves["spine-0/leaf-00"])
	require.Equal(t, 10+240, queues)
	require.Greater(t, services, 200)
	require.Greater(t, total, 1200, "replicas at the peak; over the day there are thousands")
	require.Equal(t, []int{64, 128, 256, 512}, sortedKeys(gangs))
	require.Greater(t, gangs[64]+gangs[128]+gangs[256]+gangs[512], 30)
	require.Greater(t, slices, 300)
	require.Greater(t, shares, slices)
	require.Greater(t, hosts, 100)
	for _, kind := range []string{"nodeLost", "gpuFailed", "nodeCordoned", "jobCancelled", "jobScaled"} {
		require.Positive(t, kinds[kind], kind)
	}
}

func sortedKeys(m map[int]int) []int { return slices.Sorted(maps.Keys(m)) }

func TestReferenceScales(t *testing.T) {
	count := func(r workload.Reference) int { return len(r.Arrivals()) }
	day := count(workload.Reference{Nodes: 100})
	require.InEpsilon(t, 2*day, count(workload.Reference{Nodes: 200}), 0.2)
	require.Less(t, count(workload.Reference{Nodes: 100, LoadPercent: 50}), day*3/4)
	require.Less(t, count(workload.Reference{Nodes: 100, Span: 6 * berth.Hour}), day/2)
	require.NotEmpty(t, workload.Reference{Nodes: 1, Span: berth.Minute, LoadPercent: 1}.Arrivals())
}

// TestReferenceKeepsThePromises runs a day of a smaller fleet under the checker. No
// fact of the day is refused, the fleet fills up, and a queue forms.
func TestReferenceKeepsThePromises(t *testing.T) {
	day := workload.Reference{Seed: 3, Nodes: 64}
	sched, err := core.New(day.Config())
	require.NoError(t, err)
	checker := check.New(sched.Config())
	var held, all int64
	waited, passes := 0, 0
	s := sim.New(sched, day.Workload(), sim.Options{
		StartDelay: 10 * berth.Second, StopDelay: 5 * berth.Second,
		Applied: func(now berth.Time, e berth.Event, err error) {
			require.NoError(t, err, e)
			require.NoError(t, checker.Applied(now, e))
		},
		Scheduled: func(now berth.Time, actions []berth.Order) {
			require.NoError(t, checker.Scheduled(now, actions))
			if passes++; passes%10 == 0 {
				r := sched.Report()
				require.NoError(t, checker.AgainstReport(r))
				held, all = max(held, r.GPUs.HeldMilli), max(all, r.GPUs.AllMilli)
				waited = max(waited, r.Waiting.Capacity)
			}
		},
	})
	require.NoError(t, s.Run(berth.Time(0).Add(day.Length())))
	require.GreaterOrEqual(t, 10*held, 9*all, "at the peak nine tenths are held")
	require.Positive(t, waited)
}
