package sim_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// A greedy is a scheduler of a page: it gives each job of one GPU the first that is free,
// in the order in which they come. Some of its kind have a fault.
type greedy struct {
	fault   string
	nodes   []berth.Node
	failed  map[berth.MemberPlacement]bool // by node and GPU
	holders map[berth.MemberPlacement]berth.JobID
	waiting []berth.JobID
	last    berth.OrderID
	lost    []berth.Loss
}

func newGreedy(fault string) *greedy {
	return &greedy{fault: fault, failed: map[berth.MemberPlacement]bool{}, holders: map[berth.MemberPlacement]berth.JobID{}}
}

func gpuOf(node berth.NodeID, gpu int) berth.MemberPlacement {
	return berth.MemberPlacement{Node: node, GPUs: berth.GPUSetOf(gpu)}
}

func (g *greedy) Apply(now berth.Time, e berth.Event) error {
	switch e := e.(type) {
	case berth.NodeJoined:
		g.nodes = append(g.nodes, e.Node)
	case berth.GPUFailed:
		at := gpuOf(e.Node, e.GPU)
		g.failed[at] = true
		if id := g.holders[at]; id != "" && g.fault != "keeps losses to itself" {
			cause := berth.Cause{Code: berth.CauseHardwareLost}
			g.lost = append(g.lost, berth.Loss{Job: id, Incarnation: 1, At: now, Cause: cause, Members: []berth.MemberPlacement{at}})
		}
	case berth.JobSubmitted:
		g.waiting = append(g.waiting, e.Job.ID)
		if g.fault == "reports late" {
			return errors.New("not today")
		}
	case berth.JobFinished:
		for at, id := range g.holders {
			if id == e.Job {
				delete(g.holders, at)
			}
		}
	}
	return nil
}

func (g *greedy) Schedule(now berth.Time) (orders []berth.Order, err error) {
	for len(g.waiting) > 0 {
		at, free := g.first()
		if !free {
			break
		}
		job := g.waiting[0]
		g.waiting = g.waiting[1:]
		g.holders[at] = job
		g.last++
		h := berth.OrderHeader{ID: g.last, At: now, Deadline: now.Add(2 * berth.Minute), Job: job, Incarnation: 1, Cause: berth.Cause{Code: berth.CauseFits}}
		orders = append(orders, g.bind(h, at))
	}
	return orders, nil
}

// bind makes an order, with the fault that a scheduler may have there.
func (g *greedy) bind(h berth.OrderHeader, at berth.MemberPlacement) berth.Order {
	switch g.fault {
	case "nobody's job":
		h.Job = "nobody"
	case "no replica":
		h.Replica = -1
	case "no member":
		at.Index = 7
	}
	bind := berth.Bind{OrderHeader: h, Members: []berth.MemberPlacement{at}, Claims: []berth.GroupClaim{{Claim: berth.Claim{GPUs: 1}}}}
	switch g.fault {
	case "no claims":
		bind.Claims = nil
	case "another claim":
		bind.Claims[0].Claim.GPUs = 2
	case "pointer":
		return &bind
	case "nil":
		return nil
	case "no members":
		bind.Members = nil
	case "no GPU":
		return berth.Repartition{OrderHeader: h, Node: at.Node, GPU: -1}
	}
	return bind
}

// first is the first GPU that is free, as far as this scheduler looks.
func (g *greedy) first() (berth.MemberPlacement, bool) {
	for i := range g.nodes {
		for gpu := range g.nodes[i].GPUs {
			at := gpuOf(g.nodes[i].ID, gpu)
			if g.failed[at] && g.fault != "ignores health" || g.holders[at] != "" && g.fault != "books twice" {
				continue
			}
			return at, true
		}
	}
	return berth.MemberPlacement{}, false
}

func (g *greedy) NextWake() (berth.Time, bool)                   { return 0, false }
func (g *greedy) Lost() []berth.Loss                             { return g.lost }
func (g *greedy) Outstanding() []berth.Order                     { return nil }
func (g *greedy) Explain(berth.JobID) (berth.Explanation, error) { return berth.Explanation{}, nil }
func (g *greedy) Report() berth.FleetReport                      { return berth.FleetReport{} }
func (g *greedy) Snapshot() ([]byte, error)                      { return []byte(g.fault), nil }

