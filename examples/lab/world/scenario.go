package world

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
)

// What a scenario may be, so that a link cannot hold up a browser.
const (
	maxText  = 1 << 20
	maxLines = 20_000
	maxRun   = 366 * berth.Day
)

// parse splits a text into lines, without what a script printed. It checks what is not of the
// script language: the spans of run.
func parse(text string) ([]string, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("a scenario has at most %d bytes, not %d", maxText, len(text))
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "  ") || strings.TrimSpace(line) == "" {
			continue
		}
		if _, ok := runSpan(line); !ok && strings.HasPrefix(line, "run ") {
			return nil, fmt.Errorf("%s: is not a span such as 30m, up to %v", line, maxRun)
		}
		lines = append(lines, line)
	}
	if len(lines) > maxLines {
		return nil, fmt.Errorf("a scenario has at most %d lines, not %d", maxLines, len(lines))
	}
	return lines, nil
}

// runSpan is the span of a run; false for another line.
func runSpan(line string) (berth.Duration, bool) {
	rest, runs := strings.CutPrefix(line, "run ")
	if !runs {
		return 0, false
	}
	d, err := berth.ParseDuration(strings.TrimSpace(rest))
	return d, err == nil && d >= 0 && d <= maxRun
}

// Driven is a scenario with the same events in which the executor alone carries out orders, under
// a policy of its own: so two policies are compared on what both can be told. policy has the
// keys of the policy command, on top of what the scenario begins with. What goes is reports and
// ends of jobs, passes, questions and expectations, and later changes of policy; advance becomes
// run. With horizon time goes on until there.
func Driven(text, policy string, horizon berth.Duration) (string, error) {
	lines, err := parse(text)
	if err != nil {
		return "", err
	}
	driven := []string{"policy " + policy}
	var ran berth.Duration
	for _, line := range lines {
		command, rest, _ := strings.Cut(line, " ")
		switch {
		case command == "config":
			driven = append([]string{withPolicy(line, policy)}, driven[1:]...)
			continue
		case command == "advance":
			line = "run " + rest
		case !compared[command] || command == "json" && answers(rest):
			continue
		}
		if d, runs := runSpan(line); runs {
			ran += d
		}
		driven = append(driven, line)
	}
	if ran < horizon {
		driven = append(driven, fmt.Sprintf("run %v", horizon-ran))
	}
	return strings.Join(driven, "\n") + "\n", nil
}

// answers reports whether an event in JSON answers what a core did, or changes how it decides.
func answers(event string) bool {
	for _, kind := range []string{"orderReported", "jobFinished", "memberFailed", "jobObserved", "policyChanged"} {
		if strings.HasPrefix(event, `{"`+kind+`"`) {
			return true
		}
	}
	return false
}

// withPolicy is a config with the keys of a policy in place of its own.
func withPolicy(config, policy string) string {
	words := strings.Fields(policy)
	said := map[string]bool{}
	for _, word := range words {
		key, _, _ := strings.Cut(word, "=")
		said[key] = true
	}
	var kept []string
	for _, word := range strings.Fields(config) {
		if key, _, _ := strings.Cut(word, "="); !said[key] {
			kept = append(kept, word)
		}
	}
	return strings.Join(append(kept, words...), " ")
}

// compared are the commands that tell a fleet what happens to it, whatever it decides.
var compared = map[string]bool{
	"run": true, "node": true, "update": true, "cordon": true, "uncordon": true, "lose": true,
	"drain": true, "fail-gpu": true, "repair-gpu": true, "xid": true, "table": true,
	"queue": true, "remove-queue": true, "reserve": true, "unreserve": true,
	"job": true, "service": true, "scale": true, "cancel": true, "activity": true, "json": true,
}
