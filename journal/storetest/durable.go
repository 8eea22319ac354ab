package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/quota"
)

// A fleet is an embedder: it submits jobs, one a turn, acknowledges them when they are durable, and
// reports what it carried out. Processes of it die, and the world goes on.
type fleet struct {
	*session
	driven *journal.Durable
	clock  journal.ManualClock
	// acknowledged were told to be accepted, and carried are orders that were carried out, with
	// what they were.
	acknowledged []berth.JobID
	carried      map[berth.OrderID]string
	// reports are to be told, until they are durable.
	reports []berth.OrderReported
}

func newFleet(s *session) *fleet {
	f := &fleet{session: s, carried: map[berth.OrderID]string{}}
	f.clock.SetWall(1_000_000)
	f.load()
	return f
}

func (f *fleet) load() {
	f.Helper()
	var err error
	f.driven, err = journal.Open(f.Context(), f.store, journal.Options{
		Config: berth.Config{Levels: []string{"leaf"}}, Clock: &f.clock, SnapshotRecords: 9,
	})
	require.NoError(f, err)
}

// found tells of the world, unless it is known.
func (f *fleet) found() {
	for _, e := range []berth.Event{
		berth.NodeJoined{Node: berth.Node{ID: "n", Domains: []string{"leaf1"}, GPUs: slices.Repeat([]berth.GPU{{Product: "H100-80GB"}}, 8)}},
		berth.QueueSet{Queue: quota.Queue{Name: "q"}},
	} {
		if err := f.driven.Apply(e); err != nil {
			require.ErrorIs(f, err, berth.ErrDuplicate)
		}
	}
}

// turn submits a job, says how those end that run, reports, passes, and carries out.
func (f *fleet) turn(n int) error {
	f.Helper()
	f.clock.Advance(berth.Second)
	if n == 0 {
		f.found()
	}
	job := berth.JobID(fmt.Sprintf("job%d", n))
	for _, report := range f.reports {
		if err := f.driven.Apply(report); err != nil {
			require.ErrorIs(f, err, berth.ErrStale) // the former process has told it
		}
	}
	told := len(f.reports)
	submitted := berth.JobSubmitted{Job: berth.Job{
		ID: job, Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}},
	}}
	if err := f.driven.Apply(submitted); err != nil {
		require.ErrorIs(f, err, berth.ErrDuplicate)
	}
	if n >= 4 {
		over := berth.JobID(fmt.Sprintf("job%d", n-4))
		if s, ok := f.driven.Core().Job(over); ok && s.Replicas[0].State == berth.ReplicaRunning {
			require.NoError(f, f.driven.Apply(berth.JobFinished{Job: over, Incarnation: 1}))
		}
	}
	orders, err := f.driven.Schedule(f.Context())
	if err != nil {
		return err
	}
	f.reports = f.reports[told:]
	f.acknowledged = append(f.acknowledged, job)
	f.carryOut(orders)
	return nil
}

// carryOut holds orders to be the ones that they were, if they were given before.
func (f *fleet) carryOut(orders []berth.Order) {
	f.Helper()
	for _, order := range orders {
		text, err := berth.EncodeOrder(order)
		require.NoError(f, err)
		id := order.Header().ID
		if was, ok := f.carried[id]; ok {
			require.Equal(f, was, string(text), "an order that is given again is the same")
		}
		f.carried[id] = string(text)
		f.reports = append(f.reports, berth.OrderReported{Order: id, Outcome: berth.OutcomeDone})
	}
}

// known requires that the core knows all that was acknowledged: a job that it forgot has ended.
func (f *fleet) known(turns int) {
	f.Helper()
	for _, id := range f.acknowledged {
		var n int
		_, err := fmt.Sscanf(string(id), "job%d", &n)
		require.NoError(f, err)
		if _, ok := f.driven.Core().Job(id); !ok {
			require.LessOrEqual(f, n+4, turns, "%s was acknowledged, and is lost", id)
		}
	}
	require.NoError(f, f.driven.Core().Check())
}

// testDurable kills the process after most turns.
func testDurable(t *testing.T, l Log) {
	f := newFleet(begin(t, l))
	const turns = 30
	for n := range turns {
		require.NoError(t, f.turn(n))
		if n%3 == 0 {
			continue // and a snapshot is saved in the next one, if it is due
		}
		at := f.driven.Position()
		state, err := f.driven.Core().Snapshot()
		require.NoError(t, err)
		f.crash()
		f.load()
		require.Equal(t, at, f.driven.Position())
		again, err := f.driven.Core().Snapshot()
		require.NoError(t, err)
		require.Equal(t, string(state), string(again))
		f.known(n)
	}
	require.Len(t, f.carried, turns)
	newest, err := f.store.Newest(t.Context())
	require.NoError(t, err)
	require.NotZero(t, newest.At.Number, "snapshots were saved on the way")
}

// testDurableFault has a fault come in one of the turns.
func testDurableFault(t *testing.T, l Log, fault Fault, draw uint64) {
	t.Helper()
	f := newFleet(begin(t, l))
	const turns = 12
	for n := range turns {
		if n == int(draw%turns) && (f.Fail == nil || !f.Fail(f.store, fault, draw)) {
			t.Skipf("the store cannot be made to meet %v", fault)
		}
		for tries := 0; ; tries++ {
			require.Less(t, tries, 5)
			err := f.turn(n)
			if err == nil {
				break
			}
			if !errors.Is(err, journal.ErrFull) {
				f.crash()
				f.load()
			} else if f.Mend != nil {
				f.Mend(f.store)
			}
			f.known(n)
		}
	}
	if f.Mend != nil { // a disk may have had room for all of that
		f.Mend(f.store)
	}
	f.crash()
	f.load()
	f.known(turns)
	require.NoError(t, f.turn(turns))
	require.Len(t, f.carried, turns+1)
}
