package fabric

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// places keeps of a fabric what a file of Slurm can say: with a switch above all, unless domains
// are apart, or one reaches all nodes, as rails do.
func places(f *Fabric) *Fabric {
	c := f.clone()
	tops := map[string]int{}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		*n = Node{Name: n.Name, Path: n.Path, Rails: n.Rails}
		if !strings.Contains(n.Path[0], railSign) {
			tops[n.Path[0]]++
			continue
		}
		for _, rail := range n.Rails {
			tops[rail]++
		}
	}
	c.Levels = levelNames(len(c.Levels))
	if f.Apart || len(tops) == 1 || slices.Max(slices.Collect(maps.Values(tops))) == len(c.Nodes) {
		return c
	}
	c.Levels = levelNames(len(c.Levels) + 1)
	for i := range c.Nodes {
		c.Nodes[i].Path = append([]string{"root"}, c.Nodes[i].Path...)
	}
	return c
}

// roundTrip writes a fabric as trees, and requires that the same comes back.
func roundTrip(t require.TestingT, f *Fabric) {
	var conf, again, yaml bytes.Buffer
	require.NoError(t, WriteSlurmTree(&conf, f))
	got, err := ReadSlurmConf("written", bytes.NewReader(conf.Bytes()))
	require.NoError(t, err)
	require.Equal(t, places(f), got)
	require.NoError(t, WriteSlurmTree(&again, got))
	require.Equal(t, conf.String(), again.String())
	require.NoError(t, WriteSlurmYAML(&yaml,
		SlurmTopology{Name: "none", Kind: FlatKind}, SlurmTopology{Name: "net", Default: true, Kind: TreeKind, Fabric: f}))
	got, err = ReadSlurmYAML("written", bytes.NewReader(yaml.Bytes()), "")
	require.NoError(t, err)
	require.Equal(t, places(f), got)
}

// roundTripBlocks does that with blocks.
func roundTripBlocks(t require.TestingT, f *Fabric) {
	var conf, yaml bytes.Buffer
	require.NoError(t, WriteSlurmBlock(&conf, f, Blocks{}))
	got, err := ReadSlurmConf("written", bytes.NewReader(conf.Bytes()))
	require.NoError(t, err)
	require.Equal(t, f, got)
	require.NoError(t, WriteSlurmYAML(&yaml, SlurmTopology{Name: "net", Kind: BlockKind, Fabric: f}))
	got, err = ReadSlurmYAML("written", bytes.NewReader(yaml.Bytes()), "net")
	require.NoError(t, err)
	require.Equal(t, f, got)
}

// A network is a random one: the parent of each switch (an earlier one or none), and
// the switches of each node.
type network struct {
	parents []int
	homes   [][]int
}

func drawNetwork(t *rapid.T, rails bool) network {
	var w network
	for i := range rapid.IntRange(1, 12).Draw(t, "switches") {
		w.parents = append(w.parents, rapid.IntRange(-1, i-1).Draw(t, "parent"))
	}
	for range rapid.IntRange(1, 20).Draw(t, "nodes") {
		most := 1
		if rails {
			most = 3
		}
		w.homes = append(w.homes, rapid.SliceOfNDistinct(rapid.IntRange(0, len(w.parents)-1), 1, min(most, len(w.parents)), rapid.ID).Draw(t, "home"))
	}
	return w
}

