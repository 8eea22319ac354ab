// Package boltstore keeps the log of a core in one file: a [journal.Store] on go.etcd.io/bbolt,
// which writes pages beside those in use, syncs them, and writes and syncs the page that makes them
// count.
//
//	store, err := boltstore.Open("/var/lib/orchestrator/log")
//	...
//	d, err := journal.Open(ctx, store, journal.Options{Config: config})
//
// A file belongs to one process at a time, which has it locked, and is made for the eyes of
// its owner alone. It grows to hold two snapshots and the records between them, and does not
// shrink; what is dropped is used again. The disk has to keep what it says it has synced.
//
// On a full disk the log goes on in the file as it is. Room for the next snapshot is had from the
// disk ahead (on Linux, by fallocate), and records do not take it: Append answers
// [journal.ErrFull] first, and a Save, as that of a [journal.Durable], drops the records up to it.
// What a file system that compresses, or copies what it writes, has set aside is not sure.
package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/berth-sched/berth/journal"
)

// A Store is an open file.
type Store struct {
	db   *bolt.DB
	room room
	// broken is why nothing may be written any more.
	broken error
}

// What is in a file: buckets, and the keys of the first.
var (
	logBucket      = []byte("log")      // format, head, and what was written last
	recordsBucket  = []byte("records")  // by number, eight bytes, the highest first
	snapshotBucket = []byte("snapshot") // its position, and its parts by number

	formatKey      = []byte("format")
	transactionKey = []byte("transaction") // the number of the last one
	headKey        = []byte("head")
	positionKey    = []byte("at")
)

// format of the file.
const format = "1"

// ErrUnsafe: a file that others may write, or that is not where it seems to be.
var ErrUnsafe = errors.New("not safe to keep a log in")

// Open opens a file, or makes it. It belongs to its owner, as the process runs, and to nobody
// else: another owner, a mode that lets others in, a second name, or a link in the place of the
// file are [ErrUnsafe]. Errors of the log: [journal.ErrFenced], where another process has it open;
// [journal.ErrDamaged], where it is no such file, or not as it was written; [journal.ErrVersion].
func Open(path string) (*Store, error) {
	var file *os.File // that of db
	db, err := open(path, func(path string) (_ *os.File, err error) {
		file, err = openOwn(path, os.O_RDWR)
		return file, err
	})
	if errors.Is(err, fs.ErrNotExist) {
		db, file, err = create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &Store{db: db, room: room{file: file}}
	err = s.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(logBucket)
		switch {
		case b == nil || b.Get(formatKey) == nil:
			return fmt.Errorf("%w: it is no log", journal.ErrDamaged)
		case string(b.Get(formatKey)) != format:
			return fmt.Errorf("%w of the file: %q", journal.ErrVersion, b.Get(formatKey))
		case !bytes.Equal(b.Get(transactionKey), numberKey(uint64(tx.ID()))):
			return fmt.Errorf("%w: it is of several instants, as if the disk had lost writes that were synced", journal.ErrDamaged)
		}
		return s.room.look(tx)
	})
	if err == nil { // also of a file that was there: its maker may have died before it came to this
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	return s, nil
}

// open opens a database in a file.
func open(path string, file func(path string) (*os.File, error)) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer guard(&err)
	// The list of free pages is written with each batch. The library could work it out at the start
	// instead, and would take the process down with it where the file is damaged. An array of them
	// has the first that are free taken, so that those behind stay together; a map, any.
	db, err = bolt.Open(path, 0o600, &bolt.Options{
		Timeout: time.Nanosecond, FreelistType: bolt.FreelistArrayType,
		OpenFile: func(path string, _ int, _ fs.FileMode) (*os.File, error) { return file(path) },
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%w: another process has it open", journal.ErrFenced)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf("%w: %w", journal.ErrDamaged, err)
	}
	return db, err
}

// create makes a file under another name first: a crash in the midst of it leaves none.
func create(path string) (db *bolt.DB, file *os.File, err error) {
	fresh := path + ".new"
	db, err = open(fresh, func(fresh string) (*os.File, error) {
		own, err := createOwn(fresh)
		if err != nil {
			return nil, err
		}
		file, err = renamed(own, path) // as it is called when something goes wrong with it
		return file, err
	})
	if err != nil {
		return nil, nil, err
	}
	// Another process that made a file meanwhile had it locked under this name until it had the
	// other.
	if _, err = os.Lstat(path); err == nil {
		return nil, nil, errors.Join(fmt.Errorf("%w: another process has made it", journal.ErrFenced), db.Close())
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{logBucket, recordsBucket, snapshotBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		if err := tx.Bucket(logBucket).Put(formatKey, []byte(format)); err != nil {
			return err
		}
		return sign(tx)
	})
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, file, nil
}

