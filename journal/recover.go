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
	return &Player{in: in, core: sched}, nil
}

// Recover tells a core that was restored from a snapshot what a journal has that was begun
// then, as [resume] and [Player.Step] do, but takes a torn end as what a crash leaves: of
// a journal that is synced before the orders of a pass are carried out, what is torn off
// has had no effect. On an error the core is somewhere in the middle, and of no use.
//
// What comes next is to carry out Core.Outstanding again. That has neither Drop nor
// Withdraw, which nobody reports: those of Orders may or may not have been handed on. And
// begin a new journal, with a new snapshot, rather than to write behind what is torn.
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
