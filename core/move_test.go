package core_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// fleetOf is a core with nodes of 8 GPUs by these names and one queue, "q".
func fleetOf(t *testing.T, nodes ...berth.NodeID) *divided {
	t.Helper()
	sched, err := core.New(atOnce(berth.Config{}))
	require.NoError(t, err)
	d := &divided{T: t, Core: sched}
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	for _, n := range nodes {
		d.node(n, 8, berth.GPUModeWhole)
	}
	return d
}

func members(n int) func(*berth.Job) { return func(j *berth.Job) { j.Groups[0].Members = n } }

// on lists the nodes on which a job holds something, member by member.
func (d *divided) on(id berth.JobID) []berth.NodeID {
	d.Helper()
	var list []berth.NodeID
	for _, m := range d.explain(id).Members {
		list = append(list, m.Node)
	}
	return list
}

// A gang leaves a node that is being drained for a place that is kept for it meanwhile.
func TestADrainMovesAGang(t *testing.T) {
	d := fleetOf(t, "n1", "n2")
	d.runs(one("q", "job", 8, writesCheckpoints))
	require.Equal(t, []berth.NodeID{"n1"}, d.on("job"))
	d.now = 1000
	d.tell(berth.NodeDraining{Node: "n1", Reason: "firmware"})
	orders := d.pass()
	require.Equal(t, []string{"requestCheckpoint job drained"}, told(orders))
	require.Equal(t, "node n1 is being drained: firmware", orders[0].Header().Cause.Detail)
	d.tell(one("q", "other", 8))
	require.Empty(t, d.pass(), "nobody takes its place")
	d.report(orders[0], berth.OutcomeDone)
	orders = d.pass()
	require.Equal(t, []string{"release job drained"}, told(orders))
	d.report(orders[0], berth.OutcomeDone)
	orders = d.pass()
	require.Equal(t, []string{"bind job resumed"}, told(orders))
	d.carryOut(orders)
	require.Equal(t, []berth.NodeID{"n2"}, d.on("job"))
	require.EqualValues(t, 2, d.explain("job").Incarnation)
	d.tell(berth.NodeUncordoned{Node: "n1"})
	require.Equal(t, []string{"bind other fits"}, told(d.pass()))
}

// Where there is no other place, a gang goes on until it has just the time for a checkpoint.
func TestADrainWithoutRoomWaitsForItsDeadline(t *testing.T) {
	d := fleetOf(t, "n1")
	d.runs(one("q", "job", 8, writesCheckpoints))
	deadline := berth.Time(berth.Hour)
	d.tell(berth.NodeDraining{Node: "n1", Deadline: deadline})
	require.Empty(t, d.pass())
	wake, ok := d.NextWake()
	require.True(t, ok)
	require.Equal(t, deadline.Add(-5*berth.Minute), wake)
	d.now = wake
	orders := d.pass()
	require.Equal(t, []string{"requestCheckpoint job drained"}, told(orders))
	require.Equal(t, deadline, orders[0].Header().Deadline)
	d.now = deadline
	orders = d.pass()
	require.Equal(t, []string{"release job drained"}, told(orders))
	d.report(orders[0], berth.OutcomeDone)
	require.Empty(t, d.pass())
	require.Equal(t, berth.ReplicaPending, d.explain("job").State)
	d.node("n2", 8, berth.GPUModeWhole)
	require.Equal(t, []string{"bind job fits"}, told(d.pass()))
}

// Without a deadline nothing is stopped for which there is no other place; it moves when there is.
func TestADrainWithoutADeadlineStopsNobody(t *testing.T) {
	d := fleetOf(t, "n1")
	d.runs(one("q", "job", 8))
	d.tell(berth.NodeDraining{Node: "n1"})
	require.Empty(t, d.pass())
	_, ok := d.NextWake()
	require.False(t, ok)
	d.node("n2", 8, berth.GPUModeWhole)
	orders := d.pass()
	require.Equal(t, []string{"release job drained"}, told(orders), "it writes no checkpoints")
	d.report(orders[0], berth.OutcomeDone)
	orders = d.pass()
	require.Equal(t, []string{"bind job resumed"}, told(orders))
}

