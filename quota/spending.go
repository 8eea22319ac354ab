package quota

import "fmt"

// milliHour is how many thousandths of a GPU x milliseconds are a thousandth of a GPU-hour.
const milliHour = 3_600_000

// A Spending counts the GPU time that one queue uses between two instants, as a Ledger does, for a
// budget. It is one account of a Ledger, of which the clock stands still outside of that time: so
// each change and each reading is O(1) and exact, and nothing has to happen at the two instants.
// NewSpending makes one; it is a plain value, not safe for concurrent use.
type Spending struct {
	from, until int64
	meter
}

// NewSpending counts from an instant until another, in milliseconds; until is 0: without an end.
// Nothing is used yet.
func NewSpending(from, until int64) Spending { return Spending{from: from, until: until} }

// within is an instant as the clock of the account has it.
func (s *Spending) within(now int64) int64 {
	if now = max(now, s.from); s.until != 0 {
		now = min(now, s.until)
	}
	return now
}

// Use says how much the queue uses from now on, in thousandths of a GPU. The first time, what it
// used before does not count.
func (s *Spending) Use(milli, now int64) { s.change(milli-s.rate, s.within(now)) }

// Rate is what the queue uses, in thousandths of a GPU.
func (s *Spending) Rate() int64 { return s.rate }

// InForce reports whether now is one of the instants between which it counts: not the last of them.
func (s *Spending) InForce(now int64) bool { return now >= s.from && (s.until == 0 || now < s.until) }

// Used is what was used until now, in thousandths of a GPU-hour, rounded down.
func (s *Spending) Used(now int64) int64 { return s.at(s.within(now)).over(milliHour, maxGPUTime) }

// IsSpent reports whether a budget of so many thousandths of a GPU-hour is used up, to the last
// millisecond.
func (s *Spending) IsSpent(budget, now int64) bool {
	left := product128(budget, milliHour).minus(s.at(s.within(now)))
	return left.negative() || left == int128{}
}

// SpentAt is the first instant at which a budget is used up, if the queue goes on to use as much;
// now, if it is already. False: not before the end, or not before MaxTime.
func (s *Spending) SpentAt(budget, now int64) (at int64, ok bool) {
	from := s.within(now)
	left := product128(budget, milliHour).minus(s.at(from))
	switch {
	case left.negative() || left == int128{}:
		return from, s.InForce(from)
	case s.rate == 0:
		return 0, false
	}
	last := int64(MaxTime)
	if s.until != 0 {
		last = min(last, s.until-1)
	}
	at = from + left.plus(int128{low: uint64(s.rate) - 1}).over(uint64(s.rate), MaxTime)
	return at, at <= last
}

// State returns what the account holds, to be stored: see LedgerAccount.
func (s *Spending) State() LedgerAccount { return s.state() }

// Restore makes the account go on where the one of a state was, at an instant. It refuses what no
// account of these two instants can have said (ErrInvalid), and changes nothing then.
func (s *Spending) Restore(state LedgerAccount, now int64) error {
	if reason := state.check(s.within(now)); reason != "" {
		return &Error{Reason: reason, Kind: ErrInvalid}
	}
	restored := Spending{s.from, s.until, state.meter()}
	if used := restored.at(s.within(now)); now <= s.from && used != (int128{}) {
		return &Error{Reason: fmt.Sprintf("has used something by %d, and begins at %d", now, s.from), Kind: ErrInvalid}
	}
	*s = restored
	return nil
}
