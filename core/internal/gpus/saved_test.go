package gpus_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/mig"
)

// Invariant 7.

// restored is another machine, which is told of the nodes and of the last order, and takes back
// what the first one saves of its GPUs.
func restored(t roomtest.TB, m *roomtest.Machine, change func([]record.SavedNode)) (*roomtest.Machine, *berth.Error) {
	saved := m.State.SaveNodes()
	twin := roomtest.New(t, m.State.Config)
	twin.Queue("a", 0)
	twin.State.SetClock(m.State.Now)
	twin.State.LastOrder = m.State.LastOrder
	for i := range saved {
		twin.Join(saved[i].Node)
	}
	change(saved)
	return twin, twin.GPUs.RestoreGPUs(saved)
}

func asIs([]record.SavedNode) {}

func TestOrdersAndDoubtsAreRestored(t *testing.T) {
	for name, play := range map[string]func() *roomtest.Machine{
		"an order that is out": func() *roomtest.Machine { m, _ := divided(t, towardsHalves); return m },
		"an order overdue":     func() *roomtest.Machine { m, _ := divided(t, towardsHalves); expire(t, m); return m },
		"astray":               func() *roomtest.Machine { return astray(t) },
		"an order for a share": func() *roomtest.Machine {
			m := machine(t)
			bind(m, shared("share", berth.ShareMPS), 1)
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := play()
			twin, err := restored(t, m, asIs)
			twin.NoRefusal(err)
			require.Equal(t, m.State.SaveNodes(), twin.State.SaveNodes())
			require.Len(t, twin.GPUs.Astray, len(m.GPUs.Astray))
			require.Len(t, twin.GPUs.Repartitions, len(m.GPUs.Repartitions))
			for id, p := range m.GPUs.Repartitions {
				require.Equal(t, p.Order, twin.GPUs.Repartitions[id].Order)
				timer, _ := twin.State.Timers.Min()
				require.Same(t, twin.GPUs.Repartitions[id], timer.Repartition)
			}
			require.False(t, takes(twin, 0) && kept(m, 0).Unknown(), "it takes nobody, as before")
		})
	}
}

func TestWhatDoesNotFitAGPUIsNotRestored(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*record.SavedGPU)
		kind   error
		field  string
	}{
		"no such GPU":            {func(s *record.SavedGPU) { s.GPU = 2 }, berth.ErrInvalid, "gpu"},
		"a negative GPU":         {func(s *record.SavedGPU) { s.GPU = -1 }, berth.ErrInvalid, "gpu"},
		"changed in the future":  {func(s *record.SavedGPU) { s.ChangedAt = roomtest.Start + 1 }, berth.ErrInvalid, "changedAt"},
		"changed before":         {func(s *record.SavedGPU) { s.ChangedAt = -1 }, berth.ErrInvalid, "changedAt"},
		"nothing before":         {func(s *record.SavedGPU) { s.Before = nil }, berth.ErrInvalid, "before"},
		"no order":               {func(s *record.SavedGPU) { s.Order = nil }, berth.ErrInvalid, "before"},
		"overdue, and known":     {func(s *record.SavedGPU) { s.Overdue = true }, berth.ErrInvalid, "overdue"},
		"an order of tomorrow":   {func(s *record.SavedGPU) { s.Order.ID = 9 }, berth.ErrInvalid, "order.id"},
		"an order without an ID": {func(s *record.SavedGPU) { s.Order.ID = 0 }, berth.ErrInvalid, "order.id"},
		"of another node":        {func(s *record.SavedGPU) { s.Order.Node = "n2" }, berth.ErrInvalid, "order.node"},
		"of another GPU":         {func(s *record.SavedGPU) { s.Order.GPU = 1 }, berth.ErrInvalid, "order.node"},
		"of another mode":        {func(s *record.SavedGPU) { s.Order.Mode = berth.GPUModeMPS }, berth.ErrInvalid, "order.node"},
		"creates too little":     {func(s *record.SavedGPU) { s.Order.Create = s.Order.Create[1:] }, berth.ErrInvalid, "order.create"},
		"destroys what is not":   {func(s *record.SavedGPU) { s.Order.Destroy = layout("1g.10gb@0:1") }, berth.ErrInvalid, "order.create"},
		"before in no mode":      {func(s *record.SavedGPU) { s.Before.Mode = 0 }, berth.ErrInvalid, "before.mode"},
		"before in no layout":    {func(s *record.SavedGPU) { s.Before.Instances = inHalves.Instances }, berth.ErrInvalid, "before.instances"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := divided(t)
			twin, err := restored(t, m, func(nodes []record.SavedNode) { c.change(&nodes[0].GPUs[0]) })
			twin.Break()
			twin.Refused(err, c.kind, "nodes[0].gpus[0]."+c.field)
		})
	}
	m, _ := divided(t)
	twin, err := restored(t, m, func(nodes []record.SavedNode) { nodes[0].GPUs = append(nodes[0].GPUs, nodes[0].GPUs[0]) })
	twin.Refused(err, berth.ErrDuplicate, "nodes[0].gpus[1].gpu")

	m, _ = divided(t)
	m.GPUs.Stage(m.NodeNamed("n1"), 1, inHalves)
	bind(m, half("other"), 1, "3g.40gb@0:4")
	twin, err = restored(t, m, func(nodes []record.SavedNode) { nodes[0].GPUs[1].Order.ID = nodes[0].GPUs[0].Order.ID })
	twin.Break()
	twin.Refused(err, berth.ErrInvalid, "nodes[0].gpus[1].order.id")

	m, _ = divided(t)
	twin = roomtest.New(t, m.State.Config)
	twin.State.LastOrder = m.State.LastOrder
	failed := m.State.SaveNodes()
	failed[0].Node.GPUs[0].Failed = true
	twin.Join(failed[0].Node)
	twin.Break()
	twin.Refused(twin.GPUs.RestoreGPUs(failed), berth.ErrInvalid, "nodes[0].gpus[0].order.gpu")
}

