package record

import (
	"github.com/berth-sched/berth/gang"
)

// A Piece of a replica has to go: some of the members that it has above its minimum, and
// the gang goes on without them; or all of it.
//
// What is above the minimum is there for as long as nobody else needs the place. It goes
// without a checkpoint, as the gang does not lose its work with it, and whether or not the
// gang has run for its minimum run time. It goes in units, which are whole widest segments
// where there are any, so that what is left keeps its topology: no required level and no
// segment is broken by leaving one out, and what is spread or on aligned rails has nothing
// above its minimum.
type Piece struct {
	Rep *Replica
	// Flats are the members that go, by flat index, in order; nil: the whole replica.
	Flats []int
}

// Whole reports whether all of the replica goes.
func (p Piece) Whole() bool { return p.Flats == nil }

// IsSized reports whether it is a whole replica that the sizes of its queue count, with some GPUs.
func (p Piece) IsSized() bool { return p.Whole() && p.Rep.RunsMilli > 0 }

// EachHold calls a function for everything that a part holds.
func (p Piece) EachHold(use func(*gang.Hold, *Node)) {
	if p.Whole() {
		p.Rep.EachHold(use)
		return
	}
	for _, flat := range p.Flats {
		m := &p.Rep.Members[flat]
		use(&m.Hold, m.Node)
	}
}

// GPUMilli is what a part is charged of GPUs, in thousandths.
func (p Piece) GPUMilli() int64 {
	milli := int64(0)
	p.EachHold(func(h *gang.Hold, n *Node) { milli += ChargeOf(h, n).GPUMilli })
	return milli
}

// Imagine notes whether a part is imagined gone.
func (p Piece) Imagine(gone bool) {
	if p.Whole() {
		p.Rep.Imagined = gone
	}
	for _, flat := range p.Flats {
		p.Rep.Members[flat].Imagined = gone
	}
}
