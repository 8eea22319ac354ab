//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package boltstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/berth-sched/berth/journal"
)

// openOwn opens a file that is the process's own.
func openOwn(path string, flag int) (*os.File, error) {
	file, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%w: it is a symbolic link", ErrUnsafe)
	}
	if err != nil {
		return nil, err
	}
	if err := checkOwn(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func checkOwn(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: it is no regular file", ErrUnsafe)
	case ok && int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%w: it belongs to user %d, and the process runs as %d", ErrUnsafe, stat.Uid, os.Geteuid())
	case ok && stat.Nlink != 1:
		return fmt.Errorf("%w: it has %d names", ErrUnsafe, stat.Nlink)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: its mode is %v, which lets others in", ErrUnsafe, info.Mode())
	}
	return nil
}

// createOwn makes a file, or empties one that a crash has left, once it is locked: it is its
// maker's until it has its other name.
func createOwn(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		file, err = openOwn(path, os.O_RDWR)
	}
	if err != nil {
		return nil, err
	}
	if err := lockAndEmpty(file, path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// renamed is an open file under another name, for errors, and has its lock.
func renamed(file *os.File, name string) (*os.File, error) {
	fd, err := syscall.Dup(int(file.Fd()))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), name), file.Close()
}

func lockAndEmpty(file *os.File, path string) error {
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return fmt.Errorf("%w: another process makes it", journal.ErrFenced)
	case err != nil:
		return err
	}
	locked, err := file.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Lstat(path); err != nil || !os.SameFile(locked, named) {
		return fmt.Errorf("%w: another process has made it", journal.ErrFenced)
	}
	return file.Truncate(0)
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
