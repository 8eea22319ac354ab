package victim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/preempt"
)

// Invariant 4: what a gang has above its minimum goes unit by unit, the last first, and the gang
// goes on; or all of it goes.
func TestASurplusGoesBeforeAnyGangAndAsMuchOfItAsSuffices(t *testing.T) {
	m := machine(t, 2)
	m.Queue("owner", 8)
	m.Queue("borrows", 0)
	m.Run(stretches("stretches", "borrows", 4, 1, 1), "n1", "n1", "n1", "n1")
	m.Run(job("rigid", "borrows", 1, 4), "n2")
	one := m.Wait(job("one", "owner", 1, 1))
	victims, _ := reclaim(m, one)
	require.Equal(t, []string{"stretches[3]"}, victims)
	victims, s := reclaim(m, m.Wait(job("three", "owner", 3, 1)))
	require.Equal(t, []string{"stretches[1 2 3]"}, victims)
	s.Options()
	require.True(t, s.Permits([]int{0, 1, 2}))
	require.False(t, s.Permits([]int{0, 1, 2, 3}), "a gang keeps its minimum")
	require.True(t, s.Permits([]int{4}), "or goes as a whole")
	s.SetBack()
	victims, _ = reclaim(m, m.Wait(job("whole", "owner", 1, 4)))
	require.Len(t, victims, 1)
	require.NotContains(t, victims[0], "[", "a node that has to be empty takes a whole gang")
}

// Whole segments go, so that what is left keeps its topology.
func TestASurplusGoesInWholeSegments(t *testing.T) {
	m := machine(t, 1)
	m.Queue("owner", 4)
	m.Queue("borrows", 0)
	spec := stretches("stretches", "borrows", 4, 2, 1)
	spec.Groups[0].Topology.Segments = []berth.Segment{{Size: 2, Level: "node"}}
	m.Run(spec, "n1", "n1", "n1", "n1")
	victims, _ := reclaim(m, m.Wait(job("one", "owner", 1, 1)))
	require.Equal(t, []string{"stretches[2 3]"}, victims)
}

// lose takes members that run off their nodes.
func lose(m *roomtest.Machine, rep *record.Replica, flats ...int) {
	for _, flat := range flats {
		m.Books.Unbook(rep, flat, record.MemberLeft)
	}
	m.Life.Settle(rep, berth.Cause{Code: berth.CauseHardwareLost})
}

// A segment that has lost a member is surplus before a whole one is, and of no use to the minimum:
// segments of two, the first with one left, and a minimum of two.
func TestATornSegmentIsSurplusFirst(t *testing.T) {
	for _, segments := range []int{2, 3} {
		m := machine(t, segments)
		m.Queue("owner", 8)
		m.Queue("borrows", 0)
		spec := stretches("stretches", "borrows", 2*segments, 2, 2)
		spec.Groups[0].Topology.Segments = []berth.Segment{{Size: 2, Level: "node"}}
		rep := m.Run(spec, []string{"n1", "n1", "n2", "n2", "n3", "n3"}[:2*segments]...)
		lose(m, rep, 1)
		victims, _ := reclaim(m, m.Wait(job("one", "owner", 1, 4)))
		require.Equal(t, []string{"stretches[0]"}, victims, segments)
		if segments == 2 {
			victims, s := reclaim(m, m.Wait(job("two", "owner", 2, 4)))
			require.Equal(t, []string{"stretches"}, victims, "the whole one is the minimum")
			s.SetBack()
		}
	}
	m := machine(t, 3)
	m.Queue("owner", 8)
	m.Queue("borrows", 0)
	spec := stretches("stretches", "borrows", 6, 2, 2)
	spec.Groups[0].Topology.Segments = []berth.Segment{{Size: 2, Level: "node"}}
	lose(m, m.Run(spec, "n1", "n1", "n2", "n2", "n3", "n3"), 1, 3)
	m.Run(job("pins", "owner", 1, 2), "n1")
	m.Run(job("too", "owner", 1, 2), "n2")
	victims, _ := reclaim(m, m.Wait(job("one", "owner", 1, 4)))
	require.Equal(t, []string{"stretches"}, victims, "two torn ones are not the minimum")
}

// Where the whole segments are not the minimum, members of torn ones count for it as others do.
func TestTornSegmentsCountWhereTheWholeOnesAreTooFew(t *testing.T) {
	m := machine(t, 3)
	m.Queue("owner", 8)
	m.Queue("borrows", 0)
	spec := stretches("stretches", "borrows", 6, 4, 2)
	spec.Groups[0].Topology.Segments = []berth.Segment{{Size: 2, Level: "node"}}
	rep := m.Run(spec, "n1", "n1", "n2", "n2", "n3", "n3")
	lose(m, rep, 3, 5)
	victims, _ := reclaim(m, m.Wait(job("one", "owner", 1, 4)))
	require.Equal(t, []string{"stretches"}, victims)
}

// Units go where the request may have use for them.
func TestTheUnitsOfASurplusGoWhereTheyAreOfUse(t *testing.T) {
	m := machine(t, 3)
	m.Queue("owner", 4)
	m.Queue("borrows", 0)
	m.Run(stretches("stretches", "borrows", 4, 1, 2), "n1", "n2", "n2", "n3")
	m.Run(job("pins", "owner", 1, 2), "n3")
	m.Run(job("fills", "borrows", 1, 2), "n1")
	victims, _ := reclaim(m, m.Wait(job("whole", "owner", 1, 2)))
	require.Equal(t, []string{"stretches[2]"}, victims, "on n2 the most comes free together")
}

