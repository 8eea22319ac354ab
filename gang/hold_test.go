package gang

import (
	"errors"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// smallFleet has two nodes of 4 GPUs with 80,000 MiB each.
func smallFleet(tb testing.TB) (*Fleet, topology.NodeIndex, topology.NodeIndex) {
	f, err := NewFleet("leaf")
	require.NoError(tb, err)
	var nodes [2]topology.NodeIndex
	for i, name := range []string{"a", "b"} {
		nodes[i], err = f.AddNode(NodeSpec{
			Name: name, Path: []string{"leaf"}, GPUs: 4, GPUMemoryMiB: 80_000, Host: countable.Amounts{countable.CPUMilli: 8_000, countable.MemoryMiB: 1_000},
		})
		require.NoError(tb, err)
	}
	return f, nodes[0], nodes[1]
}

// requireRefusal asserts that a call is refused as told and changes nothing.
func requireRefusal(t *testing.T, f *Fleet, kind error, field string, call func() error) {
	t.Helper()
	before := dump(f)
	err := call()
	require.ErrorIs(t, err, kind)
	var e *Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, field, e.Field)
	require.Contains(t, e.Error(), e.Reason)
	require.Equal(t, before, dump(f), "a refusal changed something")
	require.NoError(t, f.Check())
}

// TestS1_NoSecondHold: of what one holds, nobody else gets anything, and the attempt
// changes nothing.
func TestS1_NoSecondHold(t *testing.T) {
	f, a, b := smallFleet(t)
	require.NoError(t, f.Hold(Hold{Node: a, GPUs: 0b0011, Host: countable.Amounts{countable.CPUMilli: 3_000}}))
	require.NoError(t, f.Hold(Hold{Node: a, GPUs: 0b0100, Share: Share{GPUMilli: 600, MemoryMiB: 30_000, Owner: 1}}))
	f.SetHealthy(b, 3, false)
	share := func(milli int32, memory int64, owner Owner, gpus uint64) Hold {
		return Hold{Node: a, GPUs: gpus, Share: Share{GPUMilli: milli, MemoryMiB: memory, Owner: owner}}
	}
	for _, c := range []struct {
		what  string
		kind  error
		field string
		hold  Hold
	}{
		{"the same GPUs", ErrHeld, "hold.gpus", Hold{Node: a, GPUs: 0b0011}},
		{"one of them", ErrHeld, "hold.gpus", Hold{Node: a, GPUs: 0b1010}},
		{"a shared GPU whole", ErrHeld, "hold.gpus", Hold{Node: a, GPUs: 0b1100}},
		{"a share of a whole GPU", ErrHeld, "hold.gpus", share(100, 0, 1, 0b0001)},
		{"a share beside another owner", ErrHeld, "hold.share.owner", share(100, 0, 2, 0b0100)},
		{"too much compute", ErrCapacity, "hold.share.gpuMilli", share(401, 0, 1, 0b0100)},
		{"too much GPU memory", ErrCapacity, "hold.share.memoryMiB", share(100, 50_001, 1, 0b0100)},
		{"too much CPU", ErrCapacity, "hold.cpuMilli", Hold{Node: a, Host: countable.Amounts{countable.CPUMilli: 5_001}}},
		{"too much memory", ErrCapacity, "hold.memoryMiB", Hold{Node: a, Host: countable.Amounts{countable.MemoryMiB: 1_001}}},
		{"a failed GPU", ErrUnavailable, "hold.gpus", Hold{Node: b, GPUs: 0b1000}},
		{"no such GPU", ErrUnknown, "hold.gpus", Hold{Node: a, GPUs: 1 << 4}},
		{"no such node", ErrUnknown, "node", Hold{Node: 2}},
		{"negative node", ErrUnknown, "node", Hold{Node: -1}},
		{"negative CPU", ErrInvalid, "hold.cpuMilli", Hold{Node: b, Host: countable.Amounts{countable.CPUMilli: -1}}},
		{"negative memory", ErrInvalid, "hold.memoryMiB", Hold{Node: b, Host: countable.Amounts{countable.MemoryMiB: -1}}},
		{"negative share", ErrInvalid, "hold.share.gpuMilli", share(-1, 0, 1, 0b1000)},
		{"a whole share", ErrInvalid, "hold.share.gpuMilli", share(1000, 0, 1, 0b1000)},
		{"memory without compute", ErrInvalid, "hold.share.gpuMilli", share(0, 1, 0, 0b1000)},
		{"a share of two", ErrInvalid, "hold.share", share(1, 0, 1, 0b1100)},
		{"a share of none", ErrInvalid, "hold.share", share(1, 0, 1, 0)},
		{"negative GPU memory", ErrInvalid, "hold.share.memoryMiB", share(1, -1, 1, 0b1000)},
		{"an owner that is nobody", ErrInvalid, "hold.share.owner", share(1, 0, 0, 0b1000)},
		{"owner too large", ErrInvalid, "hold.share.owner", share(1, 0, MaxOwner+1, 0b1000)},
	} {
		t.Run(c.what, func(t *testing.T) {
			requireRefusal(t, f, c.kind, c.field, func() error { return f.Hold(c.hold) })
			if c.kind != ErrCapacity && c.kind != ErrUnavailable {
				requireRefusal(t, f, c.kind, c.field, func() error { return f.Adopt(c.hold) })
			}
		})
	}
	f.SetSchedulable(b, false)
	requireRefusal(t, f, ErrUnavailable, "hold.node", func() error { return f.Hold(Hold{Node: b, GPUs: 1}) })
}

