package main

import (
	"cmp"
	"slices"
)

// sweeps over the rows; the order seldom gets better after a handful.
const sweeps = 24

// untangle orders the sets of each row so that few steps cross.
//
// The method is that of Sugiyama, Tagawa and Toda, "Methods for visual understanding of
// hierarchical system structures", IEEE Transactions on Systems, Man, and Cybernetics
// 11 (1981): sweep over the rows, downward and upward in turn, and order each row by
// the mean position (the barycentre) of the neighbours in the row before it. After
// each sweep neighbours change places while that removes crossings, as Gansner et al.
// do in "A technique for drawing directed graphs" (1993). The best order met is kept.
// There are no long edges here, so none of the dummy nodes that the source needs.
//
// Means are compared as fractions, and equal ones keep their order, so that the result
// is the same everywhere. Complexity: each sweep counts the crossings of each pair of
// rows once for each exchange that it tries, in time quadratic in the steps between.
func untangle(rows [][]*set) {
	above := neighbours(rows)
	best, fewest := snapshot(rows), crossingsOf(rows)
	for sweep := range sweeps {
		if sweep%2 == 0 {
			for i := 1; i < len(rows); i++ {
				place := positions(rows[i-1])
				sortByMean(rows[i], func(s *set) []int { return placesOf(above[s], place) })
			}
		} else {
			for i := len(rows) - 2; i >= 0; i-- {
				place := positions(rows[i+1])
				sortByMean(rows[i], func(s *set) []int { return placesOf(s.next(), place) })
			}
		}
		exchange(rows)
		if n := crossingsOf(rows); n < fewest {
			best, fewest = snapshot(rows), n
		}
	}
	for i := range rows {
		copy(rows[i], best[i])
	}
}

// next returns the sets that one creation leads to.
func (s *set) next() []*set {
	var list []*set
	for _, t := range s.steps {
		list = append(list, t.to)
	}
	return list
}

// neighbours returns for each set those in the row above from which a step leads to it.
func neighbours(rows [][]*set) map[*set][]*set {
	above := map[*set][]*set{}
	for _, row := range rows {
		for _, s := range row {
			for _, t := range s.next() {
				above[t] = append(above[t], s)
			}
		}
	}
	return above
}

func positions(row []*set) map[*set]int {
	place := make(map[*set]int, len(row))
	for i, s := range row {
		place[s] = i
	}
	return place
}

func placesOf(sets []*set, place map[*set]int) []int {
	var list []int
	for _, s := range sets {
		list = append(list, place[s])
	}
	return list
}

// sortByMean orders a row by the mean of the places of the neighbours. A set without
// any keeps its own place as its mean.
func sortByMean(row []*set, places func(*set) []int) {
	type mean struct{ sum, count int }
	means := map[*set]mean{}
	for i, s := range row {
		m := mean{sum: i, count: 1}
		if list := places(s); len(list) > 0 {
			m = mean{count: len(list)}
			for _, place := range list {
				m.sum += place
			}
		}
		means[s] = m
	}
	slices.SortStableFunc(row, func(a, b *set) int {
		return cmp.Compare(means[a].sum*means[b].count, means[b].sum*means[a].count)
	})
}

// exchange swaps neighbours in a row while that makes fewer steps cross.
func exchange(rows [][]*set) {
	for i, row := range rows {
		for better := true; better; {
			better = false
			for j := 1; j < len(row); j++ {
				before := crossingsAt(rows, i)
				row[j-1], row[j] = row[j], row[j-1]
				if crossingsAt(rows, i) < before {
					better = true
				} else {
					row[j-1], row[j] = row[j], row[j-1]
				}
			}
		}
	}
}

// crossingsAt counts the crossings above and below a row.
func crossingsAt(rows [][]*set, i int) int {
	n := 0
	if i > 0 {
		n += crossings(rows[i-1], rows[i])
	}
	if i+1 < len(rows) {
		n += crossings(rows[i], rows[i+1])
	}
	return n
}

func crossingsOf(rows [][]*set) int {
	n := 0
	for i := 1; i < len(rows); i++ {
		n += crossings(rows[i-1], rows[i])
	}
	return n
}

// crossings counts the pairs of steps between two rows that cross.
func crossings(upper, lower []*set) int {
	place := positions(lower)
	n := 0
	var seen []int // where the steps of the sets further left end
	for _, s := range upper {
		ends := placesOf(s.next(), place)
		for _, end := range ends {
			for _, other := range seen {
				if other > end {
					n++
				}
			}
		}
		seen = append(seen, ends...)
	}
	return n
}

func snapshot(rows [][]*set) [][]*set {
	kept := make([][]*set, len(rows))
	for i := range rows {
		kept[i] = slices.Clone(rows[i])
	}
	return kept
}
