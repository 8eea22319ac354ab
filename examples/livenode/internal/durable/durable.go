// Package durable writes files that are there after a crash, whole or not at all.
package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces a file: after a crash it has its former content or the new one, and
// once Write has returned, the new one. Only its owner may read it. Two writers of one
// file must not write at the same time.
func Write(path string, data []byte) error {
	// What a crash has left goes first: to open what is there would follow a link.
	if err := os.Remove(path + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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

// Reserve makes room for a small file that [Fill] writes later, whatever else fills the disk
// meanwhile.
func Reserve(path string) error {
	return Write(path+reserved, bytes.Repeat([]byte{' '}, room))
}

// What is reserved, and where.
const (
	room     = 4096
	reserved = ".room"
)

// Fill is WriteJSON into the room that was reserved, which has to do. Where none was, it is
// WriteJSON.
func Fill(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if len(text) >= room {
		return fmt.Errorf("%s: %d bytes, and %d were reserved", path, len(text), room)
	}
	file, err := os.OpenFile(path+reserved, os.O_WRONLY|noFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return WriteJSON(path, v)
	}
	if err != nil {
		return err
	}
	text = append(text, bytes.Repeat([]byte{'\n'}, room-len(text))...) // over what is there
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+reserved, path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
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
