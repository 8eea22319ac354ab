package record

import (
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/enum"
)

// A MemberState is where a member is in its life. It goes from one state to the next by After, and
// no other way.
type MemberState uint8

const (
	// MemberAbsent holds nothing: not placed yet, or gone.
	MemberAbsent MemberState = iota
	// MemberBinding is part of the Bind that is out.
	MemberBinding
	// MemberRunning is confirmed.
	MemberRunning
	// MemberFailed died while binding, or could not be started; it holds its place until the Bind
	// is reported and the next pass decides about the gang.
	MemberFailed
	// MemberLost went with its hardware while binding; it holds nothing, but
	// counts as placed until the Bind is reported and the next pass decides.
	MemberLost
	// MemberStopping is, or will be, part of a Release.
	MemberStopping
	memberStates
)

// MemberStates are the names of the states.
const MemberStates enum.Names = "MemberState: absent|binding|running|failed|lost|stopping"

// String is the name in the tables of the states.
func (s MemberState) String() string { return enum.Text(MemberStates, s) }

// A MemberStatePart is the state of a member, which this package alone writes.
type MemberStatePart struct{ State MemberState }

// A MemberSignal leads a member from one state to the next.
type MemberSignal uint8

const (
	// MemberObserved: the world started it, and it runs.
	MemberObserved MemberSignal = iota
	// MemberPlaced: it has a place, and is part of the next Bind.
	MemberPlaced
	// MemberUnplaced: its place is given back before the Bind is given.
	MemberUnplaced
	// MemberStarted: its Bind is reported, and it runs.
	MemberStarted
	// MemberBroke: its Bind is reported, and it did not start; or it died before.
	MemberBroke
	// MemberLostEarly: its hardware is lost, or it died, before its gang was complete.
	MemberLostEarly
	// MemberStopped: it is to be stopped.
	MemberStopped
	// MemberLeft: it is stopped, finished, dead or lost, or the gang goes on without its place.
	MemberLeft
	memberSignals
)

const memberSignalNames enum.Names = "MemberSignal: observed|placed|unplaced|started|broke|lost early|stopped|left"

// String is the name in the tables of the states.
func (on MemberSignal) String() string { return enum.Text(memberSignalNames, on) }

// After is the state after a signal. It reports false for a signal that cannot come in this state.
func (on MemberSignal) After(s MemberState) (MemberState, bool) {
	switch s {
	case MemberAbsent:
		switch on {
		case MemberObserved:
			return MemberRunning, true
		case MemberPlaced:
			return MemberBinding, true
		}
	case MemberBinding:
		switch on {
		case MemberUnplaced:
			return MemberAbsent, true
		case MemberStarted:
			return MemberRunning, true
		case MemberBroke:
			return MemberFailed, true
		case MemberLostEarly:
			return MemberLost, true
		case MemberStopped:
			return MemberStopping, true
		}
	case MemberRunning, MemberFailed:
		switch {
		case on == MemberLostEarly:
			return MemberLost, true
		case on == MemberStopped && s == MemberRunning:
			return MemberStopping, true
		case on == MemberLeft:
			return MemberAbsent, true
		}
	case MemberLost, MemberStopping:
		switch {
		case on == MemberStopped && s == MemberStopping: // with the rest of its gang now
			return MemberStopping, true
		case on == MemberLeft:
			return MemberAbsent, true
		}
	}
	return s, false
}

// Next is the state in which a signal puts a member.
func (m *Member) Next(on MemberSignal) MemberState {
	next, ok := on.After(m.State)
	invariant.Hold(ok, "a member gets a signal that cannot come in its state")
	return next
}

// Become puts a member in the state after a signal.
func (m *Member) Become(on MemberSignal) { m.State = m.Next(on) }

// Leave has a member hold nothing after a signal.
func (m *Member) Leave(on MemberSignal) {
	*m = Member{MemberStatePart: MemberStatePart{m.Next(on)}}
}

// Take has a member hold its place, in a state.
func (m *Member) Take(s MemberState, hold gang.Hold, n *Node) {
	*m = Member{MemberStatePart: MemberStatePart{s}, Hold: hold, Node: n, Slot: len(n.Members)}
}

// Restore puts a member that holds nothing in the state in which it was saved.
func (m *Member) Restore(s MemberState) { m.State = s }

// ImaginedMember is a member that would run on what a plan has found.
func ImaginedMember(hold gang.Hold, n *Node) Member {
	return Member{MemberStatePart: MemberStatePart{MemberRunning}, Hold: hold, Node: n}
}

// ImagineRunning has a copy of a member run where it is.
func (m *Member) ImagineRunning() { m.State = MemberRunning }
