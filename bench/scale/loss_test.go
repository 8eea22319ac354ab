package scale

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// A losing is a gang on all nodes of a fleet but its spares, which loses a node, is stopped,
// goes on with a spare in its place, and has the node come back.
type losing struct {
	tb    testing.TB
	core  *core.Core
	nodes map[berth.NodeID]berth.Node
	on    []berth.MemberPlacement
	round int
	// event is what it took from the loss to the orders, and resume from the end of the last
	// order to the Bind.
	event, resume time.Duration
}

func newLosing(tb testing.TB, nodes int) *losing {
	tb.Helper()
	sched, err := core.New(berth.Config{Levels: []string{"spine", "leaf"}, Policy: berth.Policy{HotSpares: []berth.HotSpares{{NodesMilli: 10}}}})
	require.NoError(tb, err)
	l := &losing{tb: tb, core: sched, nodes: map[berth.NodeID]berth.Node{}}
	gpus := make([]berth.GPU, gpusPerNode)
	for i := range gpus {
		gpus[i] = berth.GPU{Product: "H100-80GB", MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 9}}
	}
	members := int64(nodes * 99 / 100)
	tell(tb, sched, berth.QueueSet{Queue: quota.Queue{Name: "train", Guarantee: quota.Amounts{quota.GPUMilli: members * gpusPerNode * 1000}}})
	for i := range nodes {
		n := berth.Node{ID: berth.NodeID(nodeName(i)), Domains: domains(i), GPUs: gpus, CPUMilli: cpuMilli, MemoryMiB: memoryMiB}
		l.nodes[n.ID] = n
		tell(tb, sched, berth.NodeJoined{Node: n})
	}
	tell(tb, sched, berth.JobSubmitted{Job: jobOf("gang", "train", int(members), gpusPerNode)})
	require.True(tb, l.carryOut())
	return l
}

// carryOut reports all orders done until there are no more. It reports whether the gang
// runs whole.
func (l *losing) carryOut() bool {
	for {
		start := time.Now()
		actions := pass(l.tb, l.core)
		spent := time.Since(start)
		if len(actions) == 0 {
			return len(l.on) > 0
		}
		for _, a := range actions {
			switch a := a.(type) {
			case berth.Bind:
				l.on = a.Members
				l.resume += spent
			case berth.Release:
				l.on = nil
			}
			tell(l.tb, l.core, berth.OrderReported{Order: a.Header().ID, Outcome: berth.OutcomeDone})
		}
	}
}

// lose has the gang lose a node, another one each time.
func (l *losing) lose() bool {
	l.round++
	lost := l.on[l.round*911%len(l.on)].Node
	start := time.Now()
	tell(l.tb, l.core, berth.NodeLost{Node: lost})
	actions := pass(l.tb, l.core)
	l.event += time.Since(start)
	for _, a := range actions {
		if _, ok := a.(berth.Release); ok {
			l.on = nil
		}
		tell(l.tb, l.core, berth.OrderReported{Order: a.Header().ID, Outcome: berth.OutcomeDone})
	}
	whole := l.carryOut()
	tell(l.tb, l.core, berth.NodeJoined{Node: l.nodes[lost]})
	return whole && l.carryOut()
}

// BenchmarkLoss measures what a gang that takes the fleet costs the core when it loses a
// node. One op is the whole story: the loss, the Release of the others, the Bind with a spare in
// the place of what was lost, and the return of the node.
func BenchmarkLoss(b *testing.B) {
	for _, nodes := range []int{256, 2069} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			l := newLosing(b, nodes)
			l.event, l.resume = 0, 0
			b.ReportAllocs()
			for b.Loop() {
				if !l.lose() {
					b.Fatal("the gang does not go on")
				}
			}
			b.ReportMetric(float64(l.event.Nanoseconds())/float64(b.N), "ns-to-release")
			b.ReportMetric(float64(l.resume.Nanoseconds())/float64(b.N), "ns-to-bind")
		})
	}
}

// A gang that loses a node is searched a place for as often, however large it is.
func TestLossesCostAsManySearchesOnEveryFleet(t *testing.T) {
	var searches [2]int64
	for i, nodes := range []int{128, 512} {
		l := newLosing(t, nodes)
		before := l.core.Report().Totals.PlacementAttempts
		for range 10 {
			require.True(t, l.lose())
		}
		searches[i] = l.core.Report().Totals.PlacementAttempts - before
	}
	require.Equal(t, searches[0], searches[1])
	require.LessOrEqual(t, searches[0], int64(3*10))
}
