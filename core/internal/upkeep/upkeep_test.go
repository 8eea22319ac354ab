package upkeep_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/losses"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/core/internal/upkeep"
)

// distrustful is a policy by which a node that was lost twice within a day is in quarantine for an
// hour, and what comes back is in burn-in for ten minutes.
var distrustful = berth.Health{Losses: 2, Within: 24 * berth.Hour, Quarantine: berth.Hour, BurnIn: 10 * berth.Minute}

func machine(t *testing.T, policy berth.Policy) *roomtest.Machine {
	m := roomtest.New(t, berth.Config{Levels: []string{"rack"}, Policy: policy})
	m.Queue("a", 0)
	return m
}

// back has a node join that was lost so often before.
func back(m *roomtest.Machine, id berth.NodeID, lost int) *record.Node {
	for range lost {
		m.State.NoteLoss(id)
	}
	return m.Join(roomtest.Node(id, 8, "r1"))
}

func watched(m *roomtest.Machine) (ids []berth.NodeID) {
	for _, n := range m.Upkeep.Watched {
		ids = append(ids, n.Spec.ID)
	}
	return ids
}

func aside(res *record.Reservation) []berth.NodeID {
	if res == nil {
		return nil
	}
	return res.NodeIDs()
}

// Invariant 1: the watched nodes are those in quarantine or in burn-in, in order of name.
func TestNodesAreWatchedAsLongAsTheyAreNotTrusted(t *testing.T) {
	m := machine(t, berth.Policy{Health: distrustful})
	fresh := back(m, "n0", 0)
	back(m, "n2", 1)
	flaps := back(m, "n1", 2)
	require.Equal(t, []berth.NodeID{"n1", "n2"}, watched(m))
	require.False(t, fresh.Closed())
	require.Zero(t, fresh.Trust)
	now := m.State.Now
	require.Equal(t, record.TrustPart{BurnInUntil: now.Add(10 * berth.Minute)}, m.NodeNamed("n2").Trust)
	require.Equal(t, now.Add(berth.Hour), flaps.Trust.QuarantineUntil)
	require.Equal(t, now.Add(70*berth.Minute), flaps.Trust.BurnInUntil, "burn-in comes after the quarantine")
	require.True(t, flaps.Closed(), "it takes no work, as if it were cordoned")
	require.Equal(t, now.Add(10*berth.Minute), m.Agenda.HealthDue)
	require.NoError(t, m.Check())

	m.Later(10 * berth.Minute)
	m.Upkeep.TrustAgain()
	require.Equal(t, []berth.NodeID{"n1"}, watched(m))
	require.Equal(t, now.Add(berth.Hour), m.Agenda.HealthDue)
	m.Later(50*berth.Minute - 1)
	m.Upkeep.TrustAgain()
	require.True(t, flaps.Closed())
	m.Later(1)
	m.Upkeep.TrustAgain()
	require.False(t, flaps.Closed())
	require.Equal(t, []berth.NodeID{"n1"}, watched(m), "in burn-in yet")
	m.Later(10 * berth.Minute)
	m.Upkeep.TrustAgain()
	require.Empty(t, watched(m))
	require.Equal(t, agenda.Never, m.Agenda.HealthDue)
}

// Invariant 2: nodes in burn-in are set aside by one reservation, and by none when they are over.
func TestNodesInBurnInAreSetAsideTogether(t *testing.T) {
	m := machine(t, berth.Policy{Health: distrustful})
	one, two := back(m, "n1", 1), back(m, "n2", 1)
	require.Equal(t, []berth.NodeID{"n1", "n2"}, aside(m.Upkeep.BurnIn))
	require.True(t, m.Upkeep.BurnIn.IsBurnIn())
	m.Upkeep.Vouch(one)
	require.Equal(t, []berth.NodeID{"n2"}, aside(m.Upkeep.BurnIn))
	m.Upkeep.Vouch(two)
	require.Nil(t, m.Upkeep.BurnIn)
	require.Empty(t, m.Backlog.Reservations)
}

// A pass looks again at what waits, though nothing else has happened.
func TestTheEndOfAQuarantineWakesWhatWaits(t *testing.T) {
	policy := berth.Policy{Health: distrustful}
	policy.Health.BurnIn = berth.Off
	m := machine(t, policy)
	n := back(m, "n1", 2)
	m.State.ClearFreed()
	require.False(t, n.Freed)
	require.False(t, m.Agenda.Waking())
	m.Later(berth.Hour)
	m.Upkeep.TrustAgain()
	require.True(t, n.Freed)
	require.True(t, m.Agenda.Waking())
}