// TestS1_SecondHoldIsRefused does the same with random holds: a hold is granted if
// and only if the list of holds leaves room for it.
func TestS1_SecondHoldIsRefused(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.join(t)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			n := &w.nodes[0]
			h := Hold{Node: n.index, Host: countable.Amounts{countable.CPUMilli: int64(rapid.IntRange(0, 2).Draw(t, "cpu"))}, GPUs: rapid.Uint64Range(0, lowMask(n.GPUs)).Draw(t, "gpus")}
			if n.GPUs > 0 && rapid.Bool().Draw(t, "shared") {
				h.GPUs = 1 << rapid.IntRange(0, n.GPUs-1).Draw(t, "gpu")
				h.Share = Share{GPUMilli: int32(rapid.IntRange(1, 600).Draw(t, "milli")), MemoryMiB: int64(rapid.IntRange(0, 50).Draw(t, "memory")), Owner: Owner(rapid.IntRange(1, 2).Draw(t, "owner"))}
			}
			if n.GPUs > 0 && rapid.IntRange(0, 3).Draw(t, "over") == 0 {
				gpu := rapid.IntRange(0, n.GPUs-1).Draw(t, "gpu")
				h.GPUs, h.Share = 1<<gpu, Over(Owner(rapid.IntRange(3, 4).Draw(t, "owner")), int64(rapid.SampledFrom([]int{10, 50}).Draw(t, "memory")))
				n.lent[gpu] = Owner(rapid.SampledFrom([]int{0, 3, 3, 4}).Draw(t, "lent"))
				require.NoError(t, w.fleet.Lend(n.index, h.GPUs, n.lent[gpu], lentMemory))
			}
			if n.GPUs > 0 && rapid.IntRange(0, 2).Draw(t, "instance") == 0 {
				w.divide(t, n)
				h.GPUs, h.Share = 1<<rapid.IntRange(0, n.GPUs-1).Draw(t, "gpu"), Share{}
				h.Instance = rapid.SampledFrom(n.Lattice.Placements()).Draw(t, "placement")
			}
			at := slices.Index(w.holds, h)
			if rapid.IntRange(0, 2).Draw(t, "op") == 0 && at >= 0 {
				require.NoError(t, w.fleet.Release(h))
				w.holds = slices.Delete(w.holds, at, at+1)
				w.check(t)
				continue
			}
			r, cpuLeft := &w.rooms()[0], false
			cpuLeft = h.Host[countable.CPUMilli] <= max(r.cpu, 0)
			room := cpuLeft && h.GPUs&^r.whole == 0
			if h.Share.GPUMilli > 0 {
				for gpu := range n.GPUs {
					if h.GPUs == 1<<gpu {
						room = cpuLeft && (r.whole&h.GPUs != 0 || r.owner[gpu] == h.Share.Owner) &&
							h.Share.GPUMilli <= r.milli[gpu] && h.Share.MemoryMiB <= r.gpuMemory[gpu] && r.sharable(gpu)
					}
				}
			}
			if h.Share.Over {
				room = cpuLeft && r.lends(n, bits.TrailingZeros64(h.GPUs), &h.Share)
			}
			if h.Instance != (mig.Placement{}) {
				room = cpuLeft && r.admits(bits.TrailingZeros64(h.GPUs), h.Instance)
			}
			before := dump(w.fleet)
			err := w.fleet.Hold(h)
			require.Equal(t, room, err == nil, "%+v: %v", h, err)
			if err != nil {
				require.Equal(t, before, dump(w.fleet))
			} else {
				w.holds = append(w.holds, h)
			}
			w.check(t)
		}
	})
}

