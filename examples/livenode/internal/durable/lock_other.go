//go:build !unix

package durable

import (
	"errors"
	"fmt"
	"os"
)

// ErrLocked: another process has the lock.
var ErrLocked = errors.New("locked by another process")

// Lock needs a Unix.
func Lock(path string) (*os.File, error) {
	return nil, fmt.Errorf("%s: %w", path, errors.ErrUnsupported)
}

// syncFolder does nothing: elsewhere folders cannot be synced, nor need they be.
func syncFolder(*os.File) error { return nil }