// A gang that was asked to leave goes on if the drain ends, or the place that was kept goes.
func TestADrainThatEnds(t *testing.T) {
	for name, end := range map[string]berth.Event{
		"uncordoned":         berth.NodeUncordoned{Node: "n1"},
		"cordoned":           berth.NodeCordoned{Node: "n1"},
		"the place is lost":  berth.NodeLost{Node: "n2"},
		"the place is taken": berth.NodeCordoned{Node: "n2"},
	} {
		t.Run(name, func(t *testing.T) {
			d := fleetOf(t, "n1", "n2")
			d.runs(one("q", "job", 8, writesCheckpoints))
			d.tell(berth.NodeDraining{Node: "n1"})
			request := d.pass()
			require.Equal(t, []string{"requestCheckpoint job drained"}, told(request))
			d.tell(end)
			require.Equal(t, []string{"withdraw job not-needed"}, told(d.pass()))
			require.Equal(t, berth.ReplicaRunning, d.explain("job").State)
			require.Empty(t, d.pass())
			require.ErrorIs(t, d.Apply(d.now, berth.OrderReported{Order: request[0].Header().ID, Outcome: berth.OutcomeDone}), berth.ErrStale)
		})
	}
}

// A gang that loses a node goes on as soon as its members are stopped: what is left of its
// place is kept for it, with another node for the one that is lost.
func TestAGangThatLostANodeResumes(t *testing.T) {
	d := fleetOf(t, "n1", "n2", "n3")
	d.runs(one("q", "gang", 8, members(2)))
	require.Equal(t, []berth.NodeID{"n1", "n2"}, d.on("gang"))
	d.now = 1000
	for _, id := range []berth.JobID{"a", "b", "c"} { // they would like its place
		d.tell(one("q", id, 8, ranks(1)))
	}
	d.tell(berth.NodeLost{Node: "n1"})
	orders := d.pass()
	require.Equal(t, []string{"release gang hardware-lost"}, told(orders))
	d.report(orders[0], berth.OutcomeDone)
	orders = d.pass()
	require.Equal(t, []string{"bind gang resumed"}, told(orders))
	d.carryOut(orders)
	require.Equal(t, []berth.NodeID{"n3", "n2"}, d.on("gang"))
}

// Where members die on sound hardware, the place is kept while the gang waits to be tried again.
func TestAGangOfDeadMembersKeepsItsPlace(t *testing.T) {
	d := fleetOf(t, "n1", "n2")
	d.runs(one("q", "gang", 8, members(2)))
	d.tell(one("q", "other", 8))
	require.Empty(t, d.pass())
	d.tell(berth.MemberFailed{Job: "gang", Incarnation: 1, Members: []berth.MemberRef{{Index: 1}}})
	orders := d.pass()
	require.Equal(t, []string{"release gang member-failed"}, told(orders))
	d.report(orders[0], berth.OutcomeDone)
	require.Empty(t, d.pass())
	wake, ok := d.NextWake()
	require.True(t, ok)
	require.Equal(t, d.now.Add(5*berth.Second), wake)
	d.now = wake
	require.Equal(t, []string{"bind gang resumed"}, told(d.pass()))
}

// The place that is kept for a gang is given up if the gang ends.
func TestAPlaceIsNotKeptForAGangThatEnds(t *testing.T) {
	for name, end := range map[string]berth.Event{
		"finished":  berth.JobFinished{Job: "job", Incarnation: 1},
		"cancelled": berth.JobCancelled{Job: "job"},
	} {
		t.Run(name, func(t *testing.T) {
			d := fleetOf(t, "n1", "n2")
			d.runs(one("q", "job", 8, writesCheckpoints))
			d.tell(berth.NodeDraining{Node: "n1"})
			require.Len(t, d.pass(), 1)
			d.tell(one("q", "other", 8))
			d.tell(end)
			orders := d.pass()
			require.Contains(t, told(orders), "bind other fits")
			d.carryOut(orders)
			require.Empty(t, d.pass())
		})
	}
}

// The quota of what a gang has lost is kept for it as well.
func TestTheQuotaOfAGangThatResumesIsKept(t *testing.T) {
	d := fleetOf(t, "n1", "n2", "n3", "n4")
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "q", Limit: gpuMilli(16)}})
	d.runs(one("q", "gang", 8, members(2)))
	d.tell(one("q", "other", 8, ranks(1)))
	d.mode(berth.PreemptionOff)
	require.Empty(t, d.pass())
	d.tell(berth.NodeLost{Node: "n1"})
	orders := d.pass()
	require.Equal(t, []string{"release gang hardware-lost"}, told(orders))
	d.report(orders[0], berth.OutcomeDone)
	require.Equal(t, []string{"bind gang resumed"}, told(d.pass()))
}

