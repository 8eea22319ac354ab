package quota

import (
	"fmt"
	"slices"
)

// Check works out all shares anew, and compares what is kept of them. It is for tests. O(queues),
// as All.
func (s *Shares) Check() error {
	if s.stale() {
		return nil // the next call works out everything
	}
	fresh := Shares{tree: s.tree, resource: s.resource, unit: s.unit, untilted: s.untilted, demand: s.demand}
	fresh.refresh()
	for i, w := range fresh.wants {
		if s.wants[i] != w {
			return fmt.Errorf("quota: check: %q wants %+v, and is said to want %+v", s.tree.Name(QueueIndex(i)), w, s.wants[i])
		}
	}
	for _, f := range [...]struct {
		is, anew *filling
		of       func(*level, QueueIndex) int64
	}{{&s.fair, &fresh.fair, fresh.fairOf}, {&s.promised, &fresh.promised, fresh.guaranteedOf}} {
		for i, current := range f.is.current {
			l := f.is.levels[i]
			if current && l != fresh.fill(QueueIndex(i), l.amount) {
				return fmt.Errorf("quota: check: %q is said to divide %d as %+v", s.tree.Name(QueueIndex(i)), l.amount, l)
			}
		}
		f.anew.amount = f.is.amount
		if f.is.swept && f.is.all[RootQueue] == f.is.amount && !slices.Equal(f.is.all, fresh.divide(nil, f.anew, f.of)) {
			return fmt.Errorf("quota: check: %v is said to be divided of %d", f.is.all, f.is.amount)
		}
	}
	return nil
}
