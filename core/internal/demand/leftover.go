package demand

import (
	"encoding/binary"
	"slices"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
)

// A leftover is what a node has left, apart from which node it is, and what that is to typical
// kinds.
type leftover struct {
	outlook uint32 // number of the outlook that it was measured by
	model   int
	host    countable.Amounts
	left    []int16 // of each GPU, in ascending order
	takes   []take
	// worth is at the prices of that number.
	worth  int64
	priced uint32
	// checked is of what Check has measured.
	checked checksum
}

// A take is how many of a typical kind a leftover takes. The first half of the kinds numbers those
// alone, the second half those in company.
type take struct {
	kind, count uint16
}

// maxLeftovers bounds how many leftovers are remembered apart from those of stocks.
const maxLeftovers = 1 << 15

// leftovers are those that were measured.
type leftovers struct {
	outlook uint32
	known   map[string]*leftover
	key     []byte
	counts  []int32
	fits    []bool // by typical kind
	// Of a fill.
	host  countable.Amounts
	whole int
	parts []int16
}

// begin forgets what was measured for another outlook.
func (ss *leftovers) begin() {
	ss.outlook++
	if ss.known == nil {
		ss.known = map[string]*leftover{}
	}
	clear(ss.known)
}

// leftoverOf is the leftover of a stock, which remembers it.
func (d *Demand) leftoverOf(s *gang.Stock) *leftover {
	if found, known := s.Tag.(*leftover); known && found.outlook == d.leftovers.outlook {
		return found
	}
	found := d.find(d.outlook.model(d.keyOf(s.Class)), s.Host, s.Left)
	s.Tag = found
	return found
}

// find returns the leftover with so much left, of which left is in ascending order.
func (d *Demand) find(model int, has countable.Amounts, left []int16) *leftover {
	ss := &d.leftovers
	key := appendLeftover(ss.key[:0], model, has, left)
	ss.key = key
	if s := ss.known[string(key)]; s != nil {
		return s
	}
	if len(ss.known) >= maxLeftovers {
		clear(ss.known)
	}
	s := &leftover{outlook: ss.outlook, model: model, host: has, left: slices.Clone(left)}
	d.measure(s)
	ss.known[string(key)] = s
	return s
}

// appendLeftover appends what a leftover is known by.
func appendLeftover(b []byte, model int, has countable.Amounts, left []int16) []byte {
	b = binary.AppendUvarint(b, uint64(model))
	for _, amount := range has {
		b = binary.AppendVarint(b, amount)
	}
	for _, milli := range left {
		b = binary.LittleEndian.AppendUint16(b, uint16(milli))
	}
	return b
}

// measure finds what a leftover takes of the typical kinds.
func (d *Demand) measure(s *leftover) {
	ss, kinds := &d.leftovers, len(d.outlook.typical)
	ss.counts = append(ss.counts[:0], make([]int32, 2*kinds)...)
	if d.alone(s, ss.counts[:kinds]) {
		d.company(s, ss.counts[kinds:])
	}
	takes := 0
	for _, count := range ss.counts {
		if count > 0 {
			takes++
		}
	}
	s.takes = make([]take, 0, takes)
	for i, count := range ss.counts {
		if count > 0 {
			s.takes = append(s.takes, take{uint16(i), uint16(min(count, maxTake))})
		}
	}
}

// alone counts how many of each typical kind fit by themselves, and notes which kinds fit at all.
// It returns whether one with GPUs does.
func (d *Demand) alone(s *leftover, counts []int32) bool {
	ss, accepts := &d.leftovers, d.outlook.models[s.model].accepts
	whole := 0
	for i := len(s.left) - 1; i >= 0 && s.left[i] == wholeMilli; i-- {
		whole++
	}
	ss.fits = append(ss.fits[:0], make([]bool, len(counts))...)
	some := false
	for i := range d.outlook.typical {
		e := &d.outlook.typical[i]
		fit := int64(1)
		switch {
		case !accepts[i]:
			fit = 0
		case e.milli > 0:
			fit = 0
			for _, milli := range s.left {
				fit += int64(milli / e.milli)
			}
		case e.gpus > 0:
			fit = int64(whole / e.gpus)
		}
		for r, each := range e.host {
			if each > 0 {
				fit = min(fit, max(s.host[r], 0)/each)
			}
		}
		ss.fits[i] = fit > 0
		if fit > 0 && e.device() {
			counts[i], some = int32(fit), true
		}
	}
	return some
}

// company counts how many of each typical kind are taken when the leftover is filled with sequences
// of members, in all of them together. In a sequence each member that fits gets a place, a share on
// the GPU where it leaves the least.
func (d *Demand) company(s *leftover, counts []int32) {
	ss := &d.leftovers
	for _, hand := range d.outlook.models[s.model].hands {
		ss.enter(s)
		for _, i := range hand {
			if ss.fits[i] && ss.put(&d.outlook.typical[i]) {
				counts[i]++
				if ss.whole == 0 && len(ss.parts) == 0 {
					break
				}
			}
		}
	}
}

// enter begins a fill of a leftover.
func (ss *leftovers) enter(s *leftover) {
	ss.host, ss.whole, ss.parts = s.host, 0, ss.parts[:0]
	for _, milli := range s.left {
		switch milli {
		case 0:
		case wholeMilli:
			ss.whole++
		default:
			ss.parts = append(ss.parts, milli)
		}
	}
}

// put gives a member a place in the fill, if there is one.
func (ss *leftovers) put(e *expected) bool {
	for r, each := range e.host {
		if each > ss.host[r] && each > 0 {
			return false
		}
	}
	switch {
	case e.milli > 0:
		if !ss.putShare(e.milli) {
			return false
		}
	case e.gpus > ss.whole:
		return false
	default:
		ss.whole -= e.gpus
	}
	ss.host.Subtract(&e.host)
	return true
}

func (ss *leftovers) putShare(milli int16) bool {
	best := -1
	for i, left := range ss.parts {
		if left >= milli && (best < 0 || left < ss.parts[best]) {
			best = i
		}
	}
	switch {
	case best >= 0 && ss.parts[best] == milli:
		ss.parts[best] = ss.parts[len(ss.parts)-1]
		ss.parts = ss.parts[:len(ss.parts)-1]
	case best >= 0:
		ss.parts[best] -= milli
	case ss.whole > 0:
		ss.whole--
		ss.parts = append(ss.parts, wholeMilli-milli)
	default:
		return false
	}
	return true
}
