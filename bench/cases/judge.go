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
	// Differs: it does not, and the list of differences says why.
	Differs Verdict = "differ"
	// NotYet: it does not, as this version cannot do what that needs; it is replayed all
	// the same, and shows what becomes of it without.
	NotYet Verdict = "not yet"
	// Unexplained: it does not, and nothing says why.
	Unexplained Verdict = "UNEXPLAINED"
	// Stale: the list has a difference that does not show.
	Stale Verdict = "STALE"
)

// Failed reports whether a verdict calls for somebody to do something.
func (v Verdict) Failed() bool { return v == Unexplained || v == Stale }

// A Judgement is a result with its verdict, and the reason that the list gives.
type Judgement struct {
	Result
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
}

// Differences says where the core is meant to decide otherwise, and why.
type Differences struct {
	// Rules has reasons by the rule of a result: what can be told of any scenario,
	// whoever wrote it.
	Rules map[string]string `json:"rules"`
	// NotYet has reasons by the rule of a result, for what this version cannot do.
	NotYet map[string]string `json:"notYet"`
	// Cases has reasons by the ID of a scenario.
	Cases map[string]string `json:"cases"`
}

//go:embed differences.json
var differencesJSON []byte

// DifferencesOf returns the checked-in list for a format.
func DifferencesOf(format string) (Differences, error) {
	var all map[string]Differences
	if err := json.Unmarshal(differencesJSON, &all); err != nil {
		return Differences{}, fmt.Errorf("differences.json: %w", err)
	}
	return all[format], nil
}

// Judge compares results with a list of differences.
func Judge(results []Result, differences Differences) []Judgement {
	list := make([]Judgement, 0, len(results))
	for _, r := range results {
		j := Judgement{Result: r, Verdict: Agrees}
		reason, listed := differences.Cases[r.ID]
		rule, ruled := differences.Rules[r.Rule]
		missing, later := differences.NotYet[r.Rule]
		switch {
		case r.Agree && listed:
			j.Verdict, j.Reason = Stale, reason
		case r.Agree:
		case listed:
			j.Verdict, j.Reason = Differs, reason
		case later:
			j.Verdict, j.Reason = NotYet, missing
		case ruled:
			j.Verdict, j.Reason = Differs, rule
		default:
			j.Verdict = Unexplained
		}
		list = append(list, j)
	}
	return list
}
