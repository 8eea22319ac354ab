package cases

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// A Verdict says what a result is worth.
type Verdict string

const (
	// Agrees: the core decides as expected.
	Agrees Verdict = "agree"
	// Differs: it does not, and the list of differences says why that is as good, or better.
	Differs Verdict = "differ"
	// NotYet: it does not, and theirs is better; the list says what would have to come.
	NotYet Verdict = "not yet"
	// Unexplained: it does not, and nothing says why.
	Unexplained Verdict = "UNEXPLAINED"
)

// A Judgement is a result with its verdict, and what the list says of it.
type Judgement struct {
	Result
	Verdict Verdict `json:"verdict"`
	Difference
}

// A Difference is a rule by which the core decides otherwise than another scheduler. It can be
// told of any scenario, of whatever origin.
type Difference struct {
	// Better says which decision serves a user of the other scheduler better: "ours", "theirs" or
	// "neither".
	Better string `json:"better,omitempty"`
	// Why says so to that user.
	Why string `json:"why,omitempty"`
	// Awaits is what this version lacks; empty where nothing is to come.
	Awaits string `json:"awaits,omitempty"`
}

//go:embed differences.json
var differencesJSON []byte

// Differences returns the checked-in list, by rule.
func Differences() (map[string]Difference, error) {
	var list map[string]Difference
	if err := json.Unmarshal(differencesJSON, &list); err != nil {
		return nil, fmt.Errorf("differences.json: %w", err)
	}
	return list, nil
}

// Judge compares results with a list of differences.
func Judge(results []Result, differences map[string]Difference) []Judgement {
	list := make([]Judgement, 0, len(results))
	for _, r := range results {
		j := Judgement{Result: r, Verdict: Agrees}
		if difference, ruled := differences[r.Rule]; !r.Agree {
			j.Verdict, j.Difference = Differs, difference
			switch {
			case !ruled:
				j.Verdict = Unexplained
			case difference.Awaits != "":
				j.Verdict = NotYet
			}
		}
		list = append(list, j)
	}
	return list
}
