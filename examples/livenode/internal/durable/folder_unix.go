//go:build unix

package durable

import (
	"os"
	"syscall"
)

// noFollow has a file not be opened through a symbolic link.
const noFollow = syscall.O_NOFOLLOW

func syncFolder(folder *os.File) error { return folder.Sync() }
