package cases

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/berth-sched/berth/internal/strict"
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
	{"kueue_tas", []string{"tas_cases"}, func(file map[string]json.RawMessage) ([]scenario, error) { return readList[tasCase](file, "tas_cases") }},
	{"kueue_preemption", []string{"preemption_cases"}, readKueuePreemption},
	{"kai", []string{"cases", "format"}, func(file map[string]json.RawMessage) ([]scenario, error) { return readList[kaiCase](file, "cases") }},
}

// What a file comes to in memory may be no more than freeBytes, and bytesPerByte for each byte.
const (
	freeBytes    = 1 << 20
	bytesPerByte = 20
)

// weight is about how many bytes a text comes to at the most, by the signs in it: an object, or a
// null in its place, is a struct in a list that was made longer a few times, and what is between
// two commas is a text in such a list.
func weight(text []byte) int {
	objects := bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("null"))
	return 400*objects + 200*(bytes.Count(text, []byte("["))+bytes.Count(text, []byte(",")))
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
	if weight(text) > freeBytes+bytesPerByte*len(text) {
		return nil, fmt.Errorf("%s: %w", name, malformed("", "has far more elements than texts in them"))
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

// maxCases bounds the scenarios of a list: a scenario of two bytes is a result of some hundred.
const maxCases = 10_000

// readList reads the scenarios of one key of a file.
func readList[T any, P interface {
	*T
	checked
}](file map[string]json.RawMessage, key string) ([]scenario, error) {
	var list []scenario
	form, decoder := strict.FormOf[T](strict.Readings{}), json.NewDecoder(bytes.NewReader(file[key]))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('[') {
		return nil, malformed(key, "is no list")
	}
	for decoder.More() {
		if len(list) == maxCases {
			return nil, malformed(key, fmt.Sprintf("has more than %d scenarios", maxCases))
		}
		var text json.RawMessage
		if err := decoder.Decode(&text); err != nil {
			return nil, malformed(key, err.Error())
		}
		list = append(list, readCase[T, P](form, text, len(list)+1))
	}
	return list, nil
}

// readCase reads the scenario of a number in its list.
func readCase[T any, P interface {
	*T
	checked
}](form *strict.Form[T], text json.RawMessage, number int) scenario {
	read, err := form.Unmarshal(text)
	if err != nil {
		field, reason := strict.Describe(err, (*Error).Error)
		wrong := malformed(field, reason)
		var named struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(text, &named) // where it has a name, in spite of what is wrong
		wrong.Case = cmp.Or(named.ID, "#"+strconv.Itoa(number))
		return unread{wrong}
	}
	c := P(read)
	if wrong := c.check(); wrong != nil {
		wrong.Case = cmp.Or(c.id(), "#"+strconv.Itoa(number))
		return unread{wrong}
	}
	return c
}

// An unread scenario has something that this version does not know, or that makes no
// sense. It is no reason to leave the others out.
type unread struct{ err *Error }

func (u unread) run() Result {
	return Result{ID: u.err.Case, Kind: "not understood", Detail: u.err.Error(), Err: u.err}
}
