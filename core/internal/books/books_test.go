package books_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// machine is two nodes of 8 H100, n1 and n2, one of 4 A100, a1, and the queues a and b, of which a
// is guaranteed 8 GPUs.
func machine(t *testing.T, config berth.Config) *roomtest.Machine {
	m := roomtest.New(t, config)
	m.Nodes(2, 8)
	other := roomtest.Node("a1", 4)
	for g := range other.GPUs {
		other.GPUs[g].Product, other.GPUs[g].MIGTable = "A100", ""
	}
	m.Join(other)
	m.Queue("a", 8)
	m.Queue("b", 0)
	return m
}

func used(m *roomtest.Machine, queue string) int64 {
	i, _ := m.State.Quota.Lookup(berth.QueueID(queue))
	return m.State.Quota.Used(i, quota.GPUMilli)
}

func queueOf(m *roomtest.Machine, name string) *record.Queue {
	i, _ := m.State.Quota.Lookup(berth.QueueID(name))
	return m.Books.Queues[i]
}

func free(m *roomtest.Machine, node string) int {
	return berth.GPUSet(m.State.Fleet.FreeMask(m.NodeNamed(node).Index)).Len()
}

// Invariants 1 and 2: a member holds capacity, and its queue is charged for it, as long as its
// state says so.
func TestAMemberHoldsAndIsChargedAsLongAsItIsThere(t *testing.T) {
	m := machine(t, berth.Config{})
	rep := m.Run(roomtest.Job("train", "a", 2, 3), "n1", "a1")
	require.Equal(t, 5, free(m, "n1"))
	require.Equal(t, 1, free(m, "a1"))
	require.Equal(t, int64(6000), used(m, "a"))
	require.Equal(t, int64(6000), m.State.Quota.Used(quota.RootQueue, quota.GPUMilli), "and every queue above it")
	require.Len(t, m.NodeNamed("n1").Members, 1)
	require.NoError(t, m.Books.CheckHolds())
	require.NoError(t, m.Books.CheckCharges())

	m.State.ClearFreed()
	m.Books.Unbook(rep, 0, record.MemberLeft)
	require.Equal(t, 8, free(m, "n1"))
	require.Equal(t, int64(3000), used(m, "a"))
	require.Empty(t, m.NodeNamed("n1").Members)
	require.True(t, m.NodeNamed("n1").Freed, "a pass looks at what may fit there now")
	require.True(t, m.Agenda.QuotaFreed)
	require.NoError(t, m.Books.CheckHolds())
	require.NoError(t, m.Books.CheckCharges())
	m.Break() // the gang is not settled
}

func TestMembersThatAreVacatedWakeNothing(t *testing.T) {
	m := machine(t, berth.Config{})
	rep := m.Run(roomtest.Job("train", "a", 1, 3), "n1")
	m.State.ClearFreed()
	m.Books.Vacate(rep, 0, record.MemberLeft)
	require.False(t, m.NodeNamed("n1").Freed)
	require.False(t, m.Agenda.QuotaFreed)
	require.Zero(t, used(m, "a"))
	m.Break()
}

// Members on nodes of one product are booked in one go, and that comes to the same.
func TestARunOfMembersIsBookedAsEachOfThemIs(t *testing.T) {
	one, all := machine(t, berth.Config{Ledger: true}), machine(t, berth.Config{Ledger: true})
	for _, m := range []*roomtest.Machine{one, all} {
		rep := m.Wait(roomtest.Job("train", "a", 2, 3))
		rep.Members = make([]record.Member, 2)
		rep.ActiveMilli = 500
		where := m.Where(rep, []string{"n1", "n2"})
		require.True(t, m.Books.PlaceAt(where))
		if m == one {
			for flat := range where {
				m.Books.Book(rep, flat, where[flat].Hold, record.MemberPlaced)
			}
		} else {
			m.Books.BookRun(rep, []int{0, 1}, where, quota.Charge{GPUMilli: 6000, Product: m.State.Quota.Product("H100")})
		}
		require.Equal(t, 2, rep.Count(0, record.MemberBinding), "none runs before its Bind is reported")
		require.NoError(t, m.Books.CheckCharges())
		require.NoError(t, m.Books.CheckHolds())
		m.Break()
	}
	require.Equal(t, used(one, "a"), used(all, "a"))
	require.Equal(t, one.Books.Ledger.State(), all.Books.Ledger.State())
}

