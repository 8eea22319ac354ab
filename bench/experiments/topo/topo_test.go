package topo

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/machine"
)

// The books of a fleet agree with the core, before and after gangs are measured.
func TestTopo(t *testing.T) {
	f, err := h100Fleet(nil)
	require.NoError(t, err)
	require.NoError(t, f.fill(1))
	agree := func() {
		report := f.core.Report()
		require.EqualValues(t, f.held*1000, report.GPUs.HeldMilli)
		require.Zero(t, report.Replicas.Pending)
	}
	agree()
	require.InDelta(t, fillAtLast, 100*float64(f.held)/float64(f.gpus), 2)
	for _, gpus := range sizes {
		row, err := f.row(gpus, berth.LocalityStrict)
		require.NoError(t, err)
		require.Len(t, row, 11)
		require.Equal(t, gpus, row[0])
	}
	agree()
}

func TestEffect(t *testing.T) {
	var nodes []berth.Node
	for _, at := range [][2]string{{"s", "a"}, {"s", "a"}, {"s", "b"}, {"t", "c"}} {
		nodes = append(nodes, machine.H100.Node(string(rune('k'+len(nodes))), at[0], at[1]))
	}
	f, err := newFleet("test", "", berth.Config{Levels: []string{"spine", "su"}}, nodes)
	require.NoError(t, err)
	on := func(members ...string) *berth.Bind {
		b := &berth.Bind{}
		for _, m := range members { // node and a number of GPUs
			b.Members = append(b.Members, berth.MemberPlacement{Node: berth.NodeID(m[:1]), GPUs: berth.GPUSet(1)<<(m[1]-'0') - 1})
		}
		return b
	}
	require.Equal(t, effect{"node", 1, []int{1, 1}, 1, 2}, f.effect(on("k1")))
	require.Equal(t, effect{"node", 1, []int{1, 1}, 0, 2}, f.effect(on("k8")))
	require.Equal(t, effect{"su", 2, []int{1, 1}, 0, 1}, f.effect(on("k8", "l8")))
	require.Equal(t, effect{"spine", 2, []int{1, 2}, 0, 2}, f.effect(on("k8", "m8")))
	require.Equal(t, effect{"fleet", 2, []int{2, 2}, 0, 1}, f.effect(on("m8", "n8")), "spine s; spine t is used up")
	f.free[0] = 7
	require.Equal(t, effect{"node", 1, []int{1, 1}, 0, 0}, f.effect(on("k7")), "what is not whole cannot be broken")
	require.True(t, strings.HasPrefix(f.describeFill(), "0 of 32 GPUs held"))
}

func TestOptions(t *testing.T) {
	o := Defaults()
	o.Fleet = "moon"
	require.ErrorIs(t, Run(context.Background(), o, io.Discard), flagline.ErrMisuse)
}
