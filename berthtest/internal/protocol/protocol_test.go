package protocol

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the table of the package comment")

// The table of the package comment is what Next says.
func TestTheWayIsPrinted(t *testing.T) {
	var lines [][3]string // the signals of one phase to another in one line
	for _, a := range Arrows() {
		at := slices.IndexFunc(lines, func(l [3]string) bool { return l[0] == a.From.String() && l[2] == a.To.String() })
		if at < 0 {
			lines = append(lines, [3]string{a.From.String(), a.Signal.String(), a.To.String()})
		} else {
			lines[at][1] += ", " + a.Signal.String()
		}
	}
	var table strings.Builder
	for _, l := range append([][3]string{{"phase", "signals", "next"}}, lines...) {
		fmt.Fprintf(&table, "//\t%-12s  %-12s  %s\n", l[0], l[2], l[1])
	}
	b, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	before, after, _ := strings.Cut(string(b), "//\t")
	_, after, _ = strings.Cut(after, "\n//\n")
	text := before + table.String() + "//\n" + after
	if *rewrite {
		require.NoError(t, os.WriteFile("doc.go", []byte(text), 0o644))
		return
	}
	require.Equal(t, strings.Split(string(b), "\n"), strings.Split(text, "\n"))
}

// Every phase can be reached, and has a way out unless the eviction is over; nothing leads
// back to the beginning but that it goes on as it was.
func TestProtocol(t *testing.T) {
	arrows := Arrows()
	reached := []Phase{PhaseRunning}
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
		require.Equal(t, p != PhaseResumed && p != PhaseEnded, leads, "%s", p)
	}
	for s := range signals {
		require.True(t, slices.ContainsFunc(arrows, func(a Arrow) bool { return a.Signal == s }), "%s", s)
	}
}

// A victim that is stopped was asked first, if it can write a checkpoint: no way leads from running
// to evicting but by an answer, a deadline, or lost hardware.
func TestProtocolAsksFirst(t *testing.T) {
	for _, a := range Arrows() {
		switch a.To {
		case PhaseEvicting:
			require.Contains(t, []Phase{PhaseCheckpointed, PhaseExpired, PhaseLost, PhaseEvicting}, a.From)
		case PhaseCheckpointed:
			require.True(t, a.Signal == SignalDone || a.From == a.To)
		case PhaseExpired:
			require.True(t, slices.Contains([]Signal{SignalFailed, SignalDeadline, SignalStop}, a.Signal) || a.From == a.To)
		case PhaseLost:
			require.True(t, a.Signal == SignalLoseTooMany || a.From == a.To)
		case PhaseResumed:
			require.Equal(t, Arrow{PhaseReleased, SignalBind, PhaseResumed}, a)
		}
		require.True(t, a.From.Over() == (a.From == PhaseRunning))
	}
}

// What a report means that comes late, doubled or for another order is that there is no arrow.
func TestProtocolRefuses(t *testing.T) {
	for _, c := range []struct {
		phase  Phase
		signal Signal
	}{
		{PhaseRunning, SignalDone},
		{PhaseCheckpointed, SignalDone},
		{PhaseExpired, SignalDone},
		{PhaseReleased, SignalDone},
		{PhaseResumed, SignalDone},
		{PhaseEnded, SignalFinish},
		{PhaseRequested, SignalAsk},
		{PhaseEvicting, SignalAsk},
		{PhaseRequested, SignalRelease},
		{PhaseRequested, SignalPartial},
		{PhaseRequested, SignalWithdraw},
		{PhaseEnding, SignalFinish},
	} {
		_, ok := c.phase.Next(c.signal)
		require.False(t, ok, "%s: %s", c.phase, c.signal)
	}
	_, ok := Phase(200).Next(SignalAsk)
	require.False(t, ok)
	_, ok = PhaseRunning.Next(Signal(200))
	require.False(t, ok)
	require.Equal(t, "requested: deadline: expired", Arrow{PhaseRequested, SignalDeadline, PhaseExpired}.String())
	require.Equal(t, "presume dead", SignalPresumeDead.String())
	require.Equal(t, "Phase(200)", Phase(200).String())
	require.Equal(t, "Signal(200)", Signal(200).String())
}
