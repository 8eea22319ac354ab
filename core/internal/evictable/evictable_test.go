package evictable_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/evictable"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// machine is so many nodes of 4 GPUs in rack r1, and an index of its own: victim searches, which
// have theirs, make none here.
func machine(t roomtest.TB, nodes int) (*roomtest.Machine, *evictable.Index) {
	m := roomtest.New(t, berth.Config{Levels: []string{"rack"}})
	m.Nodes(nodes, 4, "r1")
	return m, evictable.New(m.State)
}

// job writes a checkpoint when it is asked, which costs so much of each of its GPUs.
func job(id berth.JobID, queue berth.QueueID, members, gpus int, cost berth.Duration) berth.Job {
	j := roomtest.Job(id, queue, members, gpus)
	j.Checkpoint = berth.Checkpoint{Supported: true, Cost: cost}
	return j
}

// of asks for what some queues have, the first of them first.
func of(queues ...*record.Queue) *evictable.Question {
	q := &evictable.Question{}
	for i, from := range queues {
		q.Sources = append(q.Sources, evictable.Source{Queue: from.Index, Rank: i})
	}
	return q
}

// wants is so many members of so many GPUs, anywhere.
func wants(m *roomtest.Machine, members, gpus int) *evictable.Want {
	w := &evictable.Want{Members: members, Most: members, Milli: 1000 * int64(gpus), Within: topology.RootDomain}
	for class := range m.State.Classes.List {
		w.Classes = append(w.Classes, topology.NodeClass(class))
	}
	return w
}

// nodes names those of a pick, in order.
func nodes(m *roomtest.Machine, p *evictable.Pick) (names []berth.NodeID) {
	for n, some := p.Next(); some; n, some = p.Next() {
		names = append(names, m.State.Nodes[n].Spec.ID)
	}
	return names
}

func TestTheCheapestNodesComeFirst(t *testing.T) {
	m, index := machine(t, 4)
	a := m.Queue("a", 0)
	for i, cost := range []berth.Duration{3, 1, 2, 4} {
		m.Run(job(berth.JobID(fmt.Sprint("j", i)), "a", 1, 4, cost*berth.Minute), fmt.Sprintf("n%d", i+1))
	}
	for _, first := range []int{-1, 1, 2, 0} { // whether some are found at first or all
		index.FindAtFirst(first)
		p := index.Pick(of(a), wants(m, 1, 4))
		require.False(t, p.Hopeless)
		require.Equal(t, []berth.NodeID{"n2", "n3", "n1", "n4"}, nodes(m, p))
		p.Close()
	}
	require.True(t, index.Pick(of(a), wants(m, 5, 4)).Hopeless, "there are four nodes")
	require.True(t, index.Pick(of(m.Queue("b", 0)), wants(m, 1, 4)).Hopeless, "b has nothing")
}

// What does less harm comes before what costs less.
func TestHarmComesBeforeCost(t *testing.T) {
	m, index := machine(t, 5)
	a, b := m.Queue("a", 0), m.Queue("b", 0)
	urgent := job("urgent", "a", 1, 4, 0)
	urgent.Class = berth.ClassInteractive
	m.Run(urgent, "n1")
	m.Run(job("second", "b", 1, 4, 0), "n2")
	m.Run(job("first", "a", 1, 4, berth.Hour), "n3")
	high := job("high", "a", 1, 4, 0)
	high.Priority = 1
	m.Run(high, "n4")
	elastic := job("elastic", "b", 4, 1, berth.Hour)
	elastic.Groups[0].MinMembers = 1
	m.Run(elastic, "n5", "n5", "n5", "n5")
	require.Equal(t, []berth.NodeID{"n5", "n3", "n4", "n2", "n1"}, nodes(m, index.Pick(of(a, b), wants(m, 1, 4))))

	parts := of(a, b)
	parts.PartsOnly = true
	require.Equal(t, []berth.NodeID{"n5"}, nodes(m, index.Pick(parts, wants(m, 1, 4))))
	limited := of(a, b)
	limited.Sources[0].Limited = true
	require.Equal(t, []berth.NodeID{"n5", "n2"}, nodes(m, index.Pick(limited, wants(m, 1, 4))))
	below := of(a)
	beneficiary := roomtest.Job("asks", "a", 1, 4)
	beneficiary.Priority = 1
	below.Below = m.Wait(beneficiary)
	require.Equal(t, []berth.NodeID{"n3"}, nodes(m, index.Pick(below, wants(m, 1, 4))), "of its rank and above stay")
	ratio := of(a)
	ratio.MostMilli = 2000
	require.Empty(t, nodes(m, index.Pick(ratio, wants(m, 1, 4))))
}

