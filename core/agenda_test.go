package core

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// The table in the comment of agenda says what its notes do, and no more.
func TestNotesMakeDueWhatTheirTableSays(t *testing.T) {
	const now berth.Time = 7
	notes := map[string]func(*agenda){
		"waits":         func(a *agenda) { a.waits(now) },
		"block":         func(a *agenda) { a.block(false, now) },
		"limit":         func(a *agenda) { a.limit(now) },
		"lookAgain":     func(a *agenda) { a.lookAgain(now) },
		"contend":       func(a *agenda) { a.contend(now) },
		"relook":        func(a *agenda) { a.relook(now) },
		"stir":          func(a *agenda) { a.stir(now) },
		"changed":       func(a *agenda) { a.changed(now) },
		"grew":          func(a *agenda) { a.grew(now) },
		"reopened":      func(a *agenda) { a.reopened(true, now) },
		"quotaChanged":  func(a *agenda) { a.quotaChanged(now) },
		"freedQuota":    (*agenda).freedQuota,
		"lessen":        (*agenda).lessen,
		"setAside":      (*agenda).setAside,
		"policyChanged": func(a *agenda) { a.policyChanged(now) },
		"wantSpares":    (*agenda).wantSpares,
	}
	stages := map[string]func(*agenda) bool{
		"relocate": func(a *agenda) bool { return a.beginMoves(now) },
		"spares":   func(a *agenda) bool { return a.sparesDue },
		"reserved": (*agenda).reservedDue,
		"wake":     (*agenda).mayWake,
		"reshape":  func(a *agenda) bool { return a.beginReshape(now) },
		"reserve":  func(a *agenda) bool { return a.reserveDue(now) },
		"backfill": func(a *agenda) bool { return a.backfillDue },
		"preempt":  func(a *agenda) bool { return a.nextPreempt <= now },
	}
	// Each condition comes about in one of several ways, and ends.
	comes := map[string][]func(*agenda){
		"b": {func(a *agenda) { a.blocked = 1 }, func(a *agenda) { a.limited = 1 }},
		"d": {func(a *agenda) { a.draining = 1 }, func(a *agenda) { a.homeless = true }},
		"g": {func(a *agenda) { a.dividing, a.pliable = 1, 1 }},
		"h": {func(a *agenda) { a.hopeless = 1 }},
		"l": {func(a *agenda) { a.blocked, a.looking = 1, 1 }},
		"q": {func(a *agenda) { a.limited = 1 }},
		"s": {func(a *agenda) { a.stalled = 1 }},
		"w": {func(a *agenda) { a.windows = 1 }},
	}
	ends := map[string]func(*agenda){
		"b": func(a *agenda) { a.blocked, a.looking, a.limited = 0, 0, 0 },
		"d": func(a *agenda) { a.draining, a.homeless = 0, false },
		"g": func(a *agenda) { a.pliable = 0 },
		"h": func(a *agenda) { a.hopeless = 0 },
		"l": func(a *agenda) { a.looking = 0 },
		"q": func(a *agenda) { a.limited = 0 },
		"s": func(a *agenda) { a.stalled = 0 },
		"w": func(a *agenda) { a.windows = 0 },
	}
	all := newAgenda()
	for _, ways := range comes {
		for _, come := range ways {
			come(&all)
		}
	}
	due := func(a agenda, note, stage string) bool {
		before := a
		require.False(t, stages[stage](&before), "%s is due before %s", stage, note)
		notes[note](&a)
		require.NoError(t, a.valid())
		return stages[stage](&a)
	}
	told := 0
	for _, row := range tableOfNotes(t) {
		note := row["note"]
		require.Contains(t, notes, note)
		for stage := range stages {
			told++
			switch mark := row[stage]; mark {
			case ".":
				require.False(t, due(all, note, stage), "%s, %s", note, stage)
			case "x":
				require.True(t, due(newAgenda(), note, stage), "%s, %s", note, stage)
			default:
				require.Contains(t, comes, mark)
				for _, come := range comes[mark] {
					only := newAgenda()
					come(&only)
					require.True(t, due(only, note, stage), "%s, %s, with %s alone", note, stage, mark)
				}
				rest := all
				ends[mark](&rest)
				require.False(t, due(rest, note, stage), "%s, %s, with all but %s", note, stage, mark)
			}
		}
	}
	require.Equal(t, len(notes)*len(stages), told, "a note or a stage is missing in the table")
}

// tableOfNotes reads the table: for each note, what stands below each stage.
func tableOfNotes(t *testing.T) []map[string]string {
	t.Helper()
	text, err := os.ReadFile("agenda.go")
	require.NoError(t, err)
	var head []string
	var rows []map[string]string
	for line := range strings.Lines(string(text)) {
		cells := strings.Fields(strings.TrimPrefix(line, "//\t"))
		switch {
		case len(cells) > 0 && cells[0] == "note":
			head = cells
		case head != nil && len(cells) != len(head):
			return rows
		case head != nil:
			row := map[string]string{}
			for i, name := range head {
				row[name] = cells[i]
			}
			rows = append(rows, row)
		}
	}
	return nil
}
