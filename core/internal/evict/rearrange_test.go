package evict_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/preempt"
)

// Invariant 6, for a guarantee: gangs move at any cost, beside victims or alone.

// pools has a node a pool, n1 and so on, of so many GPUs each, and moves for guarantees alone.
func pools(t roomtest.TB, sizes []int, change ...func(*berth.Policy)) *roomtest.Machine {
	m := machine(t, 0, append([]func(*berth.Policy){weighing}, change...)...)
	for i, gpus := range sizes {
		n := roomtest.Node(berth.NodeID("n"+string(rune('1'+i))), gpus, "r1")
		n.Pool = string(n.ID)
		m.Join(n)
	}
	return m
}

// asked are the gangs that some orders ask for a checkpoint, with the cause.
func asked(orders []berth.Order) map[berth.JobID]berth.CauseCode {
	causes := map[berth.JobID]berth.CauseCode{}
	for _, order := range orders {
		if request, ok := order.(berth.RequestCheckpoint); ok {
			causes[request.Job] = request.Cause.Code
		}
	}
	return causes
}

func bidPass(m *roomtest.Machine) []berth.Order {
	return m.Pass(m.Search.Wake, m.Agenda.BeginPlacing, m.Search.Place, m.Evict.Preempt)
}

func TestAGuaranteeIsCollectedByMovesAlone(t *testing.T) {
	for mode, moves := range map[berth.DefragmentationMode]bool{
		berth.DefragmentationPropose: true, berth.DefragmentationOn: true, berth.DefragmentationOff: false,
	} {
		m := pools(t, []int{4, 4}, func(p *berth.Policy) { p.Defragmentation.Mode = mode })
		m.Queue("own", 8)
		half := m.Run(dear(job("half", "own", 1, 2), 1000*berth.Hour), "n1")
		m.Run(dear(job("other", "own", 1, 2), 2000*berth.Hour), "n2")
		rep := m.Wait(job("whole", "own", 1, 4))
		orders := bidPass(m)
		if !moves {
			require.Empty(t, orders)
			continue
		}
		require.Equal(t, map[berth.JobID]berth.CauseCode{"half": berth.CauseMoved}, asked(orders))
		require.Equal(t, []string{"n1"}, nodesOf(m, rep.PlannedReservation()))
		require.Equal(t, []string{"n2"}, nodesOf(m, half.Moving))
	}
}

// What the guarantee does not cover moves nobody.
func TestNothingMovesBeyondAGuarantee(t *testing.T) {
	m := pools(t, []int{4, 4})
	m.Queue("own", 7)
	m.Run(job("half", "own", 1, 2), "n1")
	m.Run(job("other", "own", 1, 2), "n2")
	rep := m.Wait(job("whole", "own", 1, 4))
	require.Empty(t, bidPass(m))
	im, _ := m.Evict.Imagine()
	im.VictimSearches = 1000
	b, _ := im.BothFor(rep.Entries[0])
	require.Nil(t, b, "nor does an answer say that it would")
	im.Forget()
}

// A gang that would lose work by a move stays for a guarantee too.
func TestAGangThatWritesNoCheckpointDoesNotMoveForAGuarantee(t *testing.T) {
	m := pools(t, []int{4, 4})
	m.Queue("own", 8)
	m.Run(roomtest.Job("half", "own", 1, 2), "n1")
	m.Run(job("other", "own", 1, 2), "n2")
	m.Wait(job("whole", "own", 1, 4))
	require.Equal(t, map[berth.JobID]berth.CauseCode{"other": berth.CauseMoved}, asked(bidPass(m)))
}

// Victims and moves together: what research keeps goes where its victims were.
func TestAGuaranteeIsCollectedByVictimsAndMoves(t *testing.T) {
	m := pools(t, []int{8, 8})
	m.Queue("prod", 8)
	m.Queue("research", 8)
	m.Run(job("five", "research", 1, 5), "n1")
	m.Run(job("two", "research", 1, 2), "n1")
	m.Run(job("four", "research", 1, 4), "n2")
	three := m.Run(job("three", "research", 1, 3), "n2")
	m.Wait(job("serve", "prod", 1, 8))
	require.Equal(t, map[berth.JobID]berth.CauseCode{
		"four": berth.CauseReclaimed, "two": berth.CauseReclaimed, "three": berth.CauseMoved,
	}, asked(bidPass(m)))
	require.Equal(t, []string{"n1"}, nodesOf(m, three.Moving))
}