// An order that is overdue need not lead to the layout of now: a policy may have ended that
// instances come and go with their members.
func TestAnOverdueOrderIsRestoredBesideAnyLayout(t *testing.T) {
	m, _ := divided(t)
	expire(t, m)
	twin, err := restored(t, m, func(nodes []record.SavedNode) { nodes[0].GPUs[0].Order.Create = nil })
	twin.NoRefusal(err)
	require.NotNil(t, kept(twin, 0).Overdue())
}

func TestAHoldIsRestoredForOneThatWaits(t *testing.T) {
	restore := func(change func(*record.SavedGPUHold)) (*roomtest.Machine, *record.Replica, *berth.Error) {
		m := machine(t)
		rep := m.Wait(whole("waits"))
		m.GPUs.HoldGPU(&record.GPUHold{Rep: rep, Node: m.NodeNamed("n1"), GPUHoldPart: record.GPUHoldPart{GPU: 1, Until: 7, RetryAt: 6}})
		s := record.SavedReplica{GPUHold: rep.SaveGPUHold()}
		change(s.GPUHold)
		twin := machine(t)
		s.Restored = twin.Wait(whole("waits"))
		return twin, s.Restored, twin.GPUs.RestoreGPUHolds([]state.Noted{{SavedReplica: &s}, {SavedReplica: &record.SavedReplica{}}})
	}
	twin, rep, err := restore(func(*record.SavedGPUHold) {})
	twin.NoRefusal(err)
	require.Equal(t, record.GPUHoldPart{GPU: 1, Until: 7, RetryAt: 6}, rep.GPUHold.GPUHoldPart)
	require.False(t, takes(twin, 1))

	twin, _, err = restore(func(s *record.SavedGPUHold) { s.GPU = 2 })
	twin.Refused(err, berth.ErrInvalid, "jobs[0].replicas[0].gpuHold.gpu")
	twin, _, err = restore(func(s *record.SavedGPUHold) { s.Node = "n2" })
	twin.Refused(err, berth.ErrUnknown, "jobs[0].replicas[0].gpuHold.node")

	s := record.SavedReplica{GPUHold: &record.SavedGPUHold{Node: "n1"}, Restored: rep}
	m := machine(t)
	s.Restored = m.Run(whole("runs"), "n1")
	m.Refused(m.GPUs.RestoreGPUHolds([]state.Noted{{SavedReplica: &s}}), berth.ErrInvalid, "jobs[0].replicas[0].gpuHold")
	m, _ = divided(t)
	s.Restored = m.Wait(whole("waits"))
	m.Refused(m.GPUs.RestoreGPUHolds([]state.Noted{{SavedReplica: &s}}), berth.ErrInvalid, "jobs[0].replicas[0].gpuHold")
}

func TestThatAGangWasLookedAtIsRestored(t *testing.T) {
	m := machine(t)
	looked, not := m.Wait(whole("looked")), m.Wait(whole("not"))
	m.NoRefusal(m.GPUs.RestoreLooked([]state.Noted{
		{SavedReplica: &record.SavedReplica{Looked: true, Restored: looked}}, {SavedReplica: &record.SavedReplica{Restored: not}},
	}))
	require.Equal(t, m.Agenda.ReshapeTurn, looked.Look.Get().Turn)
	require.Zero(t, not.Look.Get().Turn)
}

// Tables and pools.

func TestATableIsReplacedOnlyWhileNoNodeGoesByIt(t *testing.T) {
	m := machine(t)
	known, _ := mig.Lookup("H100-80GB")
	m.NoRefusal(m.GPUs.MIGTableSet(berth.MIGTableSet{Table: known}))
	require.True(t, m.Catalogue.Tables["H100-80GB"].Told)
	other := known
	other.Notes = []string{"another"}
	m.Refused(m.GPUs.MIGTableSet(berth.MIGTableSet{Table: other}), berth.ErrConflict, "table")
	m.GPUs.RemoveNode(m.NodeNamed("n1"))
	m.NoRefusal(m.GPUs.MIGTableSet(berth.MIGTableSet{Table: other}))
	require.Equal(t, other.Notes, m.Catalogue.Tables["H100-80GB"].Product.Notes)
}

