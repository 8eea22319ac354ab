package core_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// started is a fleet of three nodes on which a gang of two, which writes checkpoints, runs.
func started(t *testing.T) *divided {
	d := standing(t, berth.Policy{}, 3, "a")
	d.runs(gang("train", 2, writesCheckpoints))
	return d
}

// What the core answers is a copy, in a fixed order; what it does not know it says.
func TestAccessors(t *testing.T) {
	d := started(t)
	d.tell(gang("wait", 3))
	require.Empty(t, d.pass())
	j, ok := d.Job("train")
	require.True(t, ok)
	require.Equal(t, berth.ReplicaRunning, j.Replicas[0].State)
	require.Len(t, j.Replicas[0].Running, 2)
	j.Job.Groups[0].Claim.GPUs, j.Replicas[0].Running[0].Node = 1, "x"
	again, _ := d.Job("train")
	require.Equal(t, 8, again.Job.Groups[0].Claim.GPUs)
	require.Equal(t, berth.NodeID("a1"), again.Replicas[0].Running[0].Node)

	d.tell(berth.NodeDraining{Node: "a1", Deadline: 5000, Reason: "firmware"})
	n, ok := d.Node("a1")
	require.True(t, ok)
	n.Node.GPUs[0].Product = "x"
	n, _ = d.Node("a1")
	require.Equal(t, "H100", n.Node.GPUs[0].Product)
	require.Equal(t, []any{true, true, berth.Time(5000), "firmware"}, []any{n.Cordoned, n.Draining, n.DrainBy, n.Reason})
	require.Len(t, n.Members, 1)

	q, ok := d.Queue("q")
	require.True(t, ok)
	require.Equal(t, berth.QueueStatus{Queue: quota.Queue{Name: "q"}, UsedMilli: 16_000, RunningReplicas: 1, WaitingReplicas: 1}, q)

	_, job := d.Job("x")
	_, node := d.Node("x")
	_, queue := d.Queue("x")
	require.False(t, job || node || queue)

	var names []string
	for s := range d.Jobs() {
		names = append(names, string(s.Job.ID))
	}
	for s := range d.Nodes() {
		names = append(names, string(s.Node.ID))
	}
	for s := range d.Queues() {
		names = append(names, string(s.Queue.Name))
	}
	for m := range d.Running() {
		names = append(names, string(m.Job)+" on "+string(m.Node))
	}
	require.Equal(t, []string{"train", "wait", "a1", "a2", "a3", "q", "train on a1", "train on a2"}, names)
	for range d.Running() {
		break
	}
	for s := range d.Jobs() { // events may be told between the steps
		d.tell(berth.JobCancelled{Job: "wait"})
		require.Equal(t, berth.JobID("train"), s.Job.ID)
	}
}

// A world that is what the core says is one with which it agrees.
func TestDiffAgreesWithTheAccessors(t *testing.T) {
	d := started(t)
	world := berth.World{Running: slices.Collect(d.Running())}
	for s := range d.Nodes() {
		world.Nodes = append(world.Nodes, s.Node)
	}
	require.Empty(t, d.Diff(world))
}

// The events of Diff make the core see the world; they survive JSON.
func TestTheEventsOfDiffSettleIt(t *testing.T) {
	d := started(t)
	d.runs(gang("other", 1))
	stranger := berth.Node{ID: "b1", Domains: []string{"b"}, Pool: "p"}
	world := berth.World{Nodes: []berth.Node{{ID: "a3"}, {ID: "a1"}, stranger}} // a2 is gone, nobody runs
	list := d.Diff(world)
	kinds := map[berth.DifferenceKind]int{}
	for _, difference := range list {
		kinds[difference.Kind]++
		b, err := json.Marshal(difference)
		require.NoError(t, err)
		var back berth.Difference
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, difference, back)
		require.NotNil(t, back.Event)
		if err := d.Apply(d.now, back.Event); err != nil {
			require.ErrorIs(t, err, berth.ErrStale)
		}
	}
	require.Equal(t, map[berth.DifferenceKind]int{
		berth.DifferenceNodeUnknown: 1, berth.DifferenceNodeMissing: 1, berth.DifferenceMemberMissing: 3,
	}, kinds)
	require.Empty(t, d.Diff(world))

	var bad berth.Difference
	require.Error(t, json.Unmarshal([]byte(`{"kind":"node-missing","text":"","event":{"x":{}}}`), &bad))
}

