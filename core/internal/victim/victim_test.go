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

func machine(t *testing.T, nodes int, change ...func(*berth.Policy)) *roomtest.Machine {
	return roomtest.AtAnyCost(t, nodes, change...)
}

// A job is one of a queue, of members of so many GPUs each.
func job(id berth.JobID, queue berth.QueueID, members, gpus int) berth.Job {
	return roomtest.Job(id, queue, members, gpus)
}

// stretches is a job with a surplus.
func stretches(id berth.JobID, queue berth.QueueID, members, least, gpus int) berth.Job {
	j := job(id, queue, members, gpus)
	j.Groups[0].MinMembers = least
	return j
}

func named(list []record.Piece) (names []string) {
	for _, p := range list {
		name := string(p.Rep.Job.Spec.ID)
		if !p.Whole() {
			name += fmt.Sprint(p.Flats)
		}
		names = append(names, name)
	}
	return names
}

// reclaim is the choice of a gang among what other queues have to give back.
func reclaim(m *roomtest.Machine, rep *record.Replica) ([]string, *victim.Search) {
	m.Books.TellDemands()
	t := m.Victims.NewSearch(rep.Entries[0], nil)
	t.GatherLent()
	return choose(t)
}

func choose(t *victim.Search) ([]string, *victim.Search) {
	trials := 1 << 12
	list, ok := t.Choose(new(preempt.Chooser), &trials)
	if !ok {
		return nil, t
	}
	return named(list), t
}

// own is its choice among what runs in its own queue.
func own(m *roomtest.Machine, rep *record.Replica) ([]string, *victim.Search) {
	m.Books.TellDemands()
	t := m.Victims.NewSearch(rep.Entries[0], nil)
	trials := 1 << 12
	list, ok := t.ChooseOwn(new(preempt.Chooser), &trials)
	if !ok {
		return nil, t
	}
	return named(list), t
}

// picture is what a search imagines on.
func picture(m *roomtest.Machine) string {
	text := ""
	for _, n := range m.State.Nodes {
		text += fmt.Sprintf("%s free %b\n", n.Spec.ID, m.State.Fleet.FreeMask(n.Index))
	}
	for _, q := range m.Books.Queues {
		text += fmt.Sprintf("queue %s uses %d, sizes %v\n", m.State.Quota.Name(q.Index), m.State.Quota.Used(q.Index, quota.GPUMilli), q.Sizes)
	}
	return text
}

// Which queues give, and what they keep.

// Invariant 1: a search changes nothing, whatever it imagines.
func TestASearchLeavesNoTrace(t *testing.T) {
	m := machine(t, 3)
	m.Queue("owner", 8)
	m.SetQueue(quota.Queue{Name: "org"})
	m.SetQueue(quota.Queue{Name: "x", Parent: "org"})
	m.SetQueue(quota.Queue{Name: "y", Parent: "org"})
	m.Run(job("x1", "x", 1, 4), "n1")
	m.Run(stretches("x2", "x", 4, 1, 1), "n2", "n2", "n2", "n2")
	m.Run(roomtest.WithPriority(job("y1", "y", 2, 2), -1), "n3", "n3")
	for _, rep := range []*record.Replica{
		m.Wait(job("fits", "owner", 2, 4)), m.Wait(job("does-not", "owner", 3, 4)), m.Wait(job("near", "y", 1, 2)), m.Wait(roomtest.WithPriority(job("own", "y", 1, 4), 1)),
	} {
		before := picture(m)
		reclaim(m, rep)
		require.Equal(t, before, picture(m))
		own(m, rep)
		require.Equal(t, before, picture(m))
		s := m.Victims.NewSearch(rep.Entries[0], nil)
		s.FitsWithout()
		s.FitsNow()
		m.Victims.Protections(rep.Entries[0])
		require.Equal(t, before, picture(m))
	}
}

func TestAGuaranteeIsReclaimedFromABorrowerAlone(t *testing.T) {
	m := machine(t, 3)
	m.Queue("owner", 4)
	m.Queue("keeps", 4)
	m.Queue("borrows", 0)
	m.Run(job("k", "keeps", 1, 4), "n1")
	m.Run(job("b1", "borrows", 1, 4), "n2")
	m.Run(job("b2", "borrows", 1, 4), "n3")
	m.Later(berth.Hour)
	victims, s := reclaim(m, m.Wait(job("o", "owner", 1, 4)))
	require.Len(t, victims, 1)
	require.Contains(t, []string{"b1", "b2"}, victims[0])
	require.True(t, s.WithinGuarantee())

	victims, s = reclaim(m, m.Wait(job("too-much", "owner", 2, 4)))
	require.Nil(t, victims, "beyond its guarantee and its fair share it takes nothing")
	require.False(t, s.WithinGuarantee())
	victims, _ = reclaim(m, m.Wait(job("none", "borrows", 1, 4)))
	require.Nil(t, victims)
}

// Rule 1 of package quota, entitlement.go: what is left fills as much of the guarantee as before. A
// gang that is larger than the guarantee of its queue fills nothing of it.
func TestAGangLargerThanTheGuaranteeOfItsQueueFillsNothingOfIt(t *testing.T) {
	m := machine(t, 2)
	m.Queue("owner", 4)
	m.Queue("borrows", 4)
	m.Run(job("large", "borrows", 2, 4), "n1", "n2")
	victims, s := reclaim(m, m.Wait(job("o", "owner", 1, 4)))
	require.Equal(t, []string{"large"}, victims)
	require.Empty(t, s.Gave, "no floor: as much is filled as before, nothing")
}

