// Package roomtest builds tiny machines for the tests of rooms, the packages below core/internal:
// a few nodes, queues, and gangs that wait, run or are planned, in a line each.
//
//	m := roomtest.New(t, berth.Config{Levels: []string{"rack"}})
//	m.Nodes(2, 8, "r1")                                  // n1 and n2, of 8 GPUs each, in rack r1
//	m.Queue("a", 8)                                      // guaranteed 8 GPUs
//	runs := m.Run(roomtest.Job("runs", "a", 2, 8), "n1", "n2")
//	waits := m.Wait(roomtest.Job("waits", "a", 1, 8))
//	m.Plan(waits, []string{"n1"}, runs)                  // its victim is on its way out
//	m.Later(berth.Minute)
//
// A test calls the methods of its room then, and looks at what the room knows:
//
//	orders := m.Pass(m.Search.Wake, m.Agenda.BeginPlacing, m.Search.Place)
//	m.Started(waits)                                     // a report that its Bind is done
//
// All rooms stand, on the same ones below as in the core: what runs has come to run by way of
// package life, whatever the test is about. A room knows none above, so its test speaks to it and
// to those below alone, and says so by being in a package of its own (backlog_test), as this
// package imports all of them. The machine has no handlers of events but those that fill it, no
// timers and no stages but those that a test names.
//
// At the end of a test that has not failed, the machine holds the rooms to their own checks: those
// that Core.Check walks. A test that breaks something to see a check find it says so by Break.
package roomtest

