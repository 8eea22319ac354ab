package values

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/decimal"
	"github.com/berth-sched/berth/quota"
)

// Amount prints an amount of a resource in the unit that people use, as in "7.5 GPUs". Those that
// are declared are for State.Amount.
func Amount(r quota.Resource, v int64) string {
	if product, ok := strings.CutPrefix(string(r), string(quota.GPUMilli)+":"); ok {
		return decimal.Milli(v) + " " + product
	}
	unit, inMilli := "GPU", true
	if h, ok := r.Host(); ok {
		unit, inMilli = h.Unit()
	}
	switch {
	case !inMilli:
		return fmt.Sprintf("%d %s", v, unit)
	case v == 1000:
		return "1 " + unit
	}
	return decimal.Milli(v) + " " + unit + "s"
}

// HostClaim lists what a claim asks of the host, each in the unit that people use.
func HostClaim(c *berth.Claim) (parts []string) {
	for r, v := range c.Host() {
		if v > 0 {
			parts = append(parts, Amount(quota.HostOf(countable.Resource(r)), v))
		}
	}
	return parts
}

// Detail joins an event with the reason that came with it, for a cause.
func Detail(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}
