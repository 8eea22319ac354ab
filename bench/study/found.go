package study

import "errors"

// ErrFinding is what an error is that an experiment makes of its results: it ran to its end, and
// does not show what it is for. berthbench says so and judges by it with -verify alone.
var ErrFinding = errors.New("the experiment does not show what it is for")

// A finding is such an error, in words of its own.
type finding struct{ error }

func (f finding) Is(target error) bool { return target == ErrFinding }

// Found makes a finding of a verdict; nil stays nil.
func Found(verdict error) error {
	if verdict == nil {
		return nil
	}
	return finding{verdict}
}
