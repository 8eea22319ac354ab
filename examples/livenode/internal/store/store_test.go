//go:build unix

package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/quota"
)

// A session is a core with its store, as an orchestrator has them.
type session struct {
	t      *testing.T
	folder string
	store  *Store
	core   *core.Core
}

func open(t *testing.T, folder string) *session {
	t.Helper()
	s, sched, err := Open(folder, berth.Config{})
	require.NoError(t, err)
	return &session{t, folder, s, sched}
}

// crash ends the process as kill -9 does: what was not committed is lost.
func (s *session) crash() {
	s.t.Helper()
	require.NoError(s.t, s.store.file.Close())
	require.NoError(s.t, s.store.lock.Close())
}

func (s *session) tell(now berth.Time, e berth.Event) {
	s.t.Helper()
	err := s.core.Apply(now, e)
	require.NoError(s.t, err)
	s.store.Applied(now, e, err)
}

func (s *session) pass(now berth.Time) []berth.Order {
	s.t.Helper()
	orders, err := s.core.Schedule(now)
	require.NoError(s.t, err)
	s.store.Scheduled(now, orders)
	require.NoError(s.t, s.store.Commit())
	return orders
}

// begin tells of a node and a job, which gives one Bind.
func (s *session) begin() {
	s.t.Helper()
	s.tell(0, berth.NodeJoined{Node: berth.Node{ID: "n", GPUs: []berth.GPU{{Product: "H100"}}}})
	s.tell(0, berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	s.tell(1, berth.JobSubmitted{Job: berth.Job{ID: "j", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}}})
	require.Len(s.t, s.pass(1), 1)
}

func (s *session) snapshot() string {
	s.t.Helper()
	text, err := s.core.Snapshot()
	require.NoError(s.t, err)
	return string(text)
}

// journalFile is the journal that the next process would read.
func (s *session) journalFile() string { return s.store.path("journal-%06d.jsonl") }

func TestWhatWasCommittedSurvives(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "not a [pattern", "core[1]"))
	s.begin()
	want := s.snapshot()
	s.crash()
	// A crash while the next snapshot was written.
	require.NoError(t, os.WriteFile(filepath.Join(s.folder, "snapshot-000002.json.new"), nil, 0o600))

	s = open(t, s.folder)
	require.Equal(t, want, s.snapshot())
	require.Len(t, s.core.Outstanding(), 1, "the Bind was not reported")
	require.NoError(t, s.store.Close())

	s = open(t, s.folder)
	require.Equal(t, want, s.snapshot(), "from the snapshot alone")
}

func TestWhatWasNotCommittedIsAsIfItHadNotBeen(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "core"))
	s.begin()
	want := s.snapshot()
	s.tell(2, berth.JobCancelled{Job: "j"})
	s.crash()
	require.Equal(t, want, open(t, s.folder).snapshot())
}

// TestTornAnywhere cuts the journal after each of its bytes: the core is always one that
// there was, or would have been after the pass whose orders are torn off.
func TestTornAnywhere(t *testing.T) {
	whole := open(t, filepath.Join(t.TempDir(), "core"))
	empty := whole.snapshot()
	known := map[string]bool{empty: true}
	whole.tell(0, berth.NodeJoined{Node: berth.Node{ID: "n", GPUs: []berth.GPU{{Product: "H100"}}}})
	known[whole.snapshot()] = true
	whole.tell(0, berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	known[whole.snapshot()] = true
	whole.tell(1, berth.JobSubmitted{Job: berth.Job{ID: "j", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}}})
	known[whole.snapshot()] = true
	require.Len(t, whole.pass(1), 1)
	known[whole.snapshot()] = true
	text, err := os.ReadFile(whole.journalFile())
	require.NoError(t, err)
	snapshot, err := os.ReadFile(whole.store.path("snapshot-%06d.json"))
	require.NoError(t, err)

	seen := map[string]bool{}
	head := len(`{"version":2,"config":`) // the first line was synced before there was a snapshot
	for text[head] != '\n' {
		head++
	}
	for cut := head + 1; cut <= len(text); cut++ {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, "snapshot-000001.json"), snapshot, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "journal-000001.jsonl"), text[:cut], 0o600))
		s := open(t, folder)
		require.True(t, known[s.snapshot()], "cut at %d", cut)
		seen[s.snapshot()] = true
		require.NoError(t, s.store.Close())
	}
	require.Len(t, seen, len(known))
}

func TestADamagedJournalIsRefused(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "core"))
	s.begin()
	s.crash()
	text, err := os.ReadFile(s.journalFile())
	require.NoError(t, err)
	text[len(text)/2] ^= 1
	require.NoError(t, os.WriteFile(s.journalFile(), text, 0o600))
	_, _, err = Open(s.folder, berth.Config{})
	var e *journal.Error
	require.ErrorAs(t, err, &e)
	require.ErrorContains(t, err, s.journalFile())
}

func TestOneProcessAtATime(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "core"))
	_, _, err := Open(s.folder, berth.Config{})
	require.ErrorIs(t, err, ErrInUse)
	require.NoError(t, s.store.Close())
	open(t, s.folder)
}

func TestCompact(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "core"))
	s.begin()
	require.False(t, s.store.Full())
	for now := berth.Time(10); !s.store.Full(); now++ {
		orders, err := s.core.Schedule(now)
		require.NoError(t, err)
		s.store.Scheduled(now, orders)
	}
	require.NoError(t, s.store.Compact(s.core))
	require.False(t, s.store.Full())
	files, err := os.ReadDir(s.folder)
	require.NoError(t, err)
	require.Len(t, files, 3, "a snapshot, its journal, and the lock")
	want := s.snapshot()
	s.crash()
	require.Equal(t, want, open(t, s.folder).snapshot())
}
