package cases

import "errors"

// ErrMalformed is for scenarios that contradict themselves or their format.
var ErrMalformed = errors.New("malformed")

// ErrOutOfModel is for scenarios that ask for what the core has no word for.
var ErrOutOfModel = errors.New("cannot be expressed")

// An Error is a file, or one scenario of it, that cannot be replayed.
type Error struct {
	// Case is the ID of the scenario, or "#3" for the third of a file that has none;
	// empty where the file is at fault.
	Case string
	// Field is the path of what is at fault, such as jobs[2].queue; empty where it is the
	// whole.
	Field string
	// Reason says what is wrong.
	Reason string
	// Err is one of the sentinels of this package.
	Err error
}

func (e *Error) Error() string {
	text := e.Err.Error()
	if e.Field != "" {
		text += ": " + e.Field
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.Case != "" {
		text = e.Case + ": " + text
	}
	return text
}

// Unwrap makes errors.Is find the kind of the error.
func (e *Error) Unwrap() error { return e.Err }

func malformed(field, reason string) *Error {
	return &Error{Field: field, Reason: reason, Err: ErrMalformed}
}

func outOfModel(field, reason string) *Error {
	return &Error{Field: field, Reason: reason, Err: ErrOutOfModel}
}

// rule is the rule that the difference which an error makes comes under.
func (e *Error) rule() string {
	if e.Err == ErrOutOfModel {
		return ruleOutOfModel
	}
	return ""
}
