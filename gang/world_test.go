package gang

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// A worldNode is what the tests know of a node, kept apart from the fleet.
type worldNode struct {
	NodeSpec
	index       topology.NodeIndex
	schedulable bool
	failed      uint64
	// How its GPUs are divided, and with Fixed the instances that exist.
	division [64]Partitioning
	exist    [4]mig.Layout
	// To which owner each GPU is lent, 40 of its memory; 0: to nobody.
	lent [4]Owner
}

// lentMemory is how much is lent of each GPU.
const lentMemory = 40

// A world is a tiny fleet, and beside it the list of its nodes and holds, from which
// the tests work everything out again.
type world struct {
	fleet  *Fleet
	levels int
	nodes  []worldNode
	holds  []Hold
}

func newWorld(t *rapid.T) *world {
	levels := []string{"spine", "leaf"}[:rapid.SampledFrom([]int{2, 2, 1, 0}).Draw(t, "levels")]
	f, err := NewFleet(levels...)
	require.NoError(t, err)
	f.walked = rapid.SampledFrom([]int{0, 0, maxCompared}).Draw(t, "walked")
	return &world{fleet: f, levels: len(levels)}
}

// worldGPUs is the number of GPUs of the classes used here.
func worldGPUs(c topology.NodeClass) int { return []int{4, 2, 0}[c] }

// vfs are so many of the declared resource that nodes have here.
func vfs(n int64) *countable.Declared {
	if n == 0 {
		return nil
	}
	return &countable.Declared{1: n}
}

func (w *world) join(t *rapid.T) {
	s := NodeSpec{
		Name: rapid.StringMatching(`[a-h]`).Draw(t, "name"), Class: topology.NodeClass(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "class")),
		GPUMemoryMiB: 80, Host: countable.Amounts{countable.CPUMilli: int64(rapid.SampledFrom([]int{2, 4, 8, 8}).Draw(t, "cpu")), countable.MemoryMiB: 8},
	}
	s.Declared = vfs(rapid.SampledFrom([]int64{0, 0, 1, 4, 8}).Draw(t, "vfs"))
	s.GPUs = worldGPUs(s.Class)
	s.Lattice = worldLattices()[s.Class]
	s.MaxShares = rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "maxShares")
	for range w.levels {
		s.Path = append(s.Path, rapid.StringMatching(`[x-y]`).Draw(t, "domain"))
	}
	n, err := w.fleet.AddNode(s)
	if slices.ContainsFunc(w.nodes, func(o worldNode) bool { return o.Name == s.Name && slices.Equal(o.Path, s.Path) }) {
		require.ErrorIs(t, err, topology.ErrDuplicate)
		return
	}
	require.NoError(t, err)
	w.nodes = append(w.nodes, worldNode{NodeSpec: s, index: n, schedulable: true})
}

func (w *world) node(n topology.NodeIndex) *worldNode {
	i := slices.IndexFunc(w.nodes, func(o worldNode) bool { return o.index == n })
	if i < 0 {
		return nil
	}
	return &w.nodes[i]
}

// domain names the domain of a level in which a node is; at the node level the
// node itself.
func (w *world) domain(n topology.NodeIndex, l topology.Level) string {
	node := w.node(n)
	if int(l) > w.levels {
		return fmt.Sprint(node.Path, node.Name)
	}
	return fmt.Sprint(node.Path[:l])
}

// A room is what a node has left, as the twin sees it.
type room struct {
	cpu, memory int64
	whole       uint64 // GPUs that nobody holds and that work
	wholly      uint64 // GPUs that are held whole
	over        uint64 // GPUs that have a borrower
	node        *worldNode
	held        [4][]mig.Placement
	floor       int // for the twin: no instance before it
	shares      [64]int
	vfs         int64 // of a declared resource
	milli       [64]int32
	gpuMemory   [64]int64
	owner       [64]Owner
}

// rooms works out what every node has left from the list of holds.
func (w *world) rooms() []room {
	list := make([]room, len(w.nodes))
	for i := range w.nodes {
		n, r := &w.nodes[i], &list[i]
		r.node = n
		r.cpu, r.memory, r.whole = n.Host[countable.CPUMilli], n.Host[countable.MemoryMiB], lowMask(n.GPUs)&^n.failed
		r.vfs = n.Declared.Of(1)
		for gpu := range n.GPUs {
			r.milli[gpu], r.gpuMemory[gpu] = 1000, n.GPUMemoryMiB
			if n.failed>>gpu&1 != 0 || n.division[gpu] != PartitioningNone {
				r.milli[gpu] = 0
				r.whole &^= 1 << gpu
			}
		}
		for j := range w.holds {
			if w.holds[j].Node == n.index {
				r.take(&w.holds[j])
			}
		}
	}
	return list
}

