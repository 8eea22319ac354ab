// Package hostile holds what reads bytes from outside to what it may cost: a short text that
// stands for much is refused before it becomes much.
package hostile

import (
	"runtime"
	"strings"
	"testing"
)

// Times is how many bytes a reader may allocate for each byte of its input, garbage among them,
// beyond a floor that does not depend on the input.
const Times = 20

// Bounded fails unless a reader of an input allocates no more than Times its length and a floor,
// whether it takes the input or refuses it. Under the race detector it looks at nothing, since
// that allocates besides.
func Bounded(t testing.TB, name, input string, floor int, read func(input string)) {
	t.Helper()
	if racing {
		return
	}
	if got, most := Cost(func() { read(input) }), floor+Times*len(input); got > most {
		t.Errorf("%s: %d bytes allocated for %d, %d times as many; the most is %d", name, got, len(input), got/len(input), most)
	}
}

// Cost is how many bytes a function allocates, garbage among them.
func Cost(do func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// List is a list of so many equal elements, parted by commas, between what begins and what ends it.
func List(begin, element string, many int, end string) string {
	return begin + strings.TrimSuffix(strings.Repeat(element+",", many), ",") + end
}
