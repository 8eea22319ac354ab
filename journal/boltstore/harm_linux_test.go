package boltstore_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/journal/boltstore"
	"github.com/berth-sched/berth/quota"
)

// drive submits jobs to a core that is kept in a file, and calls accepted for each one that is
// durable, until that returns false.
func drive(t testing.TB, path string, accepted func(job int) bool) error {
	t.Helper()
	s, err := boltstore.Open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	d, err := journal.Open(t.Context(), s, journal.Options{SnapshotRecords: 40})
	if err != nil {
		return err
	}
	err = d.Apply(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	if err != nil && !errors.Is(err, berth.ErrDuplicate) {
		return err
	}
	for job := len(d.Core().JobIDs()); ; job++ {
		if err := d.Apply(submitted(job)); err != nil {
			return err
		}
		if _, err := d.Schedule(t.Context()); err != nil {
			return err
		}
		if !accepted(job) {
			return nil
		}
	}
}

func jobID(n int) berth.JobID { return berth.JobID(fmt.Sprintf("job%06d", n)) }

func submitted(n int) berth.Event {
	return berth.JobSubmitted{Job: berth.Job{
		ID: jobID(n), Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(8)}},
	}}
}

// jobs are those that the core in a file knows.
func jobs(t testing.TB, path string) ([]berth.JobID, error) {
	t.Helper()
	s, err := boltstore.Open(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	d, err := journal.Open(t.Context(), s, journal.Options{})
	if err != nil {
		return nil, err
	}
	return d.Core().JobIDs(), nil
}

// childFile is set in a process that is to be killed.
const childFile = "BERTH_TEST_KILLED"

// TestKilled kills a process at any instant, many times, over one file: all that it said was
// accepted is there.
func TestKilled(t *testing.T) {
	if path := os.Getenv(childFile); path != "" {
		t.Log(drive(t, path, func(job int) bool { fmt.Println("accepted", job); return true }))
		t.FailNow() // the disk is full, or the like
	}
	path := filepath.Join(t.TempDir(), "log")
	said, before := -1, 0
	for seed := range drawn.Seeds(8) {
		r := rand.New(rand.NewPCG(seed, 0))
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestKilled$")
		child.Env = append(os.Environ(), childFile+"="+path)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		// It is killed a moment after it has said so many times that a job is accepted, and so
		// mostly in the middle of the next batch, however slow the machine is.
		left := r.IntN(30)
		kill := func() {
			time.AfterFunc(time.Duration(r.IntN(2000))*time.Microsecond, func() { _ = child.Process.Kill() })
		}
		if left == 0 {
			kill() // while it starts
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, err := fmt.Sscanf(lines.Text(), "accepted %d", &said); err != nil {
				require.NotContains(t, lines.Text(), "FAIL")
				continue
			}
			if left--; left == 0 {
				kill()
			}
		}
		require.Error(t, child.Wait())
		known, err := jobs(t, path)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(known), said+1, "seed %d", seed)
		// Each process may keep one job that it does not live to say.
		require.LessOrEqual(t, len(known), max(said+1, before)+1, "seed %d", seed)
		before = len(known)
	}
	require.Positive(t, said)
}

// TestADiskThatLies drops pages that were synced, or changes a file, or cuts it. That does not
// matter, or is an error, and never another history.
func TestADiskThatLies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var images [][]byte
	require.NoError(t, drive(t, path, func(job int) bool {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		images = append(images, text)
		return job < 90
	}))
	refused, undetected := 0, 0
	for seed := range drawn.Seeds(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		n := 1 + r.IntN(len(images)-1)
		image := bytes.Clone(images[n])
		switch seed % 3 {
		case 0: // pages of the last batch were not written, and the one that makes them count was
			was := images[n-1]
			for at := metas * page; at < len(was); at += page {
				if r.IntN(2) == 0 {
					copy(image[at:at+page], was[at:at+page])
				}
			}
		case 1: // bits flip in records and snapshots; the library's own bytes have no sums
			for at := range image {
				if bytes.HasPrefix(image[at:], []byte(`"now":`)) && r.IntN(20) == 0 {
					image[at+r.IntN(6)] ^= 1 << r.IntN(8)
				}
			}
		case 2: // the end is missing
			image = image[:r.IntN(len(image))]
		}
		harmed := filepath.Join(t.TempDir(), "log")
		require.NoError(t, os.WriteFile(harmed, image, 0o600))
		known, err := jobs(t, harmed)
		if err != nil {
			refused++
			continue
		}
		if len(known) < n+1 {
			undetected++
		}
		for i, id := range known {
			require.Equal(t, jobID(i), id, "seed %d", seed)
		}
	}
	require.Positive(t, refused)
	require.Zero(t, undetected, "what was durable is there, or the file is refused")
}

func TestAFileThatIsNotOnesOwn(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "log")
	victim := filepath.Join(folder, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	for name, plant := range map[string]func(at string) error{
		"a link":                       func(at string) error { return os.Symlink(victim, at) },
		"a link to nothing":            func(at string) error { return os.Symlink(filepath.Join(folder, "nothing"), at) },
		"a second name":                func(at string) error { return os.Link(victim, at) },
		"a folder":                     func(at string) error { return os.Mkdir(at, 0o700) },
		"a pipe":                       func(at string) error { return syscall.Mkfifo(at, 0o600) },
		"a file that others may write": func(at string) error { return errors.Join(os.WriteFile(at, nil, 0o600), os.Chmod(at, 0o620)) },
		"a file that others may read":  func(at string) error { return errors.Join(os.WriteFile(at, nil, 0o600), os.Chmod(at, 0o604)) },
	} {
		for _, at := range []string{path, path + ".new"} {
			require.NoError(t, plant(at), name)
			_, err := boltstore.Open(path)
			require.Error(t, err, name)
			if name != "a folder" {
				require.ErrorIs(t, err, boltstore.ErrUnsafe, name)
			}
			require.NoError(t, os.Remove(at))
		}
		text, err := os.ReadFile(victim)
		require.NoError(t, err)
		require.Equal(t, "precious", string(text), name)
		require.NoFileExists(t, filepath.Join(folder, "nothing"))
	}
	if os.Geteuid() == 0 {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chown(path, 12345, -1))
		_, err := boltstore.Open(path)
		require.ErrorIs(t, err, boltstore.ErrUnsafe)
		require.ErrorContains(t, err, "12345")
		require.NoError(t, os.Remove(path))
	}
	s, err := boltstore.Open(path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, "-rw-------", info.Mode().String())
}

func TestAFileThatACrashHasLeftHalfMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path+".new", bytes.Repeat([]byte("x"), 9000), 0o600))
	s, err := boltstore.Open(path)
	require.NoError(t, err)
	_, err = boltstore.Open(path)
	require.ErrorIs(t, err, journal.ErrFenced)
	require.NoError(t, s.Close())
	require.NoFileExists(t, path+".new")
	require.NoError(t, os.WriteFile(path, []byte("something else"), 0o600))
	_, err = boltstore.Open(path)
	require.ErrorIs(t, err, journal.ErrDamaged)
	_, err = boltstore.Open(filepath.Join(path+".d", "log"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
