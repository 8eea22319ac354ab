package record

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/quota"
)

// What a bucket is, as package due keeps it: where it stands among those that may get a reservation,
// and where its entries stand that may bid. Package due alone writes it.

// A Heading is where a bucket stands among those of which the first entry may get a reservation.
type Heading struct {
	// Entry is the first entry as it was when the bucket was looked at last; nil: it was not, or
	// none of its entries gets a reservation as things are.
	Entry *Entry
	// At is when the entry may get a reservation.
	At    berth.Time
	Place HeadPlace
	// Slot is the position in the list or the heap that Place names.
	Slot int
	// Spans: the gang needs several nodes.
	Spans bool
	// Changed is the position in the list of those to be looked at again, or -1.
	Changed int
}

// A HeadPlace says where a bucket stands.
type HeadPlace uint8

const (
	// HeadNowhere is a bucket that no reservation is for.
	HeadNowhere HeadPlace = iota
	// HeadLater is one that may get a reservation at an instant yet to come.
	HeadLater
	// HeadHeld is one that gets none before a turn of the agenda changes.
	HeadHeld
	// HeadDue is one that may get a reservation, or has one: it stands in Queue.Heads.
	HeadDue
)

// A Bidder is an entry that bids for its bucket, and when: the first whole gang there, or the first
// entry that grows.
type Bidder struct {
	Bucket *Bucket
	Entry  *Entry
	At     berth.Time
	// Asks is for how many GPUs, in thousandths; the largest number where it asks for none.
	Asks  int64
	Place BidPlace
	// Slot is the position in the heap that Place names; Sought that in the list of those that
	// have bid in this turn, or -1.
	Slot, Sought int
}

// A BidPlace says where a bidder stands.
type BidPlace uint8

const (
	// BidNever is one that does not bid before a turn of the agenda changes.
	BidNever BidPlace = iota
	// BidLater is one that bids at an instant yet to come.
	BidLater
	// BidDue is one that bids as soon as its queue may have what it asks for.
	BidDue
)

// Standings are what due keeps of a queue: the buckets that may get a reservation, the first entry
// first, and the bidders, by what they ask for if they are due, and else by when they are.
type Standings struct {
	Heads pq.Heap[*Bucket]
	Due   pq.Heap[*Bidder]
	Later pq.Heap[*Bidder]
	// At is the position in the list of queues with heads, or -1.
	At int
	// most is what a head asks for at the most, of each resource, if it is worked out; alike: the
	// heads ask for one product, or for none in particular.
	most         quota.Charge
	known, alike bool
}

// NewStandings returns those of a queue in which nothing waits.
func NewStandings() Standings {
	return Standings{
		Heads: pq.New(func(a, b *Bucket) bool { return CompareEntries(a.Heading.Entry, b.Heading.Entry) < 0 }, func(b *Bucket, slot int) { b.Heading.Slot = slot }),
		Due:   pq.New(func(a, b *Bidder) bool { return a.Asks < b.Asks }, func(b *Bidder, slot int) { b.Slot = slot }),
		Later: pq.New(func(a, b *Bidder) bool { return a.At < b.At }, func(b *Bidder, slot int) { b.Slot = slot }),
		At:    -1,
	}
}

// EnterHead has a bucket be one of the heads, which is looked at as its Heading says. Its shape is
// compiled, and changes with no head in place.
func (s *Standings) EnterHead(b *Bucket) {
	s.Heads.Push(b)
	s.known = false
}

// LeaveHead has a bucket be no head.
func (s *Standings) LeaveHead(b *Bucket) {
	s.Heads.Remove(b.Heading.Slot)
	s.known = false
}

// Most is what a head asks for at the most, of each resource: a queue that may have it may have what
// any of its heads asks for. False: they ask for several products, and so there is no such charge.
// O(heads) after a change, else O(1).
func (s *Standings) Most() (most quota.Charge, some bool) {
	if s.known {
		return s.most, s.alike
	}
	s.known, s.alike, s.most = true, true, quota.Charge{}
	for _, b := range s.Heads.Items() {
		c := &b.Shape.Least
		if c.GPUMilli > 0 && c.Product != quota.NoProduct {
			s.alike = s.alike && (s.most.Product == quota.NoProduct || s.most.Product == c.Product)
			s.most.Product = c.Product
		}
		s.most.GPUMilli = max(s.most.GPUMilli, c.GPUMilli)
		for r := range s.most.Host {
			s.most.Host[r] = max(s.most.Host[r], c.Host[r])
		}
	}
	return s.most, s.alike
}
