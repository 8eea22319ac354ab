package berth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// fleetOf is a core with nodes of 8 GPUs by these names and one queue, "q".
func fleetOf(t *testing.T, nodes ...berth.NodeID) *divided {
	t.Helper()
	core, err := berth.New(berth.Config{})
	require.NoError(t, err)
	d := &divided{t, core, 0}
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	for _, n := range nodes {
		d.node(n, 8, berth.ModeWhole)
	}
	return d
}

func members(n int) func(*berth.Job) { return func(j *berth.Job) { j.Groups[0].Replicas = n } }

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
	d.report(orders[0], berth.Done)
	orders = d.pass()
	require.Equal(t, []string{"release job drained"}, told(orders))
	d.report(orders[0], berth.Done)
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
	d.report(orders[0], berth.Done)
	require.Empty(t, d.pass())
	require.Equal(t, berth.Pending, d.explain("job").State)
	d.node("n2", 8, berth.ModeWhole)
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
	d.node("n2", 8, berth.ModeWhole)
	orders := d.pass()
	require.Equal(t, []string{"release job drained"}, told(orders), "it writes no checkpoints")
	d.report(orders[0], berth.Done)
	orders = d.pass()
	require.Equal(t, []string{"bind job resumed"}, told(orders))
}

// Who was asked to leave goes on if the drain ends, or the place that was kept goes.
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
			require.Equal(t, berth.Running, d.explain("job").State)
			require.Empty(t, d.pass())
			require.ErrorIs(t, d.Apply(d.now, berth.ActionReported{Action: request[0].Header().ID}), berth.ErrStale)
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
	d.report(orders[0], berth.Done)
	orders = d.pass()
	require.Equal(t, []string{"bind gang resumed"}, told(orders))
	d.carryOut(orders)
	require.Equal(t, []berth.NodeID{"n2", "n3"}, d.on("gang"))
}

// Where members die on sound hardware, the place is kept while the gang waits to be tried again.
func TestAGangWhoseMembersDiedKeepsItsPlace(t *testing.T) {
	d := fleetOf(t, "n1", "n2")
	d.runs(one("q", "gang", 8, members(2)))
	d.tell(one("q", "other", 8))
	require.Empty(t, d.pass())
	d.tell(berth.MemberFailed{Job: "gang", Incarnation: 1, Members: []berth.MemberRef{{Index: 1}}})
	orders := d.pass()
	require.Equal(t, []string{"release gang member-failed"}, told(orders))
	d.report(orders[0], berth.Done)
	require.Empty(t, d.pass())
	wake, ok := d.NextWake()
	require.True(t, ok)
	require.Equal(t, d.now.Add(5*berth.Second), wake)
	d.now = wake
	require.Equal(t, []string{"bind gang resumed"}, told(d.pass()))
}

// The place that is kept for a gang is given up if the gang ends.
func TestAPlaceIsNotKeptForWhoEnds(t *testing.T) {
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
	d.mode(berth.PreemptNever)
	require.Empty(t, d.pass())
	d.tell(berth.NodeLost{Node: "n1"})
	orders := d.pass()
	require.Equal(t, []string{"release gang hardware-lost"}, told(orders))
	d.report(orders[0], berth.Done)
	require.Equal(t, []string{"bind gang resumed"}, told(d.pass()))
}