import (
	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/admission"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/answer"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/gpus"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/losses"
	"github.com/berth-sched/berth/core/internal/score"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/upkeep"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// Start is the instant at which a machine begins: late enough for something to have begun before.
const Start = berth.Time(24 * berth.Hour)

// A TB is a test of package testing, or of rapid.
type TB interface {
	require.TestingT
	Helper()
	Failed() bool
	Cleanup(func())
}

// A Machine is the rooms of a core, each on those below it.
type Machine struct {
	t      TB
	broken bool

	Catalogue *catalogue.Catalogue
	Losses    *losses.Losses
	Agenda    *agenda.Agenda
	State     *state.State
	Scoring   *score.Scoring
	Books     *books.Books
	Backlog   *backlog.Backlog
	Admission *admission.Admission
	Upkeep    *upkeep.Upkeep
	Life      *life.Life
	GPUs      *gpus.GPUs
	Search    *search.Search
	Victims   *victim.Victims
	Evict     *evict.Evict
	Answers   *answer.Answers
}

// New makes a machine with an empty fleet and the root queue, at Start.
func New(t TB, config berth.Config) *Machine {
	t.Helper()
	require.NoError(t, config.Check())
	config = values.CloneConfig(config)
	config.Limits = config.Limits.WithDefaults()
	config.Policy = config.Policy.WithDefaults()
	fleet, err := gang.NewFleet(config.Levels...)
	require.NoError(t, err)
	m := &Machine{t: t, Catalogue: catalogue.New(), Losses: losses.New(), Agenda: agenda.New()}
	m.State = state.New(m.Catalogue, m.Losses, m.Agenda, config, fleet)
	m.Scoring = score.New(m.State)
	m.Books = books.New(m.Catalogue, m.Agenda, m.State, m.Scoring, config)
	m.Backlog = backlog.New(m.Catalogue, m.Agenda, m.State, m.Books)
	m.Admission = admission.New(m.Catalogue, m.Agenda, m.State, m.Books, m.Backlog)
	m.Upkeep = upkeep.New(m.Losses, m.Agenda, m.State, m.Books, m.Backlog)
	m.Life = life.New(m.Agenda, m.State, m.Books, m.Backlog)
	m.GPUs = gpus.New(m.Catalogue, m.Agenda, m.State, m.Books, m.Backlog, m.Upkeep, m.Life)
	m.Search = search.New(m.Catalogue, m.Agenda, m.State, m.Books, m.Backlog, m.Upkeep, m.Life, m.GPUs)
	m.Victims = victim.New(m.State, m.Books, m.Backlog, m.Life, m.Search)
	m.Evict = evict.New(m.Agenda, m.State, m.Books, m.Backlog, m.Life, m.Search, m.Victims)
	m.Answers = answer.New(m.Agenda, m.State, m.Books, m.Backlog, m.Upkeep, m.Life, m.GPUs, m.Search, m.Victims, m.Evict)
	m.NoRefusal(m.Books.UseScorer(config.Scorer))
	m.Backlog.EnsureQueue(quota.RootQueue)
	m.Upkeep.SetSpares(config.Policy.HotSpares)
	m.State.SetClock(Start)
	t.Cleanup(func() {
		if !t.Failed() && !m.broken {
			require.NoError(t, m.Check())
		}
	})
	return m
}

// AtAnyCost returns a machine of so many nodes of 4 GPUs in rack r1, on which victims may be of any
// size, and cost counts for the choice among them alone: whether an eviction pays is for the tests
// of that, which change the policy.
func AtAnyCost(t TB, nodes int, change ...func(*berth.Policy)) *Machine {
	config := berth.Config{Levels: []string{"rack"}}
	config.Policy.Preemption.Gain.IgnoreCost = true
	config.Policy.Preemption.MaxRatio = berth.Off
	for _, c := range change {
		c(&config.Policy)
	}
	m := New(t, config)
	m.Nodes(nodes, 4, "r1")
	return m
}

// NoRefusal fails the test if an event was refused. A nil *berth.Error is no nil error.
func (m *Machine) NoRefusal(err *berth.Error) {
	m.t.Helper()
	if err != nil {
		require.NoError(m.t, err)
	}
}

// Refused fails the test unless an event was refused, with a kind and in a field.
func (m *Machine) Refused(err *berth.Error, kind error, field string) {
	m.t.Helper()
	require.NotNil(m.t, err, "nothing was refused")
	require.ErrorIs(m.t, err, kind)
	require.Equal(m.t, field, err.Field, err.Reason)
}

// Check is Core.Check as far as rooms have checks of their own. It returns the first violation.
func (m *Machine) Check() error {
	for _, check := range [...]func() error{
		m.State.CheckNodes, m.State.CheckJobs, m.State.CheckMembers, m.State.CheckTopology, m.State.CheckShapes, m.State.CheckEndings, m.State.Runtimes.Check,
		m.Books.CheckHolds, m.Books.CheckCharges, m.Books.CheckCapacities, m.Books.CheckSizes, m.Books.CheckContenders, m.Books.CheckLedger,
		m.Backlog.CheckWaiting, m.Backlog.CheckQueues, m.Backlog.CheckDue, m.Backlog.CheckReservations,
		m.Upkeep.CheckTrust, m.Upkeep.CheckSpares, m.Upkeep.CheckLosses, m.Upkeep.CheckRates,
		m.Life.CheckLife, m.Life.CheckGates, m.Life.CheckVictims, m.Life.CheckLending, m.Life.CheckIdle,
		m.GPUs.CheckGPUs, m.GPUs.CheckGPUHolds, m.GPUs.CheckCatalogue, m.Victims.CheckEvictable,
		m.Scoring.Check, m.Agenda.Valid,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// Break has the machine not be checked at the end: the test breaks it.
func (m *Machine) Break() { m.broken = true }

// Later has time go by.
func (m *Machine) Later(d berth.Duration) {
	m.State.SetClock(m.State.Now.Add(d))
	m.Books.Tick()
}

// Pass runs some stages as Schedule would, and returns the orders that they gave.
func (m *Machine) Pass(stages ...func()) []berth.Order {
	m.Books.ForgetLost()
	m.Books.TellCapacity()
	for _, stage := range stages {
		stage()
	}
	m.Agenda.EndPass()
	m.State.ReopenOpened()
	return m.State.HandOver()
}