// What stands on nodes of several products is charged by product.
func TestMembersOfSeveralProductsAreFreedTogether(t *testing.T) {
	m := machine(t, berth.Config{})
	rep := m.Run(roomtest.Job("train", "a", 3, 2), "n1", "a1", "n2")
	require.Equal(t, int64(4000), m.State.Quota.Used(rep.Job.Queue, quota.GPUMilliOf("H100")))
	rep.Members[2].State = record.MemberFailed
	m.State.ClearFreed()
	m.Books.UnbookAll(rep, record.MemberLeft, record.MemberRunning, record.MemberLost)
	require.True(t, m.NodeNamed("n1").Freed && m.NodeNamed("a1").Freed && !m.NodeNamed("n2").Freed)
	require.True(t, m.Agenda.QuotaFreed)
	require.Equal(t, int64(2000), m.State.Quota.Used(rep.Job.Queue, quota.GPUMilliOf("H100")), "the third is in no state that was named")
	require.Zero(t, m.State.Quota.Used(rep.Job.Queue, quota.GPUMilliOf("A100")))
	require.Equal(t, 4, free(m, "a1"))
	require.NoError(t, m.Books.CheckCharges())
	m.Break()
}

func TestHoldsAreAllOrNothing(t *testing.T) {
	m := machine(t, berth.Config{})
	rep := m.Wait(roomtest.Job("train", "a", 2, 8))
	where := m.Where(rep, []string{"n1", "n2"})
	m.Run(roomtest.Job("other", "a", 1, 1), "n2")
	require.False(t, m.Books.PlaceAt(where))
	require.Equal(t, 8, free(m, "n1"), "the first is given back")
	require.True(t, m.Books.PlaceAt(where[:1]))
	require.Equal(t, 0, free(m, "n1"))
	m.Books.LetGo()
	require.Equal(t, 8, free(m, "n1"))
	m.State.Compile(rep.Job.Shape())
	require.False(t, m.Books.Place(&rep.Job.Shape().Request))
	m.Books.HoldAgain(where[0].Hold)
	require.Equal(t, 0, free(m, "n1"))
	m.Books.GiveBack(where[:1])
}

// What hardware takes.

func TestWhatANodeTakesIsToldByReplicaAndMember(t *testing.T) {
	m := machine(t, berth.Config{})
	two := m.Run(roomtest.Job("two", "a", 3, 2), "n1", "n2", "n1")
	one := m.Run(roomtest.Job("one", "b", 1, 2), "n1")
	cause := berth.Cause{Code: berth.CauseHardwareLost, Detail: "fire"}
	hit := m.Books.Lose(m.NodeNamed("n1"), cause, func(*record.Member) bool { return true })
	require.Equal(t, []*record.Replica{one, two}, hit, "in order of their names, whatever stood first on the node")
	require.Len(t, m.Books.Lost, 2)
	require.Equal(t, berth.Loss{
		Job: "two", Incarnation: 1, At: m.State.Now, Cause: cause,
		Members: []berth.MemberPlacement{{Index: 0, Node: "n1", GPUs: 0b11}, {Index: 2, Node: "n1", GPUs: 0b1100}},
	}, m.Books.Lost[1])
	require.Equal(t, int64(2000), used(m, "a"))
	require.Zero(t, used(m, "b"))
	m.Books.ForgetLost()
	require.Empty(t, m.Books.Lost, "a pass begins: what was lost before is handed over")

	hit = m.Books.Lose(m.NodeNamed("n2"), berth.Cause{Code: berth.CauseRepartitionFailed}, func(*record.Member) bool { return true })
	require.Equal(t, []*record.Replica{two}, hit)
	require.Empty(t, m.Books.Lost, "hardware took none of it")
	m.Break()
}