// scattered is a core in which jobs of 4 GPUs run on each of two nodes, so that 8 are free and
// nowhere in one piece.
func scattered(t *testing.T, mode berth.DefragmentationMode) *divided {
	t.Helper()
	d := fleetOf(t, "n1", "n2")
	for _, id := range []berth.JobID{"a", "b", "c"} {
		d.runs(one("q", id, 4, writesCheckpoints))
	}
	d.tell(berth.JobFinished{Job: "b", Incarnation: 1})
	d.pass()
	p := d.Config().Policy
	p.Defragmentation.Mode = mode
	d.tell(berth.PolicyChanged{Policy: p})
	return d
}

// What is free in pieces is made one piece by a move, where that pays and is ordered.
func TestMovesMakeRoom(t *testing.T) {
	d := scattered(t, berth.DefragmentationOn)
	d.tell(one("q", "whole", 8))
	orders := d.pass()
	require.Equal(t, []string{"requestCheckpoint a moved"}, told(orders))
	require.Equal(t, berth.ReplicaRef{Job: "whole"}, orders[0].Header().Cause.Beneficiary)
	require.Equal(t, &berth.Departure{
		Cause: orders[0].Header().Cause, To: []berth.NodeID{"n2"}, Deadline: orders[0].Header().Deadline,
	}, d.explain("a").Departure)
	d.tell(one("q", "late", 4))
	require.Empty(t, d.pass())
	d.report(orders[0], berth.OutcomeDone)
	orders = d.pass()
	require.Equal(t, []string{"release a moved"}, told(orders))
	d.report(orders[0], berth.OutcomeDone)
	orders = d.pass()
	require.ElementsMatch(t, []string{"bind whole victims-gone", "bind a resumed"}, told(orders))
	d.carryOut(orders)
	require.Equal(t, []berth.NodeID{"n1"}, d.on("whole"))
	require.Equal(t, []berth.NodeID{"n2"}, d.on("a"))
}

// Nothing is moved where moves are not ordered, do not pay, or are not needed in time.
func TestNothingMovesInVain(t *testing.T) {
	for name, c := range map[string]struct {
		mode   berth.DefragmentationMode
		change func(*divided)
	}{
		"proposed": {berth.DefragmentationPropose, func(*divided) {}},
		"off":      {berth.DefragmentationOff, func(*divided) {}},
		"a restart costs more": {berth.DefragmentationOn, func(d *divided) {
			d.now += berth.Time(20 * berth.Hour)
			d.tell(berth.JobCancelled{Job: "a"})
			d.tell(berth.JobCancelled{Job: "c"})
			d.carryOut(d.pass())
			dear := func(j *berth.Job) {
				j.ExpectedRuntime, j.Checkpoint.RestartCost = berth.Hour, 2*berth.Hour
			}
			d.runs(one("q", "d", 5, dear), one("q", "e", 5, dear))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := scattered(t, c.mode)
			c.change(d)
			d.tell(one("q", "whole", 6))
			require.Empty(t, d.pass())
		})
	}
}

// A gang that was asked to move goes on where it is when its beneficiary needs no room any more, or
// its new place is gone.
func TestMovesThatAreCalledOff(t *testing.T) {
	for name, end := range map[string]berth.Event{
		"cancelled":         berth.JobCancelled{Job: "whole"},
		"the place is gone": berth.NodeCordoned{Node: "n2"},
		"the room is gone":  berth.NodeCordoned{Node: "n1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := scattered(t, berth.DefragmentationOn)
			d.tell(one("q", "whole", 8))
			require.Equal(t, []string{"requestCheckpoint a moved"}, told(d.pass()))
			d.tell(end)
			require.Equal(t, []string{"withdraw a not-needed"}, told(d.pass()))
			require.Equal(t, []berth.NodeID{"n1"}, d.on("a"))
		})
	}
}