// TestReleaseWantsWhatIsHeld: what is given back must be held, and so.
func TestReleaseWantsWhatIsHeld(t *testing.T) {
	f, a, b := smallFleet(t)
	pair := Hold{Node: a, GPUs: 0b0011, Host: countable.Amounts{countable.CPUMilli: 3_000, countable.MemoryMiB: 10}}
	single := Hold{Node: a, GPUs: 0b0100, Host: countable.Amounts{countable.CPUMilli: 3_000, countable.MemoryMiB: 10}}
	first := Hold{Node: b, GPUs: 1, Share: Share{GPUMilli: 300, MemoryMiB: 10, Owner: 1}}
	second := Hold{Node: b, GPUs: 1, Share: Share{GPUMilli: 500, MemoryMiB: 20, Owner: 1}}
	for _, h := range []Hold{pair, single, first, second} {
		require.NoError(t, f.Hold(h))
	}
	changed := func(h Hold, change func(*Hold)) Hold { change(&h); return h }
	for _, c := range []struct {
		what  string
		field string
		hold  Hold
	}{
		{"half of it", "hold.gpus", changed(pair, func(h *Hold) { h.GPUs = 0b0001 })},
		{"two holds as one", "hold.gpus", changed(pair, func(h *Hold) { h.GPUs, h.Host[countable.CPUMilli], h.Host[countable.MemoryMiB] = 0b0111, 6_000, 20 })},
		{"other CPU", "hold.gpus", changed(pair, func(h *Hold) { h.Host[countable.CPUMilli] = 2_999 })},
		{"more CPU than all", "hold.cpuMilli", changed(pair, func(h *Hold) { h.Host[countable.CPUMilli] = 6_001 })},
		{"more memory than all", "hold.memoryMiB", changed(pair, func(h *Hold) { h.Host[countable.MemoryMiB] = 21 })},
		{"a free GPU", "hold.gpus", Hold{Node: a, GPUs: 0b1000}},
		{"another owner", "hold.share.owner", changed(first, func(h *Hold) { h.Share.Owner = 2 })},
		{"too much of a share", "hold.share", changed(first, func(h *Hold) { h.Share.GPUMilli = 801 })},
		{"a share of an unshared GPU", "hold.share.owner", changed(first, func(h *Hold) { h.GPUs = 0b10 })},
		{"a shared GPU whole", "hold.gpus", Hold{Node: b, GPUs: 1}},
	} {
		t.Run(c.what, func(t *testing.T) {
			requireRefusal(t, f, ErrNotHeld, c.field, func() error { return f.Release(c.hold) })
		})
	}
	require.NoError(t, f.Release(first))
	requireRefusal(t, f, ErrNotHeld, "hold.share", func() error { return f.Release(first) })
	require.NoError(t, f.Release(second))
	requireRefusal(t, f, ErrNotHeld, "hold.node", func() error { return f.Release(second) })
	require.NoError(t, f.Release(single))
	requireRefusal(t, f, ErrNotHeld, "hold.node", func() error { return f.Release(Hold{Node: a}) })

	// A placement is given back whole or not at all.
	p := Placement{Members: []Member{{Hold: pair}, {Hold: pair}}}
	requireRefusal(t, f, ErrNotHeld, "hold.node", func() error { return f.ReleaseAll(&p) })
	require.Len(t, p.Members, 2)
	p.Members = p.Members[:1]
	require.NoError(t, f.ReleaseAll(&p))
	require.Empty(t, p.Members)
	require.NoError(t, f.CheckHolds(nil))
}

// TestTheWorldWins: Adopt takes what runs already, though no new member could have it.
func TestTheWorldWins(t *testing.T) {
	f, a, _ := smallFleet(t)
	f.SetSchedulable(a, false)
	f.SetHealthy(a, 0, false)
	require.NoError(t, f.SetHost(a, countable.Amounts{countable.CPUMilli: 1_000, countable.MemoryMiB: 5}))
	h := Hold{Node: a, GPUs: 0b0001, Host: countable.Amounts{countable.CPUMilli: 3_000, countable.MemoryMiB: 10}}
	require.Error(t, f.Hold(h))
	require.NoError(t, f.Adopt(h))
	require.Equal(t, countable.Amounts{countable.CPUMilli: -2_000, countable.MemoryMiB: -5}, f.HostFree(a))
	require.NoError(t, f.CheckHolds([]Hold{h}))
	require.ErrorIs(t, f.CheckHolds(nil), ErrNotHeld)
	require.ErrorIs(t, f.CheckHolds([]Hold{h, h}), ErrHeld)

	// An overfull host takes no member that needs any of it.
	f.SetSchedulable(a, true)
	require.Zero(t, f.Fits(a, &Claim{GPUs: 1, Host: countable.Amounts{countable.CPUMilli: 1}}))
	require.Equal(t, 3, f.Fits(a, &Claim{GPUs: 1}))
	// A failed GPU is not free after its release, until it is healthy again.
	require.NoError(t, f.Release(h))
	require.EqualValues(t, 0b1110, f.FreeMask(a))
	f.SetHealthy(a, 0, true)
	require.EqualValues(t, 0b1111, f.FreeMask(a))
	require.NoError(t, f.Check())
}

