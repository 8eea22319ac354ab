package journal

import (
	"errors"
	"strconv"

	"github.com/berth-sched/berth/internal/errtext"
)

// The kinds of error. Test for them with errors.Is; get the details with
// errors.As and an *Error.
var (
	// ErrMalformed: a line that is no line of a journal. Reading can go on behind
	// it.
	ErrMalformed = errors.New("malformed line")
	// ErrVersion: a journal of a version that this release does not read.
	ErrVersion = errors.New("unknown version")
	// ErrTruncated: the last line has no end, as after a crash while it was
	// written.
	ErrTruncated = errors.New("truncated journal")
	// ErrRefused: the core refused what the journal says that it accepted. It
	// changed nothing, and the refusal is in Err.
	ErrRefused = errors.New("refused by the core")
	// ErrOrdersDiffer: the core gave another order than the written one, or one more,
	// or one less.
	ErrOrdersDiffer = errors.New("orders differ")
	// ErrDamaged: a record is missing, is there twice, stands in another place or is not as it
	// was written; or a snapshot is, or is not of this log.
	ErrDamaged = errors.New("damaged log")
	// ErrStateDiffers: the core stands elsewhere than the one that wrote the log did.
	ErrStateDiffers = errors.New("states differ")
	// ErrConfigDiffers: the log is of a core with another configuration, scorer or gain.
	ErrConfigDiffers = errors.New("configurations differ")
)

// What a [Store] answers.
var (
	// ErrFenced: another writer owns the log. Nothing was changed, and nothing will be: no
	// order may be carried out any more.
	ErrFenced = errors.New("fenced: another writer owns the log")
	// ErrFull: there is no room. Nothing was changed.
	ErrFull = errors.New("no room for the log")
	// ErrUncertain: whether the log was changed is not known. The caller loads again before
	// it goes on.
	ErrUncertain = errors.New("uncertain whether the log was changed")
	// ErrCompacted: records that were asked for are not kept any more. The reader begins again
	// with the newest snapshot.
	ErrCompacted = errors.New("compacted: the records are not kept any more")
)

// An Error is about one line of a journal, or one record of a log.
type Error struct {
	// Line counts from 1; 0: it is not about a line.
	Line int
	// Record is the number of the record in its log that was read, or that was to come; 0: it is
	// not about a record of a [Store].
	Record uint64
	// Field is the path of the offending field within the line, such as
	// "event.jobSubmitted.job.groups[1].members"; empty where the line as a whole is at fault.
	Field string
	// Reason says what is wrong, in a sentence without a full stop.
	Reason string
	// Journal and Core are the two orders, as JSON, where Kind is ErrOrdersDiffer;
	// one of them is empty where the other side has no order.
	Journal, Core string
	// Kind is one of the sentinels of this package.
	Kind error
	// Err is what the decoder or the core said, usually a *berth.Error.
	Err error
}

func (e *Error) Error() string {
	place := errtext.Place("", e.Line, 0)
	if e.Record != 0 {
		place = "record " + strconv.FormatUint(e.Record, 10)
	}
	text := errtext.Join("journal", place, e.Field, e.Reason)
	if e.Kind == ErrOrdersDiffer {
		same := 0
		for same < min(len(e.Journal), len(e.Core)) && e.Journal[same] == e.Core[same] {
			same++
		}
		text += "\n  journal: " + excerpt(e.Journal, same) + "\n  core:    " + excerpt(e.Core, same)
	}
	return text
}

// Unwrap makes errors.Is and errors.As find the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// excerpt is an order as an error prints it: one that is long from shortly before the place where
// it differs from the other.
func excerpt(order string, differs int) string {
	const before = 50
	if order == "" {
		return "(no order)"
	}
	from := max(0, differs-before)
	if from == 0 || len(order) <= errtext.MostQuoted {
		return errtext.Clip(order)
	}
	return "..." + errtext.Clip(order[from:])
}
