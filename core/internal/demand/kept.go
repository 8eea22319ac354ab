package demand

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
)

// Kept is what one place for a member with a claim keeps that another takes: how many more of each
// typical kind fit by themselves, negative for fewer, what is worth the most first. A place is a
// stock, and for a share what its GPU has left.
func (d *Demand) Kept(c *gang.Claim, at *gang.Stock, left int16, instead *gang.Stock, insteadLeft int16) []berth.KeptRoom {
	counts := make([]int64, len(d.outlook.typical))
	add := func(s *gang.Stock, left int16, sign int64) {
		from := d.leftoverOf(s)
		for _, t := range d.after(c, from, left).takes {
			if int(t.kind) < len(counts) {
				counts[t.kind] += sign * int64(t.count)
			}
		}
		for _, t := range from.takes {
			if int(t.kind) < len(counts) {
				counts[t.kind] -= sign * int64(t.count)
			}
		}
	}
	add(at, left, 1)
	add(instead, insteadLeft, -1)
	var kinds []int
	for i, count := range counts {
		if count != 0 {
			kinds = append(kinds, i)
		}
	}
	worth := func(i int) int64 { return max(counts[i], -counts[i]) * d.prices[i] }
	slices.SortStableFunc(kinds, func(a, b int) int { return cmp.Compare(worth(b), worth(a)) })
	var list []berth.KeptRoom
	for _, i := range kinds {
		k := &d.outlook.kinds[i]
		list = append(list, berth.KeptRoom{Claim: values.CloneClaim(k.Claim), Selector: values.CloneSelector(k.Selector), Members: counts[i]})
	}
	return list
}

// Knows reports whether anything is expected.
func (d *Demand) Knows() bool { return len(d.outlook.typical) > 0 }
