package gang

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/topology"
)

// A diagnosis asks as often on a large fleet as on a small one, and counts the nodes that changed.
func TestADiagnosisAsksEachConditionOnce(t *testing.T) {
	var asked [2]int
	for i, nodes := range []int{64, 4096} {
		f, err := NewFleet("spine", "leaf")
		require.NoError(t, err)
		for n := range nodes {
			_, err := f.AddNode(NodeSpec{Name: fmt.Sprintf("n%05d", n), Path: []string{fmt.Sprint("s", n/256), fmt.Sprint("l", n/32)}, GPUs: 8})
			require.NoError(t, err)
			require.NoError(t, f.Hold(Hold{Node: topology.NodeIndex(n), GPUs: 0x3f << (n % 3)})) // which GPUs it is makes no difference
		}
		r := &Request{Groups: []Group{{Members: 4, Claim: Claim{GPUs: 8}, Classes: []topology.NodeClass{0}}}}
		diagnose := func() {
			s, short := f.Diagnose(r)
			require.True(t, short)
			require.Equal(t, nodes, s.EligibleNodes)
			require.Equal(t, 0, s.Members)
			require.Len(t, f.DiagnoseLevels(r), 4)
		}
		diagnose()
		require.Len(t, f.census.conditions, 1)
		asked[i] = f.census.asked
		before := f.census.counted
		f.SetHealthy(5, 7, false)
		diagnose()
		require.Equal(t, 1, f.census.counted-before)
		require.Equal(t, 2*asked[i]+asked[i], f.census.asked, "two conditions by now")
		require.NoError(t, f.Check())
	}
	require.Equal(t, asked[0], asked[1])
}

// Every node with a GPU that takes no newcomers is found, and no other.
func TestEachFaulty(t *testing.T) {
	f := fleetOf(t, "p/a:8,4", "p/b:8,6", "q/c:8,2")
	faulty := func() (list []topology.NodeIndex) {
		f.EachFaulty(func(n topology.NodeIndex) { list = append(list, n) })
		return list
	}
	require.Empty(t, faulty())
	f.SetHealthy(1, 0, false)
	f.SetHealthy(4, 7, false)
	require.ElementsMatch(t, []topology.NodeIndex{1, 4}, faulty())
	f.SetHealthy(1, 0, true)
	require.Equal(t, []topology.NodeIndex{4}, faulty())
}