// The tightest place for the larger gang is the only one for the smaller, so that both are placed
// together: each in turn, the larger would take it.
func TestGangsThatMoveArePlacedTogether(t *testing.T) {
	for most, want := range map[int]map[berth.JobID]berth.CauseCode{
		1: {},
		2: {"large": berth.CauseMoved, "small": berth.CauseMoved},
	} {
		m := pools(t, []int{5, 3, 4}, func(p *berth.Policy) { p.Defragmentation.MaxMoves = most })
		m.Queue("own", 12)
		large := m.Run(job("large", "own", 1, 3), "n1")
		small := m.Run(inPool(job("small", "own", 1, 2), "n1", "n2"), "n1")
		m.Wait(inPool(job("owed", "own", 1, 5), "n1"))
		require.Equal(t, want, asked(bidPass(m)))
		if most == 2 {
			require.Equal(t, []string{"n3"}, nodesOf(m, large.Moving))
			require.Equal(t, []string{"n2"}, nodesOf(m, small.Moving))
		}
	}
}

// A gang with a rack for itself has what moves for it go to another rack.
func TestWhatMovesForAnExclusiveGangLeavesItsDomain(t *testing.T) {
	m := machine(t, 1)
	m.Nodes(1, 2, "r1") // n2, the tightest place
	m.Nodes(1, 4, "r2")
	m.Queue("own", 10)
	small := m.Run(job("small", "own", 1, 1), "n1")
	m.Run(roomtest.Job("stays", "own", 1, 1), "n3")
	spec := job("alone", "own", 1, 4)
	spec.Topology.Exclusive = "rack"
	rep := m.Wait(spec)
	require.Equal(t, map[berth.JobID]berth.CauseCode{"small": berth.CauseMoved}, asked(bidPass(m)))
	require.Equal(t, []string{"n1"}, nodesOf(m, rep.PlannedReservation()))
	require.Equal(t, []string{"n3"}, nodesOf(m, small.Moving))
}

// A gang of which a part of the surplus goes as a victim moves with the rest.
func TestAGangGivesAPartOfItsSurplusAndMovesWithTheRest(t *testing.T) {
	m := pools(t, []int{4, 2})
	m.Queue("own", 4)
	m.Queue("gives", 2)
	gives := m.Run(elastic("gives", "gives", 4, 1, 1), "n1", "n1", "n1", "n1")
	rep := m.Wait(inPool(job("owed", "own", 1, 4), "n1"))
	m.Books.TellDemands()
	im, _ := m.Evict.Imagine()
	im.VictimSearches = 1000
	b, _ := im.BothFor(rep.Entries[0])
	require.NotNil(t, b)
	require.Len(t, b.Moves, 1)
	require.Len(t, b.Moves[0].Where, 2, "two are guaranteed to its queue")
	require.Empty(t, b.Evicted(), "it goes as a whole, and comes back smaller")
	require.Equal(t, []record.Piece{{Rep: gives}}, b.Going())
	im.Forget()
}

// The gangs that may move are looked at so many a bid: the first, which has nowhere to go, does
// not keep the second from being moved.
func TestGangsThatMayMoveAreLookedAtInRounds(t *testing.T) {
	m := pools(t, []int{8, 8, 3})
	m.State.Bounds.Movers = 1
	m.Queue("own", 19)
	m.Run(dear(job("large", "own", 1, 6), berth.Second), "n1")
	m.Run(job("small", "own", 1, 3), "n2")
	rep := m.Wait(job("whole", "own", 1, 8))
	require.Empty(t, bidPass(m))
	require.Equal(t, m.State.Now, m.Evict.NextBid(), "the next round is due")

	im, _ := m.Evict.Imagine()
	im.VictimSearches = 1000
	b, _, next := im.BidToRearrange(rep.Entries[0], new(preempt.Chooser), 0)
	require.Nil(t, b)
	require.Equal(t, 1, next)
	b, _, next = im.BidToRearrange(rep.Entries[0], new(preempt.Chooser), 1)
	require.NotNil(t, b)
	require.Zero(t, next)
	im.Forget()

	require.Equal(t, map[berth.JobID]berth.CauseCode{"small": berth.CauseMoved}, asked(bidPass(m)))
}
