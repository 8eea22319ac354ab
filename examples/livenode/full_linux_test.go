package main

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAFullDisk: programs that end while there is no room for a byte have ended, and are not run
// again. A real disk is filled, where the machine lets a test mount one.
func TestAFullDisk(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		t.Skipf("no disk can be mounted: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(folder, syscall.MNT_DETACH)) })
	b := &bench{t: t, client: newClient(folder)}
	t.Cleanup(func() {
		b.stop()
		killPrograms(folder)
	})
	b.begin()
	const jobs = 8
	curtain := filepath.Join(t.TempDir(), "curtain")
	name := func(i int) string { return "job" + strconv.Itoa(i) }
	for i := range jobs {
		b.submits(shell(name(i), "until [ -e "+curtain+" ]; do sleep 0.02; done"))
	}
	var pids []int
	for i := range jobs {
		pids = append(pids, b.becomes(name(i), "running").PID)
	}
	ballast, err := os.Create(filepath.Join(folder, "ballast"))
	require.NoError(t, err)
	for _, size := range []int{4096, 1} {
		for err = nil; err == nil; {
			_, err = ballast.Write(make([]byte, size))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
	}
	require.NoError(t, ballast.Close())
	b.fails = true
	require.NoError(t, os.WriteFile(curtain, nil, 0o600))
	<-b.o.ending.Done()
	b.stop()
	require.ErrorIs(t, b.failure, syscall.ENOSPC)
	require.True(t, eventually(func() bool {
		for _, pid := range pids {
			if runs(pid) {
				return false
			}
		}
		return true
	}))

	require.NoError(t, os.Remove(ballast.Name()))
	b.fails = false
	b.begin()
	for i := range jobs {
		b.becomes(name(i), stateEnded)
		require.NoDirExists(t, filepath.Join(folder, "jobs", name(i), "2"), "it ran once")
	}
}