func (r *room) take(h *Hold) {
	r.cpu -= h.Host[countable.CPUMilli]
	r.memory -= h.Host[countable.MemoryMiB]
	r.vfs -= h.Declared.Of(1)
	r.whole &^= h.GPUs
	for gpu := range 64 {
		switch {
		case h.GPUs>>gpu&1 == 0:
		case h.Instance != mig.Placement{}:
			r.held[gpu] = append(slices.Clip(r.held[gpu]), h.Instance)
		case h.Share.Over:
			r.over |= 1 << gpu
			r.milli[gpu] = 0
		case h.Share.GPUMilli == 0:
			r.milli[gpu] = 0
			r.wholly |= 1 << gpu
		default:
			r.shares[gpu]++
			r.milli[gpu] -= h.Share.GPUMilli
			r.gpuMemory[gpu] -= h.Share.MemoryMiB
			r.owner[gpu] = h.Share.Owner
		}
	}
}

// options are the ways to place a member on a node that differ in what they leave.
func (r *room) options(n *worldNode, c *Claim) []Hold {
	h := Hold{Node: n.index, Host: countable.Amounts{countable.CPUMilli: c.Host[countable.CPUMilli], countable.MemoryMiB: c.Host[countable.MemoryMiB]}, Share: c.Share, Declared: c.Declared}
	if c.Declared.Of(1) > max(r.vfs, 0) {
		return nil
	}
	if c.Host[countable.CPUMilli] > max(r.cpu, 0) || c.Host[countable.MemoryMiB] > max(r.memory, 0) {
		return nil
	}
	switch {
	case c.GPUs > 0:
		if bits.OnesCount64(r.whole) < c.GPUs {
			return nil
		}
		for gpu := 0; bits.OnesCount64(h.GPUs) < c.GPUs; gpu++ {
			h.GPUs |= r.whole & (1 << gpu)
		}
		return []Hold{h}
	case c.Share.Over:
		var list []Hold
		for gpu := range n.GPUs {
			if r.lends(n, gpu, &c.Share) {
				h.GPUs = 1 << gpu
				list = append(list, h)
			}
		}
		return list
	case c.Share.GPUMilli > 0:
		if h.Share.MemoryMiB == 0 {
			h.Share.MemoryMiB = n.GPUMemoryMiB * int64(c.Share.GPUMilli) / 1000
		}
		var list []Hold
		for gpu := range n.GPUs {
			free := r.whole>>gpu&1 != 0
			if (free || r.owner[gpu] == c.Share.Owner) && c.Share.GPUMilli <= r.milli[gpu] && h.Share.MemoryMiB <= r.gpuMemory[gpu] && r.sharable(gpu) {
				h.GPUs = 1 << gpu
				list = append(list, h)
			}
		}
		return list
	case len(c.Instances) > 0:
		return r.instances(h, c)
	}
	return []Hold{h}
}

// lends reports whether a GPU of a node may have a borrower with a share.
func (r *room) lends(n *worldNode, gpu int, s *Share) bool {
	return r.wholly>>gpu&1 != 0 && r.over>>gpu&1 == 0 && n.failed>>gpu&1 == 0 && n.lent[gpu] == s.Owner && s.MemoryMiB <= lentMemory
}

