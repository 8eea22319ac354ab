package agenda

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// The table in the comment of Agenda says what its notes do, and no more.
func TestNotesMakeDueWhatTheirTableSays(t *testing.T) {
	const now berth.Time = 7
	notes := map[string]func(*Agenda){
		"Waits":         func(a *Agenda) { a.Waits(now) },
		"Block":         func(a *Agenda) { a.Block(false, now) },
		"Limit":         func(a *Agenda) { a.Limit(now) },
		"LookAgain":     func(a *Agenda) { a.LookAgain(now) },
		"contend":       func(a *Agenda) { a.contend(now) },
		"Relook":        func(a *Agenda) { a.Relook(now) },
		"Stir":          func(a *Agenda) { a.Stir(now) },
		"Reshare":       func(a *Agenda) { a.Reshare(now) },
		"Changed":       func(a *Agenda) { a.Changed(now) },
		"Grew":          func(a *Agenda) { a.Grew(now) },
		"Reopened":      func(a *Agenda) { a.Reopened(true, now) },
		"QuotaChanged":  func(a *Agenda) { a.QuotaChanged(now) },
		"FreedQuota":    (*Agenda).FreedQuota,
		"Lessen":        (*Agenda).Lessen,
		"SetAside":      (*Agenda).SetAside,
		"PolicyChanged": func(a *Agenda) { a.PolicyChanged(now) },
		"WantSpares":    (*Agenda).WantSpares,
	}
	stages := map[string]func(*Agenda) bool{
		"relocate": func(a *Agenda) bool { return a.BeginMoves(now) },
		"spares":   func(a *Agenda) bool { return a.SparesDue },
		"reserved": (*Agenda).BeginReserved,
		"wake":     (*Agenda).MayWake,
		"reshape":  func(a *Agenda) bool { return a.BeginReshape(now) },
		"reserve":  func(a *Agenda) bool { return a.ReserveDue(now) },
		"backfill": func(a *Agenda) bool { return a.BackfillDue },
		"preempt":  func(a *Agenda) bool { return a.NextPreempt <= now },
	}
	// Each condition comes about in one of several ways, and ends.
	comes := map[string][]func(*Agenda){
		"b": {func(a *Agenda) { a.blocked = 1 }, func(a *Agenda) { a.limited = 1 }},
		"d": {func(a *Agenda) { a.Draining = 1 }, func(a *Agenda) { a.Homeless = true }},
		"g": {func(a *Agenda) { a.Dividing, a.Pliable = 1, 1 }},
		"h": {func(a *Agenda) { a.hopeless = 1 }},
		"l": {func(a *Agenda) { a.blocked, a.looking = 1, 1 }},
		"q": {func(a *Agenda) { a.limited = 1 }},
		"s": {func(a *Agenda) { a.stalled = 1 }},
		"w": {func(a *Agenda) { a.reservations = 1 }},
	}
	ends := map[string]func(*Agenda){
		"b": func(a *Agenda) { a.blocked, a.looking, a.limited = 0, 0, 0 },
		"d": func(a *Agenda) { a.Draining, a.Homeless = 0, false },
		"g": func(a *Agenda) { a.Pliable = 0 },
		"h": func(a *Agenda) { a.hopeless = 0 },
		"l": func(a *Agenda) { a.looking = 0 },
		"q": func(a *Agenda) { a.limited = 0 },
		"s": func(a *Agenda) { a.stalled = 0 },
		"w": func(a *Agenda) { a.reservations = 0 },
	}
	all := *New()
	for _, ways := range comes {
		for _, come := range ways {
			come(&all)
		}
	}
	due := func(a Agenda, note, stage string) bool {
		before := a
		require.False(t, stages[stage](&before), "%s is due before %s", stage, note)
		notes[note](&a)
		require.NoError(t, a.Valid())
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
				require.True(t, due(*New(), note, stage), "%s, %s", note, stage)
			default:
				require.Contains(t, comes, mark)
				for _, come := range comes[mark] {
					only := *New()
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

// All that is due is saved and comes back, each field by itself.
func TestWhatIsDueOutlivesASnapshot(t *testing.T) {
	dues := Dues{}
	v := reflect.ValueOf(&dues).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Bool {
			v.Field(i).SetBool(true)
		} else {
			v.Field(i).SetInt(int64(100 + i))
		}
		a := New()
		a.Restore(dues)
		require.Equal(t, dues, a.Save(), v.Type().Field(i).Name)
	}
}

// A core wakes for what is due the soonest: reservations, moves, hardware that is trusted again,
// and GPUs that may be divided anew while something waits for them.
func TestNextIsTheSoonest(t *testing.T) {
	a := New()
	require.Equal(t, Never, a.Next())
	a.CountGPUs(true, true, 1)
	a.ReshapeBy(40)
	require.Equal(t, Never, a.Next(), "nothing waits")
	a.blocked = 1
	require.Equal(t, berth.Time(40), a.Next())
	a.WatchUntil(30)
	require.Equal(t, berth.Time(30), a.Next())
	a.MoveBy(20)
	require.Equal(t, berth.Time(20), a.Next())
	a.ReserveBy(10)
	require.Equal(t, berth.Time(10), a.Next())
}