// A Bind that is out tells of what it was to start.
func TestAMemberThatIsBeingStartedIsLostUntilItsBindIsReported(t *testing.T) {
	m := machine(t, berth.Config{})
	rep := m.Run(roomtest.Job("train", "a", 2, 2), "n1", "n2")
	rep.Members[0].State = record.MemberBinding
	all := func(*record.Member) bool { return true }
	m.Books.Lose(m.NodeNamed("n1"), berth.Cause{Code: berth.CauseHardwareLost}, all)
	m.Books.Lose(m.NodeNamed("n2"), berth.Cause{Code: berth.CauseHardwareLost}, all)
	require.Equal(t, record.MemberLost, rep.Members[0].State)
	require.Equal(t, record.MemberAbsent, rep.Members[1].State)
	m.Break()
}

func TestLossesThatCannotBeAreRefused(t *testing.T) {
	m := machine(t, berth.Config{})
	good := berth.Loss{Job: "train", Incarnation: 1, At: m.State.Now, Members: make([]berth.MemberPlacement, 1)}
	m.NoRefusal(m.Books.RestoreLost([]berth.Loss{good}))
	for field, spoil := range map[string]func(*berth.Loss){
		"lostMembers[0]":         func(l *berth.Loss) { l.At = m.State.Now + 1 },
		"lostMembers[0].members": func(l *berth.Loss) { l.Members = nil },
	} {
		bad := good
		spoil(&bad)
		m.Refused(m.Books.RestoreLost([]berth.Loss{bad}), berth.ErrInvalid, field)
	}
	bad := good
	bad.Job = ""
	require.NotNil(t, m.Books.RestoreLost([]berth.Loss{bad}))
}

// A GPU takes newcomers unless it failed, nobody knows how it is, it is kept for one job, or it is
// on its way to another mode and empty.
func TestAGPUTakesNewcomersUnlessSomethingKeepsThemOff(t *testing.T) {
	m := machine(t, berth.Config{})
	n := m.NodeNamed("n1")
	settled := func() int { m.Books.SettleGPU(n, 0); return free(m, "n1") }
	require.Equal(t, 8, settled())
	n.Spec.GPUs[0].Failed = true
	require.Equal(t, 7, settled())
	n.Spec.GPUs[0].Failed = false
	n.GPUs[0].Note().Knowledge = record.GPUUnknown
	require.Equal(t, 7, settled())
	n.GPUs[0].Note().Knowledge = record.GPUKnown
	n.GPUs[0].Note().GPUHold = &record.GPUHold{}
	require.Equal(t, 7, settled())
	n.GPUs[0].Note().GPUHold = nil
	n.GPUs[0].Note().Become(record.GPUOrdered, &record.Repartition{})
	require.Equal(t, 7, settled())
	n.Spec.GPUs[0].Mode = berth.GPUModeMIG
	require.Equal(t, 8, settled(), "its instances are there one by one")
	n.GPUs[0].Note().Become(record.GPUReported, nil)
	require.Equal(t, 8, settled())
	m.Break()
}

// Capacity.

func capacity(m *roomtest.Machine, r quota.Resource) int64 {
	total, known := m.State.Quota.Capacity(r)
	if !known {
		return -1
	}
	return total
}

// A node that takes no more work adds what is in use on it.
func TestTheFleetHasOfANodeThatTakesNoWorkWhatIsInUseThere(t *testing.T) {
	m := machine(t, berth.Config{})
	require.Equal(t, int64(20_000), capacity(m, quota.GPUMilli))
	rep := m.Run(roomtest.Job("train", "a", 2, 3), "a1", "n1")
	m.Upkeep.Cordon(m.NodeNamed("a1"), true, "")
	m.Books.TellCapacity()
	require.Equal(t, int64(19_000), capacity(m, quota.GPUMilli))
	require.Equal(t, int64(3000), capacity(m, quota.GPUMilliOf("A100")))
	require.NoError(t, m.Books.CheckCapacities())
	m.Books.Unbook(rep, 0, record.MemberLeft)
	require.Equal(t, int64(-1), capacity(m, quota.GPUMilliOf("A100")), "of what there is none nothing is known, and it is told at once")
	m.Books.TellCapacity()
	require.Equal(t, int64(16_000), capacity(m, quota.GPUMilli))
	m.Break()
}

