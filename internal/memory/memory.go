// Package memory reads amounts of memory as people write them.
package memory

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseMiB reads 512MiB, 80GiB or 2TiB as MiB.
func ParseMiB(text string) (int64, error) {
	for _, unit := range []struct {
		name string
		mib  int64
	}{{"MiB", 1}, {"GiB", 1 << 10}, {"TiB", 1 << 20}} {
		if digits, ok := strings.CutSuffix(text, unit.name); ok {
			n, err := strconv.ParseInt(digits, 10, 64)
			if err != nil || n > math.MaxInt64/unit.mib || n < math.MinInt64/unit.mib {
				return 0, fmt.Errorf("%q is not a number", digits)
			}
			return n * unit.mib, nil
		}
	}
	return 0, fmt.Errorf("%q has none of the units MiB, GiB, TiB", text)
}
