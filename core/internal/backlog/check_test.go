package backlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/core/internal/roomtest"
)

// What waits in a domain of a level is counted anew, and what the fleet was told of it compared.
func TestChecksFindDemandThatDoesNotAddUp(t *testing.T) {
	for name, spoil := range map[string]func(m *roomtest.Machine, rack int){
		"what is counted":        func(m *roomtest.Machine, rack int) { m.Backlog.Demand[rack]++ },
		"what the fleet is told": func(m *roomtest.Machine, rack int) { m.State.Fleet.SetBreakCost(1, 7) },
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			j := roomtest.Job("waits", "a", 2, 8)
			j.Topology.Required = "rack"
			m.Wait(j)
			rack, err := m.Backlog.CheckLevel("rack")
			m.NoRefusal(err)
			require.Equal(t, 1, m.Backlog.Demand[rack])
			require.NoError(t, m.Backlog.CheckQueues())
			m.Break()
			spoil(m, int(rack))
			require.ErrorContains(t, m.Backlog.CheckQueues(), "wait for room in a domain")
		})
	}
}