// What it would take is answered without an effect: moves, victims, or why nothing helps.
func TestWhatItTakes(t *testing.T) {
	d := scattered(t, berth.DefragmentationPropose)
	d.tell(one("q", "whole", 8, ranks(1)))
	d.mode(berth.PreemptionOff)
	require.Empty(t, d.pass())
	before, err := d.Snapshot()
	require.NoError(t, err)
	takes, err := d.StartPlan(d.now, "whole", 0)
	require.NoError(t, err)
	require.Equal(t, []berth.Move{{Job: "a", Queue: "q", GPUMilli: 4000, From: []berth.NodeID{"n1"}, To: []berth.NodeID{"n2"}}}, takes.Moves)
	require.Len(t, takes.Victims, 1)
	require.Contains(t, takes.Reason.Preemption, "forbids")
	require.Equal(t, "moving 1 running replica would start it, or preempting 1", takes.Text)
	require.Equal(t, takes.Moves, d.explain("whole").Reason.Moves)

	takes, err = d.StartPlan(d.now, "whole", 0, berth.JobCancelled{Job: "a"})
	require.NoError(t, err)
	require.False(t, takes.Fits, "it has to be stopped yet")
	takes, err = d.StartPlan(d.now+1, "small", 0, one("q", "small", 4))
	require.NoError(t, err)
	require.True(t, takes.Fits)
	takes, err = d.StartPlan(d.now, "a", 0)
	require.NoError(t, err)
	require.Equal(t, "it does not wait: it is running", takes.Text)
	takes, err = d.StartPlan(d.now, "huge", 0, one("q", "huge", 64))
	require.NoError(t, err)
	require.Contains(t, takes.Text, "no preemption and no move would start it")
	require.Equal(t, berth.ReasonNoNodes, takes.Reason.Code, "though no pass has tried it yet")
	takes, err = d.StartPlan(d.now, "twin", 0, one("q", "twin", 7))
	require.NoError(t, err)
	require.Len(t, takes.Moves, 1, "though no pass has tried it yet")
	_, err = d.StartPlan(d.now, "unknown", 0)
	require.ErrorIs(t, err, berth.ErrUnknown)
	_, err = d.StartPlan(d.now-1, "whole", 0)
	require.ErrorIs(t, err, berth.ErrClock)
	after, err := d.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

// A gang that loses a node keeps the others, member by member, and gets another as close as there
// is.
func TestOnlyTheLostMembersGoElsewhere(t *testing.T) {
	sched, err := core.New(berth.Config{Levels: []string{"leaf"}})
	require.NoError(t, err)
	d := &divided{T: t, Core: sched}
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	for _, name := range []string{"a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4", "c1", "c2"} {
		n := berth.Node{ID: berth.NodeID(name), Domains: []string{name[:1]}}
		for range 8 {
			n.GPUs = append(n.GPUs, berth.GPU{Product: "H100"})
		}
		d.tell(berth.NodeJoined{Node: n})
	}
	d.runs(one("q", "gang", 8, members(6)))
	require.Equal(t, []berth.NodeID{"a1", "a2", "a3", "a4", "c1", "c2"}, d.on("gang"))
	for _, drained := range []struct {
		node berth.NodeID
		then []berth.NodeID
	}{
		{"a2", []berth.NodeID{"a1", "b1", "a3", "a4", "c1", "c2"}}, // its leaf is full
		{"a3", []berth.NodeID{"a1", "b1", "a2", "a4", "c1", "c2"}},
	} {
		d.tell(berth.NodeDraining{Node: drained.node})
		d.carryOut(d.pass())
		orders := d.pass()
		require.Equal(t, []string{"bind gang resumed"}, told(orders))
		d.carryOut(orders)
		require.Equal(t, drained.then, d.on("gang"))
		d.tell(berth.NodeUncordoned{Node: drained.node})
	}
	d.tell(berth.NodeLost{Node: "c2"})
	d.carryOut(d.pass())
	d.carryOut(d.pass())
	require.Equal(t, []berth.NodeID{"a1", "b1", "a2", "a4", "c1", "a3"}, d.on("gang"))
}

// Where there is no other node for the one that a gang has lost, what it has left is reserved for
// it, and it bids for the rest like anybody else.
func TestAGangKeepsWhatItHasLeft(t *testing.T) {
	d := fleetOf(t, "n1", "n2", "n3")
	d.runs(one("q", "gang", 8, members(2), ranks(1)), one("q", "low", 8))
	for _, id := range []berth.JobID{"a", "b"} {
		d.tell(one("q", id, 8))
	}
	require.Empty(t, d.pass())
	d.tell(berth.NodeLost{Node: "n1"})
	orders := d.pass()
	require.Equal(t, []string{"release gang hardware-lost"}, told(orders))
	d.report(orders[0], berth.OutcomeDone)
	orders = d.pass()
	require.Equal(t, []string{"release low preempted"}, told(orders), "and nobody takes what it has left")
	d.report(orders[0], berth.OutcomeDone)
	orders = d.pass()
	require.Equal(t, []string{"bind gang victims-gone"}, told(orders))
}

// A gang that was asked to leave goes on to, when a surplus member dies.
func TestAGangThatLeavesMayShrink(t *testing.T) {
	d := fleetOf(t, "n1", "n2")
	d.runs(one("q", "gang", 2, members(4), func(j *berth.Job) { j.Groups[0].MinMembers = 2 }, writesCheckpoints))
	d.tell(berth.NodeDraining{Node: "n1"})
	request := d.pass()
	require.Equal(t, []string{"requestCheckpoint gang drained"}, told(request))
	d.tell(berth.MemberFailed{Job: "gang", Incarnation: 1, Members: []berth.MemberRef{{Index: 3}}})
	require.Empty(t, d.pass())
	d.carryOut(request)
	d.carryOut(d.pass())
	orders := d.pass()
	require.Equal(t, []string{"bind gang resumed"}, told(orders))
	require.Len(t, bindOf(t, orders[0]).Members, 4)
}

// newMovingCore has gangs in all states in which places are kept for them: one was asked to leave,
// one is being stopped, one waits to be tried again, and one has no place.
func newMovingCore(t *testing.T) *core.Core {
	d := fleetOf(t, "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8")
	d.runs(one("q", "asked", 8, writesCheckpoints))
	d.runs(one("q", "struck", 8, members(2)))
	d.runs(one("q", "died", 8, members(2)))
	d.runs(one("q", "stays", 8))
	d.tell(berth.MemberFailed{Job: "died", Incarnation: 1, Members: []berth.MemberRef{{Index: 1}}})
	d.report(d.pass()[0], berth.OutcomeDone)
	d.tell(berth.NodeDraining{Node: d.on("asked")[0], Deadline: d.now.Add(berth.Hour), Reason: "firmware"})
	d.tell(berth.NodeLost{Node: d.on("struck")[0]})
	require.ElementsMatch(t, []string{"release struck hardware-lost", "requestCheckpoint asked drained"}, told(d.pass()))
	d.tell(berth.NodeDraining{Node: d.on("stays")[0], Deadline: d.now.Add(2 * berth.Hour)})
	require.Empty(t, d.pass())
	require.Len(t, d.Report().Reservations, 3)
	return d.Core
}

// What it would take at another instant, or after events, is answered for what the fleet has and
// what is due then.
func TestWhatItTakesLaterOn(t *testing.T) {
	d := fleetOf(t, "n1")
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "owner", Guarantee: gpuMilli(8), LendingLimit: gpuMilli(0)}})
	d.tell(one("q", "job", 8))
	require.Empty(t, d.pass())
	takes, err := d.StartPlan(d.now, "job", 0)
	require.NoError(t, err)
	require.False(t, takes.Fits)
	n2 := berth.NodeJoined{Node: berth.Node{ID: "n2", GPUs: slices.Repeat([]berth.GPU{{Product: "H100"}}, 8)}}
	takes, err = d.StartPlan(d.now, "job", 0, n2)
	require.NoError(t, err)
	require.True(t, takes.Fits, takes.Text)

	d.tell(n2)
	takes, err = d.StartPlan(d.now, "job", 0)
	require.NoError(t, err)
	require.True(t, takes.Fits, takes.Text)
	d.report(d.pass()[0], berth.OutcomeFailed)
	require.Empty(t, d.pass())
	takes, err = d.StartPlan(d.now+1000, "job", 0)
	require.NoError(t, err)
	require.Equal(t, "it failed, and backs off for another 4s whatever is free", takes.Text)
	takes, err = d.StartPlan(d.now.Add(berth.Minute), "job", 0)
	require.NoError(t, err)
	require.True(t, takes.Fits, takes.Text)
}

