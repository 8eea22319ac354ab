package journal_test

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
)

var writeReleased = flag.Bool("released", false, "write the journal of this version, if there is none")

// presentJournal is the file of the version that is written now. With another version it gets
// another name, and this file stays.
const presentJournal = "testdata/journal-v2.jsonl"

// TestReadsJournalsOfEveryVersion reads the committed journal of every version that was ever
// released. A file of testdata is never written again: what reads it is mended. Its orders are
// read and not compared, as another release may decide otherwise.
func TestReadsJournalsOfEveryVersion(t *testing.T) {
	if _, err := os.Stat(presentJournal); *writeReleased && err != nil {
		text, _, _ := record(t)
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(presentJournal, []byte(text), 0o644))
	}
	require.FileExists(t, presentJournal, "go test ./journal -run Journals -released")
	files, err := filepath.Glob("testdata/journal-v*.jsonl")
	require.NoError(t, err)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) { requireReads(t, name) })
	}
}

// requireReads reads a journal to its end, and tells a core its events.
func requireReads(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	in, err := journal.NewReader(strings.NewReader(string(text)))
	require.NoError(t, err)
	sched, err := core.New(in.Config())
	require.NoError(t, err)
	var counts journal.Counts
	for {
		entry, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch {
		case entry.Event != nil:
			counts.Events++
			if _, report := entry.Event.(berth.OrderReported); !report {
				require.NoError(t, sched.Apply(entry.Now, entry.Event))
			}
		case entry.Pass:
			counts.Passes++
		default:
			counts.Orders++
			require.NotZero(t, entry.Order.Header().ID)
		}
	}
	require.Equal(t, strings.Count(string(text), "\n"), 1+counts.Events+counts.Passes+counts.Orders)
	require.Equal(t, []string{"leaf"}, in.Config().Levels)
	require.Equal(t, []berth.JobID{"one", "pair"}, sched.JobIDs())
}