// A gang that is hopeless until there is more to plan with has that when a quarantine ends.
func TestTheEndOfAQuarantineIsMoreToPlanWith(t *testing.T) {
	m := machine(t, berth.Policy{Health: distrustful})
	back(m, "n1", 2)
	rep := m.Wait(roomtest.Job("pair", "a", 2, 8))
	rep.Reserve.Note().HopelessAt = m.Agenda.Despair()
	m.Backlog.Due.NoteEntries(rep)
	require.True(t, m.Backlog.Due.CannotPlan(rep))
	m.Later(berth.Hour)
	m.Upkeep.TrustAgain()
	require.False(t, m.Backlog.Due.CannotPlan(rep))
}

func TestAQuarantineIsTwiceAsLongEachTimeAndALossIsForgottenAfterAWhile(t *testing.T) {
	policy := berth.Policy{Health: distrustful}
	policy.Health.BurnIn = berth.Off
	m := machine(t, policy)
	for _, hours := range []berth.Duration{1, 2, 4} {
		n := back(m, "n1", 2)
		require.Equal(t, m.State.Now.Add(hours*berth.Hour), n.Trust.QuarantineUntil)
		m.GPUs.RemoveNode(n)
		require.Empty(t, watched(m), "a node that goes is watched no more")
	}
	m.Later(24 * berth.Hour)
	require.Zero(t, back(m, "n1", 0).Trust)
	require.Empty(t, m.Losses.ByID)
}

func TestBurnInEndsThePlansThatCountOnTheNode(t *testing.T) {
	m := machine(t, berth.Policy{Health: distrustful})
	n := back(m, "n1", 0)
	rep := m.Wait(roomtest.Job("train", "a", 1, 8))
	m.Reserve(rep, m.State.Now, "n1")
	m.Upkeep.BeginBurnIn(n, m.State.Now)
	require.Nil(t, rep.Reserved)
	require.Equal(t, []*record.Reservation{m.Upkeep.BurnIn}, n.Reservations)
	m.Upkeep.BeginBurnIn(n, m.State.Now.Add(-berth.Minute))
	require.Equal(t, m.State.Now.Add(10*berth.Minute), n.Trust.BurnInUntil, "it is never shorter than it was")
}

func TestAnotherPolicyEndsWhatItDoesNotKnow(t *testing.T) {
	m := machine(t, berth.Policy{Health: distrustful})
	flaps := back(m, "n1", 2)
	policy := m.State.Config.Policy
	policy.Health.Quarantine = 5 * berth.Hour
	m.State.SetPolicy(policy)
	m.Upkeep.Reconsider()
	require.Equal(t, m.State.Now.Add(berth.Hour), flaps.Trust.QuarantineUntil, "what has begun lasts for as long as was said then")
	policy.Health.Losses = 0
	m.State.SetPolicy(policy)
	m.Upkeep.Reconsider()
	require.Zero(t, flaps.Trust.QuarantineUntil)
	require.NotZero(t, flaps.Trust.BurnInUntil)
	require.NotEmpty(t, m.Losses.ByID, "burn-in goes by losses, too")
	policy.Health.BurnIn = 0
	m.State.SetPolicy(policy)
	m.Upkeep.Reconsider()
	require.Zero(t, flaps.Trust)
	require.Empty(t, m.Losses.ByID)
	require.NoError(t, m.Upkeep.CheckLosses())
}

// A node that is cordoned as well stays closed when somebody vouches for it.
func TestACordonedNodeStaysClosedWhenItIsVouchedFor(t *testing.T) {
	m := machine(t, berth.Policy{Health: distrustful})
	n := back(m, "n1", 2)
	m.Upkeep.Cordon(n, true, "firmware")
	m.Upkeep.SetDraining(n, true)
	m.Upkeep.SetDraining(n, true)
	require.Equal(t, 1, m.Agenda.Draining, "told twice, and counted once")
	m.Upkeep.Vouch(n)
	m.Upkeep.SetDraining(n, false)
	require.True(t, n.Closed())
	require.Equal(t, "firmware", n.Reason)
	m.Upkeep.Cordon(n, false, "")
	require.False(t, n.Closed())
}