// requireRoom asserts that a hold is what a claim asks for, and was there to be held.
func (r *room) requireRoom(t require.TestingT, n *worldNode, c *Claim, h *Hold) {
	require.Equal(t, [2]int64{c.Host[countable.CPUMilli], c.Host[countable.MemoryMiB]}, [2]int64{h.Host[countable.CPUMilli], h.Host[countable.MemoryMiB]})
	require.True(t, c.Declared.Equal(h.Declared))
	require.LessOrEqual(t, h.Declared.Of(1), max(r.vfs, 0), "S1: a declared resource")
	require.LessOrEqual(t, h.Host[countable.CPUMilli], max(r.cpu, 0), "S1: host CPU")
	require.LessOrEqual(t, h.Host[countable.MemoryMiB], max(r.memory, 0), "S1: host memory")
	if len(c.Instances) > 0 {
		require.Equal(t, 1, bits.OnesCount64(h.GPUs))
		gpu := bits.TrailingZeros64(h.GPUs)
		require.Zero(t, n.failed&h.GPUs)
		require.True(t, r.admits(gpu, h.Instance), "S1: %s of GPU %d beside %v", h.Instance, gpu, r.held[gpu])
		require.True(t, slices.ContainsFunc(c.Instances, func(p ClassProfile) bool {
			name, _ := worldLattices()[n.Class].Profile(p.Index)
			return p.Class == n.Class && name.Name == h.Instance.Profile
		}), "a profile that was not asked for")
		return
	}
	if c.Share.GPUMilli == 0 {
		require.Equal(t, c.GPUs, bits.OnesCount64(h.GPUs))
		require.Zero(t, h.GPUs&^r.whole, "S1: a GPU is held twice")
		require.Zero(t, h.Share)
		return
	}
	share := c.Share
	if share.Over {
		require.Equal(t, share, h.Share)
		require.Equal(t, 1, bits.OnesCount64(h.GPUs))
		require.True(t, r.lends(n, bits.TrailingZeros64(h.GPUs), &share), "S1: a GPU that is not lent, or has a borrower")
		return
	}
	if share.MemoryMiB == 0 {
		share.MemoryMiB = n.GPUMemoryMiB * int64(share.GPUMilli) / 1000
	}
	require.Equal(t, share, h.Share)
	require.Equal(t, 1, bits.OnesCount64(h.GPUs))
	gpu := bits.TrailingZeros64(h.GPUs)
	require.True(t, r.whole&h.GPUs != 0 || r.owner[gpu] == share.Owner, "S1: another's GPU")
	require.LessOrEqual(t, share.GPUMilli, r.milli[gpu], "S1: compute of a GPU")
	require.True(t, r.sharable(gpu), "more shares than the node allows")
	require.LessOrEqual(t, share.MemoryMiB, r.gpuMemory[gpu], "S1: memory of a GPU")
}

// check compares the fleet with the list of nodes and holds.
func (w *world) check(t require.TestingT) {
	require.NoError(t, w.fleet.Check())
	require.NoError(t, w.fleet.CheckHolds(w.holds))
	for i, r := range w.rooms() {
		n := &w.nodes[i]
		require.Equal(t, countable.Amounts{countable.CPUMilli: r.cpu, countable.MemoryMiB: r.memory}, w.fleet.HostFree(n.index))
		require.Equal(t, r.whole, w.fleet.FreeMask(n.index))
		want := bits.OnesCount64(r.whole)
		if !n.schedulable {
			want = -1
		}
		require.Equal(t, want, w.fleet.Tree().Free(n.index))
		for gpu := range n.GPUs {
			milli, _ := w.fleet.ShareLeft(n.index, gpu)
			require.Equal(t, max(r.milli[gpu], 0), milli)
			r.requireDivided(t, w.fleet, gpu)
		}
	}
}