func TestTablesThatMakeNoSenseAreRefused(t *testing.T) {
	known, _ := mig.Lookup("H100-80GB")
	for field, change := range map[string]func(*mig.Product){
		"table.name":           func(p *mig.Product) { p.Name = "a\x00b" },
		"table.architecture":   func(p *mig.Product) { p.Architecture = "a\x00b" },
		"table.deviceNames[0]": func(p *mig.Product) { p.DeviceNames = []string{"a\x00b"} },
		"table.notes[1]":       func(p *mig.Product) { p.Notes = []string{"", "a\x00b"} },
		"table":                func(p *mig.Product) { p.Profiles = nil },
	} {
		m := machine(t)
		table := known
		change(&table)
		m.Refused(m.GPUs.MIGTableSet(berth.MIGTableSet{Table: table}), berth.ErrInvalid, field)
		require.Len(t, m.Catalogue.Tables, 1)
	}
}

func TestSoManyTablesMayBeSet(t *testing.T) {
	m := machine(t)
	table, _ := mig.Lookup("A30")
	for i := range catalogue.MaxTables {
		table.Name = fmt.Sprint("table ", i)
		m.NoRefusal(m.GPUs.MIGTableSet(berth.MIGTableSet{Table: table}))
	}
	m.NoRefusal(m.GPUs.MIGTableSet(berth.MIGTableSet{Table: table})) // the last again
	table.Name = "one too many"
	m.Refused(m.GPUs.MIGTableSet(berth.MIGTableSet{Table: table}), berth.ErrLimit, "table")
}

func TestTablesAndTheirDemandAreRestored(t *testing.T) {
	m := machine(t)
	known, _ := mig.Lookup("H100-80GB")
	m.NoRefusal(m.GPUs.MIGTableSet(berth.MIGTableSet{Table: known}))
	table := m.NodeNamed("n1").Table
	table.Recent[1], table.Weights[1], table.Weights[2] = 300, 4, 1
	saved := m.Catalogue.SaveTables()
	twin := roomtest.New(t, m.State.Config)
	twin.NoRefusal(twin.GPUs.RestoreTables(saved))
	require.Equal(t, saved, twin.Catalogue.SaveTables())

	twin.Refused(twin.GPUs.RestoreTables(saved[:1]), berth.ErrInvalid, "tables[0].profiles[0]")
	unknown := catalogue.SavedTable{Name: "no such"}
	twin.Refused(twin.GPUs.RestoreTables([]catalogue.SavedTable{unknown}), berth.ErrUnknown, "tables[0].name")
	renamed := saved[0]
	renamed.Name = "other"
	twin.Refused(twin.GPUs.RestoreTables([]catalogue.SavedTable{renamed}), berth.ErrInvalid, "tables[0].table.name")
}

// What is in demand decides again: the one seventh goes where it leaves room for two, which is not
// the GPU on which it leaves the most room for all profiles alike.
func TestPlacesAreRankedByTheDemandThatIsRestored(t *testing.T) {
	for _, weight := range []uint32{0, 16} {
		m := roomtest.New(t, berth.Config{Policy: berth.Policy{Geometry: []berth.Geometry{{Kind: berth.GeometryPerClaim}}}})
		m.NoRefusal(m.GPUs.RestoreTables([]catalogue.SavedTable{{Name: "H100-80GB", Profiles: []catalogue.SavedProfile{
			{Profile: layout("2g.20gb@0:2")[0].Profile, Weight: weight},
		}}}))
		m.Queue("a", 0)
		m.Nodes(1, 2)
		for gpu := range 2 {
			m.NoRefusal(m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: "n1", GPU: gpu, Mode: berth.GPUModeMIG}))
		}
		bind(m, half("half"), 1, "3g.40gb@4:4")
		s := m.Wait(claiming("seventh", berth.MIGInstance("1g.10gb"))).Entries[0].Bucket.Shape
		m.State.Compile(s)
		require.True(t, m.Books.Place(&s.Minimum))
		hold := m.Books.Placement.Members[0].Hold
		m.Books.Release(hold)
		require.Equal(t, weight > 0, hold.GPUs == 1)
	}
}

func TestTheChangesOfAPoolAreRestored(t *testing.T) {
	m, _ := divided(t)
	saved := m.Catalogue.SavePools()
	twin, err := restored(t, m, asIs)
	twin.NoRefusal(err)
	twin.NoRefusal(twin.GPUs.RestorePools(saved))
	require.Equal(t, saved, twin.Catalogue.SavePools())
	twin.Refused(twin.GPUs.RestorePools(saved), berth.ErrInvalid, "pools[0].pool")
	for _, changes := range [][]berth.Time{{2, 1}, {-1}, {m.State.Now + 1}} {
		twin.Refused(twin.GPUs.RestorePools([]catalogue.SavedPool{{Pool: "other", Changes: changes}}), berth.ErrInvalid, "pools[0].changes")
	}
	twin.Refused(twin.GPUs.RestorePools([]catalogue.SavedPool{{Pool: "other", Changes: make([]berth.Time, 1<<20)}}), berth.ErrInvalid, "pools[0].pool")
}
