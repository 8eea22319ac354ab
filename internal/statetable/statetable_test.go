package statetable_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/statetable"
)

// A table says nothing twice, names nothing that it does not explain, and explains nothing that it
// does not name.
func TestTablesAreInOrder(t *testing.T) {
	for _, m := range statetable.All() {
		states, events := names(m.States), names(m.Events)
		require.Equal(t, statetable.None, states[0], "%s begins with what does not exist", m.Name)
		named, said := map[string]bool{}, map[string]bool{}
		for _, r := range m.Rows {
			require.True(t, r.Refused == "" || r.To == "", "%s: what is refused changes nothing: %+v", m.Name, r)
			for _, s := range r.Steps() {
				require.Contains(t, states, s.From, "%s: %s", m.Name, s)
				require.Contains(t, states, s.To, "%s: %s", m.Name, s)
				require.Contains(t, events, s.Event, "%s: %s", m.Name, s)
				row := s.String() + ": " + r.Effect
				require.False(t, said[row], "%s says twice %s", m.Name, row)
				named[s.From], named[s.To], named[s.Event], said[row] = true, true, true, true
			}
		}
		for _, name := range append(states, events...) {
			require.True(t, named[name], "%s has no row about %q", m.Name, name)
		}
		again, known := statetable.Named(m.Name)
		require.True(t, known)
		require.Equal(t, m, again)
	}
	_, known := statetable.Named("coffee")
	require.False(t, known)
}

func names(words []statetable.Word) []string {
	var list []string
	for _, w := range words {
		list = append(list, w.Name)
	}
	return list
}

// The states are those of package berth, and so are the kinds of events and of refusals.
func TestWordsAreThoseOfTheAPI(t *testing.T) {
	want := []string{statetable.None}
	for state := berth.ReplicaPending; state <= berth.ReplicaReleasing; state++ {
		want = append(want, state.String())
	}
	require.ElementsMatch(t, want, names(statetable.Replica().States))
	for mode := berth.GPUModeWhole; mode <= berth.GPUModeTimeSlice; mode++ {
		require.Contains(t, names(statetable.GPUMode().States), mode.String())
	}
	kinds := append(berth.EventKinds(), berth.RequestCheckpoint{}.Kind())
	camel := regexp.MustCompile(`^[a-z]+[A-Z]`)
	refusals := []string{"", berth.ErrStale.Error(), berth.ErrConflict.Error(), berth.ErrInvalid.Error(), berth.ErrUnknown.Error()}
	for _, m := range statetable.All() {
		for _, name := range names(m.Events) {
			require.True(t, !camel.MatchString(name) || slices.Contains(kinds, name), "%s: %q is written as a kind of event, and is none", m.Name, name)
		}
		for _, r := range m.Rows {
			require.Contains(t, refusals, r.Refused, "%s: %+v", m.Name, r)
		}
	}
}

// Whatever the tables say, they are printed in 98 columns, every row in full.
func TestTablesFit(t *testing.T) {
	for _, m := range statetable.All() {
		lines := m.Lines()
		for _, line := range lines {
			require.LessOrEqual(t, len(line), 98, line)
			require.Equal(t, strings.TrimRight(line, " "), line)
		}
		words := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
		for _, w := range m.Events {
			require.Contains(t, words, w.Name)
		}
	}
}