// What somebody would hold elsewhere goes with him: the fleet has less on a closed node then.
func TestWhatIsImaginedGoneFromAClosedNodeIsNoCapacity(t *testing.T) {
	m := machine(t, berth.Config{})
	rep := m.Run(roomtest.Job("train", "a", 2, 3), "a1", "n1")
	m.Upkeep.Cordon(m.NodeNamed("a1"), true, "")
	m.Books.TellCapacity()
	whole := record.Piece{Rep: rep}
	m.Books.DischargeAll(whole)
	require.Zero(t, used(m, "a"))
	require.Equal(t, int64(16_000), capacity(m, quota.GPUMilli))
	require.Zero(t, capacity(m, quota.GPUMilliOf("A100")))
	m.Books.ChargeAll(whole)
	require.Equal(t, int64(6000), used(m, "a"))
	require.Equal(t, int64(19_000), capacity(m, quota.GPUMilli))
}

// Another half-life counts from now on, with the clock at now.
func TestPastUseCountsByTheHalfLifeInForce(t *testing.T) {
	m := machine(t, berth.Config{})
	m.State.SetClock(m.State.Now.Add(berth.Hour))
	m.Books.SetHalfLife(int64(berth.Minute))
	require.NotZero(t, m.State.Quota.HalfLife())
	require.Equal(t, int64(m.State.Now), m.State.Quota.Now())
	m.State.Config.Policy.UsageHalfLife = berth.Minute
}

// A node is of another class while it is set aside, and of its former one when it is not any more.
func TestANodeThatIsSetAsideIsOfAClassOfItsOwn(t *testing.T) {
	m := machine(t, berth.Config{})
	n, other := m.NodeNamed("n1"), m.NodeNamed("n2")
	require.Equal(t, n.Class, other.Class)
	m.State.ClearFreed()
	res := m.Reserve(m.Wait(roomtest.Job("train", "a", 1, 8)), m.State.Now, "n1")
	require.NotEqual(t, n.Class, other.Class)
	m.Books.Rejoin(res, n)
	require.Equal(t, []*record.Node{n}, res.Nodes, "it is there already")
	m.Backlog.EndReservation(res)
	require.Equal(t, n.Class, other.Class)
	require.True(t, n.Freed)
}

// Known: what events name.

func TestReportsAreOfALifeThatIsNotOver(t *testing.T) {
	m := machine(t, berth.Config{})
	rep := m.Run(roomtest.Job("train", "a", 1, 3), "n1")
	rep.Incarnation = 2
	life := func(id berth.JobID, number int, incarnation berth.Incarnation) *berth.Error {
		_, err := m.Books.KnownLife(id, number, incarnation)
		return err
	}
	m.NoRefusal(life("train", 0, 2))
	m.Refused(life("other", 0, 2), berth.ErrUnknown, "job")
	m.Refused(life("train", 1, 2), berth.ErrUnknown, "replica")
	m.Refused(life("train", 0, 3), berth.ErrUnknown, "incarnation")
	m.Refused(life("train", 0, 1), berth.ErrStale, "incarnation")
	m.Wait(roomtest.Job("waits", "a", 1, 3))
	m.Refused(life("waits", 0, 0), berth.ErrStale, "incarnation")
}

func TestAQueueStaysAsLongAsAJobOfIt(t *testing.T) {
	m := machine(t, berth.Config{})
	rep := m.Wait(roomtest.Job("train", "b", 1, 3))
	b := rep.Job.Queue
	require.Error(t, m.Books.RemoveQueue(b, "b"))
	m.Life.Forget(rep)
	require.NoError(t, m.Books.RemoveQueue(b, "b"))
	require.Nil(t, m.Books.Queues[b])
}

