package own

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFolders(t *testing.T) {
	top := t.TempDir() // below /tmp, which is everybody's, and nobody takes away another's folder there
	require.NoError(t, MakeFolder(filepath.Join(top, "new", "state")))
	info, err := os.Stat(filepath.Join(top, "new", "state"))
	require.NoError(t, err)
	require.Equal(t, "drwx------", info.Mode().String())

	for name, mode := range map[string]os.FileMode{"group": 0o770, "others": 0o702, "sticky": 0o777 | os.ModeSticky} {
		path := filepath.Join(top, name)
		require.NoError(t, os.Mkdir(path, 0o700))
		require.NoError(t, os.Chmod(path, mode))
		require.ErrorIs(t, MakeFolder(path), ErrForeign, name)
		err := MakeFolder(filepath.Join(path, "below"))
		if name == "sticky" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrForeign, name)
		require.NoDirExists(t, filepath.Join(path, "below"), "nothing is made where another user may write")
	}

	link := filepath.Join(top, "link")
	require.NoError(t, os.Symlink(filepath.Join(top, "new"), link))
	require.ErrorContains(t, MakeFolder(link), "is a symbolic link")
	require.NoError(t, MakeFolder(filepath.Join(link, "state")), "one's own link above is none of another's")
	require.NoError(t, os.Symlink(filepath.Join(top, "group"), filepath.Join(top, "astray")))
	require.ErrorIs(t, MakeFolder(filepath.Join(top, "astray", "deep", "below")), ErrForeign, "where the link leads to")
	require.NoDirExists(t, filepath.Join(top, "group", "deep"))
	require.NoError(t, os.WriteFile(filepath.Join(top, "file"), nil, 0o600))
	require.Error(t, MakeFolder(filepath.Join(top, "file")))
}

func TestFoldersOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a folder of another user")
	}
	top := t.TempDir()
	path := filepath.Join(top, "theirs")
	require.NoError(t, os.Mkdir(path, 0o755))
	require.NoError(t, os.Chown(path, 12345, 12345))
	require.ErrorContains(t, MakeFolder(path), "user 12345")
	require.ErrorContains(t, MakeFolder(filepath.Join(path, "below")), "user 12345")
	require.NoError(t, os.Symlink(top, filepath.Join(top, "planted")))
	require.NoError(t, os.Lchown(filepath.Join(top, "planted"), 12345, 12345))
	require.ErrorContains(t, MakeFolder(filepath.Join(top, "planted", "below")), "user 12345")
	require.NoDirExists(t, filepath.Join(top, "below"), "nothing is made where another's link leads to")
}

// TestPeers connects as this user, and as another.
func TestPeers(t *testing.T) {
	if path := os.Getenv("BERTH_TEST_SOCKET"); path != "" { // the other user
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		_, err = c.Read(make([]byte, 1))
		require.Error(t, err, "it is closed at once")
		return
	}
	folder, err := os.MkdirTemp("", "own")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	path := filepath.Join(folder, "socket")
	l, err := Listen(path)
	require.NoError(t, err)
	defer l.Close()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)
	accepted := make(chan net.Conn, 2)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	if os.Geteuid() == 0 { // let it in so far, to see that it gets no further
		require.NoError(t, os.Chmod(folder, 0o755))
		require.NoError(t, os.Chmod(path, 0o666))
		binary := filepath.Join(folder, "test")
		text, err := os.ReadFile("/proc/self/exe")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(binary, text, 0o755))
		other := exec.CommandContext(t.Context(), binary, "-test.run", "^TestPeers$")
		other.Env, other.Dir = append(os.Environ(), "BERTH_TEST_SOCKET="+path), folder
		other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		said, err := other.CombinedOutput()
		require.NoError(t, err, "%s", said)
	}
	c, err := net.Dial("unix", path)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, CheckPeer(c))
	first := <-accepted
	require.NoError(t, CheckPeer(first), "this user's is the first that is accepted")
	require.NoError(t, first.Close())
	require.NoError(t, l.Close())
	_, more := <-accepted
	require.False(t, more)
}
