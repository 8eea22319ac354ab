package losses

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

func known(m *Losses) []berth.NodeID {
	var list []berth.NodeID
	for _, r := range m.Save() {
		list = append(list, r.Node)
	}
	return list
}

// What is over is forgotten, and of what is more than so many that which would be so next; ties
// by name.
func TestForgetDropsWhatIsOverAndTheOldestOfTooMany(t *testing.T) {
	m := New()
	for node, until := range map[berth.NodeID]berth.Time{"a": 40, "b": 10, "c": 20, "d": 30, "e": 30} {
		m.Add(&Record{Node: node, Losses: []berth.Time{1, 2}, Until: until})
	}
	require.NoError(t, m.Check())
	require.Equal(t, []berth.NodeID{"a", "b", "c", "d", "e"}, known(m), "in order of name")
	m.Forget(9, 5)
	require.Len(t, known(m), 5, "nothing is over, and there are not too many")
	m.Forget(10, 5)
	require.Equal(t, []berth.NodeID{"a", "c", "d", "e"}, known(m))
	m.Forget(10, 2)
	require.Equal(t, []berth.NodeID{"a", "e"}, known(m))
	m.Remove(m.ByID["a"])
	require.Equal(t, []berth.NodeID{"e"}, known(m))
	require.NoError(t, m.Check())
	m.Clear()
	require.Empty(t, known(m))
	require.NoError(t, m.Check())
}

func TestCheckFindsWhatIsOutOfOrder(t *testing.T) {
	for name, spoil := range map[string]func(*Losses, *Record){
		"known by name alone":   func(m *Losses, r *Record) { m.fading.Delete(r) },
		"known by its end only": func(m *Losses, r *Record) { delete(m.ByID, r.Node) },
		"another's record":      func(m *Losses, r *Record) { m.ByID[r.Node] = &Record{Node: r.Node} },
		"no loss":               func(_ *Losses, r *Record) { r.Losses = nil },
		"losses out of order":   func(_ *Losses, r *Record) { r.Losses = []berth.Time{2, 1} },
	} {
		m, r := New(), &Record{Node: "a", Losses: []berth.Time{1, 2}, Until: 3}
		m.Add(r)
		require.NoError(t, m.Check())
		spoil(m, r)
		require.Error(t, m.Check(), name)
	}
}

// What is saved is the caller's: it stays as it was when a node loses more.
func TestWhatIsSavedSharesNothing(t *testing.T) {
	m := New()
	m.Add(&Record{Node: "a", Losses: []berth.Time{1, 2}, Until: 9})
	saved := m.Save()
	m.ByID["a"].Losses[0] = 0
	require.Equal(t, []berth.Time{1, 2}, saved[0].Losses)
}
