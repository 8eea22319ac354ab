// Package demand knows what the fleet is asked for, and what it costs to take room from that.
package demand

import (
	"math/bits"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// A Demand keeps as much room as it can for what is expected, and the more so the less of it there
// is: a member goes where the fleet loses the least of
//
//	sum over the typical kinds of demand × (log alone + log company)
//
// demand is how much of the GPU time the kind is asked for, where a member that states no run time
// counts as the mean of the others; alone is how many of it would fit on the nodes if nothing else
// came, and company how many of them the nodes would take if all kinds came. For the latter each
// node is filled with 60 sequences of 30 members of the mix, each by itself and the same for all
// nodes, a share on the GPU on which it leaves the least. Typical are the kinds that are asked for
// most and together make up 95 % of the members.
//
// How much room the fleet has for a kind counts, not how much a node has, and the logarithm makes
// the last places the dearest. So a kind that few nodes suit keeps these nodes for as long as
// others go where there is more, and nobody has to say which kinds those are; room for a kind that
// fits everywhere costs next to nothing. It is proportional fairness among the kinds (Kelly,
// Maulloo and Tan, Journal of the Operational Research Society 49, 1998). Where all places lose
// the same, as on a fleet that is asked for single GPUs alone, the rule of package gang decides.
//
// What room for one more of a kind is worth, its price, stands until a part of what was free has
// changed hands, or more has become known of the mix. So prices are state: they are saved. They
// change when something is submitted, held or released, and never while places are compared, so
// that a plan may imagine what it likes.
//
// Its invariants:
//
//  1. There are at most maxKinds kinds, none twice, each of some weight; total is the sum of these.
//  2. There are two prices for each typical kind: alone, and in company.
type Demand struct {
	fleet *gang.Fleet
	keyOf func(topology.NodeClass) hardware.Key

	mix       mix
	outlook   outlook
	leftovers leftovers
	prices    []int64 // by what a take counts
	number    uint32  // of the prices
	// What was free at these prices, and what changed since.
	free, changed amount
	sums          []int64
	left          []int16
}

// An amount is of GPUs in thousandths and of the host.
type amount struct {
	gpu  int64
	host countable.Amounts
}

// New returns a demand for nothing, on a fleet with classes that have these keys.
func New(fleet *gang.Fleet, keyOf func(topology.NodeClass) hardware.Key) *Demand {
	d := &Demand{fleet: fleet, keyOf: keyOf, mix: newMix()}
	d.look()
	return d
}

// Submitted counts the members of so many gangs, each of which runs for so long; 0: nobody knows.
func (d *Demand) Submitted(groups []berth.Group, gangs int, runtime berth.Duration) {
	for i := range groups {
		many := min(int64(groups[i].Members)*int64(gangs), maxOnce)
		timed := many
		if runtime == 0 {
			timed = 0
		}
		d.mix.add(&groups[i], many, timed, timed*min(max(int64(runtime/berth.Second), 1), longest))
	}
	if d.mix.since >= d.mix.next && d.mix.since > 0 {
		d.mix.age()
		d.look()
	}
}

// Changed notes that something is held, or released.
func (d *Demand) Changed(h *gang.Hold) {
	switch {
	case h.Share.Over: // the GPU is another's
	case h.Share.GPUMilli > 0:
		d.changed.gpu += int64(h.Share.GPUMilli)
	default:
		d.changed.gpu += wholeMilli * int64(bits.OnesCount64(h.GPUs))
	}
	d.changed.host.Add(&h.Host)
	if len(d.outlook.typical) > 0 && d.stale() {
		d.price()
	}
}

// repriceParts: prices are found anew when this part of what was free has changed.
const repriceParts = 16

// stale reports whether so much has changed that prices are found anew.
func (d *Demand) stale() bool {
	if d.changed.gpu*repriceParts > d.free.gpu {
		return true
	}
	for r := range d.changed.host {
		if d.changed.host[r]*repriceParts > d.free.host[r] {
			return true
		}
	}
	return false
}

// look takes the mix as it is now for what is expected.
func (d *Demand) look() {
	d.outlook.begin(&d.mix)
	d.leftovers.begin()
	d.price()
}

// price finds the prices: what one more of a typical kind is worth.
func (d *Demand) price() {
	typical := d.outlook.typical
	d.sums = append(d.sums[:0], make([]int64, 2*len(typical))...)
	d.free, d.changed = amount{}, amount{}
	d.fleet.Stocks(func(s *gang.Stock) {
		many := int64(s.Nodes())
		for _, left := range s.Left {
			d.free.gpu += many * int64(left)
		}
		for r, left := range s.Host.Floor() {
			d.free.host[r] += many * left
		}
		for _, t := range d.leftoverOf(s).takes {
			d.sums[t.kind] += many * int64(t.count)
		}
	})
	d.prices = d.prices[:0]
	for i := range d.sums {
		one := int64(1) // of the unit in which the sum counts
		if i >= len(typical) {
			one = fills
		}
		d.prices = append(d.prices, min(typical[i%len(typical)].demand/(d.sums[i]+one), maxPrice))
	}
	d.number++
}

// Version changes with the prices.
func (d *Demand) Version() uint32 { return d.number }

// Loss is what is lost by a member with a claim on a node with a stock, a share on a GPU with so
// much left.
func (d *Demand) Loss(c *gang.Claim, s *gang.Stock, left int16) int64 {
	if len(d.outlook.typical) == 0 {
		return 0
	}
	from := d.leftoverOf(s)
	return d.worth(from) - d.worth(d.after(c, from, left))
}

// after is what a leftover comes to with a member with a claim.
func (d *Demand) after(c *gang.Claim, from *leftover, left int16) *leftover {
	d.left = append(d.left[:0], from.left...)
	switch milli := int16(c.Share.GPUMilli); {
	case milli > 0:
		i := 0
		for d.left[i] < left {
			i++
		}
		for ; i > 0 && d.left[i-1] > left-milli; i-- {
			d.left[i] = d.left[i-1]
		}
		d.left[i] = left - milli
	case c.GPUs > 0:
		rest := len(d.left) - c.GPUs
		copy(d.left[c.GPUs:], d.left[:rest])
		clear(d.left[:c.GPUs])
	}
	return d.find(from.model, from.host.Minus(c.Host), d.left)
}

// worth is what a leftover is worth.
func (d *Demand) worth(s *leftover) int64 {
	if s.priced != d.number {
		s.priced, s.worth = d.number, 0
		for _, t := range s.takes {
			s.worth += d.prices[t.kind] * int64(t.count)
		}
	}
	return s.worth
}
