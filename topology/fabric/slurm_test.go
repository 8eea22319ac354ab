package fabric

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Generators of Slurm's files put a block without nodes where a rack is empty or not there, so that
// aggregates begin at racks; and racks with trays out of order are below the size of a block.
func TestBlocksWithoutNodesKeepTheirPlace(t *testing.T) {
	want := []string{
		"n1: a/a/a", "n2: a/a/a",
		"n3: c-[1-2]/c-[1-2]/c-1", "n4: c-[1-2]/c-[1-2]/c-2", "n5: c-[1-2]/c-[1-2]/c-2",
		"n6: d/d/d",
	}
	for name, text := range map[string]string{
		"left out": "BlockName=a Nodes=n[1-2]\nBlockName=b\nBlockName=e\nBlockName=f\nBlockName=c-1 Nodes=n3\nBlockName=c-2 Nodes=n[4-5]\nBlockName=g\nBlockName=h\nBlockName=d Nodes=n6\nBlockSizes=2,4,8",
		"empty":    "BlockSizes=2,4,8\nBlockName=a Nodes=n[1-2]\nBlockName=b Nodes=\nBlockName=e Nodes=\"\"\nBlockName=f\nBlockName=c-1 Nodes=n3\nBlockName=c-2 Nodes=n[4-5]\nBlockName=g\nBlockName=h\nBlockName=d Nodes=n6",
	} {
		f := parse(t, ReadSlurmConf, text)
		require.Equal(t, []string{"block-8", "block-4", "block"}, f.Levels, name)
		require.Equal(t, want, paths(f), name)
		roundTripBlocks(t, f)
	}
	yaml := `
- topology: net
  block:
    block_sizes: [2, 4, 8]
    blocks:
    - {block: a, nodes: "n[1-2]"}
    - {block: b, nodes: ''}
    - {block: e, nodes: }
    - block: f
    - {block: c-1, nodes: n3}
    - {block: c-2, nodes: "n[4-5]"}
    - {block: g, nodes: ''}
    - {block: h, nodes: ''}
    - {block: d, nodes: n6}`
	f := parse(t, func(file string, r io.Reader) (*Fabric, error) { return ReadSlurmYAML(file, r, "") }, yaml)
	require.Equal(t, want, paths(f))

	var written bytes.Buffer
	require.NoError(t, WriteSlurmBlock(&written, f, Blocks{}))
	require.Equal(t, `BlockName=c-1 Nodes=n3
BlockName=c-2 Nodes=n[4-5]
BlockName=empty1
BlockName=empty2
BlockName=a Nodes=n[1-2]
BlockName=empty3
BlockName=empty4
BlockName=empty5
BlockName=d Nodes=n6
BlockSizes=2,4,8
`, written.String())
	f.BlockSizes = []int{1, 1 << 15, 1 << 16}
	f.Nodes = nil
	for _, name := range numbered("n", 20) {
		f.Nodes = append(f.Nodes, Node{Name: name, Path: []string{name, name, name}})
	}
	slices.SortFunc(f.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	require.ErrorIs(t, WriteSlurmBlock(io.Discard, f, Blocks{}), ErrLimit)
}

// Without BlockSizes Slurm takes those of 1, 2, 4, 8 and 16 blocks, up to the first that is all.
func TestBlocksWithoutSizes(t *testing.T) {
	for blocks, want := range map[int][]string{
		1:  {"block"},
		2:  {"block-6", "block"},
		3:  {"block-12", "block-6", "block"},
		4:  {"block-12", "block-6", "block"},
		16: {"block-48", "block-24", "block-12", "block-6", "block"},
		40: {"block-48", "block-24", "block-12", "block-6", "block"},
	} {
		var text strings.Builder
		for _, name := range numbered("b", blocks) {
			text.WriteString("BlockName=" + name + " Nodes=" + name + "n[1-3]\n")
		}
		f := parse(t, ReadSlurmConf, text.String())
		require.Equal(t, want, f.Levels)
		require.Len(t, f.BlockSizes, len(want))
		roundTripBlocks(t, f)
	}
	f := parse(t, ReadSlurmConf, "BlockName=a\nBlockName=b Nodes=n[1-4]\nBlockName=c Nodes=n5")
	require.Equal(t, []int{4, 8, 16}, f.BlockSizes, "the first block with nodes has the size")
}

// Of a file with many topologies that one is looked into which is asked for.
func TestTopologiesNotAskedForAreNotLookedInto(t *testing.T) {
	const text = `
- topology: main
  cluster_default: true
  tree:
    switches:
    - {switch: root, children: "s[1-2]"}
    - {switch: s1, nodes: "n[1-2]"}
    - {switch: s2, nodes: "n[3-4]"}
    - {switch: spare, nodes: '', children: }
- topology: options
  flat: {alpha_step_rank: true}
- topology: plain
  flat: true
- topology: cube
  torus3d: {x: 4}
- topology: tomorrow
  hypercube: {dimensions: 4}
- topology: nothing
- topology: broken
  tree: {switches: [{switch: a, nodes: "n["}]}
`
	read := func(name string) (*Fabric, error) { return ReadSlurmYAML("text", strings.NewReader(text), name) }
	for _, name := range []string{"", "main"} {
		f, err := read(name)
		require.NoError(t, err)
		require.Equal(t, []string{"n1: root/s1", "n2: root/s1", "n3: root/s2", "n4: root/s2"}, paths(f))
	}
	for _, name := range []string{"options", "plain"} {
		f, err := read(name)
		require.NoError(t, err)
		require.Equal(t, &Fabric{}, f)
	}
	for name, kind := range map[string]error{
		"cube": ErrUnsupported, "tomorrow": ErrSyntax, "nothing": ErrInvalid, "broken": ErrSyntax, "lost": ErrUnknown,
	} {
		_, err := read(name)
		require.ErrorIs(t, err, kind, name)
	}
}

// Jobs can only span nodes connected by the same switch fabric, says topology.conf(5).
func TestSwitchesThatNoneJoinsAreApart(t *testing.T) {
	for text, apart := range map[string]bool{
		"SwitchName=s0 Nodes=n1\nSwitchName=s1 Nodes=n2":                              true,
		"SwitchName=s0 Nodes=n1\nSwitchName=s1 Nodes=n2\nSwitchName=t Switches=s0,s1": false,
		"SwitchName=s0 Nodes=n1\nSwitchName=s1 Nodes=n2\nSwitchName=t Switches=s0":    true,
		"SwitchName=s0 Nodes=n1\nSwitchName=s1":                                       false, // nothing is on the other
		"SwitchName=r0 Nodes=n[1-4]\nSwitchName=r1 Nodes=n[1-4]":                      false, // two rails
		"SwitchName=r0 Nodes=n[1-2]\nSwitchName=r1 Nodes=n[2-3]":                      false, // n2 joins them
		"BlockName=a Nodes=n1\nBlockName=b Nodes=n2\nBlockSizes=1":                    false,
	} {
		require.Equal(t, apart, parse(t, ReadSlurmConf, text).Apart, text)
	}
	f := parse(t, ReadSlurmConf, "SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n[3-4]")
	roundTrip(t, f)
	f.Nodes[0].Accelerator = "x"
	inside, err := f.WithIslands("island")
	require.NoError(t, err)
	require.True(t, inside.Apart)
	f.Nodes[2].Accelerator = "x"
	f.Nodes[1].Accelerator, f.Nodes[3].Accelerator = "x", "x"
	across, err := f.WithIslands("island")
	require.NoError(t, err)
	require.False(t, across.Apart, "NVLink joins what switches do not")
}

// Slurm keeps a set of sizes, of which the first is that of a block.
func TestBlockSizesInAnyOrder(t *testing.T) {
	const text = "BlockName=a Nodes=n[1-2]\nBlockName=b Nodes=n[3-4]\nBlockName=c Nodes=n[5-6]\nBlockSizes="
	want := parse(t, ReadSlurmConf, text+"2,4,8")
	require.Equal(t, []int{2, 4, 8}, want.BlockSizes)
	for _, sizes := range []string{"2,8,4", "2,8,2,4,8"} {
		require.Equal(t, want, parse(t, ReadSlurmConf, text+sizes))
	}
	var b strings.Builder
	require.NoError(t, WriteSlurmBlock(&b, want, Blocks{Sizes: []int{2, 8, 4, 8}}))
	require.Contains(t, b.String(), "BlockSizes=2,4,8\n")
	require.Equal(t, want, parse(t, ReadSlurmConf, b.String()))
}

// Slurm places no job across trees that nothing joins: domains that are not apart are joined when
// they are written, by a switch of no other name.
func TestDomainsThatAreNotApartAreWrittenJoined(t *testing.T) {
	f := &Fabric{Levels: levelNames(2), Nodes: []Node{
		{Name: "n1", Path: []string{"s1", "root"}}, {Name: "n2", Path: []string{"s2", "l2"}},
	}}
	written := func() string {
		var b strings.Builder
		require.NoError(t, WriteSlurmTree(&b, f))
		return b.String()
	}
	const trees = "SwitchName=s1 Switches=root\nSwitchName=s2 Switches=l2\nSwitchName=l2 Nodes=n2\nSwitchName=root Nodes=n1\n"
	require.Equal(t, "SwitchName=root1 Switches=s[1-2]\n"+trees, written())
	require.False(t, parse(t, ReadSlurmConf, written()).Apart)
	f.Apart = true
	require.Equal(t, trees, written())
	require.True(t, parse(t, ReadSlurmConf, written()).Apart)
	f = parse(t, ReadSlurmConf, "SwitchName=r0 Nodes=n[1-4]\nSwitchName=r1 Nodes=n[1-4]")
	require.Equal(t, "SwitchName=r0 Nodes=n[1-4]\nSwitchName=r1 Nodes=n[1-4]\n", written(), "each rail reaches all")
}
