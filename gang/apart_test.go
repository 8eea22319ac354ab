package gang

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

// A node with eight GPUs and 16 CPUs, and two without GPUs that have as many. Members that need the
// host alone leave the CPUs beside the GPUs, unless the gang asks to be close, or there is no room.
func TestHostsGoWhereNoGPUsNeedThem(t *testing.T) {
	const gpu, host topology.NodeClass = 0, 1
	both := []topology.NodeClass{gpu, host}
	cpus := func(n int64) countable.Amounts { return countable.Amounts{countable.CPUMilli: 1000 * n} }
	head := Group{Members: 1, Claim: Claim{GPUs: 1, Host: cpus(2)}, Classes: both}
	work := Group{Members: 12, Claim: Claim{Host: cpus(1)}, Classes: both}
	many := work
	many.Members = 30 // 16 and 14: not all on one
	more := work
	more.Members = 40 // too many for the nodes without GPUs
	near := work
	near.Required = 1
	for name, c := range map[string]struct {
		request Request
		beside  int // members that stand on the node with GPUs
	}{
		"head and workers":   {Request{Groups: []Group{head, work}}, 1},
		"workers first":      {Request{Groups: []Group{work, head}}, 1},
		"loose":              {Request{Groups: []Group{head, work}, Locality: LocalityLoose}, 1},
		"several nodes":      {Request{Groups: []Group{head, many}}, 1},
		"no room there":      {Request{Groups: []Group{head, more}}, 9},
		"one rack":           {Request{Groups: []Group{head, work}, Required: 1}, 13},
		"close by choice":    {Request{Groups: []Group{head, work}, Preferred: 2}, 13},
		"a level of its own": {Request{Groups: []Group{head, near}}, 13},
		"the host alone":     {Request{Groups: []Group{work}}, 0},
		"two such groups":    {Request{Groups: []Group{work, work}}, 0},
		"GPUs alone":         {Request{Groups: []Group{head, head}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := NewFleet("rack")
			require.NoError(t, err)
			for i, node := range []string{"a-gpu", "b", "c"} {
				spec := NodeSpec{Name: node, Path: []string{[]string{"r1", "r2", "r2"}[i]}, Class: host, Host: cpus(16)}
				if i == 0 {
					spec.Class, spec.GPUs, spec.GPUMemoryMiB = gpu, 8, 80_000
				}
				_, err := f.AddNode(spec)
				require.NoError(t, err)
			}
			var p Placement
			require.True(t, f.Place(&c.request, &p))
			beside := 0
			for i := range p.Members {
				if p.Members[i].Hold.Node == 0 {
					beside++
				}
			}
			require.Equal(t, c.beside, beside)
			require.NoError(t, f.Check())
			require.NoError(t, f.ReleaseAll(&p))
			require.Zero(t, testing.AllocsPerRun(10, func() {
				f.Place(&c.request, &p)
				_ = f.ReleaseAll(&p)
			}))
		})
	}
}

// Two groups that need GPUs, and a third that needs the host alone, on more nodes than are searched
// for the least cost: each member is placed once.
func TestHostsBesideSeveralGroupsArePlacedOnce(t *testing.T) {
	const gpu, host topology.NodeClass = 0, 1
	f, err := NewFleet("rack")
	require.NoError(t, err)
	for i := range 2 * maxCompared {
		spec := NodeSpec{Name: fmt.Sprint(i), Path: []string{"r"}, Class: gpu, GPUs: 8, GPUMemoryMiB: 80_000}
		if i == 0 {
			spec = NodeSpec{Name: "host", Path: []string{"r"}, Class: host}
		}
		spec.Host[countable.CPUMilli] = 16_000
		_, err := f.AddNode(spec)
		require.NoError(t, err)
	}
	both := []topology.NodeClass{gpu, host}
	r := Request{Groups: []Group{
		{Members: maxCompared, Claim: Claim{GPUs: 6}, Classes: both},
		{Members: 2, Claim: Claim{GPUs: 5}, Classes: both},
		{Members: 3, Claim: Claim{Host: countable.Amounts{countable.CPUMilli: 1000}}, Classes: both},
	}}
	var p Placement
	require.True(t, f.Place(&r, &p))
	require.Len(t, p.Members, maxCompared+2+3)
	require.NoError(t, f.Check())
}