// A member that runs elsewhere is placed anew; one that nobody knows has no event.
func TestTheEventsOfStrayMembers(t *testing.T) {
	d := started(t)
	world := berth.World{Nodes: []berth.Node{{ID: "a1"}, {ID: "a2"}, {ID: "a3"}}, Running: slices.Collect(d.Running())}
	world.Running[1].Node = "a3"
	world.Running = append(world.Running, berth.ObservedMember{Job: "x", Incarnation: 1})
	list := d.Diff(world)
	require.Len(t, list, 2)
	require.Equal(t, berth.MemberFailed{
		Job: "train", Incarnation: 1, Members: []berth.MemberRef{{Index: 1}}, Reason: "not seen in the world",
	}, list[0].Event)
	require.Equal(t, berth.DifferenceMemberUnknown, list[1].Kind)
	require.Nil(t, list[1].Event)
}

// The same job, or node, told again is told from another under its name.
func TestToldAgain(t *testing.T) {
	d := started(t)
	err := d.Apply(d.now, gang("train", 2, writesCheckpoints))
	require.ErrorIs(t, err, berth.ErrRepeated)
	require.ErrorIs(t, err, berth.ErrDuplicate)
	require.ErrorContains(t, err, "is the same")
	err = d.Apply(d.now, gang("train", 3, writesCheckpoints))
	require.ErrorIs(t, err, berth.ErrDuplicate)
	require.NotErrorIs(t, err, berth.ErrRepeated)
	require.ErrorContains(t, err, "is another")

	serve := gang("serve", 1, func(j *berth.Job) { j.Service = &berth.Service{Replicas: 2} })
	d.tell(serve)
	d.tell(berth.JobScaled{Job: "serve", Replicas: 1})
	require.ErrorIs(t, d.Apply(d.now, serve), berth.ErrRepeated, "whatever it was scaled to")

	d.tell(berth.GPUFailed{Node: "a3", GPU: 0})
	before, err := d.Snapshot()
	require.NoError(t, err)
	n, _ := d.Node("a3")
	n.Node.GPUs[0].Failed, n.Node.GPUs[1].Mode = false, berth.GPUModeWhole
	d.tell(berth.NodeJoined{Node: n.Node})
	after, err := d.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "an agent that registers again changes nothing")
	n.Node.CPUMilli = 1
	err = d.Apply(d.now, berth.NodeJoined{Node: n.Node})
	require.ErrorIs(t, err, berth.ErrDuplicate)
	require.ErrorContains(t, err, "nodeUpdated")
}

