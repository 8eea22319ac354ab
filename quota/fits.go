package quota

import "math"

// Fits reports whether queue i and all above it would stay within their limits
// and borrowing limits if c were charged, and would leave free what is kept for
// queues that do not lend all of their guarantee. If not, the verdict names the
// first limit in the way: from the queue upwards, and at each queue GPUs in all,
// GPUs of the product, the resources of hosts; before all of them the guarantee of the
// queue, for what is never reclaimed. A limit that is exceeded already is
// not in the way of a charge that takes nothing of that resource. In what is no queue
// nothing fits, nor do amounts beyond MaxAmount or GPUs of a product that the tree does
// not have; the verdict has None then.
//
// The capacity of the fleet by itself refuses nothing: whether there is room is for
// the placement. It counts only where some of it is kept.
//
// O(depth), without allocation.
func (t *Tree) Fits(i QueueIndex, c Charge) (Verdict, bool) {
	var buffer [2]Verdict // judge may find two at once
	if found := t.inTheWay(buffer[:0], i, &c, 1); len(found) > 0 {
		return found[0], false
	}
	return Verdict{}, true
}

// InTheWay lists all that is in the way, in the order in which Fits looks: if
// each of it were changed by what its verdict says, and nothing else, c would fit.
// What is kept below a limit is a verdict of its own only where that limit leaves
// enough room without it. The list is in the buffer, if that is large enough, and
// empty if c fits. O(depth).
func (t *Tree) InTheWay(buffer []Verdict, i QueueIndex, c Charge) []Verdict {
	return t.inTheWay(buffer[:0], i, &c, math.MaxInt)
}

// inTheWay ends when it has found enough.
func (t *Tree) inTheWay(found []Verdict, i QueueIndex, c *Charge, enough int) []Verdict {
	var buffer [maxParts]part
	parts := c.split(&buffer)
	if !t.live(i) || !t.knows(c) || huge(parts) {
		return append(found, Verdict{At: NoQueue})
	}
	if n := &t.nodes[i]; c.NonPreemptible && c.GPUMilli > 0 {
		if most := n.host[gpuID].promised(); c.GPUMilli > most-n.nonPreemptible {
			v := Verdict{At: i, Resource: GPUMilli, Limit: most, Used: n.nonPreemptible, Asked: c.GPUMilli, Kind: VerdictNonPreemptible}
			if found = append(found, v); len(found) >= enough {
				return found
			}
		}
	}
	var more [maxParts]int64 // what the queue below takes out of this one's reach
	for k := range parts {
		more[k] = parts[k].amount
	}
	for ; i != NoQueue; i = t.nodes[i].parent {
		for k := range parts {
			p := &parts[k]
			if p.amount <= 0 {
				continue
			}
			a := t.nodes[i].look(p.resource)
			if a == nil { // of a product that nobody here speaks of
				continue
			}
			var kept int64
			if kept, more[k] = a.keptAfter(p.amount, more[k]); more[k] <= 0 {
				kept = 0 // it takes only what was kept for it
			}
			if most := a.ceiling(); most == unset || p.amount+kept <= most-a.used || i == RootQueue && kept == 0 {
				continue
			}
			if found = t.judge(found, i, *p, kept); len(found) >= enough {
				return found
			}
		}
	}
	return found
}

// judge adds what is in the way of one part of a charge at one queue, where the
// lowest of its limits is.
func (t *Tree) judge(found []Verdict, i QueueIndex, p part, kept int64) []Verdict {
	a := t.nodes[i].look(p.resource)
	v := Verdict{At: i, Resource: t.names[p.resource], Used: a.used, Asked: p.amount, Withheld: kept}
	limit := func(most int64, kind VerdictKind) Verdict {
		v.Limit, v.Kind = most, kind
		return v
	}
	most := a.ceiling()
	if i == RootQueue || p.amount <= most-a.used {
		return append(found, limit(most, VerdictLendingLimit))
	}
	if a.limit == most {
		found = append(found, limit(most, VerdictLimit))
	}
	if a.borrowing != unset {
		if borrowing := a.promised() + a.borrowing; p.amount > borrowing-a.used {
			found = append(found, limit(borrowing, VerdictBorrowingLimit))
		}
	}
	if a.limit > most && p.amount > a.limit-a.used {
		found = append(found, limit(a.limit, VerdictLimit))
	}
	return found
}
