package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/errtext"
)

// Replay tells a fresh core everything that a journal says and compares its
// orders with the written ones, byte for byte. It stops at the first line where
// something is amiss and returns an *Error about it, with what was replayed up to
// there. For complete see [NewPlayer].
func Replay(r io.Reader, complete ...func(*berth.Config)) (Counts, error) {
	p, err := NewPlayer(r, complete...)
	if err != nil {
		return Counts{}, err
	}
	for {
		switch err := p.Step(); {
		case errors.Is(err, io.EOF):
			return p.Counts(), nil
		case err != nil:
			return p.Counts(), err
		}
	}
}

// A Player replays a journal line by line.
type Player struct {
	in     *Reader
	core   *core.Core
	counts Counts
	// given holds the orders of the latest pass that no line was compared with.
	given []berth.Order
}

// NewPlayer reads the configuration and makes the core. A journal of a core with a Scorer or a Gain
// has that there was one, and of the Scorer the name. Functions complete the configuration with
// them:
//
//	journal.NewPlayer(file, func(c *berth.Config) { c.Scorer = ours })
//
// One that is missing, has another name, or is one too many is an [*Error] of the kind
// [ErrConfigDiffers].
func NewPlayer(r io.Reader, complete ...func(*berth.Config)) (*Player, error) {
	in, err := NewReader(r)
	if err != nil {
		return nil, err
	}
	config := in.Config()
	for _, f := range complete {
		f(&config)
	}
	if err := in.sameRules(config); err != nil {
		return nil, err
	}
	sched, err := core.New(config)
	if err != nil {
		return nil, in.malformed("config", "", err)
	}
	return &Player{in: in, core: sched}, nil
}

// sameRules compares what of a configuration is no data, as far as the journal has it.
func (r *Reader) sameRules(c berth.Config) error {
	differ := &Error{Line: r.line, Kind: ErrConfigDiffers}
	switch {
	case scorerName(c) != r.head.Scorer:
		differ.Field = "scorer"
		differ.Reason = fmt.Sprintf("is %q, not %q: the journal is replayed with the scorer of its core", errtext.Short(r.head.Scorer), errtext.Short(scorerName(c)))
	case (c.Gain != nil) != r.head.OwnGain:
		differ.Field = "ownGain"
		differ.Reason = fmt.Sprintf("is %v: the journal is replayed with the function for the gain of its core", r.head.OwnGain)
	default:
		return nil
	}
	return differ
}

// Core is the core as it stands behind the lines played so far.
func (p *Player) Core() *core.Core { return p.core }

// Counts says how much was replayed so far, and found identical.
func (p *Player) Counts() Counts { return p.counts }

// Step plays one line, and returns io.EOF behind the last one. After an error
// about a malformed line or a refused event the core is as it was before, and the
// next call goes on with the next line.
func (p *Player) Step() error {
	e, err := p.in.next()
	if errors.Is(err, io.EOF) {
		if missing := p.missing(p.in.line + 1); missing != nil {
			return missing
		}
		return io.EOF
	}
	if err != nil {
		return err
	}
	if e.Text != nil {
		return p.compare(e)
	}
	if missing := p.missing(e.Line); missing != nil {
		return missing
	}
	if e.Pass {
		if p.given, err = p.core.Schedule(e.Now); err != nil {
			return refused(e.Line, "", err)
		}
		p.counts.Passes++
		return nil
	}
	if e.State != nil {
		return p.in.malformed("state", "is in logs alone", nil)
	}
	if err := p.core.Apply(e.Now, e.Event); err != nil {
		field := "event." + e.Event.Kind()
		if errors.Is(err, berth.ErrClock) {
			field = "" // of the line's instant, not of the event
		}
		return refused(e.Line, field, err)
	}
	p.counts.Events++
	return nil
}

// compare holds a written order against the one that the core gave. What has the same bytes as an
// order is one: it is decoded only where it differs.
func (p *Player) compare(e Entry) error {
	var text []byte
	var encoding error
	if len(p.given) > 0 {
		text, encoding = berth.EncodeOrder(p.given[0])
		if encoding == nil && bytes.Equal(text, e.Text) {
			p.given = p.given[1:]
			p.counts.Orders++
			return nil
		}
	}
	e, err := p.in.readOrder(e)
	if err != nil {
		return err
	}
	differ := &Error{Line: e.Line, Field: "order", Kind: ErrOrdersDiffer, Journal: string(e.Text), Core: string(text), Err: encoding}
	switch {
	case len(p.given) == 0:
		differ.Reason = "the core gives no such order"
		return differ
	case encoding != nil:
		differ.Reason = encoding.Error()
	default:
		differ.Reason = "the core gives another order"
	}
	p.given = p.given[1:]
	return differ
}

// missing complains about orders that the core gave and that are not written
// before the given line.
func (p *Player) missing(line int) error {
	if len(p.given) == 0 {
		return nil
	}
	n := len(p.given)
	text, err := berth.EncodeOrder(p.given[0])
	p.given = nil
	return &Error{
		Line: line, Kind: ErrOrdersDiffer, Core: string(text), Err: err,
		Reason: fmt.Sprintf("the core gives %d more orders before this line", n),
	}
}

func refused(line int, field string, err error) error {
	e := &Error{Line: line, Field: field, Kind: ErrRefused, Reason: "the core refuses what it accepted", Err: err}
	return e.explain(err)
}
