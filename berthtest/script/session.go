package script

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// A Session is a core under script: commands go in, what they print comes out.
type Session struct {
	// Applied sees every event that was told, with the core's refusal or nil, and Scheduled the
	// orders of every pass, as in package sim. Nil: nobody looks.
	Applied   func(now berth.Time, e berth.Event, refused error)
	Scheduled func(now berth.Time, actions []berth.Order)

	core *core.Core
	now  berth.Time
	// watched makes the watch of a new core; nil: nobody watches this session.
	watched func(berth.Config) watcher
	watch   watcher
	// refusal is how the latest event was refused, nil if it was not; orders is
	// what the latest pass gave.
	refusal error
	orders  []berth.Order
	out     strings.Builder
}

// NewSession starts at instant 0 with a core of the zero Config; a config command
// makes another.
func NewSession() *Session { return newSession(newWatch) }

// NewUnwatched is NewSession without what is checked at every step, each of which costs
// O(state): for many steps on large fleets. It prints the same.
func NewUnwatched() *Session { return newSession(nil) }

func newSession(watched func(berth.Config) watcher) *Session {
	s := &Session{watched: watched}
	if err := s.configure(berth.Config{}); err != nil {
		panic("script: the zero Config is refused: " + err.Error())
	}
	return s
}

// Core is the core as it stands; snapshot-restore replaces it.
func (s *Session) Core() *core.Core { return s.core }

// Now is the session's clock, which may be ahead of the core's.
func (s *Session) Now() berth.Time { return s.now }

// A Saved is where a session stood.
type Saved struct {
	snapshot []byte
	now      berth.Time
	refusal  error
	orders   []berth.Order
}

// Save keeps where the session stands. Cost: O(state).
func (s *Session) Save() (*Saved, error) {
	b, err := s.core.Snapshot()
	if err != nil {
		return nil, err
	}
	return &Saved{snapshot: b, now: s.now, refusal: s.refusal, orders: s.orders}, nil
}

// Resume makes an unwatched session that goes on from there, with Applied and Scheduled nil. It
// may be called any number of times. Cost: O(state).
func (s *Saved) Resume() (*Session, error) {
	sched, err := core.Restore(s.snapshot)
	if err != nil {
		return nil, err
	}
	return &Session{core: sched, now: s.now, refusal: s.refusal, orders: s.orders}, nil
}

// Do runs one command and returns what it prints, each line indented by two
// spaces. An error means that the command makes no sense, that an expectation was
// not met or that the core broke a promise; that the core refuses an event is no
// error but output.
func (s *Session) Do(line string) (string, error) {
	s.out.Reset()
	if !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
		return "", fmt.Errorf("is not valid UTF-8") // JSON cannot carry it, and the core takes none
	}
	command, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	err := s.run(command, strings.TrimSpace(rest))
	return s.out.String(), err
}

func (s *Session) run(command, rest string) error {
	if ask, known := questions[command]; known {
		return ask(s, rest)
	}
	events, known, err := s.events(command, rest)
	if !known {
		return fmt.Errorf("there is no command %q", command)
	}
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := s.tell(e); err != nil {
			return err
		}
	}
	return nil
}

// print adds a line of output.
func (s *Session) print(format string, args ...any) {
	fmt.Fprintf(&s.out, "  "+format+"\n", args...)
}

// printRefusal prints an error of the core with its kind.
func (s *Session) printRefusal(err error) {
	s.refusal = err
	s.print("refused, %s: %v", kindOf(err), err)
}

// kindOf names the sentinel of a refusal.
func kindOf(err error) string {
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	return "untyped"
}

var kinds = []struct {
	name string
	err  error
}{
	{"invalid", berth.ErrInvalid},
	{"unknown", berth.ErrUnknown},
	{"repeated", berth.ErrRepeated},
	{"duplicate", berth.ErrDuplicate},
	{"conflict", berth.ErrConflict},
	{"unsupported", berth.ErrUnsupported},
	{"stale", berth.ErrStale},
	{"limit", berth.ErrLimit},
	{"clock", berth.ErrClock},
}

func (s *Session) configure(config berth.Config) error {
	sched, err := core.New(config)
	if err != nil {
		return err
	}
	s.core = sched
	if s.watched != nil {
		s.watch = s.watched(config)
	}
	return nil
}

// tell applies an event and checks what must hold afterwards.
func (s *Session) tell(e berth.Event) error {
	s.refusal = nil
	e, err := throughJSON(e)
	if err != nil {
		return violation(err)
	}
	before, err := s.before()
	if err != nil {
		return violation(err)
	}
	err = s.core.Apply(s.now, e)
	if s.Applied != nil {
		s.Applied(s.now, e, err)
	}
	if err != nil {
		s.printRefusal(err)
	}
	switch {
	case s.watch == nil:
		return nil
	case err != nil:
		return s.watch.refused(s, e, err, before)
	}
	return s.watch.applied(s, e)
}

// before is the state that a refused event must leave; nil if nobody watches.
func (s *Session) before() ([]byte, error) {
	if s.watch == nil {
		return nil, nil
	}
	return s.core.Snapshot()
}

// pass runs a pass and checks what must hold afterwards.
func (s *Session) pass() error {
	twin, err := s.twin()
	if err != nil {
		return violation(err)
	}
	orders, err := s.core.Schedule(s.now)
	s.refusal, s.orders = nil, orders
	if err != nil {
		s.printRefusal(err)
		return nil
	}
	if s.Scheduled != nil {
		s.Scheduled(s.now, orders)
	}
	s.printOrders(orders)
	if s.watch == nil {
		return nil
	}
	return s.watch.passed(s, twin, orders)
}

// twin is a core restored from a snapshot of the present one; nil if nobody watches.
func (s *Session) twin() (*core.Core, error) {
	if s.watch == nil {
		return nil, nil
	}
	b, err := s.core.Snapshot()
	if err != nil {
		return nil, err
	}
	return core.Restore(b)
}