// guard makes an error of what reading a file that is damaged does to the library, or to the
// process, as where the file is shorter than its pages say.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", journal.ErrDamaged, p)
	}
}

// view reads.
func (s *Store) view(f func(*bolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	tx, err := s.db.Begin(false)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	defer guard(&err)
	return f(tx)
}

// Head implements [journal.Store].
func (s *Store) Head(context.Context) (head journal.Position, err error) {
	return head, s.view(func(tx *bolt.Tx) error {
		head, err = position(tx.Bucket(logBucket).Get(headKey))
		return err
	})
}

// Newest implements [journal.Store].
func (s *Store) Newest(context.Context) (newest journal.Snapshot, err error) {
	return newest, s.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(snapshotBucket)
		if newest.At, err = position(b.Get(positionKey)); err != nil {
			return err
		}
		c := b.Cursor()
		i := uint64(0)
		for key, part := c.First(); len(key) == 8; key, part = c.Next() {
			if !bytes.Equal(key, numberKey(i)) {
				return fmt.Errorf("%w: part %d of the snapshot is missing", journal.ErrDamaged, i)
			}
			newest.Data = append(newest.Data, part...)
			i++
		}
		return nil
	})
}

// Records implements [journal.Store].
func (s *Store) Records(_ context.Context, after uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			some, err := s.some(after)
			for _, record := range some {
				if !yield(record, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
			if err != nil || len(some) == 0 {
				return
			}
			after += uint64(len(some))
		}
	}
}

// atOnce is about how many bytes of records are read in one transaction.
const atOnce = 1 << 20

// some are the records after a number, as many as are read at once. They are copies: what becomes
// of them is not within the transaction.
func (s *Store) some(after uint64) (list [][]byte, err error) {
	return list, s.view(func(tx *bolt.Tx) error {
		at, err := position(tx.Bucket(snapshotBucket).Get(positionKey))
		if err != nil {
			return err
		}
		if after < at.Number {
			return fmt.Errorf("%w: the oldest is %d", journal.ErrCompacted, at.Number+1)
		}
		c := tx.Bucket(recordsBucket).Cursor()
		size := 0
		for key, record := c.Seek(numberKey(after + 1)); key != nil && size < atOnce; key, record = c.Next() {
			if next := after + 1 + uint64(len(list)); !bytes.Equal(key, numberKey(next)) {
				return fmt.Errorf("%w: record %d is missing", journal.ErrDamaged, next)
			}
			list = append(list, append([]byte{}, record...))
			size += len(record)
		}
		return nil
	})
}

// Append implements [journal.Store].
func (s *Store) Append(_ context.Context, batch journal.Batch) error {
	err := s.update(func(tx *bolt.Tx) error {
		head, err := position(tx.Bucket(logBucket).Get(headKey))
		switch {
		case err != nil:
			return err
		case head != batch.After || batch.Head.Number != head.Number+uint64(len(batch.Records)):
			return fmt.Errorf("%w: the head is %v, and the batch goes from %v to %v", journal.ErrFenced, head, batch.After, batch.Head)
		}
		if err := s.room.forRecords(tx, batch.Records); err != nil {
			return err
		}
		b := tx.Bucket(recordsBucket)
		b.FillPercent = 1 // what comes is behind all that is there
		for i, record := range batch.Records {
			if err := b.Put(numberKey(head.Number+1+uint64(i)), record); err != nil {
				return err
			}
		}
		return tx.Bucket(logBucket).Put(headKey, positionText(batch.Head))
	})
	if err == nil && len(batch.Records) > 0 {
		s.room.records = true
	}
	return err
}

// part is the most bytes of a snapshot in one value. Two of them fill a page of 4 KiB with what the
// library writes beside them, so a snapshot has room in a file whatever pieces are free.
const part = 2016

// Save implements [journal.Store].
func (s *Store) Save(_ context.Context, n journal.Snapshot) error {
	length, records := len(n.Data), false
	err := s.update(func(tx *bolt.Tx) error {
		log := tx.Bucket(logBucket)
		if first := log.Get(headKey) == nil; first {
			if err := log.Put(headKey, positionText(n.At)); err != nil {
				return err
			}
		} else if err := checkSave(tx, n.At); err != nil {
			return err
		}
		left, err := dropRecords(tx, n.At.Number)
		if err != nil {
			return err
		}
		records = left > 0
		if err := tx.DeleteBucket(snapshotBucket); err != nil {
			return err
		}
		b, err := tx.CreateBucket(snapshotBucket)
		if err != nil {
			return err
		}
		b.FillPercent = 1
		for i := uint64(0); len(n.Data) > 0; i++ {
			length := min(part, len(n.Data))
			if err := b.Put(numberKey(i), n.Data[:length]); err != nil {
				return err
			}
			n.Data = n.Data[length:]
		}
		return b.Put(positionKey, positionText(n.At))
	})
	s.room.saved(err, length, records)
	return err
}

