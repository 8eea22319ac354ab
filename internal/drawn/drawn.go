// Package drawn says how many worlds the drawn tests draw, and which: the same ones in
// every run, a few by default, many in CI. It is for tests alone.
//
//	BERTH_SEEDS=5   five times what each drawn test calls few, as CI does; unset: half of it
//	BERTH_SEED=1234 this one alone, to replay it
//	BERTH_SEED=20000-22999
//	                these, first and last included: worlds that no run has drawn
//
// A drawn test draws its worlds from the seeds that [Seeds] gives, or with rapid, by
// [Check]. A test of rapid that fails prints a -rapid.seed, which BERTH_SEED takes too;
// rapid's own flags come first where they are given.
//
// Seeds are fixed, so no drawn test fails by chance: where one fails, something has
// changed. A list of cases that the worlds together must have gone through is checked
// where [Many] reports true, since a few worlds need not go through all of them.
package drawn

import (
	"flag"
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pgregory.net/rapid"
)

// Full is how many times few worlds CI draws: so many that they reach every case.
const Full = 5

// checks is what a test of rapid calls few.
const checks = 25

// Seeds are those of a test that draws a few worlds: from 1 on, as many times few as
// BERTH_SEEDS says, and half of few in a plain run; or those that BERTH_SEED names.
func Seeds(few int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		collectLess()
		first, last, named := named()
		if !named {
			first, last = 1, amount(uint64(few))
		}
		for seed := first; seed <= last && yield(seed) && seed < last; seed++ {
		}
	}
}

// SeedsAnd are those of Seeds and, where many worlds are drawn, those of rare worlds: each goes
// through a case that hardly another does.
func SeedsAnd(few int, rare ...uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for seed := range Seeds(few) {
			if !yield(seed) {
				return
			}
		}
		if Many() {
			slices.Values(rare)(yield)
		}
	}
}

// Plain reports whether this is a plain run: no variable says how many worlds are drawn, or which.
func Plain() bool {
	_, _, named := named()
	return !named && os.Getenv(countVariable) == ""
}

// Named reports whether BERTH_SEED names what is drawn.
func Named() bool {
	_, _, named := named()
	return named
}

// Many reports whether so many worlds are drawn that together they must reach all cases.
func Many() bool {
	_, _, named := named()
	return !named && amount(2) >= 2*Full
}

// Check is rapid.Check with fixed seeds, and as many cases as BERTH_SEEDS says.
func Check(t rapid.TB, property func(*rapid.T)) {
	t.Helper()
	collectLess()
	first, last, named := named() // here and not below: go test keeps results by what tests read
	cases := amount(checks)
	once.Do(func() {
		if named {
			cases = last - first + 1
		} else {
			first = 1
		}
		set("rapid.seed", "RAPID_SEED", first)
		set("rapid.checks", "RAPID_CHECKS", cases)
	})
	rapid.Check(t, property)
}

// collectLess has garbage collected at five times what lives, unless GOGC says otherwise. What
// is drawn is small and soon gone: collecting as often as usual takes a fifth of the time of
// these tests. Benchmarks draw nothing, so theirs stays as it is.
var collectLess = sync.OnceFunc(func() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
})

// once guards rapid's flags, of which there is one set for all tests of a process.
var once sync.Once

// set gives a flag a value, unless it was given one on the command line or by rapid's variable.
func set(name, variable string, value any) {
	given := os.Getenv(variable) != ""
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	if err := flag.Set(name, fmt.Sprint(value)); err != nil {
		panic(err)
	}
}

// amount is how many worlds are drawn where a test calls so many few.
func amount(few uint64) uint64 {
	if text := os.Getenv(countVariable); text != "" {
		return few * positive(countVariable, text)
	}
	return (few + 1) / 2
}

// named are the first and the last of the seeds that BERTH_SEED names, if it names any.
func named() (first, last uint64, some bool) {
	text := os.Getenv(seedVariable)
	if text == "" {
		return 0, 0, false
	}
	from, to, many := strings.Cut(text, "-")
	first = positive(seedVariable, from)
	if last = first; many {
		last = positive(seedVariable, to)
	}
	if first > last {
		panic(fmt.Sprintf("%s=%q ends before it begins", seedVariable, text))
	}
	return first, last, true
}

const (
	seedVariable  = "BERTH_SEED"
	countVariable = "BERTH_SEEDS"
)

// positive reads a number of a variable. Anything but a positive one is refused: the usual few
// would pass for the many that were meant.
func positive(name, text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		panic(fmt.Sprintf("%s: %q is no positive number", name, text))
	}
	return n
}