func TestTheTrustInANodeOutlastsItsUpdate(t *testing.T) {
	m := machine(t, berth.Policy{Health: distrustful})
	old := back(m, "n1", 2)
	trust := old.Trust
	m.GPUs.RemoveNode(old)
	old.Trust = trust
	m.Losses.Clear()
	anew := m.Join(roomtest.Node("n1", 8, "r1"))
	m.Break() // to join its reservations is the caller's part
	m.Upkeep.Distrust(anew, old)
	require.Equal(t, trust.QuarantineUntil, anew.Trust.QuarantineUntil)
	require.Equal(t, []berth.NodeID{"n1"}, watched(m))
}

// Hot spares.

func spares(m *roomtest.Machine, pool string) []berth.NodeID {
	return aside(m.State.SparesOf(pool).Reservation)
}

func tenth() berth.Policy { return berth.Policy{HotSpares: []berth.HotSpares{{NodesMilli: 100}}} }

func TestAPoolKeepsItsPartOfSoundNodesRoundedUp(t *testing.T) {
	m := machine(t, tenth())
	m.Nodes(10, 8, "r1")
	m.Upkeep.TendSpares()
	require.Equal(t, []berth.NodeID{"n1"}, spares(m, ""))
	require.True(t, m.NodeNamed("n1").Trust.HotSpare)
	m.Nodes(1, 8, "r2")
	require.True(t, m.Agenda.SparesDue)
	m.Upkeep.TendSpares()
	require.Equal(t, []berth.NodeID{"n1", "n11"}, spares(m, ""), "the next is in another rack")
	require.NoError(t, m.Check())

	m.Upkeep.Cordon(m.NodeNamed("n1"), true, "")
	m.Upkeep.TendSpares()
	require.Equal(t, []berth.NodeID{"n11"}, spares(m, ""), "ten are left, and a node that takes no work is no spare")
	require.False(t, m.NodeNamed("n1").Trust.HotSpare)
}

func TestASpareInUseIsReplaced(t *testing.T) {
	m := machine(t, tenth())
	m.Nodes(2, 8, "r1")
	m.Upkeep.TendSpares()
	require.Equal(t, []berth.NodeID{"n1"}, spares(m, ""))
	m.Run(roomtest.Job("train", "a", 1, 8), "n1")
	m.Upkeep.TendSpares()
	require.Equal(t, []berth.NodeID{"n2"}, spares(m, ""))
	require.Equal(t, record.TrustPart{SpareInUse: true}, m.NodeNamed("n1").Trust)
	require.Equal(t, int64(1), m.State.Totals.HotSparesUsed)
}

// Where no node is idle a pool is short of spares; the next node that is free becomes one.
func TestAPoolThatIsShortTakesTheNextNodeThatIsFree(t *testing.T) {
	m := machine(t, tenth())
	m.Nodes(1, 8, "r1")
	rep := m.Run(roomtest.Job("train", "a", 1, 8), "n1")
	m.Upkeep.TendSpares()
	require.Empty(t, spares(m, ""))
	require.False(t, m.Upkeep.SparesAmiss())
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CauseCancelled}, true)
	m.State.NoteTodo(rep, false)
	m.Stopped(rep)
	require.True(t, m.Agenda.SparesDue)
	require.True(t, m.Upkeep.SparesAmiss())
	m.Upkeep.TendSpares()
	require.Equal(t, []berth.NodeID{"n1"}, spares(m, ""))
}

// A reservation made in advance has the node, and a spare is sought elsewhere.
func TestANodeThatIsReservedInAdvanceIsNoSpare(t *testing.T) {
	m := machine(t, tenth())
	m.Nodes(2, 8, "r1")
	m.Upkeep.TendSpares()
	m.NoRefusal(m.Backlog.ReservationSet(berth.ReservationSet{Reservation: berth.Reservation{
		ID: "window", From: m.State.Now, Until: m.State.Now.Add(berth.Hour), Nodes: []berth.NodeID{"n1"},
	}}))
	require.True(t, m.Agenda.SparesDue)
	m.Upkeep.TendSpares()
	require.Equal(t, []berth.NodeID{"n2"}, spares(m, ""))
}

