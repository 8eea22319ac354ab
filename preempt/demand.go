package preempt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A Requirement is a condition without which the beneficiary cannot fit, simple enough to
// reason with: so many pieces of a size, each in one domain, and all of them in one region.
// The search asks fits only about what meets it, begins with what meets it for the least,
// and proves bounds with it. It has to be true: where fits says yes, the demand
// must be met.
type Requirement struct {
	// Members is how many there are, such as the members of a gang, and PieceMilli what each
	// needs in one domain, in thousandths of a GPU. With zero Pieces there is no demand.
	Members     int
	MemberMilli int64
	// Domains are the domains where a piece may be, each once.
	Domains []FreeDomain
}

// MaxGPUMilli is the most that a Demand and what is held in rooms may name, in thousandths of a
// GPU.
const MaxGPUMilli = 1 << 40

// A FreeDomain is a domain where pieces may be.
type FreeDomain struct {
	// Domain is its number among the Domains of candidates.
	Domain int32
	// Region is where all pieces have to be together, such as the leaf that has the
	// domain: a number of the caller's choosing. The same for all where it does not matter.
	Region int32
	// FreeMilli is what is free there without any victim.
	FreeMilli int64
}

func (d *Requirement) check(candidates []Candidate) error {
	switch {
	case d.Members < 0:
		return &Error{Index: -1, Field: "requirement.members", Reason: fmt.Sprintf("is negative: %d", d.Members)}
	case d.Members == 0:
		return nil
	case d.Members > math.MaxInt32:
		return &Error{Index: -1, Field: "requirement.members", Reason: fmt.Sprintf("is above %d: %d", math.MaxInt32, d.Members)}
	case d.MemberMilli <= 0 || d.MemberMilli > MaxGPUMilli:
		return &Error{Index: -1, Field: "requirement.memberMilli", Reason: fmt.Sprintf("is not within 1 and %d: %d", int64(MaxGPUMilli), d.MemberMilli)}
	}
	for i := range d.Domains {
		if free := d.Domains[i].FreeMilli; free < 0 || free > MaxGPUMilli {
			return &Error{Index: -1, Field: "requirement.domains[" + strconv.Itoa(i) + "].freeMilli", Reason: fmt.Sprintf("is not within 0 and %d: %d", int64(MaxGPUMilli), free)}
		}
	}
	for i := range candidates {
		k := &candidates[i]
		for _, milli := range k.HeldMilli {
			if milli < 0 || milli > MaxGPUMilli {
				return &Error{Candidate: k.ID, Index: i, Field: "heldMilli", Reason: fmt.Sprintf("is not within 0 and %d: %d", int64(MaxGPUMilli), milli)}
			}
		}
		if len(k.HeldMilli) != len(k.Domains) {
			return &Error{Candidate: k.ID, Index: i, Field: "heldMilli", Reason: fmt.Sprintf("has %d amounts for %d domains", len(k.HeldMilli), len(k.Domains))}
		}
	}
	return nil
}

// A ledger counts whether a demand is met. What goes is entered beside a base.
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
	own    int64 // free without any victim
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
func (l *ledger) open(d *Requirement) (double int32, ok bool) {
	l.on, l.pieces, l.each = d.Members > 0, int64(d.Members), d.MemberMilli
	l.rooms, l.places, l.holds = l.rooms[:0], l.places[:0], l.holds[:0]
	if !l.on {
		return 0, true
	}
	for _, r := range d.Domains {
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
			if found && candidate.HeldMilli[i] > 0 {
				l.holds = append(l.holds, hold{int32(at), candidate.HeldMilli[i]})
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
