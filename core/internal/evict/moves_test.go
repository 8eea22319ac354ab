package evict_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/internal/drawn"
)

// Invariant 6, for moves that only end a wait.

// movesAlone has gangs move, and none evicted.
func movesAlone(p *berth.Policy) {
	p.Defragmentation.Mode = berth.DefragmentationOn
	p.Preemption.Mode = berth.PreemptionOff
}

// inPieces has gangs of 2 GPUs run on each of some nodes of 4, the first of them at the least
// cost.
func inPieces(t roomtest.TB, nodes int, change ...func(*berth.Policy)) (m *roomtest.Machine, runs []*record.Replica) {
	m = machine(t, nodes, change...)
	m.Queue("a", 0)
	for i := 1; i <= nodes; i++ {
		spec := dear(job(berth.JobID(fmt.Sprintf("half%d", i)), "a", 1, 2), berth.Duration(i)*berth.Minute)
		runs = append(runs, m.Run(spec, fmt.Sprintf("n%d", i)))
	}
	return m, runs
}

func TestAGangMovesSoThatAnotherGetsAWholeNode(t *testing.T) {
	m, runs := inPieces(t, 2, movesAlone)
	rep := m.Wait(job("whole", "a", 1, 4))
	require.Equal(t, []string{"half1"}, pass(m))
	require.Equal(t, []string{"n1"}, nodesOf(m, rep.PlannedReservation()))
	require.Equal(t, []string{"n2"}, nodesOf(m, runs[0].Moving))
	require.Equal(t, berth.CauseMoved, runs[0].Order.Header().Cause.Code)
	require.Same(t, rep, runs[0].Beneficiary)
	m.Wait(job("late", "a", 1, 2))
	require.Empty(t, pass(m))

	gone(m, runs[0])
	starts := map[berth.JobID]berth.NodeID{}
	for _, order := range m.Pass(m.Search.ServeReserved, m.Search.Wake, m.Agenda.BeginPlacing, m.Search.Place) {
		starts[order.Header().Job] = order.(berth.Bind).Members[0].Node
	}
	require.Equal(t, map[berth.JobID]berth.NodeID{"whole": "n1", "half1": "n2"}, starts, "nobody came between")
}

func TestNothingMovesWhereThePolicyDoesNotOrderIt(t *testing.T) {
	for _, mode := range []berth.DefragmentationMode{berth.DefragmentationPropose, berth.DefragmentationOff} {
		m, _ := inPieces(t, 2, movesAlone, func(p *berth.Policy) { p.Defragmentation.Mode = mode })
		m.Wait(job("whole", "a", 1, 4))
		require.Empty(t, pass(m))
	}
}

// What runs ends in an hour, so that the gang gains an hour of its four GPUs at the most. To move
// costs what is lost of two.
func TestMovesPay(t *testing.T) {
	for cost, pays := range map[berth.Duration]bool{
		berth.Hour:             true,
		2*berth.Hour - 1:       true,
		2 * berth.Hour:         false,
		1000 * berth.Hour:      false,
		2*berth.Hour + 1:       false,
		119 * berth.Minute / 2: true,
	} {
		m := machine(t, 2, movesAlone)
		m.Queue("a", 0)
		for i := 1; i <= 2; i++ {
			spec := dear(job(berth.JobID(fmt.Sprintf("half%d", i)), "a", 1, 2), cost)
			spec.ExpectedRuntime = berth.Hour
			m.Run(spec, fmt.Sprintf("n%d", i))
		}
		rep := m.Wait(job("whole", "a", 1, 4))
		require.Equal(t, pays, len(pass(m)) == 1, "at %v", cost)
		require.Equal(t, pays, rep.Reserved != nil)
	}
}

func TestNoMoreMoveForOneThanThePolicySays(t *testing.T) {
	for most, moved := range map[int]int{1: 0, 2: 2, 3: 2} {
		m, _ := inPieces(t, 4, movesAlone, func(p *berth.Policy) { p.Defragmentation.MaxMoves = most })
		m.Wait(job("wide", "a", 2, 4))
		require.Len(t, pass(m), moved)
	}
}

