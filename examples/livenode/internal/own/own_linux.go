package own

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// checkFolder checks a folder, which is one's own or one above that.
func checkFolder(path string, own bool) error {
	if err := checkPath(path, own); err != nil {
		return err
	}
	whole, err := filepath.EvalSymlinks(path)
	if err != nil || whole == path {
		return err
	}
	return checkPath(whole, own) // where the links above lead to
}

// checkPath checks a folder and those above it.
func checkPath(path string, own bool) error {
	for above := path; ; above = filepath.Dir(above) {
		info, err := os.Lstat(above)
		if err != nil {
			return err
		}
		if reason := foreign(info, own && above == path); reason != "" {
			return fmt.Errorf("%s: %w: %s", above, ErrForeign, reason)
		}
		if above == filepath.Dir(above) {
			return nil
		}
	}
}

// foreign is what is wrong with a folder, one's own or one above it, or with a link.
func foreign(info fs.FileInfo, own bool) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	owner := -1
	if ok {
		owner = int(stat.Uid)
	}
	link := info.Mode()&fs.ModeSymlink != 0
	switch {
	case own && link:
		return "it is a symbolic link"
	case owner != os.Geteuid() && (owner != 0 || own):
		return fmt.Sprintf("it belongs to user %d, and this is user %d", owner, os.Geteuid())
	case link:
		return ""
	case info.Mode().Perm()&0o022 != 0 && (own || info.Mode()&fs.ModeSticky == 0):
		return fmt.Sprintf("its mode, %v, lets others write", info.Mode())
	}
	return ""
}

// Listen makes a socket that this user alone may open.
func Listen(path string) (net.Listener, error) {
	former := syscall.Umask(0o077) // there is no moment at which the socket is anybody's
	l, err := net.Listen("unix", path)
	syscall.Umask(former)
	if err != nil {
		return nil, err
	}
	return listener{l}, nil
}

// A listener takes no connections of other users.
type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || CheckPeer(c) == nil {
			return c, err
		}
		_ = c.Close()
	}
}

// CheckPeer checks that the process at the other end of a socket is this user's, or root's. The
// error is ErrForeign.
func CheckPeer(c net.Conn) error {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return errors.ErrUnsupported
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	if uid := int(peer.Uid); uid != os.Geteuid() && uid != 0 {
		return fmt.Errorf("%w: process %d at the other end of the socket is user %d's", ErrForeign, peer.Pid, uid)
	}
	return nil
}