func (w network) conf() string {
	var b strings.Builder
	for s := range w.parents {
		var children, hosts []string
		for c, parent := range w.parents {
			if parent == s {
				children = append(children, fmt.Sprintf("sw%d", c))
			}
		}
		for n, homes := range w.homes {
			if slices.Contains(homes, s) {
				hosts = append(hosts, fmt.Sprintf("node%03d", n))
			}
		}
		fmt.Fprintf(&b, "SwitchName=sw%d", s)
		if len(children) > 0 {
			b.WriteString(" Switches=" + strings.Join(children, ","))
		}
		if len(hosts) > 0 {
			b.WriteString(" Nodes=" + strings.Join(hosts, ","))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// height is the dumb twin of the level of a switch: by the definition, -1 for those
// without nodes below.
func (w network) height(s int) int {
	height := -1
	for c, parent := range w.parents {
		if parent == s {
			if h := w.height(c); h >= 0 {
				height = max(height, h+1)
			}
		}
	}
	if height < 0 && slices.ContainsFunc(w.homes, func(homes []int) bool { return slices.Contains(homes, s) }) {
		return 0
	}
	return height
}

// chain is the dumb twin of a path from one switch of a node.
func (w network) chain(s, levels int) []string {
	above := map[int]string{}
	if w.height(s) > 0 {
		above[0] = fmt.Sprintf("sw%d-direct", s)
	}
	for ; s >= 0; s = w.parents[s] {
		above[w.height(s)] = fmt.Sprintf("sw%d", s)
	}
	path := make([]string, levels)
	for h := range levels {
		name := above[h]
		if name == "" {
			name = path[levels-h]
		}
		path[levels-1-h] = name
	}
	return path
}

func TestTreeMatchesTheRuleAndComesBack(t *testing.T) {
	direct, filled, pruned, deep := 0, 0, 0, 0
	drawn.Check(t, func(t *rapid.T) {
		w := drawNetwork(t, false)
		f, err := ReadSlurmConf("random", strings.NewReader(w.conf()))
		require.NoError(t, err)
		require.NoError(t, f.check())
		levels := 0
		for s := range w.parents {
			levels = max(levels, w.height(s)+1)
			if w.height(s) < 0 {
				pruned++
			}
		}
		require.Equal(t, levelNames(levels), f.Levels)
		require.Len(t, f.Nodes, len(w.homes))
		for i, n := range f.Nodes {
			require.Equal(t, fmt.Sprintf("node%03d", i), n.Name)
			require.Equal(t, w.chain(w.homes[i][0], levels), n.Path)
			require.Empty(t, n.Rails)
			if strings.HasSuffix(n.Path[levels-1], "-direct") {
				direct++
			}
			if len(fold(n.Path)) < levels {
				filled++
			}
		}
		if levels > 3 {
			deep++
		}
		roundTrip(t, f)
	})
	if drawn.Many() {
		require.Positive(t, direct)
		require.Positive(t, filled)
		require.Positive(t, pruned)
		require.Positive(t, deep)
	}
}

func TestRailsMatchTheRuleAndComeBack(t *testing.T) {
	written, refused := 0, 0
	drawn.Check(t, func(t *rapid.T) {
		w := drawNetwork(t, true)
		f, err := ReadSlurmConf("random", strings.NewReader(w.conf()))
		require.NoError(t, err)
		require.NoError(t, f.check())
		for i, n := range f.Nodes {
			var names []string
			for l := range f.Levels {
				names = nil
				for _, s := range w.homes[i] {
					names = append(names, w.chain(s, len(f.Levels))[l])
				}
				slices.SortFunc(names, compareNatural)
				names = slices.Compact(names)
				require.Equal(t, strings.Join(names, "+"), n.Path[l])
			}
			if len(w.homes[i]) > 1 {
				require.Equal(t, names, n.Rails)
			} else {
				require.Empty(t, n.Rails)
			}
		}
		if err := WriteSlurmTree(&bytes.Buffer{}, f); err != nil {
			require.ErrorIs(t, err, ErrUnsupported)
			refused++
			return
		}
		if slices.ContainsFunc(f.Nodes, func(n Node) bool { return len(n.Rails) > 0 }) {
			written++
		}
		roundTrip(t, f)
	})
	if drawn.Many() {
		require.Positive(t, written)
		require.Positive(t, refused)
	}
}

func TestBlocksComeBack(t *testing.T) {
	short, padded := 0, 0
	drawn.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 3).Draw(t, "size")
		sizes := []string{fmt.Sprint(size)}
		for power := 2; power <= 16; power *= 2 {
			if rapid.Bool().Draw(t, "level") {
				sizes = append(sizes, fmt.Sprint(size*power))
			}
		}
		count := rapid.IntRange(1, 20).Draw(t, "blocks")
		names := rapid.Permutation(numbered("b", count)).Draw(t, "order")
		var b strings.Builder
		have := make([]bool, count)
		for i, name := range names {
			have[i] = i == 0 || rapid.IntRange(0, 3).Draw(t, "empty") > 0
			if !have[i] {
				fmt.Fprintf(&b, "BlockName=%s\n", name)
				continue
			}
			fmt.Fprintf(&b, "BlockName=%s Nodes=n%d-[1-%d]\n", name, i, rapid.IntRange(1, size+2).Draw(t, "nodes"))
		}
		b.WriteString("BlockSizes=" + strings.Join(append(sizes[:1:1], rapid.Permutation(sizes).Draw(t, "sizes")...), ","))
		f, err := ReadSlurmConf("random", strings.NewReader(b.String()))
		require.NoError(t, err)
		require.NoError(t, f.check())
		require.Len(t, f.Levels, len(sizes))
		for l, level := range f.Levels[:len(f.Levels)-1] {
			// The dumb twin: blocks are together exactly if their positions are.
			ratio := f.BlockSizes[len(sizes)-1-l] / size
			require.Equal(t, fmt.Sprintf("block-%d", ratio*size), level)
			for i := range names {
				for j := range names {
					if !have[i] || !have[j] {
						padded++
						continue
					}
					a, _ := f.node(fmt.Sprintf("n%d-1", i))
					b, _ := f.node(fmt.Sprintf("n%d-1", j))
					require.Equal(t, i/ratio == j/ratio, a.Path[l] == b.Path[l])
				}
			}
			if count%ratio > 0 {
				short++
			}
		}
		roundTripBlocks(t, f)
	})
	if drawn.Many() {
		require.Positive(t, short)
		require.Positive(t, padded)
	}
}

func numbered(prefix string, count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return names
}

func TestHostlistsComeBack(t *testing.T) {
	name := rapid.StringMatching(`[a-c]{0,2}[0-9]{1,3}([.x-][0-9]{0,2})?`)
	drawn.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(name, 1, 30).Draw(t, "names")
		got, err := expandHostlist(compressHostlist(names))
		require.NoError(t, err)
		slices.SortFunc(names, compareNatural)
		require.Equal(t, slices.Compact(names), got)
		for i := range names { // the order is one
			for j := range names {
				require.Equal(t, compareNatural(names[i], names[j]) > 0, compareNatural(names[j], names[i]) < 0)
				require.Equal(t, names[i] == names[j], compareNatural(names[i], names[j]) == 0)
			}
		}
	})
}