func TestSparesFollowThePolicy(t *testing.T) {
	m := machine(t, tenth())
	m.Nodes(4, 8, "r1")
	m.Upkeep.TendSpares()
	m.Upkeep.SetSpares([]berth.HotSpares{{Pool: "other", NodesMilli: 1000}, {NodesMilli: 500}})
	require.Equal(t, "", m.State.Spares[0].Pool, "in order of name")
	require.Zero(t, m.State.Spares[0].Free(), "they are chosen anew")
	m.Upkeep.TendSpares()
	require.Equal(t, []berth.NodeID{"n1", "n2"}, spares(m, ""))
	m.Upkeep.SetSpares([]berth.HotSpares{{NodesMilli: berth.Off}})
	require.Empty(t, m.State.Spares)
	require.Empty(t, m.Backlog.Reservations)
	require.False(t, m.NodeNamed("n1").Trust.HotSpare)
	require.False(t, m.Agenda.SparesDue)
}

// Saved and restored.

func TestTrustThatCannotBeIsRefused(t *testing.T) {
	trusting := berth.Policy{HotSpares: []berth.HotSpares{{NodesMilli: 1000}}}
	for name, c := range map[string]struct {
		policy berth.Policy
		pool   string
		trust  record.TrustPart
		field  string
	}{
		"quarantine that the policy does not know": {trusting, "", record.TrustPart{QuarantineUntil: 1}, "nodes[0].quarantineUntil"},
		"burn-in that the policy does not know":    {trusting, "", record.TrustPart{BurnInUntil: 1}, "nodes[0].burnInUntil"},
		"a negative instant":                       {berth.Policy{Health: distrustful}, "", record.TrustPart{QuarantineUntil: -1}, "nodes[0].quarantineUntil"},
		"a spare of a pool without any":            {trusting, "other", record.TrustPart{HotSpare: true}, "nodes[0].hotSpare"},
		"a spare that is in use":                   {trusting, "", record.TrustPart{HotSpare: true, SpareInUse: true}, "nodes[0].hotSpare"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, c.policy)
			spec := roomtest.Node("n1", 8, "r1")
			spec.Pool = c.pool
			m.Join(spec)
			m.Refused(m.Upkeep.RestoreTrust([]record.SavedNode{{Node: spec, TrustPart: c.trust}}), berth.ErrInvalid, c.field)
		})
	}
}

func TestTrustComesBackAsItWas(t *testing.T) {
	policy := berth.Policy{Health: distrustful, HotSpares: []berth.HotSpares{{NodesMilli: 250}}}
	m := machine(t, policy)
	back(m, "n1", 2)
	back(m, "n2", 1)
	m.Nodes(3, 8, "r1")
	m.Upkeep.TendSpares()
	saved := m.State.SaveNodes()
	other := machine(t, policy)
	for i := range saved {
		other.Join(saved[i].Node)
	}
	other.NoRefusal(other.Upkeep.RestoreTrust(saved))
	require.Equal(t, watched(m), watched(other))
	require.Equal(t, m.Agenda.HealthDue, other.Agenda.HealthDue)
	require.Equal(t, spares(m, ""), spares(other, ""))
	for i, n := range other.State.SaveNodes() {
		require.Equal(t, saved[i].TrustPart, n.TrustPart)
	}
}

func TestLossesThatCannotBeAreRefused(t *testing.T) {
	now := roomtest.Start
	good := losses.Record{Node: "n1", Losses: []berth.Time{now}, Until: now.Add(berth.Hour)}
	with := func(change func(*losses.Record)) losses.Record {
		r := good
		change(&r)
		return r
	}
	for name, list := range map[string][]losses.Record{
		"none at all":            {with(func(r *losses.Record) { r.Losses = nil })},
		"in the future":          {with(func(r *losses.Record) { r.Losses = []berth.Time{now + 1} })},
		"out of order":           {with(func(r *losses.Record) { r.Losses = []berth.Time{now, now - 1} })},
		"a negative count":       {with(func(r *losses.Record) { r.Quarantines = -1 })},
		"two of one node":        {good, good},
		"a name that is no name": {with(func(r *losses.Record) { r.Node = "" })},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, berth.Policy{Health: distrustful})
			require.NotNil(t, m.Upkeep.RestoreLosses(list))
		})
	}
	m := machine(t, berth.Policy{})
	m.Refused(m.Upkeep.RestoreLosses([]losses.Record{good}), berth.ErrLimit, "")
	m = machine(t, berth.Policy{Health: distrustful})
	m.NoRefusal(m.Upkeep.RestoreLosses([]losses.Record{good}))
	require.NotNil(t, m.Losses.ByID["n1"])
}

