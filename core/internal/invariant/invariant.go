// Package invariant stops the program where an invariant of the machine does not hold.
package invariant

import (
	"errors"

	"github.com/berth-sched/berth"
)

// Must is for what the core has made sure of before: the packages below check
// what they are told all the same, and if one of them refuses, the core's own
// books are wrong and nothing that it would decide can be trusted. No event can
// bring that about.
func Must(err error) {
	if err != nil {
		panic(&berth.BrokenInvariant{Err: err})
	}
}

// Hold is Must for a condition: the text says what is wrong where it does not hold.
func Hold(ok bool, text string) {
	if !ok {
		Must(errors.New(text))
	}
}
