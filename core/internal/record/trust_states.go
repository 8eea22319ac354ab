package record

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/internal/enum"
)

// A TrustPart is how far a node is trusted, and whether it is a spare. It goes from one value to
// the next by After, and no other way; this package alone writes it.
type TrustPart struct {
	// QuarantineUntil, BurnInUntil are until when it takes no work, and low-cost work alone; zero:
	// it does not. Of both, the quarantine counts until it is over.
	QuarantineUntil berth.Time `json:"quarantineUntil,omitempty"`
	BurnInUntil     berth.Time `json:"burnInUntil,omitempty"`
	// HotSpare: it is one; SpareInUse: it was one until members came, and they are still there.
	HotSpare   bool `json:"hotSpare,omitempty"`
	SpareInUse bool `json:"spareInUse,omitempty"`
}

// A Trust is the state that a TrustPart says a node is in.
type Trust uint8

const (
	// Trusted: it takes all work.
	Trusted Trust = iota
	// Quarantined: it was lost too often, and takes no work for a time.
	Quarantined
	// InBurnIn: it is back after a failure, and takes low-cost work alone for a time.
	InBurnIn
	// HotSpare: it is idle, and kept for gangs that lost hardware.
	HotSpare
	// SpareInUse: it was a hot spare, and has the gangs that came to it.
	SpareInUse
	trusts
)

const trustNames enum.Names = "Trust: trusted|quarantine|burn-in|hot spare|spare in use"

// String is the name in the tables of the states.
func (s Trust) String() string { return enum.Text(trustNames, s) }

// State is the one of the states of a node that counts.
func (t TrustPart) State() Trust {
	switch {
	case t.QuarantineUntil != 0:
		return Quarantined
	case t.BurnInUntil != 0:
		return InBurnIn
	case t.HotSpare:
		return HotSpare
	case t.SpareInUse:
		return SpareInUse
	}
	return Trusted
}

// A TrustSignal leads a node from one state of trust to the next.
type TrustSignal uint8

const (
	// NodeKeptOut: it joins, and was lost too often.
	NodeKeptOut TrustSignal = iota
	// NodeTried: it joins after a loss, or a GPU of it is repaired.
	NodeTried
	// QuarantineOver: the time of its quarantine is over, an operator vouches for it, or the policy
	// knows none.
	QuarantineOver
	// BurnInOver: the time of its burn-in is over, an operator vouches for it, or the policy knows
	// none.
	BurnInOver
	// SpareChosen: a pass finds it idle, and its pool short of spares.
	SpareChosen
	// SpareUsed: a pass finds members there.
	SpareUsed
	// SpareLetGo: a pass finds it unsound, set aside for others, or one too many; or it is
	// described anew, or the policy is another.
	SpareLetGo
	// SpareEmptied: the last member is gone.
	SpareEmptied
	trustSignals
)

const trustSignalNames enum.Names = "TrustSignal: kept out|tried|quarantine over|burn-in over|spare chosen|spare used|spare let go|spare emptied"

// String is the name in the tables of the states.
func (on TrustSignal) String() string { return enum.Text(trustSignalNames, on) }

// After is the trust in a node after a signal, which may set an instant. It reports false for a
// signal that cannot come then.
func (on TrustSignal) After(t TrustPart, until berth.Time) (TrustPart, bool) {
	was := t
	ok := false
	switch on {
	case NodeKeptOut:
		ok, t.QuarantineUntil = t == TrustPart{}, until
	case NodeTried:
		ok, t.BurnInUntil = !t.HotSpare, until
	case QuarantineOver:
		ok, t.QuarantineUntil = t.QuarantineUntil != 0, 0
	case BurnInOver:
		ok, t.BurnInUntil = t.BurnInUntil != 0, 0
	case SpareChosen:
		ok, t.HotSpare = t == TrustPart{}, true
	case SpareUsed:
		ok, t.HotSpare, t.SpareInUse = t.HotSpare, false, true
	case SpareLetGo:
		ok, t.HotSpare = t.HotSpare, false
	case SpareEmptied:
		ok, t.SpareInUse = t.SpareInUse, false
	}
	if !ok {
		return was, false
	}
	return t, true
}

// Become changes the trust in a node on a signal, which may set an instant.
func (t *TrustPart) Become(on TrustSignal, until berth.Time) {
	next, ok := on.After(*t, until)
	invariant.Hold(ok, "a node gets a signal of trust that cannot come in its state")
	*t = next
}

// Inherit keeps the quarantine and the burn-in of a node that is described anew.
func (t *TrustPart) Inherit(old TrustPart) {
	t.QuarantineUntil, t.BurnInUntil = old.QuarantineUntil, old.BurnInUntil
}

// Restore is the trust in a node as it was saved.
func (t *TrustPart) Restore(s TrustPart) { *t = s }

// Forget ends the trust in a node that goes.
func (t *TrustPart) Forget() { *t = TrustPart{} }