// A deadline that comes nearer holds for gangs that were asked to leave before as well.
func TestADrainThatIsHastened(t *testing.T) {
	d := fleetOf(t, "n1", "n2")
	d.runs(one("q", "job", 8, writesCheckpoints))
	d.tell(berth.NodeDraining{Node: "n1", Deadline: berth.Time(berth.Hour)})
	require.Equal(t, []string{"requestCheckpoint job drained"}, told(d.pass()))
	d.tell(berth.NodeDraining{Node: "n1", Deadline: berth.Time(10 * berth.Minute)})
	require.Empty(t, d.pass(), "it is gone by then")
	deadline := berth.Time(berth.Minute)
	d.tell(berth.NodeDraining{Node: "n1", Deadline: deadline})
	orders := d.pass()
	require.Equal(t, []string{"withdraw job not-needed", "requestCheckpoint job drained"}, told(orders))
	require.Equal(t, deadline, orders[1].Header().Deadline)
	d.now = deadline
	d.carryOut(d.pass())
	require.Equal(t, []string{"bind job resumed"}, told(d.pass()))
}

// A pass looks for a place for so many gangs, and the next one goes on behind them: a gang that can
// go does so however many cannot, and when all have had their turn the core rests.
func TestADrainOfMoreThanAPassLooksAt(t *testing.T) {
	d := fleetOf(t, "n1", "n2", "n3", "n4", "n5")
	d.lower(func(b *core.Bounds) { b.Moves = 4 })
	d.runs(one("q", "large1", 8), one("q", "large2", 8), one("q", "large3", 8), one("q", "large4", 8))
	d.runs(one("q", "small", 4)) // the last in the order of service
	for _, n := range []berth.NodeID{"n1", "n2", "n3", "n4", "n5"} {
		d.tell(berth.NodeDraining{Node: n})
	}
	require.Empty(t, d.pass())
	require.Equal(t, 1, d.passesToRest(), "the one behind those that the first pass looks at")

	d.node("room", 4, berth.GPUModeWhole)
	require.Empty(t, d.pass())
	twin := d.restored()
	require.Equal(t, []string{"release small drained"}, told(d.pass()))
	require.Equal(t, []string{"release small drained"}, told(twin.pass()), "a restored core goes on there too")
	require.Equal(t, 1, d.passesToRest(), "what it leaves may be a place for another")

	d.node("another", 8, berth.GPUModeWhole)
	require.Equal(t, []string{"release large1 drained"}, told(d.pass()), "the first is looked at again after a change")
	require.Equal(t, 1, d.passesToRest())
}

