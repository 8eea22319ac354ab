// Package durable writes files that are there after a crash, whole or not at all.
package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Write replaces a file: after a crash it has its former content or the new one, and
// once Write has returned, the new one. Only its owner may read it. Two writers of one
// file must not write at the same time.
func Write(path string, data []byte) error {
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// WriteJSON is Write for a value, as indented JSON: people read these files too.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return Write(path, append(text, '\n'))
}

// ReadJSON reads what WriteJSON wrote. The error of a file that is absent is
// fs.ErrNotExist.
func ReadJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// SyncFolder makes sure that the names in a folder are there after a crash: those of
// new files, and of renamed ones.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncFolder(folder), folder.Close())
}
