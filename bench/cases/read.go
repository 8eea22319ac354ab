package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxBytes bounds a file.
const maxBytes = 64 << 20

// ErrNotYet is for files whose format is known but not replayed by this version.
var ErrNotYet = errors.New("not yet")

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
	// Rule names the general difference that this is a case of, if it is.
	Rule string `json:"rule,omitempty"`
}

// formats by the keys that tell them.
var formats = []struct {
	name string
	keys []string
	read func(json.RawMessage) ([]scenario, error)
}{
	{"kueue_tas", []string{"tas_cases"}, readTAS},
	{"kueue_preemption", []string{"preemption_cases"}, nil},
	{"kai", []string{"cases", "format"}, nil},
}

// Read reads a file of scenarios; the name is for errors. They wrap ErrUnknown and
// ErrNotYet.
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
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, format := range formats {
		if !hasKeys(file, format.keys) {
			continue
		}
		if format.read == nil {
			return nil, fmt.Errorf("%s: scenarios of format %s are not replayed: %w", name, format.name, ErrNotYet)
		}
		list, err := format.read(file[format.keys[0]])
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
