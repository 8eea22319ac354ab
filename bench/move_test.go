package bench

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/drawn"
)

// A half of each of two GPUs is held, and a whole one is asked for: one of the halves moves to the
// other.
func TestMoverMakesRoom(t *testing.T) {
	s, err := NewSession([]NodeSpec{{Name: "a", CPUMilli: 10, GPUs: 1}, {Name: "b", CPUMilli: 10, GPUs: 1}}, Spread())
	require.NoError(t, err)
	half, err := s.Kind(Request{CPUMilli: 1, GPUs: 1, Milli: 500})
	require.NoError(t, err)
	whole, err := s.Kind(Request{CPUMilli: 5, GPUs: 1, Milli: 1000})
	require.NoError(t, err)
	host, err := s.Kind(Request{CPUMilli: 9})
	require.NoError(t, err)
	m := NewMover(s)
	for range 2 {
		_, moves, ok, err := m.Place(half, 1)
		require.NoError(t, err)
		require.True(t, ok)
		require.Empty(t, moves, "there was room")
	}
	_, _, ok, err := m.Place(whole, 0)
	require.NoError(t, err)
	require.False(t, ok, "nothing may move")
	choice, moves, ok, err := m.Place(whole, 1)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, Place{Node: 0, GPUs: berth.GPUSetOf(0)}, choice.Place)
	require.Equal(t, []Move{{half, Place{0, 1}, Place{1, 1}}}, moves)
	require.NoError(t, s.Fleet().check())
	_, _, ok, err = m.Place(host, 9)
	require.NoError(t, err)
	require.False(t, ok, "there is no CPU for it, wherever the others are")
}

// Whatever moves, the books are right, as many tasks of each kind run as before and one more, what
// is told is what has happened, and a task that gets no place has changed nothing.
func TestMoverKeepsTheBooks(t *testing.T) {
	moved, refused := 0, 0
	for _, policy := range []string{"first-fit", "gang", "fgd"} {
		drawn.Check(t, func(t *rapid.T) {
			p, err := New(policy, 1)
			require.NoError(t, err)
			s, err := NewSession(drawNodes(t), p)
			require.NoError(t, err)
			m := NewMover(s)
			for range rapid.IntRange(1, 40).Draw(t, "tasks") {
				k, err := s.Kind(drawRequest(t))
				require.NoError(t, err)
				if rapid.IntRange(0, 9).Draw(t, "ends") == 0 {
					for n := range Node(s.Fleet().Nodes()) {
						if tasks := s.Fleet().Tasks(n); len(tasks) > 0 {
							require.NoError(t, s.Release(tasks[0].Kind, Place{n, tasks[0].GPUs}))
							m.Changed()
							break
						}
					}
				}
				before := places(s.Fleet())
				most := rapid.IntRange(0, 3).Draw(t, "most")
				choice, moves, ok, err := m.Place(k, most)
				require.NoError(t, err)
				require.NoError(t, s.Fleet().check())
				require.LessOrEqual(t, len(moves), most)
				for _, move := range moves {
					at := slices.Index(before, taskAt{move.Kind, move.From})
					require.GreaterOrEqual(t, at, 0)
					before[at].Place = move.To
				}
				if ok {
					before = append(before, taskAt{k, choice.Place})
				}
				require.ElementsMatch(t, before, places(s.Fleet()))
				if moved += len(moves); !ok && most > 0 {
					refused++
				}
			}
		})
	}
	if drawn.Many() {
		require.NotZero(t, moved)
		require.NotZero(t, refused)
	}
}

type taskAt struct {
	Kind
	Place
}

// places lists all tasks of a fleet.
func places(f *Fleet) []taskAt {
	var list []taskAt
	for n := range Node(f.Nodes()) {
		for _, task := range f.Tasks(n) {
			list = append(list, taskAt{task.Kind, Place{n, task.GPUs}})
		}
	}
	return list
}