// What is protected is left out, and the pick says until when.
func TestAPickSaysWhenOneMoreMayBeStopped(t *testing.T) {
	m, index := machine(t, 2)
	a := m.Queue("a", 0)
	m.Run(job("free", "a", 1, 4, 0), "n1")
	spec := job("protected", "a", 1, 4, 0)
	spec.MinRuntime = berth.Hour
	m.Run(spec, "n2")
	p := index.Pick(of(a), wants(m, 1, 4))
	require.Equal(t, []berth.NodeID{"n1"}, nodes(m, p))
	require.Equal(t, m.State.Now.Add(berth.Hour), p.Until)
	require.NoError(t, index.Check())
	m.Later(berth.Hour)
	p = index.Pick(of(a), wants(m, 1, 4))
	require.Equal(t, []berth.NodeID{"n1", "n2"}, nodes(m, p))
	require.Zero(t, p.Until)
}

// Members that have to be together are offered the region that costs the least in all.
func TestMembersTogetherGetTheCheapestRegion(t *testing.T) {
	m, index := machine(t, 2)
	m.Nodes(2, 4, "r2")
	a := m.Queue("a", 0)
	for i, cost := range []berth.Duration{0, 9, 4, 4} {
		m.Run(job(berth.JobID(fmt.Sprint("j", i)), "a", 1, 4, cost*berth.Minute), fmt.Sprintf("n%d", i+1))
	}
	rack := m.State.Fleet.Tree().NodeLevel() - 1
	w := wants(m, 2, 4)
	w.Most = 1
	require.Equal(t, []berth.NodeID{"n1", "n3", "n4", "n2"}, nodes(m, index.Pick(of(a), w)), "anywhere")
	w.Region = func(n topology.NodeIndex) int32 { return int32(m.State.Fleet.Tree().DomainOf(n, rack)) }
	require.Equal(t, []berth.NodeID{"n3", "n4", "n1", "n2"}, nodes(m, index.Pick(of(a), w)))
	w.Region, w.Segment, w.SegmentLevel = nil, 2, rack
	require.Equal(t, []berth.NodeID{"n3", "n4", "n1", "n2"}, nodes(m, index.Pick(of(a), w)))
	w.Members = 3
	w.Region = func(n topology.NodeIndex) int32 { return int32(m.State.Fleet.Tree().DomainOf(n, rack)) }
	require.True(t, index.Pick(of(a), w).Hopeless, "no rack has three nodes")
}

