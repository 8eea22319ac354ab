// Package own looks whether folders and the other ends of sockets belong to the user of the
// process, as ssh does with its own: what another user may write, or has put there, is not to be
// trusted.
package own

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrForeign: another user may write it, or has made it.
var ErrForeign = errors.New("not safe: it is not this user's alone")

// MakeFolder makes a folder, if need be, and checks it and those above it: each belongs to this
// user or root, and no other user may write it. Above, a folder may also be one in which everybody
// keeps their own, such as /tmp; and a link may be one of this user or root. Those that are there
// are checked before any is made. The error is ErrForeign.
func MakeFolder(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	there := path
	for _, err := os.Lstat(there); errors.Is(err, fs.ErrNotExist); _, err = os.Lstat(there) {
		there = filepath.Dir(there)
	}
	if err := checkFolder(there, there == path); err != nil {
		return err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return checkFolder(path, true)
}
