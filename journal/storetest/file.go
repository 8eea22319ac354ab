package storetest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/berth-sched/berth/journal"
)

// A File is a store on a [Disk]: a frame for each batch and each snapshot, one behind the other.
// Nothing is ever dropped. The code is short rather than quick: the whole is read when it is
// opened, and a frame at the end that is not whole is cut off.
type File struct {
	disk  *Disk
	owner *int // the number of the handle that owns the log
	self  int
	size  int // of the frames that are whole
	// broken: it is not known what of the last frame is on the disk.
	broken bool
	// lose the answer of the next write.
	lose bool

	head    journal.Position
	newest  journal.Snapshot
	records [][]byte
}

// A frame is what is written at once.
type frame struct {
	Batch    *journal.Batch    `json:",omitempty"`
	Snapshot *journal.Snapshot `json:",omitempty"`
}

// frameHead is the length of a frame, and its sum.
const frameHead = 8

// OpenFile opens the log of a disk, and fences the handle that had it. Owner counts the handles.
func OpenFile(disk *Disk, owner *int) (*File, error) {
	*owner++
	f := &File{disk: disk, owner: owner, self: *owner}
	for {
		rest := disk.cached[f.size:]
		if len(rest) < frameHead {
			break
		}
		length := int(binary.BigEndian.Uint32(rest))
		if length > len(rest)-frameHead {
			break
		}
		text := rest[frameHead : frameHead+length]
		if length == 0 || crc32.ChecksumIEEE(text) != binary.BigEndian.Uint32(rest[4:]) {
			break
		}
		var next frame
		if err := json.Unmarshal(text, &next); err != nil {
			return nil, err
		}
		f.take(next)
		f.size += frameHead + length
	}
	disk.Truncate(f.size)
	return f, nil
}

// take adds a frame to what is known.
func (f *File) take(next frame) {
	if b := next.Batch; b != nil {
		f.records, f.head = append(f.records, b.Records...), b.Head
		return
	}
	if f.newest.Data == nil {
		f.head = next.Snapshot.At
	}
	f.newest = *next.Snapshot
}

// Head implements [journal.Store].
func (f *File) Head(context.Context) (journal.Position, error) { return f.head, nil }

// Newest implements [journal.Store].
func (f *File) Newest(context.Context) (journal.Snapshot, error) { return f.newest, nil }

// Records implements [journal.Store].
func (f *File) Records(_ context.Context, after uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if after < f.newest.At.Number {
			yield(nil, fmt.Errorf("%w: the oldest is %d", journal.ErrCompacted, f.newest.At.Number+1))
			return
		}
		for ; after < f.head.Number; after++ {
			if !yield(f.records[after], nil) {
				return
			}
		}
	}
}

// Append implements [journal.Store].
func (f *File) Append(_ context.Context, batch journal.Batch) error {
	switch {
	case *f.owner != f.self:
		return fmt.Errorf("%w: it was opened again", journal.ErrFenced)
	case batch.After != f.head || batch.Head.Number != f.head.Number+uint64(len(batch.Records)):
		return fmt.Errorf("%w: the head is %v", journal.ErrFenced, f.head)
	}
	copied := batch
	copied.Records = nil
	for _, record := range batch.Records {
		copied.Records = append(copied.Records, append([]byte(nil), record...))
	}
	return f.write(frame{Batch: &copied})
}

// Save implements [journal.Store].
func (f *File) Save(_ context.Context, s journal.Snapshot) error {
	foreign := s.At.Number == f.newest.At.Number && s.At != f.newest.At || s.At.Number == f.head.Number && s.At != f.head
	switch {
	case *f.owner != f.self:
		return fmt.Errorf("%w: it was opened again", journal.ErrFenced)
	case f.newest.Data != nil && (foreign || s.At.Number < f.newest.At.Number || s.At.Number > f.head.Number):
		return fmt.Errorf("%w: there is no %v between %v and %v", journal.ErrFenced, s.At, f.newest.At, f.head)
	}
	s.Data = append([]byte(nil), s.Data...)
	return f.write(frame{Snapshot: &s})
}

// write puts a frame behind the others.
func (f *File) write(next frame) error {
	if f.broken {
		return fmt.Errorf("%w: an earlier write has failed", journal.ErrUncertain)
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	data := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	data = append(binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(text)), text...)
	if err := f.disk.WriteAt(data, f.size); err != nil {
		if errors.Is(err, errNoSpace) || errors.Is(err, errShort) {
			f.disk.Truncate(f.size) // what was written of it
			return fmt.Errorf("%w: %w", journal.ErrFull, err)
		}
		f.broken = true
		return fmt.Errorf("%w: %w", journal.ErrUncertain, err)
	}
	if err := f.disk.Sync(); err != nil {
		f.broken = true
		return fmt.Errorf("%w: %w", journal.ErrUncertain, err)
	}
	if f.lose {
		f.broken = true
		return fmt.Errorf("%w: the answer was lost", journal.ErrUncertain)
	}
	f.take(next)
	f.size += len(data)
	return nil
}

// Close implements [journal.Store].
func (f *File) Close() error {
	if *f.owner == f.self {
		*f.owner++
	}
	return nil
}

// NewFileLog is a log of a File, on a disk of its own, with every [Fault].
func NewFileLog(seed uint64) Log {
	disk, owner := NewDisk(seed), 0
	return Log{
		Open:  func() (journal.Store, error) { return OpenFile(disk, &owner) },
		Crash: func(journal.Store) { disk.PowerLoss() },
		Fail: func(s journal.Store, fault Fault, draw uint64) bool {
			switch fault {
			case FaultPower:
				disk.dies = 1 + int(draw%3)
			case FaultShort:
				disk.short = int(draw * 17)
			case FaultFull:
				disk.room = len(disk.cached) + int(draw*13)
			case FaultAnswer:
				s.(*File).lose = true
			}
			return true
		},
		Mend: func(journal.Store) { disk.room = 0 },
	}
}
