package protocol

import (
	"fmt"

	"github.com/berth-sched/berth/internal/enum"
)

// A Phase is how far one yielding of a job has come; see the package documentation for the
// whole way. Every life of a job, from the order that starts it to the next one, is a new
// incarnation, with a yielding of its own: what is heard of an earlier one is stale.
type Phase uint8

const (
	// Running: nobody has asked it for anything.
	Running Phase = iota
	// Requested: it has been asked for a checkpoint, has a deadline, and runs on.
	Requested
	// Spared: it has been asked, but its beneficiary does not need its place any more,
	// which it has yet to be told.
	Spared
	// Checkpointed: it has written one, and is to be stopped.
	Checkpointed
	// Expired: it is to be stopped without a new checkpoint. The deadline has passed, it
	// has failed to write one, or it never does.
	Expired
	// Lost: too much of it was lost with its hardware, and the rest is to be stopped.
	Lost
	// Shrinking: it runs on, and some of its members are being stopped.
	Shrinking
	// Evicting: all of it is being stopped.
	Evicting
	// Ending: it is, or is to be, stopped, and will not come back: it has finished, or was
	// cancelled.
	Ending
	// Released: it holds nothing, and waits for a place with its age.
	Released
	// Resumed: its next life has begun, from its checkpoint.
	Resumed
	// Ended: it holds nothing and does not wait.
	Ended
	phases
)

const phaseNames enum.Names = "running|requested|spared|checkpointed|expired|lost|shrinking|evicting|ending|" +
	"released|resumed|ended"

func (p Phase) String() string { return enum.Text(phaseNames, p, "phase(%d)") }

// Over reports whether the yielding has come to its end in a phase: the job runs, or is gone.
func (p Phase) Over() bool { return p == Running || p == Resumed || p == Ended }

// A Signal is what takes a yielding from one phase to the next.
type Signal uint8

const (
	// Ask: it is chosen as a victim, and asked for a checkpoint.
	Ask Signal = iota
	// Stop: it is chosen as a victim, and writes no checkpoints.
	Stop
	// Shrink: some of its members are chosen, and ordered to stop.
	Shrink
	// Spare: the beneficiary has started, or does not wait any more.
	Spare
	// Withdraw: it is told that it need not yield.
	Withdraw
	// Release: it is ordered to stop, for the first time or again.
	Release
	// Done: what was ordered is reported as done, all of it.
	Done
	// Partial: some members are reported as stopped, and others as not.
	Partial
	// Failed: the checkpoint is reported as not written, or nobody as stopped.
	Failed
	// Deadline: nothing was heard of an order in time.
	Deadline
	// PresumeDead: nothing was heard of the last attempt to stop it either.
	PresumeDead
	// Lose: members are lost or died, and it goes on as it was.
	Lose
	// LoseTooMany: so many that it cannot go on.
	LoseTooMany
	// LoseAll: everybody who was, or would have to be, stopped.
	LoseAll
	// Finish: the job ended by itself.
	Finish
	// Cancel: it was cancelled, or scaled down.
	Cancel
	// Drop: it was given up, as it had waited for too long.
	Drop
	// Bind: it has got a place again.
	Bind
	signals
)

const signalNames enum.Names = "ask|stop|shrink|spare|withdraw|release|done|partial|failed|deadline|presume dead|" +
	"lose|lose too many|lose all|finish|cancel|drop|bind"

func (s Signal) String() string { return enum.Text(signalNames, s, "signal(%d)") }

// Next returns the phase to which a signal leads. It reports false for a signal that cannot
// come in this phase; a report among them is one about another order, and is refused.
func (p Phase) Next(s Signal) (Phase, bool) {
	next := p.after(s)
	return next, next < phases
}

// after is Next, and phases where there is none.
func (p Phase) after(s Signal) Phase {
	switch p {
	case Running:
		switch s {
		case Ask:
			return Requested
		case Stop:
			return Expired
		case Shrink:
			return Shrinking
		}
	case Requested:
		switch s {
		case Done:
			return Checkpointed
		case Failed, Deadline:
			return Expired
		case Spare:
			return Spared
		}
		return p.whileItRuns(s)
	case Spared:
		switch s {
		case Withdraw, Done, Failed, Deadline:
			return Running
		}
		return p.whileItRuns(s)
	case Shrinking:
		switch s {
		case Done, PresumeDead, LoseAll:
			return Running
		case LoseTooMany:
			return Lost
		case Finish:
			return Ending
		}
		return p.whileItStops(s)
	case Checkpointed, Expired, Lost:
		switch s {
		case Release:
			return Evicting
		case LoseAll:
			return Released
		case Spare, Lose: // whoever is to be stopped is not held up, even if nobody needs its place
			return p
		case Finish, Cancel:
			return Ending
		}
	case Evicting:
		switch s {
		case Done, PresumeDead, LoseAll:
			return Released
		case Finish:
			return Ending
		}
		return p.whileItStops(s)
	case Ending:
		switch s {
		case Done, PresumeDead, LoseAll:
			return Ended
		case Cancel:
			return phases // it is refused, or has been
		}
		return p.whileItStops(s)
	case Released:
		switch s {
		case Bind:
			return Resumed
		case Cancel, Drop:
			return Ended
		}
	}
	return phases
}

// whileItRuns is what comes of a job that was asked for a checkpoint and runs.
func (p Phase) whileItRuns(s Signal) Phase {
	switch s {
	case Lose:
		return p
	case LoseTooMany:
		return Lost
	case LoseAll:
		return Released
	case Finish:
		return Ended
	case Cancel:
		return Ending
	}
	return phases
}

// whileItStops is what comes of an order to stop, which is given again until all of it has
// been reported as done.
func (p Phase) whileItStops(s Signal) Phase {
	switch s {
	case Release, Partial, Failed, Deadline, Spare, Lose:
		return p
	case Cancel:
		return Ending
	}
	return phases
}

// An Arrow is one step that a yielding can take.
type Arrow struct {
	From   Phase
	Signal Signal
	To     Phase
}

func (a Arrow) String() string { return fmt.Sprintf("%s: %s: %s", a.From, a.Signal, a.To) }

// Arrows lists all steps there are, in order of phase and signal. Whoever drives the
// protocol can so be held to each of them.
func Arrows() []Arrow {
	var list []Arrow
	for p := range phases {
		for s := range signals {
			if next, ok := p.Next(s); ok {
				list = append(list, Arrow{p, s, next})
			}
		}
	}
	return list
}