func TestWhatMayNotMoveStays(t *testing.T) {
	for name, stays := range map[string]func(*berth.Job){
		"latency-critical": func(j *berth.Job) { j.Class = berth.ClassLatencyCritical },
		"protected":        func(j *berth.Job) { j.MinRuntime = berth.Hour },
		"bound to a pool":  func(j *berth.Job) { j.Groups[0].Selector.Pools = []string{"own"} },
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, 0, movesAlone)
			for _, id := range []berth.NodeID{"n1", "n2"} {
				n := roomtest.Node(id, 4, "r1")
				if id == "n1" {
					n.Pool = "own"
				}
				m.Join(n)
			}
			m.Queue("a", 0)
			spec := job("stays", "a", 1, 2)
			stays(&spec)
			m.Run(spec, "n1")
			m.Run(job("moves", "a", 1, 2), "n2")
			m.Wait(job("whole", "a", 1, 4))
			require.Equal(t, []string{"moves"}, pass(m))
		})
	}
}

// A place on a node that takes no more work is none, nor is such a node cleared.
func TestACordonedNodeIsNotCleared(t *testing.T) {
	m, runs := inPieces(t, 3, movesAlone)
	m.Upkeep.Cordon(m.NodeNamed("n1"), true, "")
	m.Books.TellCapacity()
	m.Wait(job("whole", "a", 1, 4))
	require.Equal(t, []string{"half2"}, pass(m))
	require.Equal(t, []string{"n3"}, nodesOf(m, runs[1].Moving))
}

// crowd draws a fleet that is nearly full, and a gang that waits for places of more GPUs than
// most that run have.
func crowd(t *rapid.T) (*roomtest.Machine, *record.Entry) {
	m := machine(t, 5, movesAlone)
	m.Queue("a", 0)
	for i := 1; i <= 5; i++ {
		node := fmt.Sprintf("n%d", i)
		left := 4 - rapid.IntRange(1, 2).Draw(t, "free")
		for left > 0 {
			gpus := rapid.IntRange(1, left).Draw(t, "GPUs")
			spec := job(berth.JobID(fmt.Sprintf("%s-%d", node, left)), "a", 1, gpus)
			left -= gpus
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				spec.Checkpoint = berth.Checkpoint{Interval: 10 * berth.Minute}
			case 1:
				spec.Class = berth.ClassLatencyCritical
			default:
				spec = dear(spec, berth.Duration(rapid.IntRange(0, 30).Draw(t, "cost"))*berth.Minute)
			}
			m.RunSince(m.State.Now.Add(-berth.Duration(rapid.IntRange(0, 60).Draw(t, "ran"))*berth.Minute), spec, node)
		}
	}
	m.Later(berth.Duration(rapid.IntRange(0, 60).Draw(t, "later")) * berth.Minute)
	waits := job("waits", "a", rapid.IntRange(1, 2).Draw(t, "members"), rapid.IntRange(3, 4).Draw(t, "each"))
	return m, m.Wait(waits).Entries[0]
}

// The nodes that are the cheapest to clear come one by one in the order that a look at all of
// them gives.
func TestNodesToClearComeInOrder(t *testing.T) {
	some := 0
	drawn.Check(t, func(t *rapid.T) {
		m, e := crowd(t)
		fast, slow := m.Evict.NodesToClear(e)
		told := func(list []evict.NodeToClear) (text []string) {
			for i := range list {
				text = append(text, fmt.Sprint(list[i].Spec.ID, " ", list[i].Cost, " ", list[i].Milli, " ", len(list[i].Movers)))
			}
			return text
		}
		require.Equal(t, told(slow), told(fast))
		for i := range slow {
			require.NotEmpty(t, slow[i].Movers)
			if i > 0 {
				require.LessOrEqual(t, int64(slow[i-1].Cost)/slow[i-1].Milli, int64(slow[i].Cost)/slow[i].Milli)
			}
		}
		some += len(fast)
	})
	if drawn.Many() {
		require.Positive(t, some)
	}
}

// Invariant 5: where the headroom says that a gang and those that would move for it have no room,
// no search finds places for them.
func TestTheHeadroomIsNeverTooSmall(t *testing.T) {
	no, yes := 0, 0
	drawn.Check(t, func(t *rapid.T) {
		m, e := crowd(t)
		before := picture(m)
		m.Evict.MovesFit(e, func(may, do bool) {
			require.False(t, do && !may)
			if do {
				yes++
			} else if !may {
				no++
			}
		})
		require.Equal(t, before, picture(m))
	})
	if drawn.Many() {
		require.Positive(t, no)
		require.Positive(t, yes)
	}
}
