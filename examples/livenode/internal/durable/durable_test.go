//go:build unix

package durable

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteReplacesTheWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.json")
	var got []int
	require.ErrorIs(t, ReadJSON(path, &got), fs.ErrNotExist)
	require.NoError(t, WriteJSON(path, []int{1, 2, 3}))
	require.NoError(t, os.WriteFile(path+".new", []byte("a longer one that a crash has left behind"), 0o600))
	require.NoError(t, WriteJSON(path, []int{4}))
	require.NoError(t, ReadJSON(path, &got))
	require.Equal(t, []int{4}, got)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	require.NoFileExists(t, path+".new")

	require.ErrorContains(t, ReadJSON(path, new(string)), path)
	require.Error(t, WriteJSON(path, func() {}))
	require.ErrorIs(t, Write(filepath.Join(path+".d", "file"), nil), fs.ErrNotExist, "there is no such folder")
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	file, err := Lock(path)
	require.NoError(t, err)
	_, err = Lock(path)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, path)
	require.NoError(t, file.Close())
	file, err = Lock(path)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}
