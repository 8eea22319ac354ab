package journal

import (
	"time"

	"github.com/berth-sched/berth"
)

// A Clock reads two clocks at once: the one on the wall, which people and time servers set, and
// the time that went by since any fixed instant of this process, which nobody sets.
type Clock interface {
	Read() (wall berth.Time, elapsed time.Duration)
}

// MachineClock returns the clocks of the machine.
func MachineClock() Clock { return machineClock{began: time.Now()} }

type machineClock struct{ began time.Time }

func (m machineClock) Read() (berth.Time, time.Duration) {
	now := time.Now()
	return berth.TimeOf(now), now.Sub(m.began)
}

// A ManualClock is pretended time, for tests and simulations: both clocks stand still until they
// are moved. The zero value is at instant 0. A clock is kept when a [Durable] is opened again, as
// a machine keeps its own.
//
// Whatever is due by the instant to which it is moved is due at once, as after a machine was
// suspended. An order counts as failed in the next pass after its deadline. So a test that
// carries orders out reports them first, and moves the clock afterwards.
type ManualClock struct {
	wall    berth.Time
	elapsed time.Duration
}

// Read is as of [Clock].
func (m *ManualClock) Read() (wall berth.Time, elapsed time.Duration) { return m.wall, m.elapsed }

// Advance has time go by, on both clocks alike. A span that is negative is none.
func (m *ManualClock) Advance(by berth.Duration) {
	by = max(by, 0)
	m.wall, m.elapsed = m.wall.Add(by), m.elapsed+by.Std()
}

// MoveTo has time go by until the clock on the wall shows an instant. An earlier one than it shows
// changes nothing.
func (m *ManualClock) MoveTo(at berth.Time) { m.Advance(at.Sub(m.wall)) }

// SetWall sets the clock on the wall alone, forward or back, as a time server does. No time goes
// by.
func (m *ManualClock) SetWall(at berth.Time) { m.wall = at }

// What a jump of the wall clock has to be for it to be waited for, and for how long.
const (
	// MaxJump is how far the wall clock may be ahead of the instants that a core is told and be
	// believed at once. An outage of the process is such a jump, too.
	MaxJump = 10 * time.Minute
	// ConfirmJump is for how long it has to stay further ahead to be believed all the same.
	ConfirmJump = 10 * time.Minute
)

// instants makes the instants that a core is told of a Clock. Time is data: an instant that was
// told cannot be taken back, so none is told on the word of a wall clock alone.
//
//   - An instant is the one before and the time that went by since, at least. So instants never go
//     back, and timeouts and backoffs last as long as they are to, whatever the wall clock says:
//     one that was set back is not waited for.
//   - Where the wall clock is ahead, by a slow drift, a suspended machine or an outage, the
//     instant is that of the wall, if that is at most MaxJump.
//   - Further ahead it has to stay for ConfirmJump. Until then the time goes on from where it was.
//     So a clock that jumps a year ahead and is corrected within ten minutes leaves no trace, and
//     after an outage of a day the instants follow ten minutes after the start.
//
// A wall clock that was wrong for longer, or at the first start of all, leaves instants that are
// ahead of the wall. Spans are right then, too; what is late is only what was given as an instant
// on the wall, such as a reservation.
type instants struct {
	read Clock
	// anchor is an instant that was told, or recovered, and at the reading of elapsed then.
	anchor berth.Time
	at     time.Duration
	// ahead: the wall clock is too far ahead, since the reading of elapsed in since.
	ahead bool
	since time.Duration
}

// newInstants go on from the last instant of a core; zero: it has seen none, and the wall clock is
// believed.
func newInstants(read Clock, last berth.Time) *instants {
	wall, elapsed := read.Read()
	i := &instants{read: read, anchor: last, at: elapsed}
	if last == 0 {
		i.anchor = max(0, wall)
	}
	return i
}

// now is the instant for what is told now.
func (i *instants) now() berth.Time {
	wall, elapsed := i.read.Read()
	elapsed = max(elapsed, i.at)
	instant := i.anchor.Add(berth.DurationOf(elapsed - i.at))
	switch jump := wall.Sub(instant); {
	case jump <= 0:
		i.ahead = false
		return instant
	case jump <= berth.DurationOf(MaxJump):
		i.ahead = false
	case !i.ahead:
		i.ahead, i.since = true, elapsed
		return instant
	case elapsed-i.since < ConfirmJump:
		return instant
	default:
		i.ahead = false
	}
	i.anchor, i.at = wall, elapsed
	return wall
}
