package statetable_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/statetable"
)

// The table "What each report does" of the manual, doc.go of package berth, says what the table of
// replicas says.
func TestTheManualAgrees(t *testing.T) {
	m := statetable.Replica()
	table, notes := reports(t)
	require.Len(t, table, 13)
	for _, line := range table {
		for _, event := range strings.Split(line.events, "|") {
			for state, cell := range line.cells {
				next, refused := m.Next(state, event), refusals(&m, state, event)
				what := line.events + " in " + state + ": " + cell
				switch plain := plainCell(cell); plain {
				case "-":
					require.Empty(t, append(next, refused...), what)
				case "stale": // of an order that is not out, too; that is the table of orders
					require.Empty(t, next, what)
					require.True(t, strings.Contains(event, " ") || slices.Contains(refused, "stale"), what)
				case "refused":
					require.Empty(t, next, what)
					require.NotEmpty(t, refused, what)
				default:
					require.NotEmpty(t, next, what)
					for _, to := range statesIn(plain) {
						require.Contains(t, next, to, what)
					}
					allowed := append(statesIn(plain+" "+notesOf(cell, notes)), state)
					if slices.Contains(allowed, "releasing") { // with nobody left to stop that is over at once
						allowed = append(allowed, "pending", statetable.None)
					}
					for _, to := range next {
						require.Contains(t, allowed, to, what)
					}
				}
			}
		}
	}
}

// A reportLine is a line of the manual's table, and its cells by state.
type reportLine struct {
	events string
	cells  map[string]string
}

// reports reads the manual's table, and its notes by number.
func reports(t *testing.T) (table []reportLine, notes map[string]string) {
	t.Helper()
	b, err := os.ReadFile("../../doc.go")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(b), "// # What each report does\n")
	require.True(t, found)
	text, _, found = strings.Cut(text, "// Repairing lasts")
	require.True(t, found)
	notes = map[string]string{}
	var head string
	note := ""
	for line := range strings.Lines(text) {
		line, drawn := strings.CutPrefix(strings.TrimRight(line, "\n"), "//\t")
		number := regexp.MustCompile(`^\(\d\)`).FindString(line)
		switch {
		case !drawn:
		case head == "":
			head = line
		case number != "":
			note = number
			notes[note] = line
		case note != "":
			notes[note] += " " + line
		case strings.HasPrefix(line, " "): // the label of the line above goes on
			require.Equal(t, "Done, Failed, deadline", strings.TrimSpace(line))
			table[len(table)-1].events = "checkpoint done|checkpoint failed|checkpoint deadline"
		default:
			table = append(table, cut(head, line))
		}
	}
	return table, notes
}

// cut cuts a line into the columns of the head.
func cut(head, line string) reportLine {
	at := func(i int) string {
		columns := []string{"Pending", "Binding", "Running", "Releasing"}
		from, to := strings.Index(head, columns[i]), len(line)
		if i+1 < len(columns) {
			to = min(to, strings.Index(head, columns[i+1]))
		}
		return strings.TrimSpace(line[from:to])
	}
	label := strings.TrimSpace(line[:strings.Index(head, "Pending")])
	event := strings.ToLower(strings.Replace(label, ",", "", 1))
	switch label {
	case "MemberFailed", "CheckpointWritten", "JobFinished":
		event = strings.ToLower(label[:1]) + label[1:]
	case "NodeLost, GPUFailed":
		event = "hardware lost"
	}
	return reportLine{event, map[string]string{"pending": at(0), "binding": at(1), "running": at(2), "releasing": at(3)}}
}

// plainCell is a cell without the numbers of its notes.
func plainCell(cell string) string {
	return strings.TrimSpace(regexp.MustCompile(`\(\d\)`).ReplaceAllString(cell, ""))
}

// notesOf are the notes to which a cell points.
func notesOf(cell string, notes map[string]string) string {
	var list []string
	for _, number := range regexp.MustCompile(`\(\d\)`).FindAllString(cell, -1) {
		list = append(list, notes[number])
	}
	return strings.Join(list, " ")
}

// statesIn lists the states that a text names.
func statesIn(text string) []string {
	var list []string
	for _, w := range []struct{ word, state string }{
		{`\bPending\b`, "pending"},
		{`\bRunning\b`, "running"},
		{`\bRepairing\b`, "repairing"},
		{`\b(Releasing|released first)\b`, "releasing"},
		{`^gone\b|\bor gone\b`, statetable.None},
	} {
		if regexp.MustCompile(w.word).MatchString(text) {
			list = append(list, w.state)
		}
	}
	return list
}

func refusals(m *statetable.Machine, state, event string) []string {
	var list []string
	for _, s := range m.Steps() {
		if s.From == state && s.Event == event && s.Refused != "" {
			list = append(list, s.Refused)
		}
	}
	return list
}
