//go:build unix

package durable

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// TestWriteFollowsNoLink plants links under the names that are written first: they are replaced,
// and the file that they lead to is left alone.
func TestWriteFollowsNoLink(t *testing.T) {
	folder := t.TempDir()
	precious, path := filepath.Join(folder, "precious"), filepath.Join(folder, "file.json")
	require.NoError(t, os.WriteFile(precious, []byte("precious"), 0o600))
	require.NoError(t, os.Symlink(precious, path+".new"))
	require.NoError(t, WriteJSON(path, 1))
	require.NoError(t, os.Symlink(precious, path+".room"))
	require.Error(t, Fill(path, 2))
	require.NoError(t, Reserve(path))
	require.NoError(t, Fill(path, 3))
	var got int
	require.NoError(t, ReadJSON(path, &got))
	require.Equal(t, 3, got)
	text, err := os.ReadFile(precious)
	require.NoError(t, err)
	require.Equal(t, "precious", string(text))
}

func TestReserve(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.json")
	require.NoError(t, Fill(path, "without room"))
	require.NoError(t, Reserve(path))
	require.Error(t, Fill(path, strings.Repeat("x", 5000)))
	require.NoError(t, Fill(path, "with room"))
	var got string
	require.NoError(t, ReadJSON(path, &got))
	require.Equal(t, "with room", got)
	require.NoFileExists(t, path+".room")
}
