package books_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// The ledger has the GPU time that was used, by queue, class, product and tenant.
func TestTheLedgerFollowsWhatIsHeld(t *testing.T) {
	m := machine(t, berth.Config{Ledger: true})
	spec := roomtest.Job("train", "a", 2, 3)
	spec.Tenant = "acme"
	rep := m.Run(spec, "n1", "a1")
	m.Later(berth.Hour)
	h100 := quota.LedgerKey{Queue: "a", Class: "batch", Product: "H100", Tenant: "acme"}
	allocated, active := m.Books.Ledger.Read(h100)
	require.EqualValues(t, 3*berth.Hour, allocated)
	require.Zero(t, active, "nothing was said of how busy they are")

	m.NoRefusal(m.Books.ActivityReported(berth.ActivityReported{Job: "train", Incarnation: 1, ActiveMilli: 500}))
	m.Later(berth.Hour)
	m.NoRefusal(m.Books.ActivityReported(berth.ActivityReported{Job: "train", Incarnation: 1, ActiveMilli: 250}))
	m.Later(berth.Hour)
	allocated, active = m.Books.Ledger.Read(h100)
	require.EqualValues(t, 9*berth.Hour, allocated)
	require.EqualValues(t, 3*berth.Hour*3/4, active, "an hour at a half, and one at a quarter")

	m.NoRefusal(m.Books.LedgerSettled(berth.LedgerSettled{}))
	require.Len(t, m.Books.Ledger.Keys(), 2, "an account of which something is in use stays")
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CauseCancelled}, true)
	m.Stopped(rep)
	m.NoRefusal(m.Books.LedgerSettled(berth.LedgerSettled{}))
	require.Empty(t, m.Books.Ledger.Keys())
}

func TestActivityThatMakesNoSenseIsRefused(t *testing.T) {
	m := machine(t, berth.Config{})
	m.Run(roomtest.Job("train", "a", 1, 3), "n1")
	for _, milli := range []int{-1, 1001} {
		m.Refused(m.Books.ActivityReported(berth.ActivityReported{Job: "train", Incarnation: 1, ActiveMilli: milli}), berth.ErrInvalid, "activeMilli")
	}
	m.Refused(m.Books.ActivityReported(berth.ActivityReported{Job: "other", Incarnation: 1}), berth.ErrUnknown, "job")
	m.Refused(m.Books.LedgerSettled(berth.LedgerSettled{}), berth.ErrInvalid, "")
	m.NoRefusal(m.Books.ActivityReported(berth.ActivityReported{Job: "train", Incarnation: 1, ActiveMilli: 1000})) // though no ledger is kept
}

// Saved and restored.

// usedForAnHour is a machine with a ledger and past use, in which a job has run for an hour; or,
// while it is restored, a machine of which that is yet to be said.
func usedForAnHour(t *testing.T, restoring bool) *roomtest.Machine {
	m := machine(t, berth.Config{Ledger: true, Policy: berth.Policy{UsageHalfLife: berth.Hour}})
	m.Books.Restoring = restoring
	m.Run(roomtest.Job("train", "a", 2, 3), "n1", "a1")
	m.Later(berth.Hour)
	return m
}

func TestUseComesBackAsItWas(t *testing.T) {
	m, other := usedForAnHour(t, false), usedForAnHour(t, true)
	saved := m.Books.SaveUse()
	other.NoRefusal(other.Books.RestoreUse(&saved))
	other.Books.Restoring = false
	require.Equal(t, saved, other.Books.SaveUse())
	m.Later(berth.Hour)
	other.Later(berth.Hour)
	require.Equal(t, m.Books.SaveUse(), other.Books.SaveUse())
}

// What was saved by hand is refused where it is not that of what is held.
func TestUseThatIsNotThatOfWhatIsHeldIsRefused(t *testing.T) {
	now := roomtest.Start.Add(berth.Hour)
	for name, c := range map[string]struct {
		field string
		spoil func(*record.UsePart)
	}{
		"no past":                    {"past.halfLifeMilliseconds", func(s *record.UsePart) { s.Past = nil }},
		"another half-life":          {"past.halfLifeMilliseconds", func(s *record.UsePart) { s.Past.HalfLife++ }},
		"a past in the future":       {"past.now", func(s *record.UsePart) { s.Past.Now = int64(now) + 1 }},
		"a past of no queue":         {"past", func(s *record.UsePart) { s.Past.Queues = append(s.Past.Queues, quota.PastUse{Queue: "other"}) }},
		"no ledger":                  {"ledger", func(s *record.UsePart) { s.Ledger = nil }},
		"a ledger out of range":      {"ledger", func(s *record.UsePart) { s.Ledger.Now = -1 }},
		"a ledger in the future":     {"ledger.now", func(s *record.UsePart) { s.Ledger.Now = int64(now) + 1 }},
		"another rate of an account": {"ledger.entries", func(s *record.UsePart) { s.Ledger.Entries[0].Allocated.Rate++ }},
		"an account that is missing": {"ledger.entries", func(s *record.UsePart) { s.Ledger.Entries = s.Ledger.Entries[1:] }},
		"another rate of a queue":    {"ledger.queues", func(s *record.UsePart) { s.Ledger.Queues[0].Guaranteed.Rate++ }},
		"a queue that is missing":    {"ledger.queues", func(s *record.UsePart) { s.Ledger.Queues = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			saved := usedForAnHour(t, false).Books.SaveUse()
			c.spoil(&saved)
			m := usedForAnHour(t, true)
			m.Refused(m.Books.RestoreUse(&saved), berth.ErrInvalid, c.field)
			m.Break() // it has no use
		})
	}
}

// A snapshot can be read queue by queue: every parent comes before its children, whatever the
// names.
func TestParentsAreSavedBeforeTheirChildren(t *testing.T) {
	m := machine(t, berth.Config{})
	m.SetQueue(quota.Queue{Name: "z"})
	m.SetQueue(quota.Queue{Name: "m", Parent: "z"})
	m.SetQueue(quota.Queue{Name: "c", Parent: "m"})
	var names []string
	for _, q := range m.Books.SaveQueues() {
		names = append(names, string(q.Name))
	}
	require.Equal(t, []string{"a", "b", "z", "m", "c"}, names)
}

// While a snapshot is restored no time passes, and no account is written.
func TestNothingIsAccountedForWhileASnapshotIsRestored(t *testing.T) {
	m := machine(t, berth.Config{Ledger: true})
	m.Books.Restoring = true
	m.Run(roomtest.Job("train", "a", 1, 3), "n1")
	m.Later(berth.Hour)
	require.Empty(t, m.Books.Ledger.Keys())
	require.Less(t, m.State.Quota.Now(), int64(m.State.Now))
	m.Books.Restoring = false
	m.Break() // what is held has no account
}