// Imagined.

func TestAPartThatIsImaginedGoneComesBackWithoutATrace(t *testing.T) {
	m := machine(t, berth.Config{})
	rep := m.Run(roomtest.Job("train", "a", 2, 3), "n1", "n2")
	part := record.Piece{Rep: rep, Flats: []int{1}}
	m.Books.Vanish(part)
	require.Equal(t, 5, free(m, "n1"))
	require.Equal(t, 8, free(m, "n2"))
	require.True(t, rep.Members[1].Imagined)
	require.Equal(t, int64(6000), used(m, "a"), "charges are imagined apart from holds")
	m.Books.Reappear(part)
	require.Equal(t, 5, free(m, "n2"))
	require.False(t, rep.Members[1].Imagined)
}

// Each check finds what it is for.
func TestChecksFindWhatDoesNotAddUp(t *testing.T) {
	check := map[string]func(*books.Books) error{
		"holds": (*books.Books).CheckHolds, "charges": (*books.Books).CheckCharges,
		"sizes": (*books.Books).CheckSizes, "capacities": (*books.Books).CheckCapacities, "contenders": (*books.Books).CheckContenders,
	}
	for name, c := range map[string]struct {
		check, says string
		spoil       func(*roomtest.Machine, *record.Replica)
	}{
		"a hold of nobody": {"holds", "fleet:", func(m *roomtest.Machine, rep *record.Replica) {
			require.True(t, m.Books.Hold([]gang.Member{{Hold: gang.Hold{Node: 0, GPUs: 1 << 7}}}))
		}},
		"a charge for nothing": {"charges", "S3: uses 3000 of gpuMilli, and is charged 3001", func(m *roomtest.Machine, rep *record.Replica) {
			m.Books.Charge(rep.Job.Queue, quota.Charge{GPUMilli: 1, Product: quota.NoProduct})
		}},
		"a size of which none runs": {"sizes", "it runs", func(m *roomtest.Machine, rep *record.Replica) { m.Books.CountSize(rep, 1) }},
		"a node that has changed": {"capacities", "counted as", func(m *roomtest.Machine, _ *record.Replica) {
			m.NodeNamed("n2").Spec.GPUs[0].Failed = true
		}},
		"a sum that is off": {"capacities", "the fleet has 20000 of gpuMilli, counted 1", func(m *roomtest.Machine, _ *record.Replica) {
			m.Books.Capacities[quota.GPUMilli] = 1
		}},
		"queues that are told of less": {"capacities", "queues are told", func(m *roomtest.Machine, _ *record.Replica) {
			require.NoError(t, m.State.Quota.SetCapacity(quota.GPUMilli, 1))
		}},
		"a queue that borrows nothing": {"contenders", "more than it is guaranteed: true", func(m *roomtest.Machine, _ *record.Replica) {
			queueOf(m, "a").Over = true
		}},
		"a queue that keeps nothing": {"contenders", "not to lend", func(m *roomtest.Machine, _ *record.Replica) {
			queueOf(m, "a").Keeps = true
		}},
		"a queue in which more waits": {"contenders", "waits for 0 milli-GPU, counted 7", func(m *roomtest.Machine, _ *record.Replica) {
			queueOf(m, "b").WaitingMilli = 7
		}},
		"a queue that is to be looked at": {"contenders", "touched: true", func(m *roomtest.Machine, _ *record.Replica) {
			queueOf(m, "b").Touched = true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, berth.Config{})
			rep := m.Run(roomtest.Job("train", "a", 1, 3), "n1")
			m.Books.TellDemands()
			require.NoError(t, check[c.check](m.Books))
			m.Break()
			c.spoil(m, rep)
			require.ErrorContains(t, check[c.check](m.Books), c.says)
		})
	}
}