// What hardware took is handed over until the next pass, also where a whole gang went and where
// enough of it is left, and after a restore.
func TestLost(t *testing.T) {
	d := started(t)
	d.runs(gang("alone", 1))
	require.Empty(t, d.Lost())
	alone, _ := d.Job("alone")
	d.tell(berth.NodeLost{Node: "a3", Reason: "power"})
	d.tell(berth.GPUFailed{Node: "a1", GPU: 3})
	b, err := d.Snapshot()
	require.NoError(t, err)
	restored, err := core.Restore(b)
	require.NoError(t, err)
	for _, lost := range [][]berth.Loss{d.Lost(), restored.Lost()} {
		require.Len(t, lost, 2)
		require.Equal(t, berth.Loss{
			Job: "alone", Incarnation: 1, At: d.now, Cause: berth.Cause{Code: berth.CauseHardwareLost, Detail: "node a3 lost: power"},
			Members: alone.Replicas[0].Running,
		}, lost[0])
		require.Equal(t, berth.JobID("train"), lost[1].Job)
		require.Len(t, lost[1].Members, 1, "the other is released")
		require.Equal(t, berth.NodeID("a1"), lost[1].Members[0].Node)
	}
	require.Equal(t, []string{"release train hardware-lost"}, told(d.pass()))
	require.Empty(t, d.Lost())

	b, err = d.Snapshot()
	require.NoError(t, err)
	for forged, ok := range map[string]bool{
		`"job":"alone","members":[{"index":0,"node":"n"}]`:               true,
		`"job":"","members":[{"index":0,"node":"n"}]`:                    false,
		`"job":"alone","replica":-1,"members":[{"index":0,"node":"n"}]`:  false,
		`"job":"alone","at":"99999h","members":[{"index":0,"node":"n"}]`: false,
		`"job":"alone"`: false,
	} {
		_, err := core.Restore([]byte(string(b[:len(b)-1]) + `,"lostMembers":[{` + forged + `}]}`))
		require.Equal(t, ok, err == nil, "%s: %v", forged, err)
	}
}

// An order has what is needed to carry it out, and shares no memory with the core's description.
func TestOrdersCarryWhatTheyNeed(t *testing.T) {
	d := standing(t, berth.Policy{}, 2, "a")
	d.tell(gang("train", 2, writesCheckpoints))
	bind := d.pass()[0].(berth.Bind)
	require.Equal(t, []berth.GroupClaim{{Claim: berth.Claim{GPUs: 8}}}, bind.Claims)
	require.Equal(t, 8, bind.ClaimOf(&bind.Members[1]).GPUs)
	require.Zero(t, bind.ClaimOf(&berth.MemberPlacement{Group: "x"}))
	bind.Claims[0].Claim.GPUs = 1
	j, _ := d.Job("train")
	require.Equal(t, 8, j.Job.Groups[0].Claim.GPUs)
	bind.Claims[0].Claim.GPUs = 8
	b, err := d.Snapshot()
	require.NoError(t, err)
	require.NotContains(t, string(b), `"claims"`, "the job has them")
	restored, err := core.Restore(b)
	require.NoError(t, err)
	require.Equal(t, d.Outstanding(), restored.Outstanding())

	d.tell(berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone})
	d.stand("b", 1)
	d.stand("b", 2)
	d.tell(berth.NodeDraining{Node: "a1"})
	request := d.pass()[0].(berth.RequestCheckpoint)
	require.Equal(t, bind.Members, request.Members)
}

// A broken invariant panics with a type that says so.
func TestBrokenInvariantsHaveAType(t *testing.T) {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	defer func() {
		var broken *berth.BrokenInvariant
		failure, _ := recover().(error)
		require.True(t, errors.As(failure, &broken))
		require.ErrorContains(t, failure, "berth: broken invariant: ")
		require.Error(t, broken.Unwrap())
	}()
	core.BreakInvariant(sched)
}

// An order that is given again after a crash starts no member whose place hardware took: it may
// be another's by now.
func TestOutstandingLeavesOutWhatWasLost(t *testing.T) {
	d := standing(t, berth.Policy{}, 2, "a")
	d.tell(gang("train", 2))
	bind := d.pass()[0].(berth.Bind)
	lost, left := bind.Members[0], bind.Members[1]
	d.tell(berth.NodeLost{Node: lost.Node})
	out := d.Outstanding()
	require.Len(t, out, 1)
	require.Equal(t, []berth.MemberPlacement{left}, out[0].(berth.Bind).Members)
	require.Len(t, bind.Members, 2, "the order that was given stays as it was")
	d.tell(berth.NodeLost{Node: left.Node})
	require.Empty(t, d.Outstanding()[0].(berth.Bind).Members)
	b, err := d.Snapshot()
	require.NoError(t, err)
	restored, err := core.Restore(b)
	require.NoError(t, err)
	require.Equal(t, d.Outstanding(), restored.Outstanding())
}
