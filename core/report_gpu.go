package core

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
)

// countDivided counts the divided GPUs of a node, and returns the thousandths that are free
// on one of them.
func (c *Core) countDivided(n *node, gpu int, tables map[string]*berth.DividedCount) (free int64) {
	l := n.table.lattice
	count := tables[n.spec.GPUs[0].Table]
	if count == nil {
		count = &berth.DividedCount{Table: n.spec.GPUs[0].Table, Instances: make([]berth.InstanceCount, l.Profiles())}
		tables[count.Table] = count
	}
	count.GPUs++
	division, exist, held := c.fleet.Divided(n.index, gpu)
	open := !n.closed() && c.fleet.Healthy(n.index, gpu)
	for p := range count.Instances {
		profile, _ := l.Profile(p)
		i := &count.Instances[p]
		i.Profile = profile.Name.String()
		i.Held += l.Instances(held, p)
		switch {
		case !open:
		case division == gang.PerClaim:
			i.Free += l.Free(held, p)
		default:
			i.Free += l.Instances(exist, p) - l.Instances(held, p)
		}
	}
	switch {
	case !open:
		return 0
	case division == gang.PerClaim:
		return 1000 - n.table.milliOf(held)
	}
	return n.table.milliOf(exist) - n.table.milliOf(held)
}

func dividedCounts(tables map[string]*berth.DividedCount) []berth.DividedCount {
	var list []berth.DividedCount
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		list = append(list, *tables[name])
	}
	return list
}
