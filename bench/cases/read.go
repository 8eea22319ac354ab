package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxBytes bounds a file.
const maxBytes = 64 << 20

// ErrUnknown is for files of no known format.
var ErrUnknown = errors.New("unknown format")

// A Set is the scenarios of a file.
type Set struct {
	// Format names the format, such as "kueue_tas".
	Format string
	cases  []scenario
}

// A scenario can be replayed.
type scenario interface {
	run() Result
}

// A Result is how one scenario went.
type Result struct {
	// ID as in the file, Name for people.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Kind is a word to count results by.
	Kind string `json:"kind"`
	// Agree: the core decides as the file expects.
	Agree bool `json:"agree"`
	// Detail is the first difference in a line; empty where there is none.
	Detail string `json:"detail,omitempty"`
	// Rule names the general difference that this is a case of, if it is, and Sums the figures
	// that tell.
	Rule string `json:"rule,omitempty"`
	Sums string `json:"sums,omitempty"`
	// Err is why the scenario could not be replayed, an *Error, if it could not.
	Err error `json:"-"`
}

// formats by the keys that tell them.
var formats = []struct {
	name string
	keys []string
	read func(map[string]json.RawMessage) ([]scenario, error)
}{
	{"kueue_tas", []string{"tas_cases"}, readTAS},
	{"kueue_preemption", []string{"preemption_cases"}, readKueuePreemption},
	{"kai", []string{"cases", "format"}, readKAI},
}

// Read reads a file of scenarios; the name is for errors. They wrap ErrUnknown or
// ErrMalformed. A scenario that makes no sense does not keep the others from being
// replayed: it has a Result with an Err.
func Read(name string, r io.Reader) (*Set, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%s: longer than %d bytes", name, maxBytes)
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, &Error{Reason: err.Error(), Err: ErrMalformed})
	}
	for _, format := range formats {
		if !hasKeys(file, format.keys) {
			continue
		}
		list, err := format.read(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return &Set{Format: format.name, cases: list}, nil
	}
	return nil, fmt.Errorf("%s: %w: it has none of the keys tas_cases, preemption_cases, cases", name, ErrUnknown)
}

func hasKeys(file map[string]json.RawMessage, keys []string) bool {
	for _, key := range keys {
		if _, ok := file[key]; !ok {
			return false
		}
	}
	return true
}

// Run replays all scenarios in the order of the file.
func (s *Set) Run() []Result {
	results := make([]Result, 0, len(s.cases))
	for _, c := range s.cases {
		results = append(results, c.run())
	}
	return results
}

// A checked scenario is one that can be read and checked by itself.
type checked interface {
	scenario
	id() string
	check() *Error
}

// readList reads the scenarios of one key of a file.
func readList(file map[string]json.RawMessage, key string, empty func() checked) ([]scenario, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(file[key], &raw); err != nil {
		return nil, &Error{Field: key, Reason: err.Error(), Err: ErrMalformed}
	}
	list := make([]scenario, 0, len(raw))
	for i, one := range raw {
		c := empty()
		decoder := json.NewDecoder(bytes.NewReader(one))
		decoder.DisallowUnknownFields()
		var wrong *Error
		if err := decoder.Decode(c); err != nil {
			wrong = fieldError(err)
		} else {
			wrong = c.check()
		}
		if wrong == nil {
			list = append(list, c)
			continue
		}
		wrong.Case = c.id()
		if wrong.Case == "" {
			wrong.Case = "#" + strconv.Itoa(i+1)
		}
		list = append(list, unread{wrong})
	}
	return list, nil
}

// fieldError names the field that a decoder stumbled over, where it tells.
func fieldError(err error) *Error {
	out := malformed("", err.Error())
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		out.Field = wrongType.Field
	}
	return out
}

// An unread scenario has something that this version does not know, or that makes no
// sense. It is no reason to leave the others out.
type unread struct{ err *Error }

func (u unread) run() Result {
	return Result{ID: u.err.Case, Kind: "not understood", Detail: u.err.Error(), Err: u.err}
}
