package baseline_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// config is that of the worlds here.
func config() berth.Config { return berth.Config{Levels: []string{"rack"}} }

// box is a node of so many GPUs.
func box(name, rack string, gpus int) berth.Node {
	return berth.Node{ID: berth.NodeID(name), Domains: []string{rack}, GPUs: slices.Repeat([]berth.GPU{{Product: "P100"}}, gpus)}
}

// job arrives at a minute and runs for some.
func job(minute int, name, queue string, members, gpus, minutes int, change ...func(*berth.Job)) sim.Arrival {
	j := berth.Job{
		ID: berth.JobID(name), Queue: berth.QueueID(queue), ExpectedRuntime: berth.Duration(minutes) * berth.Minute,
		Groups: []berth.Group{{Members: members, Claim: berth.Claim{GPUs: gpus}}},
	}
	for _, c := range change {
		c(&j)
	}
	return sim.Arrival{At: berth.Time(0).Add(berth.Duration(minute) * berth.Minute), Runtime: berth.Duration(minutes) * berth.Minute, Event: berth.JobSubmitted{Job: j}}
}

// checkpoints has a job write some, in a minute.
func checkpoints(j *berth.Job) {
	j.Checkpoint = berth.Checkpoint{Supported: true, Cost: berth.Minute, RestartCost: berth.Minute}
}

// world is nodes and jobs, in the queues that they name.
func world(nodes []berth.Node, jobs ...sim.Arrival) *life.Workload {
	w := &life.Workload{Nodes: nodes, Jobs: jobs}
	for _, name := range []string{"a", "b", "c"} {
		w.Queues = append(w.Queues, quota.Queue{Name: berth.QueueID(name)})
	}
	return w
}

// A strict checker also holds reports against its own counts.
type strict struct {
	*check.Checker
	scheduler berth.Scheduler
}

func (s strict) Scheduled(now berth.Time, actions []berth.Order) error {
	if err := s.Checker.Scheduled(now, actions); err != nil {
		return err
	}
	return s.AgainstReport(s.scheduler.Report())
}

// play runs a world under a policy and the checker.
func play(p baseline.Policy, fit baseline.Fit, w *life.Workload) (*life.Book, map[string]int, error) {
	s := baseline.New(p, fit)
	checker := strict{check.NewForAnyPolicy(config()), s}
	book, _, err := life.Play(s, w, life.Options{Checker: checker})
	return book, checker.Cases(), err
}

// starts plays a world, and tells at which minute each job started first and ended.
func starts(t *testing.T, p baseline.Policy, fit baseline.Fit, w *life.Workload) map[string]string {
	t.Helper()
	book, _, err := play(p, fit, w)
	require.NoError(t, err)
	got := map[string]string{}
	for _, j := range book.Jobs {
		got[string(j.ID)] = fmt.Sprintf("%d-%d", int64(j.Started)/int64(berth.Minute), int64(j.Ended)/int64(berth.Minute))
	}
	return got
}

// draw makes a world of a seed: three queues on six nodes of eight GPUs and six of two.
func draw(seed uint64, change ...func(*berth.Job)) *life.Workload {
	random := rand.New(rand.NewPCG(seed, 7))
	var nodes []berth.Node
	for i := range 6 {
		nodes = append(nodes, box(fmt.Sprintf("e%d", i), fmt.Sprintf("rack%d", i/3), 8), box(fmt.Sprintf("t%d", i), "rack2", 2))
	}
	var jobs []sim.Arrival
	for i := range 60 + random.IntN(100) {
		members, gpus := 1, []int{1, 1, 1, 2, 4, 8}[random.IntN(6)]
		if gpus == 8 {
			members = 1 + random.IntN(3)
		}
		jobs = append(jobs, job(random.IntN(300), fmt.Sprintf("j%03d", i), []string{"a", "b", "c"}[random.IntN(3)], members, gpus, 1+random.IntN(60), change...))
	}
	slices.SortStableFunc(jobs, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
	return world(nodes, jobs...)
}

// cellsOf divide the worlds that are drawn.
func cellsOf() map[berth.QueueID]map[int]int {
	return map[berth.QueueID]map[int]int{"a": {8: 3, 2: 1}, "b": {8: 3, 2: 2}, "c": {2: 3}}
}
