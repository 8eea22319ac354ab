package boltstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/journal/boltstore"
	"github.com/berth-sched/berth/quota"
)

// A smallDisk is a real one in memory, where the machine lets a test mount it: as root, or in a
// name space of its own.
type smallDisk struct {
	*testing.T
	folder string
	flags  uintptr
}

// ownSpace is set in a process with a name space of its own.
const ownSpace = "BERTH_TEST_OWN_SPACE"

// onSmallDisk runs a test with a disk, in another process unless this one may mount.
func onSmallDisk(t *testing.T, run func(*smallDisk)) {
	d := &smallDisk{T: t, folder: t.TempDir()}
	err := d.resize(16 << 20)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, syscall.Unmount(d.folder, 0)) })
		d.flags = syscall.MS_REMOUNT
		run(d)
		return
	}
	if os.Getenv(ownSpace) != "" {
		t.Fatalf("no disk can be mounted: %v", err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), ownSpace+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	said, failed := child.CombinedOutput()
	if failed != nil && !strings.Contains(string(said), "--- FAIL") || strings.Contains(string(said), "no disk can be mounted") {
		t.Skipf("no disk can be mounted here, nor in a name space of its own: %v: %v", err, failed)
	}
	require.NoError(t, failed, "%s", said)
	require.Contains(t, string(said), "--- PASS: "+t.Name())
}

func (d *smallDisk) path() string { return filepath.Join(d.folder, "log") }

func (d *smallDisk) resize(size int) error {
	return syscall.Mount("tmpfs", d.folder, "tmpfs", d.flags, fmt.Sprintf("size=%d,mode=0700", size))
}

// empty makes the disk an empty one of so many pages.
func (d *smallDisk) empty(pages int) {
	d.Helper()
	require.NoError(d, os.RemoveAll(d.path()))
	require.NoError(d, os.RemoveAll(d.path()+".new"))
	require.NoError(d, d.resize(pages*page))
}

// TestADiskOf96KiB: what was accepted is there when the disk is full of it, and it goes on when
// there is room.
func TestADiskOf96KiB(t *testing.T) {
	onSmallDisk(t, func(d *smallDisk) {
		d.empty(24)
		said := -1
		err := drive(t, d.path(), func(job int) bool { said = job; return true })
		require.ErrorIs(t, err, journal.ErrFull)
		require.Contains(t, err.Error(), "no space left")
		require.Greater(t, said, 5)
		require.NoError(t, d.resize(16<<20))
		known, err := jobs(t, d.path())
		require.NoError(t, err)
		require.Len(t, known, said+1)
		require.NoError(t, drive(t, d.path(), func(job int) bool { said = job; return job < 300 }))
	})
}

// pass submits jobs one by one and cancels each when so many more have come, so that the state
// stays small, and saves no snapshot unless room is needed. It returns the last job that was
// accepted.
func pass(t *testing.T, path string, from, to, alive int) (last int, err error) {
	t.Helper()
	last = from - 1
	s, err := boltstore.Open(path)
	if err != nil {
		return last, err
	}
	defer s.Close()
	d, err := journal.Open(t.Context(), s, journal.Options{})
	if err != nil {
		return last, err
	}
	if err = d.Apply(berth.QueueSet{Queue: quota.Queue{Name: "q"}}); !errors.Is(err, berth.ErrDuplicate) {
		require.NoError(t, err)
	}
	for job := from; job < to; job++ {
		if err = d.Apply(submitted(job)); !errors.Is(err, berth.ErrDuplicate) { // it had no room to say so
			require.NoError(t, err)
		}
		if over := job - alive; over >= 0 {
			if err = d.Apply(berth.JobCancelled{Job: jobID(over)}); !errors.Is(err, berth.ErrUnknown) {
				require.NoError(t, err)
			}
		}
		if _, err = d.Schedule(t.Context()); err != nil {
			return last, err
		}
		last = job
	}
	return last, nil
}

