//go:build unix

package durable

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrLocked: another process has the lock.
var ErrLocked = errors.New("locked by another process")

// Lock takes the lock that a file stands for, until the file that it returns is closed
// or the process ends, however it ends. The error is ErrLocked if it is taken.
func Lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return file, nil
}

func syncFolder(folder *os.File) error { return folder.Sync() }