// twoGPUs is a node, of which the first GPU fails at once, with a queue and three jobs.
func twoGPUs() sim.Workload {
	gpu := berth.GPU{Product: "H100"}
	return sim.FromSlice([]sim.Arrival{
		{Event: berth.NodeJoined{Node: berth.Node{ID: "n1", GPUs: []berth.GPU{gpu, gpu, gpu}}}},
		{Event: berth.GPUFailed{Node: "n1", GPU: 0}},
		{Event: berth.QueueSet{Queue: quota.Queue{Name: "q"}}},
		submit(10, "a", 100), submit(20, "b", 100), submit(30, "c", 100),
	})
}

func runGreedy(fault string, change ...func(*sim.Options)) (*sim.Simulation, error) {
	options := sim.Options{Checker: check.NewForAnyPolicy(berth.Config{})}
	for _, c := range change {
		c(&options)
	}
	s := sim.New(newGreedy(fault), twoGPUs(), options)
	return s, s.Run(berth.Time(berth.Hour))
}

// Any scheduler runs, without a clock, wakes or restores of its own.
func TestAnySchedulerRuns(t *testing.T) {
	var log []string
	s, err := runGreedy("", func(o *sim.Options) {
		o.Scheduled = func(now berth.Time, actions []berth.Order) {
			for _, a := range actions {
				log = append(log, fmt.Sprintf("%d %s", now, a.Header().Job))
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, []string{"10 a", "20 b", "110 c"}, log)
	require.Nil(t, s.Core())
	require.IsType(t, &greedy{}, s.Scheduler())

	speed := s.Speed()
	require.Equal(t, berth.Duration(210), speed.Simulated())
	require.Equal(t, [2]int{12, 3}, [2]int{speed.Events, speed.Orders})
	require.Positive(t, speed.Deciding)
	require.InDelta(t, float64(15)/speed.Deciding.Seconds(), speed.EventsPerSecond(), 1e-6)
	require.InDelta(t, 210/float64(berth.Day)/speed.Deciding.Seconds(), speed.DaysPerSecond(), 1e-6)
}

// A scheduler that breaks a promise ends the run, with a sentence that names what it did.
func TestBadSchedulersAreCaught(t *testing.T) {
	for fault, want := range map[string]string{
		"books twice":    "S1: GPU 1 of node n1 is held by a/0[0] and by b/0[0]",
		"ignores health": "selectors: a/0[0] is placed on failed GPUs 0 of node n1",
		"nobody's job":   "order 1 is about nobody/0, which does not exist",
		"no member":      "order 1 binds a/0[7], which is no member or is placed",
		"no replica":     "order 1 is about a/-1, which does not exist",
		"no claims":      "claims: order 1 binds members of a/0 with the claims of 0 groups; the job has 1",
		"another claim":  `claims: order 1 says that group "" of a/0 claims 2 GPUs; group "" claims 1 GPU`,
		"pointer":        "order 1 is a *berth.Bind",
		"nil":            "the order after order 0 is nil",
		"reports late":   "R2: the refusal is a *errors.errorString: not today",
	} {
		_, err := runGreedy(fault)
		require.ErrorContains(t, err, want, fault)
		var violation *check.Violation
		require.ErrorAs(t, err, &violation, fault)
	}
}

// A scheduler that does not hand over what hardware took is caught at once.
func TestALossThatIsNotHandedOverIsCaught(t *testing.T) {
	run := func(fault string) error {
		gpu := berth.GPU{Product: "H100"}
		work := sim.FromSlice([]sim.Arrival{
			{Event: berth.NodeJoined{Node: berth.Node{ID: "n1", GPUs: []berth.GPU{gpu}}}},
			{Event: berth.QueueSet{Queue: quota.Queue{Name: "q"}}},
			submit(10, "a", 100),
			{At: 50, Event: berth.GPUFailed{Node: "n1", GPU: 0}},
		})
		return sim.New(newGreedy(fault), work, sim.Options{Checker: check.NewForAnyPolicy(berth.Config{})}).Run(50)
	}
	require.NoError(t, run(""))
	require.ErrorContains(t, run("keeps losses to itself"), "lost: 0 losses are said; there are 1: [{Job:a Replica:0 Incarnation:1 At:")
}

// Without a checker, what nobody can carry out is still told by a sentence.
func TestOrdersThatCannotBeCarriedOut(t *testing.T) {
	for fault, want := range map[string]string{
		"nobody's job": `order 1 binds job "nobody", of which nobody was told`,
		"no member":    `order 1, a bind of job "a", names [7], which is no member`,
		"no replica":   `order 1, a bind, is about replica -1 of job "a"`,
		"pointer":      "an order is a *berth.Bind",
		"nil":          "an order is nil",
		"no members":   `order 1, a bind of job "a", names no member`,
		"no GPU":       `order 1, a repartition, is about GPU -1 of node "n1"`,
	} {
		_, err := runGreedy(fault, func(o *sim.Options) { o.Checker, o.Faults.BindFail = nil, 1 })
		require.ErrorContains(t, err, "sim: after 10ms (10 ms): "+want, fault)
	}
}

// A scheduler of another kind is restored by a function of the embedder's.
func TestAnySchedulerIsRestored(t *testing.T) {
	often := func(o *sim.Options) { o.Faults.Restore = 1 }
	_, err := runGreedy("", often)
	require.ErrorContains(t, err, "a *sim_test.greedy is no *core.Core: Options.Restore has to say how it is restored")

	restored, seen := 0, 0
	_, err = runGreedy("the same", often, func(o *sim.Options) {
		o.Restored = func(berth.Time) { seen++ }
		o.Restore = func(snapshot []byte) (berth.Scheduler, error) {
			require.Equal(t, "the same", string(snapshot))
			restored++
			return newGreedy("the same"), nil // which has forgotten everything
		}
	})
	require.NoError(t, err)
	require.Positive(t, restored)
	require.Equal(t, restored, seen)

	_, err = runGreedy("", often, func(o *sim.Options) {
		o.Restore = func([]byte) (berth.Scheduler, error) { return nil, errors.New("torn") }
	})
	require.ErrorContains(t, err, "torn")
}

// With Resume a gang that wrote a checkpoint when it was asked does only what is left.
func TestResumeGoesOnFromTheCheckpoint(t *testing.T) {
	ends := func(resume bool) (ended []string) {
		high := submit(1000, "high", 500)
		low := submit(0, "low", 2000)
		l, h := low.Event.(berth.JobSubmitted), high.Event.(berth.JobSubmitted)
		l.Job.Checkpoint = berth.Checkpoint{Supported: true, Cost: 100, RestartCost: 30}
		h.Job.Class = berth.ClassLatencyCritical
		low.Event, high.Event = l, h
		sched, err := core.New(berth.Config{})
		require.NoError(t, err)
		s := sim.New(sched, small(low, high), sim.Options{
			Resume: resume, StopDelay: 10,
			Applied: func(now berth.Time, e berth.Event, err error) {
				if f, is := e.(berth.JobFinished); is {
					ended = append(ended, fmt.Sprintf("%s at %d", f.Job, now))
				}
			},
		})
		require.NoError(t, s.Run(berth.Time(berth.Hour)))
		return ended
	}
	// It is asked at 1000, has written after 1100 of 2000 and is gone at 1110.
	require.Equal(t, []string{"high at 1610", "low at 3610"}, ends(false))
	require.Equal(t, []string{"high at 1610", "low at 2540"}, ends(true)) // 1610 + 30 + 900
}

// With Resume a gang that lost a node goes on from the last checkpoint that it wrote unasked, and
// Stopped is told what was lost.
func TestResumeGoesOnFromTheInterval(t *testing.T) {
	run := submit(0, "run", 1000)
	e := run.Event.(berth.JobSubmitted)
	e.Job.Checkpoint = berth.Checkpoint{Supported: true, Interval: 300, RestartCost: 30}
	run.Event = e
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	var told []string
	lost := sim.Arrival{At: 700, Event: berth.NodeLost{Node: "n1"}}
	back := sim.Arrival{At: 800, Event: berth.NodeJoined{Node: berth.Node{ID: "n1", GPUs: []berth.GPU{{Product: "H100"}}}}}
	s := sim.New(sched, small(run, lost, back), sim.Options{
		Resume: true,
		Applied: func(now berth.Time, e berth.Event, err error) {
			if f, is := e.(berth.JobFinished); is {
				told = append(told, fmt.Sprintf("%s ends at %d", f.Job, now))
			}
		},
		Stopped: func(now berth.Time, job berth.JobID, ran, brought berth.Duration) {
			told = append(told, fmt.Sprintf("%s stops at %d: %d of %d", job, now, brought, ran))
		},
	})
	require.NoError(t, s.Run(berth.Time(berth.Hour)))
	require.Equal(t, []string{"run stops at 700: 600 of 700", "run ends at 1230", "run stops at 1230: 400 of 430"}, told)
}
