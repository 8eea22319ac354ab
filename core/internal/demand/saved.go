package demand

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
)

// A Saved is how a demand is saved.
type Saved struct {
	// Kinds that were asked for, and how many members since the mix was looked at; the next time
	// is when there are Next.
	Kinds []Kind `json:"kinds,omitempty"`
	Since int64  `json:"since,omitempty"`
	Next  int64  `json:"next,omitempty"`
	// Typical are the kinds that are expected, of a mix of so much Time, and Prices what one more
	// of each is worth, alone and then in company.
	Typical []Kind  `json:"typical,omitempty"`
	Time    int64   `json:"time,omitempty"`
	Prices  []int64 `json:"prices,omitempty"`
	// Free is what was free at these prices, and Changed what changed since: of GPUs in
	// thousandths, then of hosts by resource; empty: nothing.
	Free    []int64 `json:"free,omitempty"`
	Changed []int64 `json:"changed,omitempty"`
}

// Save returns what a demand goes by.
func (d *Demand) Save() *Saved {
	return &Saved{
		Kinds: slices.Clone(d.mix.kinds), Since: d.mix.since, Next: d.mix.next,
		Typical: slices.Clone(d.outlook.kinds), Time: d.outlook.time, Prices: slices.Clone(d.prices),
		Free: d.free.save(), Changed: d.changed.save(),
	}
}

// Restore takes back what was saved, on a fleet that is as it was.
func (d *Demand) Restore(s *Saved) *berth.Error {
	if s == nil {
		return nil
	}
	m := mix{since: s.Since, next: s.Next, byKey: map[string]int{}}
	for i := range s.Kinds {
		k := &s.Kinds[i]
		group, bad := k.group("kinds", i)
		if bad != nil {
			return bad
		}
		if m.add(group, k.Weight, k.Timed, k.Time); len(m.kinds) != i+1 {
			return invalid(errtext.Index("demand.kinds", i), "it is there twice, or one of too many")
		}
	}
	time := int64(0)
	for i := range s.Typical {
		if _, bad := s.Typical[i].group("typical", i); bad != nil {
			return bad
		}
		time += s.Typical[i].Time
	}
	switch {
	case len(s.Typical) > maxKinds:
		return invalid("demand.typical", fmt.Sprintf("there are more than %d", maxKinds))
	case time > s.Time || s.Time > maxTime:
		return invalid("demand.time", fmt.Sprintf("is %d, of a mix of which %d are typical", s.Time, time))
	case len(s.Prices) != 2*len(s.Typical):
		return invalid("demand.prices", fmt.Sprintf("there are %d for %d kinds", len(s.Prices), len(s.Typical)))
	}
	for i, price := range s.Prices {
		if price < 0 || price > maxPrice {
			return invalid(errtext.Index("demand.prices", i), fmt.Sprintf("%d is not within 0 and %d", price, int64(maxPrice)))
		}
	}
	if s.Since < 0 || s.Next < 0 {
		return invalid("demand.since", "it is negative, or next is")
	}
	free, bad := restoreAmount("free", s.Free)
	if bad != nil {
		return bad
	}
	changed, bad := restoreAmount("changed", s.Changed)
	if bad != nil {
		return bad
	}
	m.since, m.next = s.Since, s.Next
	d.mix = m
	d.outlook.expect(s.Typical, s.Time)
	d.leftovers.begin()
	d.prices = s.Prices
	d.free, d.changed = free, changed
	d.number++
	return nil
}

// save lists an amount; nil: it is nothing.
func (a *amount) save() []int64 {
	if *a == (amount{}) {
		return nil
	}
	return append([]int64{a.gpu}, a.host[:]...)
}

// maxAmount is more than any fleet has, and no sum with it overflows.
const maxAmount = 1 << 58

func restoreAmount(name string, saved []int64) (a amount, bad *berth.Error) {
	if len(saved) == 0 {
		return a, nil
	}
	if len(saved) != 1+len(a.host) {
		return a, invalid("demand."+name, fmt.Sprintf("there are %d numbers, not %d", len(saved), 1+len(a.host)))
	}
	for i, n := range saved {
		if n < 0 || n > maxAmount {
			return a, invalid(errtext.Index("demand."+name, i), fmt.Sprintf("%d is not within 0 and %d", n, int64(maxAmount)))
		}
	}
	a.gpu = saved[0]
	copy(a.host[:], saved[1:])
	return a, nil
}

// group is what a saved kind is of.
func (k *Kind) group(list string, i int) (*berth.Group, *berth.Error) {
	field := errtext.Index("demand."+list, i)
	if bad := refusal.From(k.Claim.Check(berth.ClassBatch)); bad != nil {
		return nil, refusal.In(bad, field+".claim")
	}
	if bad := refusal.From(k.Selector.Check()); bad != nil {
		return nil, refusal.In(bad, field+".selector")
	}
	if k.Claim.WantsInstance() || k.Weight < 1 || k.Weight > maxTotal || k.Timed < 0 || k.Timed > k.Weight ||
		k.Time < k.Timed || k.Time > k.Timed*longest {
		return nil, invalid(field, "it is for an instance, or its weight, timed or time is out of range")
	}
	return &berth.Group{Members: 1, Claim: k.Claim, Selector: k.Selector}, nil
}

func invalid(field, reason string) *berth.Error { return refusal.Of(berth.ErrInvalid, field, reason) }
