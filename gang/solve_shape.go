package gang

// shape finds the limits for what is spread or even, and leaves the tables of the best
// run: first the fewest domains for all groups that are balanced, then for each of
// them, in order, the largest least number and the smallest largest one, and then
// the least cost.
func (f *Fleet) shape() (int64, bool) {
	v := &f.search.solver
	best, ok := f.spreads(0)
	if !ok || best == never {
		return best, ok
	}
	used := best / v.usedUnit
	for i := range v.groups {
		even := &v.groups[i].even
		if even.level == 0 {
			continue
		}
		// Fewer limits allow all that more of them do, so both can be bisected.
		for low, high := even.least, even.most+1; high-low > 1; {
			even.least = (low + high) / 2
			cost, ok := f.spreads(0)
			if !ok {
				return never, false
			}
			if cost != never && cost/v.usedUnit == used {
				low = even.least
			} else {
				high = even.least
			}
			even.least = low
		}
		for low, high := even.least-1, even.most; high-low > 1; {
			even.most = (low + high) / 2
			cost, ok := f.spreads(0)
			if !ok {
				return never, false
			}
			if cost != never && cost/v.usedUnit == used {
				high = even.most
			} else {
				low = even.most
			}
			even.most = high
		}
	}
	return f.spreads(0)
}

// spreads tries the least numbers of the groups that are spread, from one group on,
// and leaves the tables of the cheapest.
func (f *Fleet) spreads(from int) (int64, bool) {
	v := &f.search.solver
	for from < len(v.groups) && v.groups[from].spread.level == 0 {
		from++
	}
	if from == len(v.groups) {
		return f.run()
	}
	g := &v.groups[from]
	spread := &f.search.request.Groups[g.group]
	best, choice := int64(never), -1
	last := -1
	for least := 0; least <= g.total; least++ {
		g.spread.least, g.spread.most = least, least+spread.MaxSkew
		cost, ok := f.spreads(from + 1)
		if !ok {
			return never, false
		}
		last = least
		if cost < best {
			best, choice = cost, least
		}
		if cost == never && choice >= 0 {
			break
		}
	}
	if choice >= 0 && choice != last {
		g.spread.least, g.spread.most = choice, choice+spread.MaxSkew
		return f.spreads(from + 1)
	}
	return best, true
}
