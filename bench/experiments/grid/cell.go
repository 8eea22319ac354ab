package grid

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A cell is one kind of fleet with one kind of work: an index into each of the dimensions.
type cell [len(dimensions)]int

// A dimension is what cells differ in, and what a cell may be there.
type dimension struct {
	name   string
	values []string
}

// The dimensions, by their place in a cell.
const (
	fleet = iota
	topology
	load
	known
	checkpoints
	shares
)

var dimensions = [...]dimension{
	fleet:       {"nodes", []string{"8", "32", "125", "500"}},
	topology:    {"topology", []string{"flat", "leaves"}},
	load:        {"load, %", []string{"60", "75", "90", "110"}},
	known:       {"run times", []string{"exact", "limits", "24 h", "72 h", "none"}},
	checkpoints: {"checkpoints", []string{"none", "half", "all"}},
	shares:      {"shares", []string{"one queue", "equal", "guaranteed"}},
}

// is is what a cell is in a dimension.
func (c cell) is(d int) string { return dimensions[d].values[c[d]] }

// number is a value that is one.
func (c cell) number(d int) (n int) {
	if _, err := fmt.Sscan(c.is(d), &n); err != nil {
		panic(err)
	}
	return n
}

// name tells a cell from all others.
func (c cell) name() string {
	var parts []string
	for d := range dimensions {
		parts = append(parts, c.is(d))
	}
	return strings.Join(parts, ", ")
}

// cells draws some of all cells, always the same, and more go on from fewer. Each next one is that
// in which the pairs of values of two dimensions have come least often so far; so after some
// dozens every pair has come, and all about as often as each other.
func cells(many int) []cell {
	all := []cell{{}}
	for d := range dimensions {
		var longer []cell
		for _, c := range all {
			for v := range dimensions[d].values {
				c[d] = v
				longer = append(longer, c)
			}
		}
		all = longer
	}
	random := rand.New(rand.NewPCG(1, 1))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	came := map[[4]int]float64{}
	pairs := func(c cell, visit func(pair [4]int)) {
		for a := range c {
			for b := range a {
				visit([4]int{a, c[a], b, c[b]})
			}
		}
	}
	var chosen []cell
	for len(chosen) < min(many, len(all)) {
		best, least := 0, 0.0
		for i, c := range all {
			sum := 0.0
			pairs(c, func(p [4]int) {
				sum += came[p] * came[p] * float64(len(dimensions[p[0]].values)*len(dimensions[p[2]].values))
			})
			if i == 0 || sum < least {
				best, least = i, sum
			}
		}
		pairs(all[best], func(p [4]int) { came[p]++ })
		chosen = append(chosen, all[best])
		all = slices.Delete(all, best, best+1)
	}
	return chosen
}