// checkPlacement asserts what every placement owes (S1, S2, S8), from the list of
// nodes and the holds before it alone.
func (w *world) checkPlacement(t require.TestingT, r *Request, p *Placement) {
	rooms := w.rooms()
	perGroup := make([][]Member, len(r.Groups))
	for _, m := range p.Members {
		perGroup[m.Group] = append(perGroup[m.Group], m)
		g, n := &r.Groups[m.Group], w.node(m.Hold.Node)
		require.NotNil(t, n)
		require.True(t, n.schedulable && slices.Contains(g.Classes, n.Class) && (g.Match == nil || g.Match(n.index)), "node not allowed")
		i := slices.IndexFunc(w.nodes, func(o worldNode) bool { return o.index == n.index })
		rooms[i].requireRoom(t, n, &g.Claim, &m.Hold)
		rooms[i].take(&m.Hold)
		require.Equal(t, w.domainLevelName(r.Within), w.domain(n.index, w.fleet.Tree().DomainLevel(r.Within)), "outside of Within")
	}
	together := func(what string, members []Member, l topology.Level) {
		for _, m := range members {
			require.Equal(t, w.domain(members[0].Hold.Node, l), w.domain(m.Hold.Node, l), "S8: %s", what)
		}
	}
	together("gang", p.Members, r.Required)
	together("placement", p.Members, p.Level)
	if p.Level <= topology.Level(w.levels) {
		require.Equal(t, w.domainLevelName(p.Domain), w.domain(p.Members[0].Hold.Node, p.Level))
		require.Equal(t, p.Level, w.fleet.Tree().DomainLevel(p.Domain))
		wider := false // members are in different domains one level further down
		for _, m := range p.Members {
			wider = wider || w.domain(m.Hold.Node, p.Level+1) != w.domain(p.Members[0].Hold.Node, p.Level+1)
		}
		require.True(t, wider, "a lower domain holds all members")
	}
	last := -1
	for i, members := range perGroup {
		g := &r.Groups[i]
		require.GreaterOrEqual(t, len(members), g.min(), "S2: a gang is short")
		require.LessOrEqual(t, len(members), g.Members)
		for copied := range slices.Chunk(members, len(members)/r.copiesOf(i)) {
			together("group", copied, max(g.Required, g.RailLevel))
		}
		w.checkSpread(t, r, i, members)
		w.checkAlign(t, g, members)
		for j, m := range members {
			require.Equal(t, j, m.Index)
		}
		for _, s := range g.Segments {
			if s.Size > 1 {
				require.Zero(t, len(members)%s.Size)
				for segment := range slices.Chunk(members, s.Size) {
					together("segment", segment, s.Level)
				}
			}
		}
	}
	w.checkParts(t, r, perGroup, together)
	for _, m := range p.Members {
		require.GreaterOrEqual(t, m.Group, last, "members out of order")
		last = m.Group
	}
}

// checkParts asserts that each copy of a part, by the indexes of its members, is in one domain, and
// that copies are in different ones where they have to be.
func (w *world) checkParts(t require.TestingT, r *Request, perGroup [][]Member, together func(string, []Member, topology.Level)) {
	taken := map[string]bool{}
	for p := range r.Parts {
		times := max(1, r.Parts[p].Copies)
		for c := range times {
			var mates []Member
			for i, members := range perGroup {
				if r.Groups[i].Part == p+1 {
					each := len(members) / times
					mates = append(mates, members[c*each:(c+1)*each]...)
				}
			}
			if len(mates) == 0 {
				continue
			}
			together("copy", mates, max(r.Parts[p].Required, r.Apart))
			if r.Apart > 0 {
				at := w.domain(mates[0].Hold.Node, r.Apart)
				require.False(t, taken[at], "S8: two copies in one domain")
				taken[at] = true
			}
		}
	}
}

// checkSpread asserts the skew of a group over the domains that may serve it.
func (w *world) checkSpread(t require.TestingT, r *Request, group int, members []Member) {
	g := &r.Groups[group]
	if g.Spread == 0 {
		return
	}
	scope := max(r.Around(group), w.fleet.Tree().DomainLevel(r.Within))
	counts := map[string]int{}
	for i := range w.nodes {
		n := &w.nodes[i]
		if w.domain(n.index, scope) == w.domain(members[0].Hold.Node, scope) && n.schedulable && slices.Contains(g.Classes, n.Class) && (g.Match == nil || g.Match(n.index)) {
			counts[w.domain(n.index, g.Spread)] += 0
		}
	}
	for _, m := range members {
		counts[w.domain(m.Hold.Node, g.Spread)]++
	}
	least, most := MaxMembers, 0
	for _, n := range counts {
		least, most = min(least, n), max(most, n)
	}
	require.LessOrEqual(t, most-least, g.MaxSkew, "skew")
}

// checkAlign asserts that a group uses the same GPUs on all nodes but one.
func (w *world) checkAlign(t require.TestingT, g *Group, members []Member) {
	if g.RailLevel == 0 {
		return
	}
	masks := map[topology.NodeIndex]uint64{}
	all := uint64(0)
	for _, m := range members {
		masks[m.Hold.Node] |= m.Hold.GPUs
		all |= m.Hold.GPUs
	}
	parts := 0
	for n, mask := range masks {
		require.LessOrEqual(t, w.node(n).GPUs, MaxRails)
		if mask != all {
			parts++
		}
	}
	require.LessOrEqual(t, parts, 1, "nodes with a part of the rails")
}

func (w *world) domainLevelName(d topology.DomainIndex) string {
	return fmt.Sprint(append([]string{}, w.fleet.Tree().DomainPath(d)...))
}
