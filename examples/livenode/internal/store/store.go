// Package store keeps a scheduling core on disk, so that what it was told and what it
// ordered survives the death of its process at any instant.
//
// It is duty 7 of an embedder: a snapshot, and a journal of the events and
// passes since, which is on disk before any order is carried out that follows from them.
//
//	snapshot-000007.json    the whole state
//	journal-000007.jsonl    what came after (package journal)
//	lock                    one process at a time
//
// The snapshot with the highest number counts. It is written last, at once and whole, and
// its journal stands ready by then, so every crash leaves one that counts and the journal
// that belongs to it.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/examples/livenode/internal/durable"
	"github.com/berth-sched/berth/journal"
)

// ErrInUse: another process has the folder open.
var ErrInUse = errors.New("in use")

// fullAt is how many lines a journal has when it is time for a snapshot. To read so
// many takes well under a second.
const fullAt = 10_000

// A Store is an open folder. One goroutine at a time may use it.
type Store struct {
	folder string
	lock   *os.File
	number int
	file   *os.File
	log    *journal.Writer
}

// Open opens a folder, which is made if need be, and returns the core that it holds; a new
// one, with the configuration, if it holds none. What the core has ordered and was not
// told the end of is in Core.Outstanding. The error is ErrInUse if another process has the
// folder.
func Open(folder string, config berth.Config) (*Store, *core.Core, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, err
	}
	lock, err := durable.Lock(filepath.Join(folder, "lock"))
	if err != nil {
		if errors.Is(err, durable.ErrLocked) {
			err = fmt.Errorf("%s: %w", folder, ErrInUse)
		}
		return nil, nil, err
	}
	s := &Store{folder: folder, lock: lock}
	sched, err := s.recover(config)
	if err == nil {
		err = s.Compact(sched) // nobody writes behind a torn line
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, sched, nil
}

// recover makes the core that the folder holds.
func (s *Store) recover(config berth.Config) (*core.Core, error) {
	newest, err := s.newest()
	if err != nil {
		return nil, err
	}
	if newest == 0 {
		return core.New(config)
	}
	s.number = newest
	path := s.path("snapshot-%06d.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sched, err := core.Restore(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	file, err := os.Open(s.path("journal-%06d.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := journal.Recover(sched, file); err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return sched, nil
}

// newest is the highest number of a snapshot; zero: there is none. Its folder may have any
// name, also one that filepath.Glob would take for a pattern.
func (s *Store) newest() (int, error) {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return 0, err
	}
	newest := 0
	for _, entry := range entries {
		var number int
		// What a crash has left half written has more of a name.
		if _, err := fmt.Sscanf(entry.Name(), "snapshot-%d.json", &number); err == nil && strings.HasSuffix(entry.Name(), ".json") {
			newest = max(newest, number)
		}
	}
	return newest, nil
}

func (s *Store) path(format string) string {
	return filepath.Join(s.folder, fmt.Sprintf(format, s.number))
}

// Applied notes an event that the core was told, and what it answered.
func (s *Store) Applied(now berth.Time, e berth.Event, refusal error) {
	s.log.Applied(now, e, refusal)
}

// Scheduled notes a pass and its orders.
func (s *Store) Scheduled(now berth.Time, orders []berth.Order) { s.log.Scheduled(now, orders) }

// Commit puts on disk what was noted. On an error nothing that follows from it may be
// done: the process has to end, and the next one goes on from what is on disk.
func (s *Store) Commit() error {
	if err := s.log.Flush(); err != nil {
		return err
	}
	return s.file.Sync()
}

// Full reports whether it is time for Compact.
func (s *Store) Full() bool {
	c := s.log.Counts()
	return c.Events+c.Passes+c.Orders >= fullAt
}

// Compact begins anew with a snapshot of the core. All orders that have no report must
// have been handed on.
func (s *Store) Compact(sched *core.Core) error {
	snapshot, err := sched.Snapshot()
	if err != nil {
		return err
	}
	old := []string{s.path("snapshot-%06d.json"), s.path("journal-%06d.jsonl")}
	s.number++
	if err := s.begin(sched.Config()); err != nil {
		return err
	}
	if err := durable.Write(s.path("snapshot-%06d.json"), snapshot); err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// begin begins the journal with the current number.
func (s *Store) begin(config berth.Config) error {
	if err := s.closeJournal(); err != nil {
		return err
	}
	file, err := os.OpenFile(s.path("journal-%06d.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	s.file = file
	if s.log, err = journal.NewWriter(file, config); err != nil {
		return err
	}
	return s.Commit()
}

func (s *Store) closeJournal() error {
	if s.file == nil {
		return nil
	}
	err := errors.Join(s.log.Flush(), s.file.Close())
	s.file, s.log = nil, nil
	return err
}

// Close closes the folder for another process to open.
func (s *Store) Close() error { return errors.Join(s.closeJournal(), s.lock.Close()) }
