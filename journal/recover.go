package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// A Recovery is what was found in a journal after a crash.
type Recovery struct {
	Counts
	// Truncated: the journal ends in the middle of a line, or of the orders of a pass.
	Truncated bool
	// Orders that the passes of the journal gave, by ID, also those that it does not have
	// because it is torn.
	Orders []berth.Order
}

// resume makes a player that goes on from a snapshot: core is what core.Restore has made
// of the one that was taken when the journal was begun.
func resume(sched *core.Core, r io.Reader) (*Player, error) {
	in, err := NewReader(r)
	if err != nil {
		return nil, err
	}
	written, err := json.Marshal(in.Config())
	if err != nil {
		return nil, in.malformed("config", "", err)
	}
	have, err := json.Marshal(sched.Config())
	if err != nil {
		return nil, in.malformed("config", "", err)
	}
	if !bytes.Equal(written, have) {
		return nil, in.malformed("config", "is not that of the snapshot", nil)
	}
	if err := in.sameRules(sched.Config()); err != nil {
		return nil, err
	}
	return &Player{in: in, core: sched}, nil
}

// Recover replays a journal into a core that was restored from the snapshot with which the
// journal was begun. A last line that is torn is accepted: in a journal that is synced before
// the orders of a pass are carried out, a torn line has had no effect. On an error the core is
// somewhere in the middle, and of no use.
//
// Clean up Core.Lost next, then carry out Core.Outstanding again. That has neither Drop nor
// Withdraw, which have no report: those of Orders may or may not have been handed on. Begin a
// new journal with a new snapshot, under new names, rather than write behind a torn line: a
// journal belongs to its snapshot, and with another one it replays into something else.
func Recover(sched *core.Core, r io.Reader) (Recovery, error) {
	p, err := resume(sched, r)
	if err != nil {
		return Recovery{}, err
	}
	var found Recovery
	for {
		passes := p.counts.Passes
		err := p.Step()
		if p.counts.Passes > passes {
			found.Orders = append(found.Orders, p.given...)
		}
		found.Counts = p.counts
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return found, nil
		case errors.Is(err, ErrTruncated) || p.ended(err):
			found.Truncated = true
			return found, nil
		default:
			return found, err
		}
	}
}

// ended reports whether an error says that the journal ends before the orders of its last
// pass do: it is about the line behind the last.
func (p *Player) ended(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == ErrOrdersDiffer && e.Line > p.in.line
}
