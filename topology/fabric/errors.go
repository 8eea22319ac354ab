package fabric

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/input"
)

// The kinds of refusal. Test for them with errors.Is; get file, line and reason
// with errors.As and an *Error.
var (
	// ErrSyntax: the text is not of the format.
	ErrSyntax = errors.New("syntax")
	// ErrInvalid: a value that makes no sense, such as a switch above itself.
	ErrInvalid = errors.New("invalid")
	// ErrDuplicate: a name that is given twice.
	ErrDuplicate = errors.New("duplicate")
	// ErrConflict: two statements that cannot both hold, such as a switch with two
	// parents, or two domains of which one name cannot tell apart.
	ErrConflict = errors.New("conflict")
	// ErrUnknown: a name that the source does not explain.
	ErrUnknown = errors.New("unknown")
	// ErrUnsupported: something that the format allows and a Fabric cannot say.
	ErrUnsupported = errors.New("unsupported")
	// ErrLimit: more than this package takes, such as a host list of a billion names.
	ErrLimit = errors.New("limit")
)

// What a single input may hold. The limits are above any fleet known to its
// authors and small enough that a hostile file costs little.
const (
	// maxBytes is the size of one input; a node list has no such limit, for it is
	// read node by node.
	maxBytes = 16 << 20
	// maxNodes is the number of nodes of a fabric.
	maxNodes = 1 << 18
	// maxLevels is the number of levels between the fleet and the node.
	maxLevels = 16
	// maxRails is the number of leaf switches of a node.
	maxRails = 64
	// maxName is the length of a name in bytes.
	maxName = 253
)

// An Error is a refusal. A reader that refuses returns no fabric, a writer that
// refuses has written nothing.
type Error struct {
	// File is the name that the caller gave for the input; empty where the fault
	// is not in one.
	File string
	// Line counts from 1; 0 where the fault is in no single line.
	Line int
	// Field is the key or the path of the offending value, such as BlockSizes or
	// [1].tree.switches[0].nodes.
	Field string
	// Reason says what is wrong, in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package, or what a Reader or a Writer of
	// the caller returned.
	Kind error
}

func (e *Error) Error() string {
	return errtext.Join("fabric", errtext.Place(e.File, e.Line, 0), e.Field, e.Reason)
}

// Unwrap makes errors.Is find the kind of the refusal.
func (e *Error) Unwrap() error { return e.Kind }

// What an input may stand for is bounded by what it costs in memory: costFree bytes, which is
// 65,536 nodes below some levels of switches, and costTimes its own length. The costs are those of
// a name of a host list beside its bytes, of a switch, of a node, of its name of a level, which is
// more in a table, and of a value of YAML.
const (
	costFree   = 32 << 20
	costTimes  = 20
	nameCost   = 48
	switchCost = 400
	nodeCost   = 400
	pathCost   = 24
	levelCost  = 80
	valueCost  = 400
)

// A source is an input under way: its name for errors, its length, and what is left of the memory
// that it may take.
type source struct {
	file   string
	size   int
	budget int
}

func newSource(file string) *source { return &source{file: file, budget: costFree} }

// grow adds to the length of the input.
func (s *source) grow(bytes int) {
	s.size += bytes
	s.budget += costTimes * bytes
}

// spend takes the memory that something of the input will take off what is left, before it does.
func (s *source) spend(line int, field string, bytes int) error {
	if s.budget -= bytes; s.budget < 0 {
		return s.refuse(ErrLimit, line, field, "the input stands for too much: it may take %d bytes of memory, and %d for each of its own", costFree, costTimes)
	}
	return nil
}

func (s *source) refuse(kind error, line int, field, format string, args ...any) *Error {
	return &Error{File: s.file, Line: line, Field: field, Reason: fmt.Sprintf(format, args...), Kind: kind}
}

// unread refuses an input that cannot be read, or holds more than it may.
func (s *source) unread(line int, err error) *Error {
	kind := err
	if errors.Is(err, input.ErrLimit) {
		kind = ErrLimit
	}
	return s.refuse(kind, line, "", "reading failed: %v", err)
}

// checkName refuses a name that the host lists of Slurm cannot carry.
func (s *source) checkName(line int, field, name string) error {
	switch {
	case name == "":
		return s.refuse(ErrInvalid, line, field, "a name is empty")
	case len(name) > maxName:
		return s.refuse(ErrLimit, line, field, "a name has %d bytes, the limit is %d", len(name), maxName)
	case !plainName(name):
		return s.refuse(ErrInvalid, line, field, "the name %q has a character that host lists cannot carry", shorten(name))
	}
	return nil
}

// plainName reports whether a name stands for itself in Slurm's files: UTF-8 without
// blanks and control characters, and none of the brackets, commas, quotes and signs of
// the syntax.
func plainName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c <= ' ' || c == 0x7f, strings.IndexByte("[],\"'=#\\", c) >= 0:
			return false
		}
	}
	return name != "" && utf8.ValidString(name)
}
