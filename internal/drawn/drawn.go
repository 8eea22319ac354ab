// Package drawn says how many worlds the drawn tests draw, and which: the same ones in
// every run, a few by default, many in CI. It is for tests alone.
//
//	BERTH_SEEDS=10  ten times as many worlds in every drawn test, as CI does
//	BERTH_SEED=1234 this one alone, to replay it
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
	"strconv"
	"sync"

	"pgregory.net/rapid"
)

// Full is how many times as many worlds CI draws: so many that they reach every case.
const Full = 10

// checks is how many cases each test of rapid draws in a plain run.
const checks = 25

// Seeds are those of a test that draws a few worlds in every run: from 1 on, as many
// times few as BERTH_SEEDS says; or the seed that BERTH_SEED names.
func Seeds(few int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if seed, one := replayed(); one {
			yield(seed)
			return
		}
		for seed := uint64(1); seed <= uint64(few)*times() && yield(seed); seed++ {
		}
	}
}

// Many reports whether so many worlds are drawn that together they must reach all cases.
func Many() bool {
	_, one := replayed()
	return !one && times() >= Full
}

// Check is rapid.Check with fixed seeds, and as many cases as BERTH_SEEDS says.
func Check(t rapid.TB, property func(*rapid.T)) {
	t.Helper()
	seed, one := replayed() // here and not below: go test keeps results by what tests read
	cases := checks * times()
	once.Do(func() {
		if one {
			cases = 1
		} else {
			seed = 1
		}
		set("rapid.seed", "RAPID_SEED", seed)
		set("rapid.checks", "RAPID_CHECKS", cases)
	})
	rapid.Check(t, property)
}

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

// times is how many times as many worlds are drawn as in a plain run.
func times() uint64 { return number("BERTH_SEEDS", 1) }

// replayed is the seed of the one world to draw, if there is to be but one.
func replayed() (seed uint64, one bool) {
	seed = number("BERTH_SEED", 0)
	return seed, seed > 0
}

// number reads a variable. Anything but a positive number is refused: the usual few would
// pass for the many that were meant.
func number(name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		panic(fmt.Sprintf("%s=%q is no positive number", name, text))
	}
	return n
}
