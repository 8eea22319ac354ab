package protocol

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every phase can be reached, and has a way out unless the yielding is over; nothing leads
// back to the beginning but that it goes on as it was.
func TestProtocol(t *testing.T) {
	arrows := Arrows()
	reached := []Phase{Running}
	for grew := true; grew; {
		grew = false
		for _, a := range arrows {
			next, ok := a.From.Next(a.Signal)
			require.True(t, ok)
			require.Equal(t, a.To, next)
			if slices.Contains(reached, a.From) && !slices.Contains(reached, a.To) {
				reached, grew = append(reached, a.To), true
			}
		}
	}
	require.Len(t, reached, int(phases))
	for p := range phases {
		leads := slices.ContainsFunc(arrows, func(a Arrow) bool { return a.From == p && a.To != p })
		require.Equal(t, p != Resumed && p != Ended, leads, "%s", p)
	}
	for s := range signals {
		require.True(t, slices.ContainsFunc(arrows, func(a Arrow) bool { return a.Signal == s }), "%s", s)
	}
}

// Whoever is stopped was asked first, if it can write a checkpoint: no way leads from running
// to evicting but by an answer, a deadline, or lost hardware.
func TestProtocolAsksFirst(t *testing.T) {
	for _, a := range Arrows() {
		switch a.To {
		case Evicting:
			require.Contains(t, []Phase{Checkpointed, Expired, Lost, Evicting}, a.From)
		case Checkpointed:
			require.True(t, a.Signal == Done || a.From == a.To)
		case Expired:
			require.True(t, slices.Contains([]Signal{Failed, Deadline, Stop}, a.Signal) || a.From == a.To)
		case Lost:
			require.True(t, a.Signal == LoseTooMany || a.From == a.To)
		case Resumed:
			require.Equal(t, Arrow{Released, Bind, Resumed}, a)
		}
		require.True(t, a.From.Over() == (a.From == Running))
	}
}

// What a report means that comes late, doubled or for another order is that there is no arrow.
func TestProtocolRefuses(t *testing.T) {
	for _, c := range []struct {
		phase  Phase
		signal Signal
	}{
		{Running, Done},
		{Checkpointed, Done},
		{Expired, Done},
		{Released, Done},
		{Resumed, Done},
		{Ended, Finish},
		{Requested, Ask},
		{Evicting, Ask},
		{Requested, Release},
		{Requested, Partial},
		{Requested, Withdraw},
		{Ending, Finish},
	} {
		_, ok := c.phase.Next(c.signal)
		require.False(t, ok, "%s: %s", c.phase, c.signal)
	}
	_, ok := Phase(200).Next(Ask)
	require.False(t, ok)
	_, ok = Running.Next(Signal(200))
	require.False(t, ok)
	require.Equal(t, "requested: deadline: expired", Arrow{Requested, Deadline, Expired}.String())
	require.Equal(t, "presume dead", PresumeDead.String())
	require.Equal(t, "phase(200)", Phase(200).String())
	require.Equal(t, "signal(200)", Signal(200).String())
}