// What does not go together is found: each is broken once.
func TestChecksFindTrustThatDoesNotGoTogether(t *testing.T) {
	for says, spoil := range map[string]func(*roomtest.Machine){
		"wrongly watched":                         func(m *roomtest.Machine) { m.Upkeep.Watched = nil },
		"wrongly set aside":                       func(m *roomtest.Machine) { m.NodeNamed("n1").Reservations = nil },
		"the first until":                         func(m *roomtest.Machine) { m.Agenda.WatchUntil(agenda.Never) },
		"a hot spare: true, and wrongly set":      func(m *roomtest.Machine) { m.NodeNamed("n1").Trust.HotSpare = true },
		"it is a hot spare in use, and holds":     func(m *roomtest.Machine) { m.NodeNamed("n1").Trust.SpareInUse = true },
		"and not counted so":                      func(m *roomtest.Machine) { m.NodeNamed("n1").Counted = false },
		"nodes count as sound":                    func(m *roomtest.Machine) { m.State.Spares[0].Sound++ },
		"hot spares of 1, and no pass looks":      func(m *roomtest.Machine) { m.Agenda.SparesTended() },
		"reservation of hot spares is of another": func(m *roomtest.Machine) { m.State.Spares[0].Reservation = m.Upkeep.BurnIn },
	} {
		t.Run(says, func(t *testing.T) {
			m := machine(t, berth.Policy{Health: distrustful, HotSpares: []berth.HotSpares{{NodesMilli: 250}}})
			back(m, "n1", 1)
			m.Nodes(3, 8, "r1")
			m.Break()
			spoil(m)
			err := m.Upkeep.CheckTrust()
			if err == nil {
				err = m.Upkeep.CheckSpares()
			}
			require.ErrorContains(t, err, says)
		})
	}
}

func TestXidsAreDescribedByNumberNameAndReason(t *testing.T) {
	require.Equal(t, "Xid 79, GPU has fallen off the bus: rebooted", upkeep.DescribeXid(&berth.Xid{Number: 79, Name: "GPU has fallen off the bus"}, "rebooted"))
	require.Equal(t, "Xid 999", upkeep.DescribeXid(&berth.Xid{Number: 999}, ""))
}

// Restore takes no trust that no core has. The path of a refusal names the node.
func TestTrustThatNoCoreSavesIsRefused(t *testing.T) {
	trusting := berth.Policy{HotSpares: []berth.HotSpares{{Pool: "p", NodesMilli: 500}}}
	policy := trusting
	policy.Health = distrustful
	for _, c := range []struct {
		name, pool string
		policy     berth.Policy
		saved      record.TrustPart
		field      string
	}{
		{"quarantine before the epoch", "p", policy, record.TrustPart{QuarantineUntil: -1}, "quarantineUntil"},
		{"quarantine without a policy", "p", trusting, record.TrustPart{QuarantineUntil: 1}, "quarantineUntil"},
		{"burn-in before the epoch", "p", policy, record.TrustPart{BurnInUntil: -1}, "burnInUntil"},
		{"burn-in without a policy", "p", trusting, record.TrustPart{BurnInUntil: 1}, "burnInUntil"},
		{"a hot spare in quarantine", "p", policy, record.TrustPart{QuarantineUntil: 1, HotSpare: true}, "hotSpare"},
		{"a hot spare in burn-in", "p", policy, record.TrustPart{BurnInUntil: 1, HotSpare: true}, "hotSpare"},
		{"a hot spare of another pool", "q", policy, record.TrustPart{HotSpare: true}, "hotSpare"},
		{"a hot spare in use", "p", policy, record.TrustPart{HotSpare: true, SpareInUse: true}, "hotSpare"},
		{"a hot spare", "p", policy, record.TrustPart{HotSpare: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine(t, c.policy)
			node := roomtest.Node("n1", 8, "r1")
			node.Pool = c.pool
			m.Join(node)
			err := m.Upkeep.RestoreTrust([]record.SavedNode{{Node: node, TrustPart: c.saved}})
			if c.field == "" {
				m.NoRefusal(err)
				return
			}
			m.Refused(err, berth.ErrInvalid, "nodes[0]."+c.field)
		})
	}
}
