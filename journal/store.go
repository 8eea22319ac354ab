package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// A Store keeps a log: records, numbered from 1 without a gap, and snapshots of the core that
// stand for the records before them. It knows neither events nor cores: a record is a line of
// bytes, and package journal numbers, sums and checks what it hands to a Store. So a Store has
// two duties: that nothing of what it has accepted is lost, and that one writer writes.
//
// A Store is one writer's handle, made by a function of its own package. Its methods are called
// from one goroutine at a time. [github.com/berth-sched/berth/journal/storetest] holds a Store to
// what is said here, and [github.com/berth-sched/berth/journal/boltstore] is one on a file.
//
// Errors wrap a sentinel of this package where one says what the caller may do next, and what
// the storage said. An error of Append or Save without one of them is to be taken for
// [ErrUncertain].
type Store interface {
	Source

	// Append adds a batch behind the head: all of it or, after a crash at any instant, nothing.
	// When it returns nil the batch is durable: it survives the loss of power. The batch may be
	// larger than a transaction of the storage; a store then writes the parts first, and what
	// makes them count last. Errors:
	//
	//   - [ErrFenced]: the head is not Batch.After, or another writer owns the log. Nothing was
	//     added. This handle is of no more use.
	//   - [ErrFull]: there is no room. Nothing was added, and the same batch, or a longer one that
	//     begins with it, may be tried again. A store answers so while it has room for a snapshot
	//     still, if it can, so that Save makes room.
	//   - [ErrUncertain]: the batch is in the log, or is not; the answer was lost. This handle is
	//     of no more use: open another and load.
	//
	// A store that can find out what became of a batch does so before it answers, and answers
	// ErrUncertain only if it cannot.
	Append(ctx context.Context, batch Batch) error

	// Save keeps a snapshot durably; then it may drop records up to its position, and older
	// snapshots. Until the snapshot is whole the former one counts. Its position is one of this
	// log, not before the newest snapshot and not behind the head; in an empty store it
	// begins the log, and becomes the head. Data may be larger than a value of the storage; a
	// store cuts it as it likes. Errors are those of Append.
	Save(ctx context.Context, snapshot Snapshot) error

	// Close gives the log back for another writer to own. Nothing is durable by it that was not.
	Close() error
}

// A Source is the part of a [Store] that reads. It is also for a reader that does not own the log,
// such as a [Replica] that stands by.
type Source interface {
	// Head is where the log ends, as far as it is durable; the zero Position in an empty store.
	Head(ctx context.Context) (Position, error)

	// Newest is the newest snapshot that is whole; one without Data in an empty store.
	Newest(ctx context.Context) (Snapshot, error)

	// Records are those with a number above after, in their order, until the log ends. A record
	// is for reading, until the next one is asked for. An error ends the sequence. It is
	// [ErrCompacted] if the first of the records is not kept any more: a reader that is
	// slower than snapshots are saved begins again with Newest. What a record says is no
	// error here: the reader checks it.
	Records(ctx context.Context, after uint64) iter.Seq2[[]byte, error]
}

// A Position is a place in a log: behind the record with that number, with the sum of that and
// all before it. Two logs with equal positions are the same up to there, so a snapshot is of the
// log that has its position. Positions are compared with ==. The log begins at a position with
// Number 0, and the sum of the snapshot that it begins with.
type Position struct {
	Number uint64 `json:"number"`
	Sum    Sum    `json:"sum"`
}

// String is "NUMBER (SUM)".
func (p Position) String() string { return fmt.Sprintf("%d (%v)", p.Number, p.Sum) }

// A Batch is what is appended at once.
type Batch struct {
	// After is the head that the batch goes behind, and Head the one that it makes.
	After, Head Position
	// Records are lines without their ends, one for each number in After.Number+1..Head.Number.
	// They are the Store's to read until Append returns.
	Records [][]byte
}

// A Snapshot is the state of the core at a position: what [Replica.Snapshot] has made.
type Snapshot struct {
	At   Position
	Data []byte
}

// A Sum is a CRC-64 (ECMA) of bytes, and of what came before them. It finds what breaks, and not
// what somebody forges: a log is as safe as the place where it lies.
type Sum uint64

// String is the sum in sixteen hexadecimal digits, as in JSON.
func (s Sum) String() string { return string(s.append(nil)) }

// MarshalText implements [encoding.TextMarshaler].
func (s Sum) MarshalText() ([]byte, error) { return s.append(nil), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. What is not sixteen lower-case hexadecimal
// digits is an error.
func (s *Sum) UnmarshalText(text []byte) error {
	if len(text) != sumDigits {
		return errNoSum
	}
	var n Sum
	for _, c := range text {
		digit := strings.IndexByte(hexDigits, c)
		if digit < 0 {
			return errNoSum
		}
		n = n<<4 | Sum(digit)
	}
	*s = n
	return nil
}

var errNoSum = errors.New("a sum is sixteen hexadecimal digits")

const hexDigits = "0123456789abcdef"

const sumDigits = 16

func (s Sum) append(to []byte) []byte {
	for shift := 60; shift >= 0; shift -= 4 {
		to = append(to, hexDigits[s>>shift&15])
	}
	return to
}
