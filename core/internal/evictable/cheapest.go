package evictable

import "github.com/berth-sched/berth/quota"

// leastOfTier is that of all replicas of a tier. O(1), and O(places) after some have gone.
func (t *tier) leastOfTier() least {
	if !t.known {
		t.least, t.known = least{fixed: none}, true
		for i := range t.places {
			t.least = t.least.or(t.places[i].least)
		}
	}
	return t.least
}

// LeastOf is what it costs at the least to stop a replica of some queues. O(tiers of these).
func (p *Index) LeastOf(queues []quota.QueueIndex) Least {
	p.Refresh()
	l := Least{fixed: none}
	for _, q := range queues {
		if int(q) >= len(p.byQueue) {
			continue
		}
		for _, t := range p.byQueue[q] {
			of := t.leastOfTier()
			l.fixed = min(l.fixed, of.fixed)
			if of.milli == 0 {
				continue
			}
			for int(t.size) >= len(l.growing) {
				l.growing = append(l.growing, growth{})
			}
			l.growing[t.size] = l.growing[t.size].least(of.growth)
		}
	}
	return l
}
