package study

import (
	"cmp"

	"github.com/berth-sched/berth/bench/flagline"
)

// Within refuses an option outside of a range, in the words of its flag: berthbench prints what
// was given and what is possible.
func Within[T cmp.Ordered](flag string, value, least, most T) error {
	if value >= least && value <= most { // not so for what is no number
		return nil
	}
	return flagline.Misused("-%s: %v is not between %v and %v", flag, value, least, most)
}

// AtLeast refuses an option below a bound.
func AtLeast[T cmp.Ordered](flag string, value, least T) error {
	if value >= least {
		return nil
	}
	return flagline.Misused("-%s: %v is less than %v", flag, value, least)
}

// First is the first error of a list, so that a user is told of one flag at a time.
func First(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// Missing refuses options without a file that has to be named, and says where to get it.
func Missing(flag, what, source string) error {
	return flagline.Misused("-%s is missing: %s; %s", flag, what, source)
}
