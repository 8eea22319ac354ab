package script

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/core"
)

// A Violation is a promise that the core broke. Other errors of a session say that
// the script is wrong.
type Violation struct{ Err error }

func (v *Violation) Error() string { return v.Err.Error() }
func (v *Violation) Unwrap() error { return v.Err }

// violation returns a *Violation for an error, and nil for none.
func violation(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return &Violation{err}
	}
	return nil
}

// A watcher follows the steps of a session. Sessions know no other form of it, so that a
// program with unwatched sessions alone is built without the checker.
type watcher interface {
	applied(s *Session, e berth.Event) error
	refused(s *Session, e berth.Event, refusal error, before []byte) error
	passed(s *Session, twin *core.Core, orders []berth.Order) error
}

// A watch checks what must hold after every step, whatever the script is about.
type watch struct {
	checker *check.Checker
}

func newWatch(config berth.Config) watcher {
	return &watch{checker: check.New(config)}
}

// applied follows an accepted event.
func (w *watch) applied(s *Session, e berth.Event) error {
	return violation(s.core.Check(), w.checker.Applied(s.now, e), w.against(s.core))
}

// refused follows a refused event: promise R2, it changed nothing.
func (w *watch) refused(s *Session, e berth.Event, refusal error, before []byte) error {
	return violation(
		s.core.Check(), w.checker.Rejected(s.now, e, refusal),
		same("R2: a refused event", before, s.core),
	)
}

// passed follows a pass. The twin was restored just before it.
func (w *watch) passed(s *Session, twin *core.Core, orders []berth.Order) error {
	if err := violation(s.core.Check(), w.checker.Scheduled(s.now, orders), w.against(s.core)); err != nil {
		return err
	}
	return violation(sameAsTwin(s, twin, orders))
}

// sameAsTwin has the twin run the pass too: promise D2, it does the same.
func sameAsTwin(s *Session, twin *core.Core, orders []berth.Order) error {
	others, err := twin.Schedule(s.now)
	if err != nil {
		return fmt.Errorf("D2: a restored core refuses the pass: %w", err)
	}
	if err := sameOrders(orders, others); err != nil {
		return err
	}
	after, err := s.core.Snapshot()
	if err != nil {
		return err
	}
	if err := same("D2: a pass of a restored core", after, twin); err != nil {
		return err
	}
	return idle(twin)
}

// against compares what can be seen of the core with the checker's world.
func (w *watch) against(sched *core.Core) error {
	at, due := sched.NextWake()
	return errors.Join(w.checker.Wakes(at, due), w.checker.AgainstReport(sched.Report()), w.checker.Outstanding(sched.Outstanding()), w.checker.Lost(sched.Lost()))
}

// idle demands that a second pass at the same instant has nothing to say, unless
// the first one left work over.
func idle(sched *core.Core) error {
	now := sched.Now()
	if next, ok := sched.NextWake(); ok && next == now {
		return nil
	}
	orders, err := sched.Schedule(now)
	if err == nil && len(orders) > 0 {
		err = fmt.Errorf("a second pass at the same instant gives %d orders, such as %s", len(orders), describe(orders[0]))
	}
	return err
}

// same demands that a core's snapshot is the one given.
func same(what string, want []byte, sched *core.Core) error {
	got, err := sched.Snapshot()
	if err != nil {
		return err
	}
	if !bytes.Equal(want, got) {
		return fmt.Errorf("%s leads to another state:\n%s\ninstead of\n%s", what, got, want)
	}
	return nil
}

// sameOrders compares orders by their JSON, which every order must survive.
func sameOrders(a, b []berth.Order) error {
	if len(a) != len(b) {
		return fmt.Errorf("D2: a restored core gives %d orders instead of %d", len(b), len(a))
	}
	for i := range a {
		x, err := berth.EncodeOrder(a[i])
		if err != nil {
			return err
		}
		decoded, err := berth.DecodeOrder(x)
		if err != nil {
			return fmt.Errorf("an order cannot be read back: %w", err)
		}
		again, err := berth.EncodeOrder(decoded)
		if err != nil {
			return err
		}
		y, err := berth.EncodeOrder(b[i])
		if err != nil {
			return err
		}
		if !bytes.Equal(x, again) || !bytes.Equal(x, y) {
			return fmt.Errorf("D2: order\n%s\nis\n%s\nread back, and\n%s\nof a restored core", x, again, y)
		}
	}
	return nil
}

// throughJSON returns an event as it comes out of a journal.
func throughJSON(e berth.Event) (berth.Event, error) {
	first, err := berth.EncodeEvent(e)
	if err != nil {
		return nil, err
	}
	decoded, err := berth.DecodeEvent(first)
	if err != nil {
		return nil, fmt.Errorf("an event cannot be read back: %w", err)
	}
	second, err := berth.EncodeEvent(decoded)
	if err == nil && !bytes.Equal(first, second) {
		err = fmt.Errorf("the event\n%s\nis\n%s\nread back", first, second)
	}
	return decoded, err
}
