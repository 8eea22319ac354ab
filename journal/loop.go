package journal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// ErrStopped: a [Loop] does not run any more. What it was told last may be durable, or not.
var ErrStopped = errors.New("the loop has stopped")

// maxTogether is how many events are made durable together at the most, so that a pass and the
// answers to the first of them do not wait for a flood.
const maxTogether = 4096

// A Loop drives a [Durable] for many goroutines at once, as the handlers of requests are. Each call
// of Tell waits until its events are durable, and those that wait at a time are made durable
// together, with one pass and one write (group commit): the more there are, the cheaper each is.
//
//	loop := journal.NewLoop(d, carryOut)
//	go func() { stopped <- loop.Run(ctx) }()
//	...
//	_, err := loop.Tell(r.Context(), event) // in a handler; nil: acknowledged
//
// While it runs the Durable belongs to it, and to nobody else.
type Loop struct {
	steps    Steps
	carryOut func([]berth.Order) error
	requests chan *request
	stopped  chan struct{}
}

// Steps are what a Loop does: those of a [Durable], or of what leads a log elsewhere.
type Steps interface {
	Apply(berth.Event) error
	Schedule(context.Context) ([]berth.Order, error)
	Wait() (time.Duration, bool)
	Core() *core.Core
}

// A request is what a goroutine asks of a loop.
type request struct {
	events []berth.Event
	look   func(*core.Core)
	// told is how many events were accepted, and refused why the next was not.
	told    int
	refused error
	// taken: nothing of it is read or called any more. done: all that was told of it is durable.
	taken, done chan struct{}
}

// NewLoop makes a Loop. It hands the orders of each pass to carryOut, in the goroutine of Run, when
// all is durable that they follow from; an error of carryOut ends the loop.
func NewLoop(steps Steps, carryOut func([]berth.Order) error) *Loop {
	return &Loop{steps: steps, carryOut: carryOut, requests: make(chan *request), stopped: make(chan struct{})}
}

// Run is the loop, until the context is done or something fails: then it returns why, and all calls
// of Tell return [ErrStopped], for ever. A store without room is no failure: callers wait until it
// has some, or are told [ErrFull] as [Durable.Apply] tells it.
func (l *Loop) Run(ctx context.Context) error {
	defer close(l.stopped)
	var waiting []*request
	for {
		orders, err := l.steps.Schedule(ctx)
		switch {
		case err == nil:
			for _, r := range waiting {
				close(r.done)
			}
			waiting = waiting[:0]
			if len(orders) > 0 {
				if err := l.carryOut(orders); err != nil {
					return err
				}
			}
		case !errors.Is(err, ErrFull):
			return err
		}
		if waiting, err = l.next(ctx, waiting); err != nil {
			return err
		}
	}
}

// next waits until something is asked or due, and takes all that is asked by then.
func (l *Loop) next(ctx context.Context, waiting []*request) ([]*request, error) {
	var due <-chan time.Time
	if wait, ok := l.steps.Wait(); ok {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return waiting, ctx.Err()
	case <-due:
		return waiting, nil
	case r := <-l.requests:
		for events := 0; r != nil && events < maxTogether; r = l.another() {
			events += len(r.events)
			if l.take(r); errors.Is(r.refused, ErrFull) && r.told == 0 {
				close(r.done)
			} else {
				waiting = append(waiting, r)
			}
		}
		return waiting, nil
	}
}

// another is what else is asked by now, also by those that the last step has just answered; nil:
// nothing.
func (l *Loop) another() *request {
	for range 2 {
		select {
		case r := <-l.requests:
			return r
		default:
			runtime.Gosched()
		}
	}
	return nil
}

// take does what is asked, but for making it durable.
func (l *Loop) take(r *request) {
	defer close(r.taken)
	if r.look != nil {
		r.look(l.steps.Core())
	}
	for _, e := range r.events {
		if r.refused = l.steps.Apply(e); r.refused != nil {
			return
		}
		r.told++
	}
}

// Tell tells the core some events, one after the other, up to the first that is refused: so many
// were told, and err says why the next was not, as [Durable.Apply] does. When it returns, what was
// told is durable. It may be called by any number of goroutines.
//
// Where the context is done before, or the loop has stopped, err says so ([ErrStopped]), and
// whether the events will be durable is not known. In any case they are not read any more.
func (l *Loop) Tell(ctx context.Context, events ...berth.Event) (told int, err error) {
	return l.ask(ctx, &request{events: events})
}

// Look has a function look at the core between two steps: for questions, which change nothing. The
// function runs in the goroutine of Run, and all else waits for it; it keeps no reference to the
// core. What it sees is durable when Look returns nil. It does not run any more when Look returns.
func (l *Loop) Look(ctx context.Context, look func(*core.Core)) error {
	_, err := l.ask(ctx, &request{look: look})
	return err
}

func (l *Loop) ask(ctx context.Context, r *request) (told int, err error) {
	r.taken, r.done = make(chan struct{}), make(chan struct{})
	select {
	case l.requests <- r:
	case <-l.stopped:
		return 0, ErrStopped
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	select {
	case <-r.taken: // the loop is at it: the caller gets back what it has lent
	case <-l.stopped:
	}
	select {
	case <-r.done:
	case <-l.stopped:
		err = ErrStopped
	case <-ctx.Done():
		err = fmt.Errorf("whether the events are durable is not known: %w", ctx.Err())
	}
	select {
	case <-r.done: // by the last step too
		return r.told, r.refused
	default:
		return 0, err
	}
}