// Rule 2: or else the queue is left its guarantee in use, though what is left fills less of it.
// Then it gets what it kept as its floor.
func TestAQueueMayBeLeftItsGuaranteeInAJobThatFillsNothing(t *testing.T) {
	m := machine(t, 2)
	m.Queue("owner", 4)
	gives := m.Queue("gives", 3)
	m.Run(job("large", "gives", 1, 4), "n1")
	for _, id := range []berth.JobID{"s1", "s2", "s3"} {
		m.Run(job(id, "gives", 1, 1), "n2")
	}
	victims, s := reclaim(m, m.Wait(job("o", "owner", 1, 4)))
	require.Equal(t, []string{"s1", "s2", "s3"}, victims, "they hold the least")
	require.Equal(t, []victim.Floor{{Queue: gives.Index, Milli: 3000}}, s.Gave)
}

// The floor: else the large job would be taken by rule 1, the small ones would come back, and it
// would begin again.
func TestAFloorKeepsWhatAQueueWasLeftWith(t *testing.T) {
	m := machine(t, 1)
	m.Queue("owner", 4)
	gives := m.Queue("gives", 3)
	m.Run(job("large", "gives", 1, 4), "n1")
	rep := m.Wait(job("o", "owner", 1, 4))
	victims, _ := reclaim(m, rep)
	require.Equal(t, []string{"large"}, victims)
	gives.RaiseFloor(3000)
	victims, s := reclaim(m, rep)
	require.Nil(t, victims)
	s.Options()
	require.False(t, s.Permits([]int{0}))
	s.SetBack()
	gives.DropFloor()
	victims, _ = reclaim(m, rep)
	require.Equal(t, []string{"large"}, victims)
}

// Rule 3: for a fair share, moreover, what is left fills as much of the fair share as before.
func TestAFairShareIsTakenOfWhatIsBeyondTheFairShareOfOthers(t *testing.T) {
	for rack, want := range map[string][]string{"r1": nil, "r2": {"four"}} {
		m := machine(t, 0)
		for i, in := range []string{"r1", "r1", "r2"} {
			n := roomtest.Node(berth.NodeID(fmt.Sprintf("n%d", i+1)), 4, in)
			n.Labels = map[string]string{"rack": in}
			m.Join(n)
		}
		m.Queue("asks", 0)
		m.Queue("has", 0)
		m.Run(job("eight", "has", 2, 4), "n1", "n2")
		m.Run(job("four", "has", 1, 4), "n3")
		asks := job("asks", "asks", 1, 4)
		asks.Groups[0].Selector.Labels = map[string]string{"rack": rack}
		victims, s := reclaim(m, m.Wait(asks))
		require.Equal(t, want, victims, "has keeps eight of its twelve")
		require.False(t, s.WithinGuarantee())
	}
}

// What a queue may take of another organisation depends on which jobs of its own go with it. Org is
// guaranteed 4 GPUs, and has 5. With one of them gone, it would be within its fair share of 6 with
// what is asked for, and takes what the other has beyond its fair share: nothing. With four gone it
// would be within its guarantee, for which the other gives what it borrows.
func TestNearerVictimsOpenNoMoreThanTheyMakeRoomFor(t *testing.T) {
	m := roomtest.New(t, berth.Config{Policy: berth.Policy{Preemption: berth.Preemption{Gain: berth.GainPolicy{IgnoreCost: true}}}})
	m.Join(roomtest.Node("h1", 2))
	for _, id := range []berth.NodeID{"a1", "a2"} {
		spec := roomtest.Node(id, 5)
		for g := range spec.GPUs {
			spec.GPUs[g].Product, spec.GPUs[g].MIGTable = "A100", ""
		}
		m.Join(spec)
	}
	m.SetQueue(quota.Queue{Name: "org", Guarantee: quota.GPUs(4), Weight: 1000})
	m.SetQueue(quota.Queue{Name: "a", Parent: "org", Guarantee: quota.GPUs(4)})
	m.SetQueue(quota.Queue{Name: "b", Parent: "org"})
	m.SetQueue(quota.Queue{Name: "c", Weight: 3000})
	m.Run(job("b1", "b", 1, 1), "a1")
	m.Run(job("b4", "b", 1, 4), "a2")
	m.Run(job("c2", "c", 1, 2), "h1")
	m.Run(job("c4", "c", 1, 4), "a1")
	m.Wait(job("more", "c", 1, 2))
	here := job("here", "a", 1, 2)
	here.Groups[0].Selector.Products = []string{"H100"}
	rep := m.Wait(here)
	victims, _ := reclaim(m, rep)
	require.Equal(t, []string{"b4", "c2"}, victims)

	// Choices that are put to it: what may go together.
	s := m.Victims.NewSearch(rep.Entries[0], nil)
	s.GatherLent()
	at := map[string]int{}
	for i := range s.Offers {
		at[string(s.Offers[i].Rep.Job.Spec.ID)] = i
	}
	s.Options()
	require.False(t, s.Permits([]int{at["c2"]}), "the way there is closed while b has all of it")
	require.False(t, s.Permits([]int{at["b1"], at["c2"]}), "open for the fair share alone")
	require.True(t, s.Permits([]int{at["b4"], at["c2"]}))
	require.False(t, s.Permits([]int{at["b1"], at["b4"], at["c2"]}), "b keeps its part of what org is guaranteed, which b1 fills")
	s.SetBack()
}