// checkSave refuses a position that is none between the newest snapshot and the head.
func checkSave(tx *bolt.Tx, at journal.Position) error {
	head, err := position(tx.Bucket(logBucket).Get(headKey))
	if err != nil {
		return err
	}
	newest, err := position(tx.Bucket(snapshotBucket).Get(positionKey))
	if err != nil {
		return err
	}
	foreign := at.Number == newest.Number && at != newest || at.Number == head.Number && at != head
	if foreign || at.Number < newest.Number || at.Number > head.Number {
		return fmt.Errorf("%w: there is no %v between %v and %v", journal.ErrFenced, at, newest, head)
	}
	return nil
}

// dropRecords drops those up to a number, and counts the others. A bucket goes at once, so those
// behind it are put into a new one: there are few, as a snapshot is mostly that of the head.
func dropRecords(tx *bolt.Tx, upTo uint64) (left int, err error) {
	var rest [][2][]byte
	c := tx.Bucket(recordsBucket).Cursor()
	for key, record := c.Seek(numberKey(upTo + 1)); key != nil; key, record = c.Next() {
		rest = append(rest, [2][]byte{append([]byte(nil), key...), append([]byte(nil), record...)})
	}
	if err := tx.DeleteBucket(recordsBucket); err != nil {
		return 0, err
	}
	b, err := tx.CreateBucket(recordsBucket)
	if err != nil {
		return 0, err
	}
	for _, one := range rest {
		if err := b.Put(one[0], one[1]); err != nil {
			return 0, err
		}
	}
	return len(rest), nil
}

// update writes. What goes wrong before anything is written is the error as it is; if the disk had
// no room, and the file says that nothing counts of what was written, it is ErrFull. All else is
// uncertain, and the end: what a sync that failed has left on the disk nobody can tell.
func (s *Store) update(f func(*bolt.Tx) error) error {
	if s.broken != nil {
		return s.broken
	}
	number, err := s.commit(f)
	switch {
	case err == nil, errors.Is(err, journal.ErrFenced), errors.Is(err, journal.ErrFull):
		return err
	case isFull(err) && s.uncommitted(number):
		return fmt.Errorf("%w: %w", journal.ErrFull, err)
	}
	s.broken = fmt.Errorf("%w: %w", journal.ErrUncertain, err)
	return s.broken
}

// commit runs a transaction, and returns its number.
func (s *Store) commit(f func(*bolt.Tx) error) (number int, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	tx, err := s.db.Begin(true)
	if err != nil {
		return 0, err
	}
	number = tx.ID()
	defer func() { // also after a panic, or the library waits for its end when it is closed
		defer guard(&err)
		_ = tx.Rollback() // of one that is over it is nothing
	}()
	defer guard(&err)
	if err = f(tx); err == nil {
		err = sign(tx)
	}
	if err == nil {
		err = tx.Commit()
	}
	return number, err
}

// sign has the file tell which transaction wrote it.
func sign(tx *bolt.Tx) error {
	return tx.Bucket(logBucket).Put(transactionKey, numberKey(uint64(tx.ID())))
}

// uncommitted reports whether a transaction is none of those that the file counts.
func (s *Store) uncommitted(number int) bool {
	newest := number
	err := s.view(func(tx *bolt.Tx) error {
		newest = tx.ID()
		return nil
	})
	return err == nil && newest < number
}

// isFull reports whether the disk, or a quota or limit, has no room. The library hands some errors
// on as their text alone.
func isFull(err error) bool {
	for _, no := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, no) || strings.HasSuffix(err.Error(), no.Error()) {
			return true
		}
	}
	return false
}

// Close implements [journal.Store].
func (s *Store) Close() error { return s.db.Close() }

// numberKey is a number in bytes that have its order.
func numberKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

func positionText(p journal.Position) []byte {
	return binary.BigEndian.AppendUint64(numberKey(p.Number), uint64(p.Sum))
}

// position reads what positionText has written; of nothing, it is the zero one.
func position(text []byte) (journal.Position, error) {
	switch len(text) {
	case 0:
		return journal.Position{}, nil
	case 16:
		return journal.Position{Number: binary.BigEndian.Uint64(text), Sum: journal.Sum(binary.BigEndian.Uint64(text[8:]))}, nil
	}
	return journal.Position{}, fmt.Errorf("%w: a position has %d bytes", journal.ErrDamaged, len(text))
}
