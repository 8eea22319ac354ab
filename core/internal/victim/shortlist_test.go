package victim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// crowded is a machine on which more runs than one search looks at: on each of eight nodes a job of
// another cost, the cheapest on n8.
func crowded(t *testing.T) *roomtest.Machine {
	m := machine(t, 8)
	m.Queue("owner", 16)
	m.Queue("borrows", 0)
	for i := 1; i <= 8; i++ {
		m.Run(saves(job(berth.JobID(fmt.Sprintf("b%d", i)), "borrows", 1, 4), berth.Duration(9-i)*berth.Minute), fmt.Sprintf("n%d", i))
	}
	m.State.Bounds.Candidates = 2
	return m
}

// Where more runs than one search looks at, it begins with the nodes that are the cheapest to
// clear.
func TestAmongManyTheCheapestNodesAreLookedAtFirst(t *testing.T) {
	m := crowded(t)
	victims, s := reclaim(m, m.Wait(job("one", "owner", 1, 4)))
	require.Equal(t, []string{"b8"}, victims)
	require.LessOrEqual(t, len(s.Candidates), 2)
	_, weighed, gathered := m.Victims.Work()
	require.Positive(t, weighed)
	require.Equal(t, len(s.Candidates), gathered)

	victims, s = reclaim(m, m.Wait(job("four", "owner", 4, 4)))
	require.Equal(t, []string{"b5", "b6", "b7", "b8"}, victims, "and goes on to more of them until some suffice")
	require.False(t, s.Cut)
}

// With a bound that all are below it chooses the same.
func TestAmongManyAsAmongFew(t *testing.T) {
	few, many := crowded(t), crowded(t)
	few.State.Bounds.Candidates = 512
	for _, members := range []int{1, 2, 3, 4} {
		id := berth.JobID(fmt.Sprintf("asks%d", members))
		want, _ := reclaim(few, few.Wait(job(id, "owner", members, 4)))
		got, _ := reclaim(many, many.Wait(job(id, "owner", members, 4)))
		require.Equal(t, want, got)
	}
}

func TestASearchThatIsCutShortSaysSo(t *testing.T) {
	m := crowded(t)
	four := m.Wait(job("four", "owner", 4, 4))
	m.Books.TellDemands()
	s := m.Victims.NewSearch(four.Entries[0], nil)
	s.GatherLent()
	trials := 1
	_, ok := s.Choose(new(preempt.Chooser), &trials)
	require.False(t, ok)
	require.True(t, s.Cut)
}

func TestAMemberOfSeveralNodesHasToHaveThemInOneRack(t *testing.T) {
	m := crowded(t)
	m.Nodes(2, 4, "r2")
	m.Run(saves(job("far", "borrows", 1, 4), 1), "n9")
	spec := job("rack", "owner", 2, 4)
	spec.Topology.Required = "rack"
	victims, _ := reclaim(m, m.Wait(spec))
	require.Equal(t, []string{"far"}, victims, "n10 is free beside it")
	m.Run(job("o", "owner", 1, 4), "n10")
	spec.ID = "rack2"
	victims, _ = reclaim(m, m.Wait(spec))
	require.Equal(t, []string{"b7", "b8"}, victims)
}

// GatherOnce is for what is looked for beside victims: the candidates of one round.
func TestOneRoundMayLeaveMore(t *testing.T) {
	m := crowded(t)
	four := m.Wait(job("four", "owner", 4, 4))
	m.Books.TellDemands()
	s := m.Victims.NewSearch(four.Entries[0], nil)
	s.GatherLent()
	require.True(t, s.GatherOnce(100))
	require.NotEmpty(t, s.Candidates)
	require.Less(t, len(s.Candidates), 8)
}

// What was found in vain holds for all that ask the same.

// vain has a gang search among other queues, as bids do that note what was in vain.
func vain(m *roomtest.Machine, r *victim.Replies, rep *record.Replica) *victim.Search {
	m.Books.TellDemands()
	s := r.NewSearch(m.Victims, rep.Entries[0])
	s.GatherLent()
	choose(s)
	r.Note(s)
	return s
}

func TestASearchInVainAnswersAllThatAskTheSame(t *testing.T) {
	m := machine(t, 2)
	m.Queue("a", 0)
	m.Queue("b", 0)
	m.SetQueue(quota.Queue{Name: "limited", Limit: quota.GPUs(8)})
	m.Queue("busy", 0)
	m.Run(job("r1", "busy", 1, 2), "n1")
	m.Run(job("r2", "busy", 1, 2), "n2")
	more := job("more", "b", 1, 4)
	more.Groups[0].Claim = more.Groups[0].Claim.WithHost(1000, 1)
	first := m.Wait(job("first", "a", 1, 4))
	waits := map[string]*record.Replica{"more": m.Wait(more)}
	for _, j := range []berth.Job{job("same", "b", 1, 4), job("less", "b", 1, 3), job("several", "b", 2, 4), job("limited", "limited", 1, 4)} {
		waits[string(j.ID)] = m.Wait(j)
	}
	var r victim.Replies
	require.Empty(t, vain(m, &r, first).Offers, "all that runs is within the fair share of its queue")
	recall := func(name string) bool { return r.Recall(r.NewSearch(m.Victims, waits[name].Entries[0])) }
	require.True(t, recall("same"), "another queue that has as much")
	require.True(t, recall("more"), "with more of each host it fits no better")
	require.Equal(t, 2, r.Given)
	require.False(t, recall("less"))
	require.False(t, recall("several"))
	require.False(t, recall("limited"), "a queue with limits of its own asks something else")
	r.Forget()
	require.False(t, recall("same"))
	var none *victim.Replies
	require.False(t, none.Recall(nil))
	none.Note(nil)
}

// A search of which the victims do not pay yet is no answer to a gang that has waited for longer.
func TestVictimsThatPayForAnotherAreNoReply(t *testing.T) {
	m := machine(t, 1, weighing)
	m.Queue("a", 0)
	m.Queue("b", 0)
	m.Queue("busy", 0)
	m.Run(saves(job("r1", "busy", 1, 2), 30*berth.Minute), "n1")
	m.Run(saves(job("r2", "busy", 1, 2), 30*berth.Minute), "n1")
	old := m.Wait(job("old", "a", 1, 1))
	m.Later(berth.Hour)
	young, younger := m.Wait(job("young", "b", 1, 1)), m.Wait(job("younger", "a", 1, 1))
	var r victim.Replies
	s := vain(m, &r, young)
	require.NotNil(t, s.Weighing)
	require.False(t, r.Recall(r.NewSearch(m.Victims, old.Entries[0])))
	s = r.NewSearch(m.Victims, younger.Entries[0])
	require.True(t, r.Recall(s))
	require.NotNil(t, s.Weighing, "its own gain is weighed")
}

// Invariant 6: the index is renewed where something has changed, and there alone.
func TestTheIndexIsRenewedWhereSomethingHasChanged(t *testing.T) {
	m := crowded(t)
	m.Victims.Prepare()
	before := m.Victims.NodesRebuilt()
	m.Victims.Prepare()
	require.Equal(t, before, m.Victims.NodesRebuilt())
	rep := m.Run(job("new", "owner", 1, 4), string(m.Nodes(1, 4, "r1")[0].Spec.ID))
	m.Victims.Prepare()
	require.Equal(t, before+1, m.Victims.NodesRebuilt())
	require.NoError(t, m.Victims.CheckEvictable())
	lowest := m.Victims.LowerBounds()
	require.Equal(t, rep.Members[0].Hold.Node, lowest.Min().Node, "it has just begun, and loses nothing")
}
