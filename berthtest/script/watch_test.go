package script

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// started is a session with one job to place.
func started(t *testing.T, more ...string) *Session {
	t.Helper()
	s := NewSession()
	for _, line := range append([]string{"node n1..n2", "queue q", "job a queue=q gpus=8"}, more...) {
		_, err := s.Do(line)
		require.NoError(t, err)
	}
	return s
}

// What a session watches for is found when it is there: here the core is made to
// differ from what the watch is told.
func TestWatchFindsWhatIsWrong(t *testing.T) {
	var broken *Violation

	s := started(t)
	require.ErrorAs(t, s.watch.applied(s, berth.NodeLost{Node: "n2"}), &broken, "the core knows nothing of that")

	s = started(t)
	before, err := s.core.Snapshot()
	require.NoError(t, err)
	require.NoError(t, s.core.Apply(0, berth.NodeCordoned{Node: "n1"}))
	refusal := &berth.Error{Event: "nodeCordoned", Field: "node", Reason: "is unknown", Kind: berth.ErrUnknown}
	require.ErrorContains(t, s.watch.refused(s, berth.NodeCordoned{Node: "n9"}, refusal, before), "R2")

	s = started(t)
	require.ErrorContains(t, sameAsTwin(s, started(t, "cordon n1").core, must(s.core.Schedule(0))), "D2", "another node")
	s = started(t)
	require.ErrorContains(t, sameAsTwin(s, started(t, "cancel a").core, must(s.core.Schedule(0))), "D2", "no order")
	s = started(t)
	require.ErrorContains(t, sameAsTwin(s, started(t, "job b queue=q gpus=9").core, must(s.core.Schedule(0))), "D2", "another state")

	s = started(t)
	require.NoError(t, idle(s.core), "a first pass is still due, as NextWake says")

	s = started(t, "pass")
	action := s.orders[0].(berth.Bind)
	action.Members[0].GPUs = berth.GPUSetOf(0)
	require.Error(t, s.watch.(*watch).checker.Scheduled(0, []berth.Order{action}), "given twice")
}

func must(actions []berth.Order, err error) []berth.Order {
	if err != nil {
		panic(err)
	}
	return actions
}

// An unwatched session prints what a watched one does, also when it goes on from where another
// was saved.
func TestUnwatchedSessionsPrintTheSame(t *testing.T) {
	lines := []string{"node n1..n2", "queue q", "job a queue=q gpus=8", "pass", "report all done", "job b queue=q gpus=9", "advance 1m", "lose n1 because fire", "lose n1", "pass", "explain b"}
	watched, unwatched := NewSession(), NewUnwatched()
	for _, line := range lines {
		want, err := watched.Do(line)
		require.NoError(t, err)
		got, err := unwatched.Do(line)
		require.NoError(t, err)
		require.Equal(t, want, got, line)
		saved, err := unwatched.Save()
		require.NoError(t, err)
		unwatched, err = saved.Resume()
		require.NoError(t, err)
		require.Equal(t, watched.Now(), unwatched.Now())
	}
}