// A change while a round goes on does not begin it anew, and has another one follow.
func TestAChangeWhileADrainIsLookedAt(t *testing.T) {
	d := fleetOf(t, "n1", "n2", "n3")
	d.lower(func(b *core.Bounds) { b.Moves = 1 })
	d.runs(one("q", "first", 8), one("q", "second", 8), one("q", "third", 4))
	for _, n := range []berth.NodeID{"n1", "n2", "n3"} {
		d.tell(berth.NodeDraining{Node: n})
	}
	require.Empty(t, d.pass())
	d.node("room", 8, berth.GPUModeWhole)
	require.Equal(t, []string{"release second drained"}, told(d.pass()), "the first one had its turn")
	require.Empty(t, d.pass(), "the place is taken")
	require.Equal(t, 2, d.passesToRest(), "the next round: the two that stay")
}

// passesToRest runs passes, which give no orders, until none is due, and counts them.
func (d *divided) passesToRest() (passes int) {
	d.Helper()
	for ; passes < 100; passes++ {
		if wake, due := d.NextWake(); !due || wake > d.now {
			break
		}
		require.Empty(d, d.pass())
	}
	return passes
}

// lower has the passes of the core bounded otherwise.
func (d *divided) lower(lower func(*core.Bounds)) { core.LowerBounds(d.Core, lower) }

// restored is a copy made of a snapshot.
func (d *divided) restored() *divided {
	d.Helper()
	b, err := d.Snapshot()
	require.NoError(d, err)
	sched, err := core.Restore(b)
	require.NoError(d, err)
	return &divided{T: d.T, Core: sched, now: d.now}
}
