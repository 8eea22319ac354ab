package preempt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A Demand is a condition without which the beneficiary cannot fit, simple enough to
// reason with: so many pieces of a size, each in one domain, and all of them in one region.
// The search asks fits only about what meets it, begins with what meets it for the least,
// and proves bounds with it. It has to be true: where fits says yes, the demand
// must be met.
type Demand struct {
	// Pieces is how many there are, such as the members of a gang, and PieceMilli what each
	// needs in one domain, in thousandths of a GPU. With zero Pieces there is no demand.
	Pieces     int
	PieceMilli int64
	// Rooms are the domains where a piece may be, each once.
	Rooms []Room
}

// MaxMilli is the most that a Demand and what is held in rooms may name, in thousandths of a
// GPU.
const MaxMilli = 1 << 40

// A Room is a domain where pieces may be.
type Room struct {
	// Domain is its number among the Domains of candidates.
	Domain int32
	// Region is where all pieces have to be together, such as the leaf that has the
	// domain: a number of the caller's choosing. The same for all where it does not matter.
	Region int32
	// FreeMilli is what is free there with nobody yielding.
	FreeMilli int64
}

func (d *Demand) check(candidates []Candidate) error {
	switch {
	case d.Pieces < 0:
		return &Error{Index: -1, Field: "Demand.Pieces", Reason: fmt.Sprintf("is negative: %d", d.Pieces)}
	case d.Pieces == 0:
		return nil
	case d.Pieces > math.MaxInt32:
		return &Error{Index: -1, Field: "Demand.Pieces", Reason: fmt.Sprintf("is above %d: %d", math.MaxInt32, d.Pieces)}
	case d.PieceMilli <= 0 || d.PieceMilli > MaxMilli:
		return &Error{Index: -1, Field: "Demand.PieceMilli", Reason: fmt.Sprintf("is not within 1 and %d: %d", int64(MaxMilli), d.PieceMilli)}
	}
	for i := range d.Rooms {
		if free := d.Rooms[i].FreeMilli; free < 0 || free > MaxMilli {
			return &Error{Index: -1, Field: "Demand.Rooms[" + strconv.Itoa(i) + "].FreeMilli", Reason: fmt.Sprintf("is not within 0 and %d: %d", int64(MaxMilli), free)}
		}
	}
	for i := range candidates {
		k := &candidates[i]
		for _, milli := range k.Held {
			if milli < 0 || milli > MaxMilli {
				return &Error{Candidate: k.ID, Index: i, Field: "Held", Reason: fmt.Sprintf("is not within 0 and %d: %d", int64(MaxMilli), milli)}
			}
		}
		if len(k.Held) != len(k.Domains) {
			return &Error{Candidate: k.ID, Index: i, Field: "Held", Reason: fmt.Sprintf("has %d amounts for %d domains", len(k.Held), len(k.Domains))}
		}
	}
	return nil
}

// A ledger counts whether a demand is met. What yields is entered beside a base.
type ledger struct {
	on     bool
	pieces int64
	each   int64
	rooms  []room   // by domain
	places []region // by region
	holds  []hold   // by item, see item.held
	met    int      // how many regions have enough
}

type room struct {
	domain int32
	region int32 // its number, and once the ledger is open its place
	own    int64 // free with nobody yielding
	base   int64 // free before anything is entered
	free   int64
}

type region struct {
	number int32
	base   int64 // pieces before anything is entered
	pieces int64
	sum    int64 // see Chooser.share
}

// A hold is what an item has in a room.
type hold struct {
	room  int32
	milli int64
}

// open notes a demand. It reports the first domain that is listed twice.
func (l *ledger) open(d *Demand) (double int32, ok bool) {
	l.on, l.pieces, l.each = d.Pieces > 0, int64(d.Pieces), d.PieceMilli
	l.rooms, l.places, l.holds = l.rooms[:0], l.places[:0], l.holds[:0]
	if !l.on {
		return 0, true
	}
	for _, r := range d.Rooms {
		l.rooms = append(l.rooms, room{domain: r.Domain, region: r.Region, own: r.FreeMilli})
		l.places = append(l.places, region{number: r.Region})
	}
	slices.SortFunc(l.rooms, func(a, b room) int { return cmp.Compare(a.domain, b.domain) })
	slices.SortFunc(l.places, func(a, b region) int { return cmp.Compare(a.number, b.number) })
	l.places = slices.CompactFunc(l.places, func(a, b region) bool { return a.number == b.number })
	for i := range l.rooms {
		r := &l.rooms[i]
		if i > 0 && l.rooms[i-1].domain == r.domain {
			return r.domain, false
		}
		at, _ := slices.BinarySearchFunc(l.places, r.region, func(p region, number int32) int { return cmp.Compare(p.number, number) })
		r.region = int32(at)
	}
	return 0, true
}

// list notes what an item has in rooms.
func (l *ledger) list(it *item, candidate *Candidate) {
	it.heldFrom = int32(len(l.holds))
	if l.on {
		for i, domain := range candidate.Domains {
			at, found := slices.BinarySearchFunc(l.rooms, domain, func(r room, domain int32) int { return cmp.Compare(r.domain, domain) })
			if found && candidate.Held[i] > 0 {
				l.holds = append(l.holds, hold{int32(at), candidate.Held[i]})
			}
		}
	}
	it.heldTo = int32(len(l.holds))
}

// begin makes what some items would give the base.
func (l *ledger) begin(lists ...[]item) {
	for i := range l.rooms {
		l.rooms[i].base = l.rooms[i].own
	}
	for i := range l.places {
		l.places[i].base = 0
	}
	for _, r := range l.rooms {
		l.places[r.region].base += l.piecesIn(r.own)
	}
	l.clear()
	for _, items := range lists {
		l.add(items)
	}
	for i := range l.rooms {
		l.rooms[i].base = l.rooms[i].free
	}
	for i := range l.places {
		l.places[i].base = l.places[i].pieces
	}
}

// clear forgets what is entered beside the base.
func (l *ledger) clear() {
	l.met = 0
	for i := range l.rooms {
		l.rooms[i].free = l.rooms[i].base
	}
	for i := range l.places {
		p := &l.places[i]
		if p.pieces = p.base; p.pieces >= l.pieces {
			l.met++
		}
	}
}

// add enters what items would give, and reports whether the demand is met.
func (l *ledger) add(items []item) bool {
	for i := range items {
		for _, h := range l.holds[items[i].heldFrom:items[i].heldTo] {
			l.shift(h.room, h.milli)
		}
	}
	return l.met > 0
}

// drop undoes add for one item.
func (l *ledger) drop(it *item) {
	for _, h := range l.holds[it.heldFrom:it.heldTo] {
		l.shift(h.room, -h.milli)
	}
}

func (l *ledger) shift(at int32, milli int64) {
	r := &l.rooms[at]
	before := l.piecesIn(r.free)
	r.free += milli
	more := l.piecesIn(r.free) - before
	if more == 0 {
		return
	}
	p := &l.places[r.region]
	enough := p.pieces >= l.pieces
	p.pieces += more
	switch now := p.pieces >= l.pieces; {
	case now && !enough:
		l.met++
	case enough && !now:
		l.met--
	}
}

// piecesIn is how many pieces an amount has, as far as they count.
func (l *ledger) piecesIn(milli int64) int64 { return min(milli/l.each, l.pieces) }
