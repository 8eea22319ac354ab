package protocol

import (
	"fmt"

	"github.com/berth-sched/berth/internal/enum"
)

// A Phase is how far one eviction of a job has come; see the package documentation for the
// whole way. Every life of a job, from the order that starts it to the next one, is a new
// incarnation, with an eviction of its own: what is heard of an earlier one is stale.
type Phase uint8

const (
	// PhaseRunning: nobody has asked it for anything.
	PhaseRunning Phase = iota
	// PhaseRequested: it has been asked for a checkpoint, has a deadline, and runs on.
	PhaseRequested
	// PhaseExcused: it has been asked, but its beneficiary does not need its place any more,
	// which it has yet to be told.
	PhaseExcused
	// PhaseCheckpointed: it has written one, and is to be stopped.
	PhaseCheckpointed
	// PhaseExpired: it is to be stopped without a new checkpoint. The deadline has passed, it
	// has failed to write one, or it never does.
	PhaseExpired
	// PhaseLost: too much of it was lost with its hardware, and the rest is to be stopped.
	PhaseLost
	// PhaseShrinking: it runs on, and some of its members are being stopped.
	PhaseShrinking
	// PhaseEvicting: all of it is being stopped.
	PhaseEvicting
	// PhaseEnding: it is, or is to be, stopped, and will not come back: it has finished, or was
	// cancelled.
	PhaseEnding
	// PhaseReleased: it holds nothing, and waits for a place with its age.
	PhaseReleased
	// PhaseResumed: its next life has begun, from its checkpoint.
	PhaseResumed
	// PhaseEnded: it holds nothing and does not wait.
	PhaseEnded
	phases
)

const phaseNames enum.Names = "Phase: running|requested|spared|checkpointed|expired|lost|shrinking|evicting|ending|" +
	"released|resumed|ended"

func (p Phase) String() string { return enum.Text(phaseNames, p) }

// Over reports whether the eviction has come to its end in a phase: the job runs, or is gone.
func (p Phase) Over() bool { return p == PhaseRunning || p == PhaseResumed || p == PhaseEnded }

// A Signal is what takes an eviction from one phase to the next.
type Signal uint8

const (
	// SignalAsk: it is chosen as a victim, and asked for a checkpoint.
	SignalAsk Signal = iota
	// SignalStop: it is chosen as a victim, and writes no checkpoints.
	SignalStop
	// SignalShrink: some of its members are chosen, and ordered to stop.
	SignalShrink
	// SignalExcuse: the beneficiary has started, or does not wait any more.
	SignalExcuse
	// SignalWithdraw: its request is withdrawn.
	SignalWithdraw
	// SignalRelease: it is ordered to stop, for the first time or again.
	SignalRelease
	// SignalDone: what was ordered is reported as done, all of it.
	SignalDone
	// SignalPartial: some members are reported as stopped, and others as not.
	SignalPartial
	// SignalFailed: the checkpoint is reported as not written, or nobody as stopped.
	SignalFailed
	// SignalDeadline: nothing was heard of an order in time.
	SignalDeadline
	// SignalPresumeDead: nothing was heard of the last attempt to stop it either.
	SignalPresumeDead
	// SignalLose: members are lost or died, and it goes on as it was.
	SignalLose
	// SignalLoseTooMany: so many that it cannot go on.
	SignalLoseTooMany
	// SignalLoseAll: every member that was, or would have to be, stopped.
	SignalLoseAll
	// SignalFinish: the job ended by itself.
	SignalFinish
	// SignalCancel: it was cancelled, or scaled down.
	SignalCancel
	// SignalDrop: it was given up, as it had waited for too long.
	SignalDrop
	// SignalBind: it has got a place again.
	SignalBind
	signals
)

const signalNames enum.Names = "Signal: ask|stop|shrink|spare|withdraw|release|done|partial|failed|deadline|presume dead|" +
	"lose|lose too many|lose all|finish|cancel|drop|bind"

func (s Signal) String() string { return enum.Text(signalNames, s) }

// Next returns the phase to which a signal leads. It reports false for a signal that cannot
// come in this phase; a report among them is one about another order, and is refused.
func (p Phase) Next(s Signal) (Phase, bool) {
	next := p.after(s)
	return next, next < phases
}

// after is Next, and phases where there is none.
func (p Phase) after(s Signal) Phase {
	switch p {
	case PhaseRunning:
		switch s {
		case SignalAsk:
			return PhaseRequested
		case SignalStop:
			return PhaseExpired
		case SignalShrink:
			return PhaseShrinking
		}
	case PhaseRequested:
		switch s {
		case SignalDone:
			return PhaseCheckpointed
		case SignalFailed, SignalDeadline:
			return PhaseExpired
		case SignalExcuse:
			return PhaseExcused
		}
		return p.whileItRuns(s)
	case PhaseExcused:
		switch s {
		case SignalWithdraw, SignalDone, SignalFailed, SignalDeadline:
			return PhaseRunning
		}
		return p.whileItRuns(s)
	case PhaseShrinking:
		switch s {
		case SignalDone, SignalPresumeDead, SignalLoseAll:
			return PhaseRunning
		case SignalLoseTooMany:
			return PhaseLost
		case SignalFinish:
			return PhaseEnding
		}
		return p.whileItStops(s)
	case PhaseCheckpointed, PhaseExpired, PhaseLost:
		switch s {
		case SignalRelease:
			return PhaseEvicting
		case SignalLoseAll:
			return PhaseReleased
		case SignalExcuse, SignalLose: // a victim that is to be stopped is stopped, even if nobody needs its place
			return p
		case SignalFinish, SignalCancel:
			return PhaseEnding
		}
	case PhaseEvicting:
		switch s {
		case SignalDone, SignalPresumeDead, SignalLoseAll:
			return PhaseReleased
		case SignalFinish:
			return PhaseEnding
		}
		return p.whileItStops(s)
	case PhaseEnding:
		switch s {
		case SignalDone, SignalPresumeDead, SignalLoseAll:
			return PhaseEnded
		case SignalCancel:
			return phases // it is refused, or has been
		}
		return p.whileItStops(s)
	case PhaseReleased:
		switch s {
		case SignalBind:
			return PhaseResumed
		case SignalCancel, SignalDrop:
			return PhaseEnded
		}
	}
	return phases
}

// whileItRuns is what comes of a job that was asked for a checkpoint and runs.
func (p Phase) whileItRuns(s Signal) Phase {
	switch s {
	case SignalLose:
		return p
	case SignalLoseTooMany:
		return PhaseLost
	case SignalLoseAll:
		return PhaseReleased
	case SignalFinish:
		return PhaseEnded
	case SignalCancel:
		return PhaseEnding
	}
	return phases
}

// whileItStops is what comes of an order to stop, which is given again until all of it has
// been reported as done.
func (p Phase) whileItStops(s Signal) Phase {
	switch s {
	case SignalRelease, SignalPartial, SignalFailed, SignalDeadline, SignalExcuse, SignalLose:
		return p
	case SignalCancel:
		return PhaseEnding
	}
	return phases
}

// An Arrow is one step that an eviction can take.
type Arrow struct {
	From   Phase
	Signal Signal
	To     Phase
}

func (a Arrow) String() string { return fmt.Sprintf("%s: %s: %s", a.From, a.Signal, a.To) }

// Arrows lists all steps there are, in order of phase and signal. A driver of the
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
