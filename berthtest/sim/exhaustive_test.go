package sim_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// A tiny is a core on a fleet of two nodes with two GPUs each, what is told of it, and the checker.
type tiny struct {
	now     berth.Time
	core    *core.Core
	checker *check.Checker
	jobs    map[string]int // how many came, by kind
}

// A move is one thing that may happen next; nil: it cannot, or would change nothing.
type move struct {
	name  string
	event func(w *tiny) berth.Event
}

// moves are what may happen to a tiny world. A pass follows each.
var moves = []move{
	{"submit one", func(w *tiny) berth.Event { return w.submit("one", "research", 1, 1, nil) }},
	{"submit gang", func(w *tiny) berth.Event {
		return w.submit("gang", "research", 2, 2, func(j *berth.Job) {
			j.Checkpoint = berth.Checkpoint{Supported: true, Cost: berth.Second}
			j.ExpectedRuntime = berth.Hour
		})
	}},
	{"submit elastic", func(w *tiny) berth.Event {
		return w.submit("elastic", "research", 3, 1, func(j *berth.Job) { j.Groups[0].MinMembers = 1 })
	}},
	{"submit urgent", func(w *tiny) berth.Event {
		return w.submit("urgent", "prod", 1, 2, func(j *berth.Job) { j.Class = berth.ClassLatencyCritical })
	}},
	{"first order done", func(w *tiny) berth.Event { return w.report(0, berth.OutcomeDone) }},
	{"first order failed", func(w *tiny) berth.Event { return w.report(0, berth.OutcomeFailed) }},
	{"last order done", func(w *tiny) berth.Event {
		if len(w.core.Outstanding()) < 2 {
			return nil
		}
		return w.report(len(w.core.Outstanding())-1, berth.OutcomeDone)
	}},
	{"time goes by", func(w *tiny) berth.Event {
		wake, due := w.core.NextWake()
		if !due || wake <= w.now {
			return nil
		}
		w.now = wake
		return berth.NodeCordoned{Node: "none"} // refused
	}},
	{"lose b", func(w *tiny) berth.Event { return onNode(w, "b", berth.NodeLost{Node: "b"}) }},
	{"b joins", func(w *tiny) berth.Event {
		if _, known := w.core.Node("b"); known {
			return nil
		}
		return tinyNode("b")
	}},
	{"drain a", func(w *tiny) berth.Event {
		return onNode(w, "a", berth.NodeDraining{Node: "a", Deadline: w.now.Add(berth.Minute)})
	}},
	{"uncordon a", func(w *tiny) berth.Event { return onNode(w, "a", berth.NodeUncordoned{Node: "a"}) }},
	{"GPU 0 of a fails", func(w *tiny) berth.Event { return onNode(w, "a", berth.GPUFailed{Node: "a", GPU: 0}) }},
	{"a job finishes", func(w *tiny) berth.Event {
		for j := range w.core.Jobs() {
			if r := &j.Replicas[0]; len(r.Running) > 0 {
				return berth.JobFinished{Job: j.Job.ID, Incarnation: r.Incarnation}
			}
		}
		return nil
	}},
	{"a member dies", func(w *tiny) berth.Event {
		for j := range w.core.Jobs() {
			if r := &j.Replicas[0]; len(r.Running) > 0 {
				return berth.MemberFailed{Job: j.Job.ID, Incarnation: r.Incarnation, Members: []berth.MemberRef{{Index: r.Running[0].Index}}}
			}
		}
		return nil
	}},
	{"cap at one", func(w *tiny) berth.Event { return w.caps(berth.QueueCaps{Queue: "research", MaxJobs: 1}) }},
	{"no cap", func(w *tiny) berth.Event { return w.caps() }},
	{"cancel the first", func(w *tiny) berth.Event {
		for j := range w.core.Jobs() {
			return berth.JobCancelled{Job: j.Job.ID}
		}
		return nil
	}},
}

// caps are those of the policy from now on.
func (w *tiny) caps(list ...berth.QueueCaps) berth.Event {
	p := w.core.Config().Policy
	if slices.Equal(p.Caps, list) {
		return nil
	}
	p.Caps = list
	return berth.PolicyChanged{Policy: p}
}

func tinyNode(name berth.NodeID) berth.Event {
	gpu := berth.GPU{Product: "H100", MemoryMiB: 81_920}
	return berth.NodeJoined{Node: berth.Node{ID: name, GPUs: []berth.GPU{gpu, gpu}, CPUMilli: 8000, MemoryMiB: 8000}}
}

func onNode(w *tiny, name berth.NodeID, e berth.Event) berth.Event {
	if _, known := w.core.Node(name); !known {
		return nil
	}
	return e
}

// submit is the arrival of the next job of a kind, of which two may come.
func (w *tiny) submit(kind string, queue berth.QueueID, members, gpus int, change func(*berth.Job)) berth.Event {
	if w.jobs[kind] == 2 {
		return nil
	}
	w.jobs[kind]++
	j := berth.Job{ID: berth.JobID(fmt.Sprint(kind, w.jobs[kind])), Queue: queue, Groups: []berth.Group{{Members: members, Claim: berth.WholeGPUs(gpus)}}}
	if change != nil {
		change(&j)
	}
	return berth.JobSubmitted{Job: j}
}

func (w *tiny) report(i int, outcome berth.Outcome) berth.Event {
	out := w.core.Outstanding()
	if len(out) <= i {
		return nil
	}
	return berth.OrderReported{Order: out[i].Header().ID, Outcome: outcome}
}

