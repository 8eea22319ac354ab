package quota

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A LedgerKey is what use is booked under. The strings are the embedder's; an empty
// one is as good as any other.
type LedgerKey struct {
	Queue   QueueID `json:"queue,omitempty"`
	Class   string  `json:"class,omitempty"`
	Product string  `json:"product,omitempty"`
	Tenant  string  `json:"tenant,omitempty"`
	// Borrowed: on GPUs that are booked under another key as well: their holder left them idle.
	Borrowed bool `json:"borrowed,omitempty"`
}

func (k LedgerKey) compare(l LedgerKey) int {
	return cmp.Or(cmp.Compare(k.Queue, l.Queue), strings.Compare(k.Class, l.Class),
		strings.Compare(k.Product, l.Product), strings.Compare(k.Tenant, l.Tenant), compareBool(k.Borrowed, l.Borrowed))
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// A Ledger counts GPU time for accounting: by key what was allocated and
// what of it was active, and by queue what was used under a guarantee and what was
// borrowed. It is told of changes, with their instants in milliseconds, and each
// account is a value and a rate, so that a change and a reading are O(1) however
// much time has passed, and a change that is taken back at the same instant leaves
// no trace. Nothing is rounded but what Read and Split return.
//
// Amounts are thousandths of a GPU x milliseconds, in 128 bits: rates up to 2^62
// and instants up to MaxTime cannot overflow them. What is returned is in GPU x
// milliseconds, in 64 bits, and stops at maxGPUTime: a year of 131,072 GPUs is
// 2^52.
//
// The zero value is an empty ledger. It is not safe for concurrent use.
type Ledger struct {
	now     int64
	entries map[LedgerKey]*booking
	queues  map[QueueID]*booking
}

// maxGPUTime is where a reading of a Ledger stops, in GPU x milliseconds.
const maxGPUTime = 1<<63 - 1

// A booking is two accounts: allocated and active, or covered and borrowed.
type booking [2]meter

// A meter integrates a rate: its value at an instant is atZero + rate x instant.
type meter struct {
	rate   int64
	atZero int128
}

// change changes the rate from now on.
func (m *meter) change(by, now int64) {
	m.rate += by
	m.atZero = m.atZero.minus(product128(by, now))
}

func (m *meter) at(now int64) int128 { return m.atZero.plus(product128(m.rate, now)) }

// read is the value in GPU x milliseconds.
func (m *meter) read(now int64) int64 { return m.at(now).over(1000, maxGPUTime) }

// Now returns the last instant that the ledger was told.
func (l *Ledger) Now() int64 { return l.now }

// Advance sets the clock of the ledger: changes that follow happen then, and
// readings are of then. It refuses an instant before the last one or outside 0 to
// MaxTime (ErrInvalid). O(1).
func (l *Ledger) Advance(now int64) error {
	if now < l.now || now > MaxTime {
		return &Error{Field: "now", Reason: fmt.Sprintf("%d is outside %d to %d", now, l.now, int64(MaxTime)), Kind: ErrInvalid}
	}
	l.now = now
	return nil
}

// Add changes what is allocated under a key, and how much of it is active, by so
// many thousandths of a GPU from now on. It refuses what would make either negative
// or more than can be counted (ErrInvalid), and changes nothing then. O(1), without
// allocation for a key that the ledger has.
func (l *Ledger) Add(k LedgerKey, allocated, active int64) error {
	e := l.entries[k]
	if e == nil {
		e = &booking{}
	}
	for i, by := range [2]int64{allocated, active} {
		if rate := e[i].rate; by < -rate || by > maxUsage-rate {
			return &Error{
				Queue: k.Queue, Field: [2]string{"allocated", "active"}[i], Kind: ErrInvalid,
				Reason: fmt.Sprintf("%d is to be added to %d; the bounds are 0 and 2^62", by, rate),
			}
		}
	}
	e[0].change(allocated, l.now)
	e[1].change(active, l.now)
	if l.entries == nil {
		l.entries = map[LedgerKey]*booking{}
	}
	if l.entries[k] = e; *e == (booking{}) {
		delete(l.entries, k)
	}
	return nil
}

// Follow takes over from a tree how much of the GPUs that queue i uses, and each
// queue above it, is covered by a guarantee. To be called after each Charge and
// Discharge of the queue and after Set has changed its guarantee, at the instant of
// that. O(depth), without allocation for queues that the ledger has.
func (l *Ledger) Follow(t *Tree, i QueueIndex) {
	for ; i != RootQueue && t.live(i); i = t.nodes[i].parent {
		a := &t.nodes[i].host[gpuID]
		l.follow(t.nodes[i].config.Name, a.covered(), a.used-a.covered())
	}
}

func (l *Ledger) follow(queue QueueID, covered, borrowed int64) {
	q := l.queues[queue]
	if q == nil {
		if covered == 0 && borrowed == 0 {
			return
		}
		if l.queues == nil {
			l.queues = map[QueueID]*booking{}
		}
		q = &booking{}
		l.queues[queue] = q
	}
	q[0].change(covered-q[0].rate, l.now)
	q[1].change(borrowed-q[1].rate, l.now)
	if *q == (booking{}) {
		delete(l.queues, queue)
	}
}

// Read returns the GPU time booked under a key until now, in GPU x milliseconds,
// rounded down. O(1).
func (l *Ledger) Read(k LedgerKey) (allocated, active int64) {
	if e := l.entries[k]; e != nil {
		return e[0].read(l.now), e[1].read(l.now)
	}
	return 0, 0
}

// Split returns the GPU time that a queue and those below it used until now under a
// guarantee, and what they borrowed, in GPU x milliseconds, rounded down. O(1).
func (l *Ledger) Split(queue QueueID) (guaranteed, borrowed int64) {
	if q := l.queues[queue]; q != nil {
		return q[0].read(l.now), q[1].read(l.now)
	}
	return 0, 0
}

// Keys returns the keys under which something is booked, in order of queue, class,
// product and tenant. O(n log n).
func (l *Ledger) Keys() []LedgerKey {
	return slices.SortedFunc(maps.Keys(l.entries), LedgerKey.compare)
}

// Forget drops what is booked under a key, as after a bill. It reports whether it
// did: not while something is allocated.
func (l *Ledger) Forget(k LedgerKey) bool {
	e := l.entries[k]
	if e == nil || e[0].rate != 0 || e[1].rate != 0 {
		return false
	}
	delete(l.entries, k)
	return true
}

// ForgetQueue drops the split of a queue. It reports whether it did: not while the
// queue uses something.
func (l *Ledger) ForgetQueue(queue QueueID) bool {
	q := l.queues[queue]
	if q == nil || q[0].rate != 0 || q[1].rate != 0 {
		return false
	}
	delete(l.queues, queue)
	return true
}
