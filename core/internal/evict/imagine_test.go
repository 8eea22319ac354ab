package evict_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// picture is what is imagined on.
func picture(m *roomtest.Machine) string {
	text := ""
	for _, n := range m.State.Nodes {
		text += fmt.Sprintf("%s free %b planned %d\n", n.Spec.ID, m.State.Fleet.FreeMask(n.Index), n.Planned)
	}
	for _, q := range m.Books.Queues {
		text += fmt.Sprintf("queue %s uses %d, sizes %v\n", m.State.Quota.Name(q.Index), m.State.Quota.Used(q.Index, quota.GPUMilli), q.Sizes)
	}
	for _, id := range slices.Sorted(maps.Keys(m.State.Jobs)) {
		for rep := range m.State.Jobs[id].Replicas.All() {
			gone := rep.Imagined
			for flat := range rep.Members {
				gone = gone || rep.Members[flat].Imagined
			}
			text += fmt.Sprintf("%s is imagined gone: %v\n", id, gone)
		}
	}
	return text
}

// Invariant 1: a gang that departs, a part of one, and their beneficiaries.
func TestTheFutureIsImaginedAndForgottenWithoutATrace(t *testing.T) {
	m := machine(t, 3)
	m.Queue("owner", 8)
	m.Queue("borrows", 0)
	leaves := m.Run(job("leaves", "borrows", 1, 4), "n1")
	gives := m.Run(elastic("gives", "borrows", 4, 1, 1), "n2", "n2", "n2", "n2")
	rep := m.Wait(job("o", "owner", 1, 4))
	m.Plan(rep, []string{"n1"}, leaves)
	two := m.Wait(job("two", "owner", 1, 2))
	m.Plan(two, []string{"n3"}).Plan.AddVictim(two, gives)
	m.Life.Ask(record.Piece{Rep: gives, Flats: []int{2, 3}}, two)
	before := picture(m)
	for range 2 { // its scratch is used again
		im, broken := m.Evict.Imagine()
		require.Empty(t, broken)
		require.Equal(t, int64(6000), m.State.Quota.Used(rep.Job.Queue, quota.GPUMilli))
		require.Equal(t, int64(2000), m.State.Quota.Used(gives.Job.Queue, quota.GPUMilli))
		require.True(t, leaves.Imagined)
		require.Equal(t, int32(1), m.NodeNamed("n1").Planned)
		require.Equal(t, uint64(0b1100), m.State.Fleet.FreeMask(m.NodeNamed("n2").Index))
		im.Forget()
		require.Equal(t, before, picture(m))
	}
}

// What is tried in an imagination is forgotten with it, whether it does or not: one member has
// room where b runs, two have it with a move beside, and three have none.
func TestTrialsAreForgottenToo(t *testing.T) {
	m := machine(t, 3)
	m.Queue("owner", 12)
	m.Queue("borrows", 0)
	m.Run(job("b", "borrows", 1, 4), "n1")
	m.Run(job("o1", "owner", 1, 2), "n2")
	m.Run(job("o2", "owner", 1, 2), "n3")
	for members, does := range map[int]struct{ alone, both bool }{1: {true, true}, 2: {false, true}, 3: {false, false}} {
		rep := m.Wait(job("waits", "owner", members, 4))
		m.Books.TellDemands()
		before := picture(m)
		trials := 1000
		_, _, alone := m.Evict.Seek(rep.Entries[0], evict.Seeking{Mode: berth.PreemptionOn, Chooser: new(preempt.Chooser)}, &trials)
		require.Equal(t, does.alone, alone, "%d members", members)
		require.Less(t, trials, 1000)
		require.Equal(t, before, picture(m))

		im, _ := m.Evict.Imagine()
		im.VictimSearches = 1000
		both, _ := im.BothFor(rep.Entries[0])
		require.Equal(t, does.both, both != nil, "%d members", members)
		require.Equal(t, does.both, before != picture(m), "what was found stays imagined")
		im.Forget()
		require.Equal(t, before, picture(m))
		m.Life.Forget(rep)
	}
}

// Shares are told of what is charged, and not of what is imagined: where a plan ends for which all
// nodes were set aside, what each queue wants is counted anew, and b2 is imagined gone and the
// other in its place then. The books are looked at when the test ends.
func TestSharesAreToldOfWhatIsCharged(t *testing.T) {
	m := machine(t, 2)
	m.Queue("owner", 8)
	m.Queue("borrows", 0)
	b1, b2 := m.Run(job("b1", "borrows", 1, 4), "n1"), m.Run(job("b2", "borrows", 1, 4), "n2")
	rep, other := m.Wait(job("o", "owner", 1, 4)), m.Wait(job("other", "owner", 1, 4))
	m.Plan(rep, []string{"n1"}, b1)
	m.Plan(other, []string{"n2"}, b2)
	require.Equal(t, []string{"b1", "b2"}, pass(m))
	m.State.Fleet.SetHealthy(m.NodeNamed("n1").Index, 0, false)
	m.Later(berth.Minute)
	m.Wait(job("younger", "owner", 1, 4))
	require.Empty(t, pass(m))
	require.Nil(t, rep.PlannedReservation())
	m.State.Fleet.SetHealthy(m.NodeNamed("n1").Index, 0, true)
}

// Invariant 2: a node that a plan counts on takes no more work. Whatever else was planned is
// imagined all the same.
func TestAPlanThatCannotComeTrueAnyMoreEnds(t *testing.T) {
	m := machine(t, 3)
	m.Queue("owner", 12)
	m.Queue("borrows", 0)
	b1, b2 := m.Run(job("b1", "borrows", 1, 4), "n1"), m.Run(job("b2", "borrows", 1, 4), "n2")
	m.Run(job("b3", "borrows", 1, 4), "n3")
	rep, other := m.Wait(job("o", "owner", 1, 4)), m.Wait(job("other", "owner", 1, 4))
	res := m.Plan(rep, []string{"n1"}, b1)
	m.Plan(other, []string{"n2"}, b2)
	require.Equal(t, []string{"b1", "b2"}, pass(m))
	m.State.Fleet.SetHealthy(m.NodeNamed("n1").Index, 0, false) // and nobody ends what counts on it
	im, broken := m.Evict.Imagine()
	require.Equal(t, []*record.Reservation{res}, broken)
	require.Equal(t, int32(1), m.NodeNamed("n2").Planned)
	im.Forget()

	m.Later(berth.Minute)
	m.Wait(job("younger", "owner", 1, 4))
	require.Equal(t, []string{"b3"}, pass(m))
	require.Equal(t, []string{"n3"}, nodesOf(m, rep.PlannedReservation()), "it bids again")
	require.Nil(t, b1.Beneficiary)
	require.Same(t, other, b2.Beneficiary)
	m.State.Fleet.SetHealthy(m.NodeNamed("n1").Index, 0, true)
}