// Check is the oracle: whatever happens, the places are those of what runs, and bounds are none
// above a cost.
func TestTheIndexFollowsWhatRuns(t *testing.T) {
	bounded := 0
	drawn.Check(t, func(t *rapid.T) {
		m, index := machine(t, 3)
		a, b := m.Queue("a", 0), m.Queue("b", 0)
		var runs []*record.Replica
		many := 0
		pick := func(t *rapid.T) *record.Replica {
			runs = slices.DeleteFunc(runs, func(rep *record.Replica) bool { return rep.State != berth.ReplicaRunning || !rep.MayMove() })
			if len(runs) == 0 {
				t.Skip("nothing runs")
			}
			return runs[rapid.IntRange(0, len(runs)-1).Draw(t, "which")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"begins": func(t *rapid.T) {
				node := fmt.Sprintf("n%d", rapid.IntRange(1, 3).Draw(t, "node"))
				free := m.State.Fleet.Tree().Free(m.NodeNamed(node).Index)
				if free == 0 {
					t.Skip("it is full")
				}
				many++
				spec := job(berth.JobID(fmt.Sprint("j", many)), rapid.SampledFrom([]berth.QueueID{"a", "b"}).Draw(t, "queue"), 1, rapid.IntRange(1, free).Draw(t, "GPUs"), 0)
				spec.Priority = int32(rapid.IntRange(0, 1).Draw(t, "priority"))
				spec.Checkpoint.RestartCost = berth.Duration(rapid.IntRange(0, 5).Draw(t, "restart")) * berth.Minute
				switch rapid.IntRange(0, 3).Draw(t, "kind") {
				case 0:
					spec.Checkpoint.Supported = false
				case 1:
					spec.Checkpoint.Supported, spec.Checkpoint.Interval = false, berth.Duration(rapid.IntRange(10, 40).Draw(t, "interval"))*berth.Minute
				case 2:
					spec.MinRuntime = berth.Duration(rapid.IntRange(1, 60).Draw(t, "protected")) * berth.Minute
				}
				runs = append(runs, m.Run(spec, node))
			},
			"ends":       func(t *rapid.T) { m.Finished(pick(t)) },
			"is stopped": func(t *rapid.T) { m.Life.TakeBack(pick(t), berth.Cause{Code: berth.CauseCancelled}, false) },
			"time goes":  func(t *rapid.T) { m.Later(berth.Duration(rapid.IntRange(1, 30).Draw(t, "minutes")) * berth.Minute) },
			"is looked at": func(t *rapid.T) {
				index.Refresh()
				require.NoError(t, index.Check())
				least := index.LeastOf([]quota.QueueIndex{a.Index, b.Index})
				for _, n := range m.State.Nodes {
					for _, at := range n.Members {
						if at.Rep.MayMove() {
							bounded++
							require.LessOrEqual(t, least.At(m.State.Now), m.Victims.CostToMove(at.Rep))
						}
					}
				}
				bounds := index.LowerBounds()
				for last := int64(-1); bounds.Len() > 0; {
					bound := bounds.Pop()
					require.GreaterOrEqual(t, bound.Cost, last, "the least on top")
					last = bound.Cost
					for _, at := range m.State.Nodes[bound.Node].Members {
						if at.Rep.Started.Add(at.Rep.Job.Spec.MinRuntime) > m.State.Now || !at.Rep.MayMove() {
							continue // it is protected, or goes already
						}
						milli := record.Piece{Rep: at.Rep}.GPUMilli()
						require.LessOrEqual(t, preempt.GPUMilliseconds(bound.Cost*milli), m.Victims.CostToMove(at.Rep))
					}
				}
			},
			"": func(t *rapid.T) { require.NoError(t, index.Check()) },
		})
	})
	if drawn.Many() {
		require.Positive(t, bounded)
	}
}

// Invariants 1 and 3: what changes without a note is found.
func TestCheckFindsWhatWasNotNoted(t *testing.T) {
	for want, change := range map[string]func(*record.Replica){
		"has no place": func(rep *record.Replica) { rep.Job.Spec.Priority = 7 },
		"at the least": func(rep *record.Replica) { rep.Job.Spec.Checkpoint.Cost = berth.Hour },
		"places until": func(rep *record.Replica) { rep.Started++ },
	} {
		m, index := machine(t, 1)
		m.Queue("a", 0)
		m.Break()
		rep := m.Run(job("j", "a", 1, 2, berth.Minute), "n1")
		if want == "places until" {
			rep.Job.Spec.MinRuntime = berth.Hour
		}
		index.Refresh()
		require.NoError(t, index.Check())
		change(rep)
		require.ErrorContains(t, index.Check(), want)
		m.State.NoteChanged(m.NodeNamed("n1").Index)
		require.NoError(t, index.Check(), "it is looked at before the next question")
		index.Refresh()
		require.NoError(t, index.Check())
	}
}
