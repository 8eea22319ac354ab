package demand

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/quota"
)

// A Saved is how a demand is saved.
type Saved struct {
	// Kinds that were asked for, and how many members since the mix was looked at; the next time
	// is when there are Next.
	Kinds []Kind `json:"kinds,omitempty"`
	Since int64  `json:"since,omitempty"`
	Next  int64  `json:"next,omitempty"`
	// Typical are the kinds that are expected, of a mix of so much Time.
	Typical []PricedKind `json:"typical,omitempty"`
	Time    int64        `json:"time,omitempty"`
	// Free is what was free at the prices, and Changed what changed since, by the names that
	// quotas have for GPUs and resources of hosts; what is absent is nought.
	Free    quota.Amounts `json:"free,omitempty"`
	Changed quota.Amounts `json:"changed,omitempty"`
}

// A PricedKind is a typical kind, and what one more of it is worth: alone and in company.
type PricedKind struct {
	Kind
	Alone   int64 `json:"alone,omitempty"`
	Company int64 `json:"company,omitempty"`
}

// Save returns what a demand goes by.
func (d *Demand) Save() *Saved {
	s := &Saved{
		Kinds: slices.Clone(d.mix.kinds), Since: d.mix.since, Next: d.mix.next,
		Time: d.outlook.time, Free: d.free.save(), Changed: d.changed.save(),
	}
	kinds := d.outlook.kinds
	for i := range kinds {
		s.Typical = append(s.Typical, PricedKind{kinds[i], d.prices[i], d.prices[len(kinds)+i]})
	}
	return s
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
	if len(s.Typical) > maxKinds {
		return invalid("demand.typical", fmt.Sprintf("there are more than %d", maxKinds))
	}
	typical, alone, company, time := []Kind(nil), []int64(nil), []int64(nil), int64(0)
	for i := range s.Typical {
		k := &s.Typical[i]
		if _, bad := k.group("typical", i); bad != nil {
			return bad
		}
		if min(k.Alone, k.Company) < 0 || max(k.Alone, k.Company) > maxPrice {
			return invalid(errtext.Index("demand.typical", i), fmt.Sprintf("a price is not within 0 and %d", int64(maxPrice)))
		}
		typical, alone, company, time = append(typical, k.Kind), append(alone, k.Alone), append(company, k.Company), time+k.Time
	}
	if time > s.Time || s.Time > maxTime {
		return invalid("demand.time", fmt.Sprintf("is %d, of a mix of which %d are typical", s.Time, time))
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
	d.outlook.expect(typical, s.Time)
	d.leftovers.begin()
	d.prices = append(alone, company...)
	d.free, d.changed = free, changed
	d.number++
	return nil
}

// save is an amount by name; nil: it is nothing.
func (a *amount) save() quota.Amounts {
	if *a == (amount{}) {
		return nil
	}
	saved := quota.Amounts{quota.GPUMilli: a.gpu}
	for r, n := range a.host {
		saved[quota.HostOf(countable.Resource(r))] = n
	}
	return saved
}

// maxAmount is more than any fleet has, and no sum with it overflows.
const maxAmount = 1 << 58

func restoreAmount(name string, saved quota.Amounts) (a amount, bad *berth.Error) {
	for _, r := range slices.Sorted(maps.Keys(saved)) {
		n, field := saved[r], fmt.Sprintf("demand.%s[%q]", name, errtext.Short(string(r)))
		if n < 0 || n > maxAmount {
			return a, invalid(field, fmt.Sprintf("%d is not within 0 and %d", n, int64(maxAmount)))
		}
		if host, ok := r.Host(); ok {
			a.host[host] = n
		} else if r == quota.GPUMilli {
			a.gpu = n
		} else {
			return a, invalid(field, "is neither of GPUs nor a resource of hosts")
		}
	}
	return a, nil
}

// group is what a saved kind is of.
func (k *Kind) group(list string, i int) (*berth.Group, *berth.Error) {
	field := errtext.Index("demand."+list, i)
	if bad := spec.CheckClaim(&k.Claim, berth.ClassBatch, nil); bad != nil {
		return nil, refusal.In(bad, field+".claim")
	}
	if bad := spec.CheckSelector(&k.Selector); bad != nil {
		return nil, refusal.In(bad, field+".selector")
	}
	if k.Claim.WantsInstance() || k.Weight < 1 || k.Weight > maxTotal || k.Timed < 0 || k.Timed > k.Weight ||
		k.Time < k.Timed || k.Time > k.Timed*longest {
		return nil, invalid(field, "it is for an instance, or its weight, timed or time is out of range")
	}
	return &berth.Group{Members: 1, Claim: k.Claim, Selector: k.Selector}, nil
}

func invalid(field, reason string) *berth.Error { return refusal.Of(berth.ErrInvalid, field, reason) }