// A gang that gives or gets other members just now is waited for, if it is the cheapest.
func TestASurplusThatIsBusyIsWaitedFor(t *testing.T) {
	m := machine(t, 1)
	m.Queue("owner", 4)
	m.Queue("borrows", 0)
	gives := m.Run(stretches("stretches", "borrows", 4, 1, 1), "n1", "n1", "n1", "n1")
	gives.Members[3].State = record.MemberStopping
	victims, s := reclaim(m, m.Wait(job("two", "owner", 2, 1)))
	require.Nil(t, victims)
	require.True(t, s.Waits)
	gives.Members[3].State = record.MemberRunning
}

func TestNothingIsTakenOfAGangWithADomainToItself(t *testing.T) {
	m := machine(t, 1)
	m.Queue("owner", 4)
	m.Queue("borrows", 0)
	spec := stretches("stretches", "borrows", 4, 1, 1)
	spec.Topology.Exclusive = "rack"
	m.Run(spec, "n1", "n1", "n1", "n1")
	victims, s := reclaim(m, m.Wait(job("one", "owner", 1, 1)))
	require.Nil(t, victims, "no other may use its nodes")
	require.Len(t, s.Offers, 1)
	require.True(t, s.Offers[0].Whole(), "and no unit is offered")
}

// Growth. A gang that runs takes back what its queue is guaranteed, and nothing else.

func grow(m *roomtest.Machine, rep *record.Replica, members int) ([]string, *victim.Search) {
	m.Books.TellDemands()
	t := m.Victims.NewSearchToGrow(rep.Entries[0], members, nil)
	t.GatherLent()
	return choose(t)
}

func TestAGangGrowsAtTheCostOfOthersWithinItsGuaranteeAlone(t *testing.T) {
	m := machine(t, 3)
	m.Queue("owner", 8)
	m.Queue("borrows", 0)
	rep := m.Run(stretches("grows", "owner", 3, 1, 4), "n1")
	m.Run(roomtest.WithPriority(job("lower", "owner", 1, 1), -1), "n2")
	m.Run(job("b1", "borrows", 1, 3), "n2")
	m.Run(job("b2", "borrows", 1, 4), "n3")
	victims, s := grow(m, rep, 1)
	require.Nil(t, victims, "with it its queue would use 9 of 8")
	require.False(t, s.WithinGuarantee())
	m.Books.RemoveQueue(0, "")
	m.Queue("owner", 12)
	victims, s = grow(m, rep, 1)
	require.Equal(t, []string{"b2"}, victims)
	require.True(t, s.WithinGuarantee())
	victims, _ = grow(m, rep, 2)
	require.Nil(t, victims, "13 of 12")
}

// Parts.

func TestPiecesOfOneGangBecomeOne(t *testing.T) {
	m := machine(t, 2)
	m.Queue("a", 0)
	rep := m.Run(stretches("b", "a", 4, 1, 1), "n1", "n1", "n1", "n1")
	other := m.Run(job("a", "a", 1, 1), "n2")
	merged := victim.MergeParts([]record.Piece{{Rep: rep, Flats: []int{3}}, {Rep: other}, {Rep: rep, Flats: []int{1}}})
	require.Equal(t, []string{"a", "b[1 3]"}, named(merged))
	require.Equal(t, []*record.Replica{other}, victim.Wholes(merged))
}

// A candidate.

func TestACandidateSaysWhatIsLostWithIt(t *testing.T) {
	m := machine(t, 2)
	m.Queue("a", 0)
	spec := job("train", "a", 1, 2)
	spec.Checkpoint = berth.Checkpoint{Interval: 20 * berth.Minute, RestartCost: berth.Minute}
	rep := m.Run(spec, "n1")
	m.Later(50 * berth.Minute)
	c := m.Victims.Candidate(record.Piece{Rep: rep}, berth.Second)
	require.Equal(t, preempt.Candidate{
		ID: "train#0", GPUMilli: 2000, Started: int64(rep.CameAt), RestartCost: int64(berth.Minute), Queueing: int64(berth.Second),
		SinceCheckpoint: int64(10 * berth.Minute), Domains: []int32{0}, HeldMilli: []int64{2000},
	}, c, "it is assumed to write a checkpoint at its interval")
	rep.Eviction.Note().Tells, rep.Eviction.Note().Checkpointed = true, m.State.Now.Add(-30*berth.Minute)
	c = m.Victims.Candidate(record.Piece{Rep: rep}, 0)
	require.Equal(t, int64(30*berth.Minute), c.SinceCheckpoint, "it told of one, and so tells of all")
	require.Equal(t, c.Cost(), m.Victims.CostToMove(rep))

	service := job("web", "a", 1, 2)
	service.Service = &berth.Service{Replicas: 1}
	serves := m.Run(service, "n2")
	m.Later(berth.Hour)
	require.Zero(t, m.Victims.Candidate(record.Piece{Rep: serves}, 0).SinceCheckpoint, "a service has no work to lose")
}

func TestAUnitOfASurplusLosesTheCostOfResizingAlone(t *testing.T) {
	m := machine(t, 1)
	m.Queue("a", 0)
	spec := stretches("train", "a", 2, 1, 2)
	spec.Checkpoint = berth.Checkpoint{Supported: true, Cost: berth.Minute, RestartCost: 2 * berth.Minute}
	rep := m.Run(spec, "n1", "n1")
	m.Later(berth.Hour)
	c := m.Victims.Candidate(record.Piece{Rep: rep, Flats: []int{1}}, berth.Minute)
	require.Equal(t, "train#0/1", c.ID)
	require.True(t, c.Surplus)
	require.Equal(t, preempt.GPUMilliseconds(2*2*berth.Minute), c.Cost())
}
