package quota

import (
	"fmt"
	"maps"
	"slices"
)

// A LedgerState is all that a Ledger holds, to be stored.
type LedgerState struct {
	Now     int64         `json:"now"`
	Entries []LedgerEntry `json:"entries,omitempty"` // in order of their keys
	Queues  []LedgerSplit `json:"queues,omitempty"`  // in order of their names
}

// A LedgerEntry is what is booked under one key.
type LedgerEntry struct {
	Key       LedgerKey     `json:"key"`
	Allocated LedgerAccount `json:"allocated"`
	Active    LedgerAccount `json:"active"`
}

// A LedgerSplit is what is booked of one queue.
type LedgerSplit struct {
	Queue      QueueID       `json:"queue"`
	Guaranteed LedgerAccount `json:"guaranteed"`
	Borrowed   LedgerAccount `json:"borrowed"`
}

// A LedgerAccount is one account: at an instant t it stands at High x 2^64 + Low +
// Rate x t thousandths of a GPU x milliseconds.
type LedgerAccount struct {
	Rate int64  `json:"rateMilli,omitempty"`
	High int64  `json:"high,omitempty"`
	Low  uint64 `json:"low,omitempty"`
}

func (m *meter) state() LedgerAccount {
	return LedgerAccount{Rate: m.rate, High: m.atZero.high, Low: m.atZero.low}
}

func (s LedgerAccount) meter() meter { return meter{rate: s.Rate, atZero: int128{s.High, s.Low}} }

// check returns why s cannot be an account at an instant, or "".
func (s LedgerAccount) check(now int64) string {
	if s.Rate < 0 || s.Rate > maxUsage {
		return fmt.Sprintf("has the rate %d, outside 0 to 2^62", s.Rate)
	}
	m := s.meter()
	if v := m.at(now); v.negative() || v.high > MaxTime>>2 { // 2^62 x MaxTime
		return "is negative or beyond what can have been used"
	}
	return ""
}

// State returns all that the ledger holds. O(n log n).
func (l *Ledger) State() LedgerState {
	s := LedgerState{Now: l.now}
	for _, k := range l.Keys() {
		e := l.entries[k]
		s.Entries = append(s.Entries, LedgerEntry{Key: k, Allocated: e[0].state(), Active: e[1].state()})
	}
	for _, name := range slices.Sorted(maps.Keys(l.queues)) {
		q := l.queues[name]
		s.Queues = append(s.Queues, LedgerSplit{Queue: name, Guaranteed: q[0].state(), Borrowed: q[1].state()})
	}
	return s
}

// RestoreLedger returns a ledger that goes on where the one of a state was. It
// refuses what no ledger can have said (ErrInvalid). O(n).
func RestoreLedger(s LedgerState) (*Ledger, error) {
	if s.Now < 0 || s.Now > MaxTime {
		return nil, &Error{Field: "now", Reason: fmt.Sprintf("%d is outside 0 to %d", s.Now, int64(MaxTime)), Kind: ErrInvalid}
	}
	l := &Ledger{now: s.Now, entries: make(map[LedgerKey]*booking, len(s.Entries)), queues: make(map[QueueID]*booking, len(s.Queues))}
	for k, e := range s.Entries {
		if k > 0 && s.Entries[k-1].Key.compare(e.Key) >= 0 {
			return nil, &Error{Queue: e.Key.Queue, Field: fmt.Sprintf("entries[%d]", k), Reason: "is out of order, or there twice", Kind: ErrInvalid}
		}
		b, err := restoreBooking(e.Key.Queue, fmt.Sprintf("entries[%d]", k), e.Allocated, e.Active, s.Now)
		if err != nil {
			return nil, err
		}
		l.entries[e.Key] = b
	}
	for k, q := range s.Queues {
		if k > 0 && s.Queues[k-1].Queue >= q.Queue {
			return nil, &Error{Queue: q.Queue, Field: fmt.Sprintf("queues[%d]", k), Reason: "is out of order, or there twice", Kind: ErrInvalid}
		}
		b, err := restoreBooking(q.Queue, fmt.Sprintf("queues[%d]", k), q.Guaranteed, q.Borrowed, s.Now)
		if err != nil {
			return nil, err
		}
		l.queues[q.Queue] = b
	}
	return l, nil
}

func restoreBooking(queue QueueID, field string, a, b LedgerAccount, now int64) (*booking, error) {
	for _, m := range [2]LedgerAccount{a, b} {
		if reason := m.check(now); reason != "" {
			return nil, &Error{Queue: queue, Field: field, Reason: reason, Kind: ErrInvalid}
		}
	}
	if a == (LedgerAccount{}) && b == (LedgerAccount{}) {
		return nil, &Error{Queue: queue, Field: field, Reason: "says nothing", Kind: ErrInvalid}
	}
	return &booking{a.meter(), b.meter()}, nil
}