// TestAFullDiskFreesItself has sessions on disks of many sizes, page by page, so that the first
// write without room is each of those of a session, and opens the file again after each. Nothing
// that was accepted is lost on any; on all that are large enough the log goes on, many times as
// long as the disk is large.
func TestAFullDiskFreesItself(t *testing.T) {
	const alive, session, sessions = 3, 150, 4
	onSmallDisk(t, func(d *smallDisk) {
		goesOn := 0
		for pages := 4; pages <= 100; pages += 1 + pages/12 {
			d.empty(pages)
			last, full := -1, false
			for range sessions {
				said, err := pass(t, d.path(), last+1, last+1+session, alive)
				if last = said; err != nil {
					require.True(t, errors.Is(err, journal.ErrFull) || errors.Is(err, syscall.ENOSPC), "%d pages: %v", pages, err)
					full = true
				}
				if last < 0 {
					continue
				}
				known, err := jobs(t, d.path())
				require.NoError(t, err, "%d pages", pages)
				for job := max(0, last-alive+1); job <= last; job++ {
					require.Contains(t, known, jobID(job), "%d pages", pages)
				}
			}
			if full {
				require.Zero(t, goesOn, "on %d pages there is room, and on %d there was none", goesOn, pages)
			} else if goesOn == 0 {
				goesOn = pages
			}
			if !full {
				require.Equal(t, sessions*session-1, last)
			}
		}
		require.NotZero(t, goesOn)
		t.Logf("from %d pages on", goesOn)
	})
}

// TestASnapshotHasRoomWhereRecordsHaveNone, time and again, also one that has grown a little and
// whatever pieces the file is in.
func TestASnapshotHasRoomWhereRecordsHaveNone(t *testing.T) {
	onSmallDisk(t, func(d *smallDisk) {
		for seed := range drawn.Seeds(2) {
			r := rand.New(rand.NewPCG(seed, 3))
			d.empty(2500)
			s, err := boltstore.Open(d.path())
			require.NoError(t, err)
			size := 1 << (14 + r.IntN(8))
			newest := journal.Snapshot{At: journal.Position{Sum: 7}, Data: bytes.Repeat([]byte{'s'}, size)}
			require.NoError(t, s.Save(t.Context(), newest))
			head, number := newest.At, 0
			for range 25 {
				kept := [][]byte{}
				for {
					b := journal.Batch{After: head, Head: head}
					for range 1 + r.IntN(4) {
						number++
						b.Records = append(b.Records, bytes.Repeat([]byte{byte(number)}, 1+r.IntN(1<<(4+r.IntN(12)))))
					}
					b.Head.Number += uint64(len(b.Records))
					b.Head.Sum = journal.Sum(number)
					if err = s.Append(t.Context(), b); err != nil {
						break
					}
					head, kept = b.Head, append(kept, b.Records...)
				}
				require.ErrorIs(t, err, journal.ErrFull, "seed %d", seed)
				require.NotEmpty(t, kept, "seed %d", seed)
				if r.IntN(3) == 0 {
					require.NoError(t, s.Close())
					s, err = boltstore.Open(d.path())
					require.NoError(t, err)
				}
				read := [][]byte{}
				for record, err := range s.Records(t.Context(), newest.At.Number) {
					require.NoError(t, err)
					read = append(read, record)
				}
				require.Equal(t, kept, read, "seed %d", seed)
				newest.At, newest.Data = head, bytes.Repeat([]byte{byte(number)}, size-size/20+r.IntN(size/10))
				require.NoError(t, s.Save(t.Context(), newest), "seed %d: no room for %d bytes", seed, len(newest.Data))
				found, err := s.Newest(t.Context())
				require.NoError(t, err)
				require.Equal(t, newest.At, found.At)
				require.True(t, bytes.Equal(newest.Data, found.Data), "seed %d", seed)
			}
			require.NoError(t, s.Close())
		}
	})
}