// newTiny is a world before anything has happened.
func newTiny() (*tiny, error) {
	config := berth.Config{Ledger: true}
	sched, err := core.New(config)
	if err != nil {
		return nil, err
	}
	w := &tiny{core: sched, checker: check.New(config), jobs: map[string]int{}}
	for _, e := range []berth.Event{
		tinyNode("a"), tinyNode("b"),
		berth.QueueSet{Queue: quota.Queue{Name: "research"}},
		berth.QueueSet{Queue: quota.Queue{Name: "prod", Guarantee: quota.GPUs(2)}},
	} {
		if _, err := w.tell(e); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// tell tells an event and runs a pass, and holds both against the checker.
func (w *tiny) tell(e berth.Event) (orders []berth.Order, err error) {
	if refused := w.core.Apply(w.now, e); refused != nil {
		err = w.checker.Rejected(w.now, e, refused)
	} else {
		err = w.checker.Applied(w.now, e)
	}
	if err = first(err, w.state); err != nil {
		return nil, err
	}
	if orders, err = w.core.Schedule(w.now); err != nil {
		return nil, err
	}
	return orders, first(w.checker.Scheduled(w.now, orders), w.state)
}

func first(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}

// state holds what the core says of itself against the checker.
func (w *tiny) state() error {
	if err := w.checker.AgainstReport(w.core.Report()); err != nil {
		return err
	}
	if err := w.checker.Outstanding(w.core.Outstanding()); err != nil {
		return err
	}
	return w.checker.Lost(w.core.Lost())
}

// play makes moves in a new world. It is in the last of them alone that the indexes and a restored
// twin are looked at: the others are the last of shorter plays. False: one of them cannot be made.
func play(list []int) (w *tiny, made bool, err error) {
	if w, err = newTiny(); err != nil {
		return nil, false, err
	}
	for i, m := range list {
		e := moves[m].event(w)
		if e == nil {
			return w, false, nil
		}
		if i < len(list)-1 {
			if _, err := w.tell(e); err != nil {
				return w, true, err
			}
			continue
		}
		before, err := w.core.Snapshot()
		if err != nil {
			return w, true, err
		}
		twin, err := core.Restore(before)
		if err != nil {
			return w, true, err
		}
		orders, err := w.tell(e)
		if err != nil {
			return w, true, err
		}
		if err := twinAgrees(w, twin, e, orders); err != nil {
			return w, true, err
		}
	}
	return w, true, w.core.Check()
}

// twinAgrees: a core that was restored before the last move gives the same orders, and is the same.
func twinAgrees(w *tiny, twin *core.Core, e berth.Event, orders []berth.Order) error {
	_ = twin.Apply(w.now, e) // refused as by the core itself, or the snapshots differ
	again, err := twin.Schedule(w.now)
	if err != nil {
		return err
	}
	if fmt.Sprint(again) != fmt.Sprint(orders) {
		return fmt.Errorf("D2: the restored core gives %v, and the core %v", again, orders)
	}
	one, err := w.core.Snapshot()
	if err != nil {
		return err
	}
	other, err := twin.Snapshot()
	if err == nil && !bytes.Equal(one, other) {
		err = fmt.Errorf("D2: the restored core is another:\n%s\n%s", one, other)
	}
	return err
}

// settle reports all orders done and lets time go by until nothing is due any more: L1.
func (w *tiny) settle() error {
	for range 400 {
		if e := w.report(0, berth.OutcomeDone); e != nil {
			if _, err := w.tell(e); err != nil {
				return err
			}
			continue
		}
		wake, due := w.core.NextWake()
		if !due {
			return first(w.checker.Quiescent(w.now), w.checker.Served)
		}
		w.now = max(w.now, wake)
		orders, err := w.core.Schedule(w.now)
		if err != nil {
			return err
		}
		if err := first(w.checker.Scheduled(w.now, orders), w.state); err != nil {
			return err
		}
	}
	return fmt.Errorf("L1: it has not settled after 400 steps")
}

// exhaustiveDepth is how many moves are made: BERTH_DEPTH says it, or how much is drawn.
func exhaustiveDepth(t *testing.T) int {
	if text := os.Getenv("BERTH_DEPTH"); text != "" {
		depth, err := strconv.Atoi(text)
		require.NoError(t, err)
		return depth
	}
	if drawn.Many() {
		return 4
	}
	return 3
}

// Every sequence of so many moves on a tiny fleet keeps every promise, decides as a restored core,
// and comes to rest when all orders are done and nothing more happens.
func TestEverySmallWorld(t *testing.T) {
	t.Parallel()
	depth, played := exhaustiveDepth(t), 0
	var from func(list []int)
	from = func(list []int) {
		for m := range moves {
			next := append(list, m)
			w, made, err := play(next)
			if !made {
				require.NoError(t, err)
				continue
			}
			played++
			if err == nil && len(next) == depth {
				err = w.settle()
			}
			require.NoError(t, err, strings.Join(names(next), ", "))
			if len(next) < depth {
				from(next)
			}
		}
	}
	from(make([]int, 0, depth))
	t.Logf("%d worlds of up to %d moves", played, depth)
	require.Greater(t, played, 900)
}

func names(list []int) (out []string) {
	for _, m := range list {
		out = append(out, moves[m].name)
	}
	return out
}
