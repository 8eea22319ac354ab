//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package boltstore

import "os"

// openOwn opens a file. Its owner is not looked at here.
func openOwn(path string, flag int) (*os.File, error) { return os.OpenFile(path, flag, 0) }

// createOwn makes a file, or empties one that a crash has left.
func createOwn(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

// renamed does nothing: errors keep the name under which the file was made.
func renamed(file *os.File, _ string) (*os.File, error) { return file, nil }

// syncFolder does nothing: elsewhere folders cannot be synced, nor need they be.
func syncFolder(string) error { return nil }
