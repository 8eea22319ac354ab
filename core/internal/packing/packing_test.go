package packing_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/core/internal/packing"
	"github.com/berth-sched/berth/internal/drawn"
)

// fits is the slow twin: every member on every node, in the order of the runs.
func fits(p *packing.Packing, rooms []packing.Room, run, member int, kind int32) bool {
	if run == len(p.Runs) {
		return true
	}
	one := &p.Runs[run]
	if member == one.Members {
		return fits(p, rooms, run+1, 0, -1)
	}
	for i, n := range one.Nodes {
		room := &rooms[n]
		if kind >= 0 && one.Kinds[i] != kind || room.GPUs < one.Each.GPUs || room.Host[0] < one.Each.Host[0] {
			continue
		}
		room.GPUs, room.Host[0] = room.GPUs-one.Each.GPUs, room.Host[0]-one.Each.Host[0]
		found := fits(p, rooms, run, member+1, one.Kinds[i])
		room.GPUs, room.Host[0] = room.GPUs+one.Each.GPUs, room.Host[0]+one.Each.Host[0]
		if found {
			return true
		}
	}
	return false
}

// draw draws a packing of a few members.
func draw(r *rand.Rand) *packing.Packing {
	p := &packing.Packing{Steps: 1 << 20}
	most := 1 + r.IntN(6) // of little there are nodes that are alike
	for range 1 + r.IntN(4) {
		p.Rooms = append(p.Rooms, packing.Room{GPUs: r.IntN(1 + most), Host: []int64{r.Int64N(2 * int64(most))}})
	}
	for range 1 + r.IntN(3) {
		one := packing.Run{Members: 1 + r.IntN(3), Each: packing.Room{GPUs: r.IntN(4), Host: []int64{r.Int64N(4)}}}
		for _, n := range r.Perm(len(p.Rooms)) {
			if r.IntN(5) > 0 {
				one.Nodes, one.Kinds = append(one.Nodes, n), append(one.Kinds, r.Int32N(2))
			}
		}
		p.Runs = append(p.Runs, one)
	}
	return p
}

// A packing is found just if there is one, and is one; what is free is left as it was.
func TestPackAgainstTwin(t *testing.T) {
	packed, refused := 0, 0
	for seed := range drawn.Seeds(2000) {
		p := draw(rand.New(rand.NewPCG(seed, 1)))
		before := clone(p.Rooms)
		at := p.Pack()
		require.Equal(t, before, p.Rooms, "seed %d", seed)
		require.Equal(t, fits(p, p.Rooms, 0, 0, -1), at != nil, "seed %d: %+v", seed, p)
		if at == nil {
			refused++
			continue
		}
		packed++
		for i, nodes := range at {
			one := &p.Runs[i]
			require.Len(t, nodes, one.Members)
			for _, n := range nodes {
				require.Equal(t, one.Kinds[slices.Index(one.Nodes, nodes[0])], one.Kinds[slices.Index(one.Nodes, n)], "seed %d", seed)
				before[n].GPUs -= one.Each.GPUs
				before[n].Host[0] -= one.Each.Host[0]
			}
		}
		for _, room := range before {
			require.True(t, room.GPUs >= 0 && room.Host[0] >= 0, "seed %d", seed)
		}
	}
	require.Positive(t, packed)
	require.Positive(t, refused)
}

// The steps bound a packing, and one that they do for is found.
func TestPackIsBounded(t *testing.T) {
	p := &packing.Packing{Rooms: []packing.Room{{GPUs: 4}}, Runs: []packing.Run{{Members: 4, Each: packing.Room{GPUs: 1}, Nodes: []int{0}, Kinds: []int32{0}}}}
	for p.Steps = 0; p.Steps < 4; p.Steps++ {
		few := *p
		require.Nil(t, few.Pack())
	}
	require.Equal(t, [][]int{{0, 0, 0, 0}}, p.Pack())
}

// A search that has no step left ends at once: it does not try all other nodes for each of the
// members that have one, which here would take minutes.
func TestPackEndsWithItsSteps(t *testing.T) {
	const nodes = 8192
	p := &packing.Packing{Steps: 1000}
	one := packing.Run{Members: nodes, Each: packing.Room{GPUs: 1, Host: []int64{1}}, Kinds: make([]int32, nodes)}
	for n := range nodes {
		p.Rooms = append(p.Rooms, packing.Room{GPUs: 1, Host: []int64{int64(1 + n)}}) // none alike
		one.Nodes = append(one.Nodes, n)
	}
	p.Runs = []packing.Run{one}
	require.Nil(t, p.Pack())
	require.Zero(t, p.Steps)
}

func clone(rooms []packing.Room) []packing.Room {
	out := slices.Clone(rooms)
	for i := range out {
		out[i].Host = slices.Clone(out[i].Host)
	}
	return out
}

// What is alike is tried once, and what is too large for all that is free is not searched for: both
// are found to be in vain in a few steps, where each way to fill the nodes would take millions.
func TestPackSeesWhatIsInVain(t *testing.T) {
	rooms := func(nodes, gpus int) (list []packing.Room) {
		for range nodes {
			list = append(list, packing.Room{GPUs: gpus, Host: []int64{1 << 20}})
		}
		return list
	}
	all := func(members, gpus int, p *packing.Packing) packing.Run {
		one := packing.Run{Members: members, Each: packing.Room{GPUs: gpus, Host: []int64{0}}, Kinds: make([]int32, len(p.Rooms))}
		for n := range p.Rooms {
			one.Nodes = append(one.Nodes, n)
		}
		return one
	}
	for _, test := range []struct {
		name  string
		rooms []packing.Room
		runs  [][2]int // members, and GPUs of each
		steps int
	}{
		{"one GPU too few", rooms(24, 8), [][2]int{{8, 8}, {32, 3}, {33, 1}}, 0},
		{"small members of no use to large ones", append(rooms(20, 8), rooms(60, 1)...), [][2]int{{21, 6}, {10, 1}}, 0},
		{"crumbs of even members", rooms(20, 7), [][2]int{{31, 4}, {14, 2}}, 0},
		{"no room for two of unlike size", rooms(20, 4), [][2]int{{15, 3}, {11, 2}}, 40},
	} {
		p := &packing.Packing{Rooms: test.rooms, Steps: 1 << 16}
		for _, run := range test.runs {
			p.Runs = append(p.Runs, all(run[0], run[1], p))
		}
		require.Nil(t, p.Pack(), test.name)
		require.LessOrEqual(t, 1<<16-p.Steps, test.steps, test.name)
	}
}
