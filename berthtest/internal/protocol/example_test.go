package protocol_test

import (
	"fmt"

	"github.com/berth-sched/berth/berthtest/internal/protocol"
)

// A victim goes from phase to phase by orders and reports; a signal that cannot come is
// refused.
func ExamplePhase_Next() {
	phase := protocol.PhaseRunning
	for _, signal := range []protocol.Signal{
		protocol.SignalAsk, protocol.SignalDone, protocol.SignalDone, protocol.SignalRelease, protocol.SignalDeadline, protocol.SignalRelease, protocol.SignalDone, protocol.SignalBind,
	} {
		next, ok := phase.Next(signal)
		if !ok {
			fmt.Printf("%v: no way on by %q\n", phase, signal)
			continue
		}
		fmt.Println(protocol.Arrow{From: phase, Signal: signal, To: next})
		phase = next
	}
	// Output:
	// running: ask: requested
	// requested: done: checkpointed
	// checkpointed: no way on by "done"
	// checkpointed: release: evicting
	// evicting: deadline: evicting
	// evicting: release: evicting
	// evicting: done: released
	// released: bind: resumed
}