func TestNodesComeAndGo(t *testing.T) {
	f, a, b := smallFleet(t)
	requireRefusal(t, f, ErrInvalid, "cpuMilli", func() error {
		_, err := f.AddNode(NodeSpec{Name: "c", Path: []string{"leaf"}, GPUs: 4, Host: countable.Amounts{countable.CPUMilli: -1}})
		return err
	})
	_, err := f.AddNode(NodeSpec{Name: "a", Path: []string{"leaf"}, GPUs: 4})
	require.ErrorIs(t, err, topology.ErrDuplicate)
	_, err = f.AddNode(NodeSpec{Name: "c", Path: []string{"leaf"}, GPUs: 2})
	require.ErrorIs(t, err, topology.ErrConflict)
	requireRefusal(t, f, ErrInvalid, "memoryMiB", func() error { return f.SetHost(a, countable.Amounts{countable.MemoryMiB: MaxAmount + 1}) })
	requireRefusal(t, f, ErrInvalid, "cpuMilli", func() error { return f.SetHost(a, countable.Amounts{countable.CPUMilli: -1}) })
	requireRefusal(t, f, ErrUnknown, "node", func() error { return f.SetHost(9, countable.Amounts{}) })
	requireRefusal(t, f, ErrUnknown, "node", func() error { return f.RemoveNode(-1) })

	h := Hold{Node: a, Host: countable.Amounts{countable.CPUMilli: 1}}
	require.NoError(t, f.Hold(h))
	requireRefusal(t, f, ErrInUse, "node", func() error { return f.RemoveNode(a) })
	require.NoError(t, f.Release(h))
	require.NoError(t, f.RemoveNode(a))
	requireRefusal(t, f, ErrUnknown, "node", func() error { return f.Hold(h) })
	require.Zero(t, f.nodes[a].holds)
	require.Zero(t, f.FreeMask(a))
	require.False(t, f.Schedulable(a))
	require.True(t, f.Schedulable(b))
	for _, stranger := range []topology.NodeIndex{a, -1, 1 << 30} { // passed over
		f.SetSchedulable(stranger, true)
		f.SetHealthy(stranger, 0, true)
		f.SetHealthy(b, 4, false)
		f.SetHealthy(b, -1, false)
		milli, memory := f.ShareLeft(stranger, 0)
		require.Zero(t, int64(milli)+memory)
		require.Zero(t, f.HostFree(stranger))
		require.Zero(t, f.Fits(stranger, &Claim{}))
	}
	require.NoError(t, f.Check())
}

// The tree hears of what changes together when all of it has changed. Until then the tree stays as
// it was.
func TestTheTreeHearsOfWhatChangesTogetherOnce(t *testing.T) {
	f, a, b := smallFleet(t)
	require.NoError(t, f.Hold(Hold{Node: b, GPUs: 0b1111}))
	f.Together(func() {
		require.NoError(t, f.Hold(Hold{Node: a, GPUs: 0b0011}))
		require.NoError(t, f.Hold(Hold{Node: a, GPUs: 0b0100, Share: Share{GPUMilli: 600, Owner: 1}}))
		require.NoError(t, f.Release(Hold{Node: b, GPUs: 0b1111}))
		require.NoError(t, f.Hold(Hold{Node: b, GPUs: 0b1100}))
		require.NoError(t, f.Hold(Hold{Node: b, GPUs: 0b0011}))
		require.Equal(t, 4, f.Tree().Free(a))
		require.ErrorIs(t, f.Hold(Hold{Node: a, GPUs: 0b0001}), ErrHeld, "what is held counts at once")
	})
	require.Equal(t, 1, f.Tree().Free(a))
	require.Zero(t, f.Tree().Free(b))
	require.NoError(t, f.Check())
	require.NoError(t, f.Hold(Hold{Node: a, GPUs: 0b1000}))
	require.Zero(t, f.Tree().Free(a), "alone it is told at once")
}

// dump writes all that is free and held in a fleet.
func dump(f *Fleet) string {
	var b strings.Builder
	for i := range f.nodes {
		b.WriteString(f.nodes[i].written())
	}
	return b.String()
}
