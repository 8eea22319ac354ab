package fabric

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/topology"
)

func parse(t require.TestingT, read func(string, io.Reader) (*Fabric, error), text string) *Fabric {
	f, err := read("text", strings.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, f.check())
	return f
}

// paths returns "node: path" of every node.
func paths(f *Fabric) []string {
	var all []string
	for _, n := range f.Nodes {
		all = append(all, n.Name+": "+strings.Join(n.Path, "/"))
	}
	return all
}

func TestExpandHostlist(t *testing.T) {
	for expression, want := range map[string]string{
		"a":                   "a",
		"a,b":                 "a b",
		"a[1-3,7]":            "a1 a2 a3 a7",
		"a[1-3,7],b":          "a1 a2 a3 a7 b",
		"n[08-11]":            "n08 n09 n10 n11",
		"n[98-101]":           "n98 n99 n100 n101",
		"n[007]":              "n007",
		"n[5-05]":             "n5",
		"r[1-2]n[01-02]":      "r1n01 r1n02 r2n01 r2n02",
		"r[1-2]n[1,3]-ib[0]x": "r1n1-ib0x r1n3-ib0x r2n1-ib0x r2n3-ib0x",
		"[1101-1102]":         "1101 1102",
		"a[1][2]":             "a12",
	} {
		got, err := expandHostlist(expression)
		require.NoError(t, err, expression)
		require.Equal(t, strings.Fields(want), got, expression)
	}
}

func TestCompressHostlist(t *testing.T) {
	for names, want := range map[string]string{
		"":                      "",
		"a":                     "a",
		"b a b":                 "a,b",
		"n3 n1 n2 n7":           "n[1-3,7]",
		"n08 n09 n10 n11":       "n[08-11]",
		"n8 n9 n10":             "n[8-10]",
		"n9 n10 n010":           "n[9,010,10]",
		"r1n1 r1n2 r2n1":        "r1n[1-2],r2n1",
		"n1-ib n2-ib":           "n1-ib,n2-ib",
		"1101 1102":             "[1101-1102]",
		"n99999999999999999999": "n99999999999999999999",
	} {
		require.Equal(t, want, compressHostlist(strings.Fields(names)), names)
	}
}

func TestSlurmConfSyntax(t *testing.T) {
	const text = `
  # a comment with SwitchName=x
switchname = a   NODES="n[1-2]" LinkSpeed=100 # more
SWITCHNAME=b \
   Nodes=n3,\
n4 # the end
SwitchName=empty
\
SwitchName=root Switches=a,b,empty
SwitchName=c	Nodes=n5 \`
	want := []string{"n1: root/a", "n2: root/a", "n3: root/b", "n4: root/b", "n5: c/c"}
	require.Equal(t, want, paths(parse(t, ReadSlurmConf, text)))
	require.Equal(t, want, paths(parse(t, ReadSlurmConf, strings.ReplaceAll(text, "\n", "\r\n"))))
}

// Every rule of the package comment once, in a network that a reader can draw.
func TestUnevenTree(t *testing.T) {
	f := parse(t, ReadSlurmConf, `
SwitchName=core   Switches=spine1,leaf3 Nodes=login
SwitchName=spine1 Switches=leaf[1-2],unused Nodes=storage
SwitchName=leaf1  Nodes=a[1-2]
SwitchName=leaf2  Nodes=a3,both
SwitchName=leaf3  Nodes=b,both
SwitchName=unused Switches=unused2
SwitchName=unused2
SwitchName=island Nodes=far`)
	require.Equal(t, []string{"core", "spine", "leaf"}, f.Levels)
	require.Equal(t, []string{
		"a1: core/spine1/leaf1",
		"a2: core/spine1/leaf1",
		"a3: core/spine1/leaf2",
		"b: core/leaf3/leaf3",
		"both: core/leaf3+spine1/leaf2+leaf3",
		"far: island/island/island",
		"login: core/core-direct/core-direct",
		"storage: core/spine1/spine1-direct",
	}, paths(f))
	both, _ := f.node("both")
	require.Equal(t, []string{"leaf2", "leaf3"}, both.Rails)
}

// A rail-optimised unit: every node on all the leaves, a rail each.
func TestRails(t *testing.T) {
	f := parse(t, ReadSlurmConf, `
SwitchName=rail1 Nodes=n[1-4]
SwitchName=rail2 Nodes=n[1-4]
SwitchName=rail10 Nodes=n[1-4]
SwitchName=spine Switches=rail1,rail2,rail10`)
	for _, n := range f.Nodes {
		require.Equal(t, []string{"spine", "rail1+rail2+rail10"}, n.Path)
		require.Equal(t, []string{"rail1", "rail2", "rail10"}, n.Rails)
	}
	roundTrip(t, f)
	islands, err := f.WithIslands("island")
	require.NoError(t, err)
	require.Equal(t, []string{"spine", "rail1+rail2+rail10", "n1"}, islands.Nodes[0].Path)
	require.Equal(t, f.Nodes[0].Rails, islands.Nodes[0].Rails)
	require.ErrorIs(t, WriteSlurmTree(io.Discard, islands), ErrUnsupported)
}

func TestTopographGenerations(t *testing.T) {
	first := parse(t, ReadTopograph, `
topology: topology/tree
switches:
- name: sw3
  metadata: {region: us-west}
  switches: [sw1, sw2]
- name: sw1
  capacity_blocks: [cb1]
- {name: sw2, capacity_blocks: [cb2]}
capacity_blocks:
- {name: cb1, type: GB200, nvlink: nvl1, nodes: [n1-1, n1-2]}
- {name: cb2, type: H100, nodes: [n2-1]}
- {name: cb3, nvlink: nvl3, nodes: [n3-1]}`)
	require.Equal(t, []Node{
		{Name: "n1-1", Path: []string{"sw3", "sw1"}, Accelerator: "nvl1", Product: "GB200"},
		{Name: "n1-2", Path: []string{"sw3", "sw1"}, Accelerator: "nvl1", Product: "GB200"},
		{Name: "n2-1", Path: []string{"sw3", "sw2"}, Product: "H100"},
		{Name: "n3-1", Path: []string{"n3-1", "n3-1"}, Accelerator: "nvl3"},
	}, first.Nodes)

	second := parse(t, ReadTopograph, `
switches:
  core: {switches: [leaf1, leaf2]}
  leaf1: {metadata: {group: g}, nodes: ["n[1-2]"]}
  leaf2: {nodes: [n3]}
nodes:
  n1: {capacity_block_id: cb1, attributes: {nvlink: nvl1, status: up, timestamp: now, gpus: [{index: 0, model: B200}, {index: 1}]}}
  n2: {name: n2}
  n3: {attributes: {nvlink: nvl3}}
capacity_blocks:
  cb1: {nodes: ["n[1-2]"], attributes: {nvlink: nvl1}}
  cb2: {}
  cb3:`)
	require.Equal(t, []Node{
		{Name: "n1", Path: []string{"core", "leaf1"}, Accelerator: "nvl1", Product: "B200", GPUs: 2},
		{Name: "n2", Path: []string{"core", "leaf1"}, Accelerator: "nvl1"},
		{Name: "n3", Path: []string{"core", "leaf2"}, Accelerator: "nvl3"},
	}, second.Nodes)

	// Without a section of nodes they come from the blocks; blocks may be names alone.
	parse(t, ReadTopograph, "nodes: {n: {capacity_block_id: cb1}}\ncapacity_blocks: [cb1, cb2]\nswitches: {s: {capacity_blocks: [cb1, cb2]}}")
	made := parse(t, ReadTopograph, "switches: {s: {nodes: [n1]}}\ncapacity_blocks: {cb1: {nodes: [n1], attributes: {nvlink: x}}}")
	require.Equal(t, []Node{{Name: "n1", Path: []string{"s"}, Accelerator: "x"}}, made.Nodes)

	third := parse(t, ReadTopograph, `
switches:
  core:
    labels: {topology.kubernetes.io/region: us-east}
    switches: [leaf1, leaf2]
blocks:
- {switch: leaf1, nodes: ["n[1-2]"], annotations: {accelerator.topology.test/domain: nvl, accelerator.topology.test/sub-domain: rack}}
- {switch: leaf2, nodes: [n3], labels: {network.topology.nvidia.com/accelerator: nvl2, other: 7}}
- {switch: leaf2, nodes: [n4], labels: {accelerated.topology.nvidia.com/level-0: nvl3}}
- nodes: [cpu]`)
	require.Equal(t, []Node{
		{Name: "cpu", Path: []string{"cpu", "cpu"}},
		{Name: "n1", Path: []string{"core", "leaf1"}, Accelerator: "nvl", Clique: "rack"},
		{Name: "n2", Path: []string{"core", "leaf1"}, Accelerator: "nvl", Clique: "rack"},
		{Name: "n3", Path: []string{"core", "leaf2"}, Accelerator: "nvl2"},
		{Name: "n4", Path: []string{"core", "leaf2"}, Accelerator: "nvl3"},
	}, third.Nodes)
}

func TestLabels(t *testing.T) {
	type labels = map[string]string
	f, err := FromLabels([]LabeledNode{
		{"new", labels{
			"fabric.topograph.run/tier-0": "l1", "fabric.topograph.run/tier-1": "s1", "fabric.topograph.run/tier-2": "c",
			"accelerator.topograph.run/domain": "nvl", "accelerator.topograph.run/sub-domain": "half",
			"network.topology.nvidia.com/leaf": "not this",
		}},
		{"old", labels{
			"network.topology.nvidia.com/leaf": "l2", "network.topology.nvidia.com/spine": "s1", "network.topology.nvidia.com/core": "c",
			"network.topology.nvidia.com/accelerator": "acc", "nvidia.com/gpu.clique": "uuid.7", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.product": "H100",
		}},
		{"first", labels{"network.topology.nvidia.com/block": "l3", "network.topology.nvidia.com/datacenter": "c"}},
		{"clique", labels{"fabric.topograph.run/tier-1": "s1", "fabric.topograph.run/tier-2": "c", "nvidia.com/gpu.clique": "uuid.7"}},
		{"nothing", nil},
	}, TopographKeys())
	require.NoError(t, err)
	require.Equal(t, &Fabric{Levels: []string{"core", "spine", "leaf"}, Nodes: []Node{
		{Name: "clique", Path: []string{"c", "s1", "s1-direct"}, Accelerator: "uuid", Clique: "uuid.7"},
		{Name: "first", Path: []string{"c", "l3", "l3"}},
		{Name: "new", Path: []string{"c", "s1", "l1"}, Accelerator: "nvl", Clique: "half"},
		{Name: "nothing", Path: []string{"nothing", "nothing", "nothing"}},
		{Name: "old", Path: []string{"c", "s1", "l2"}, Accelerator: "acc", Clique: "uuid.7", Product: "H100", GPUs: 8},
	}}, f)
	roundTrip(t, f)

	// More tiers than have names; and a scheme of one's own.
	f, err = FromLabels([]LabeledNode{{"n", labels{"fabric.topograph.run/tier-4": "top", "fabric.topograph.run/tier-0": "l"}}}, TopographKeys())
	require.NoError(t, err)
	require.Equal(t, []string{"tier-4", "leaf"}, f.Levels)
	require.Equal(t, []string{"top", "l"}, f.Nodes[0].Path)
	own := LabelKeys{Levels: []LevelKeys{{"zone", []string{"z"}}, {"zone", []string{"y"}}}}
	_, err = FromLabels([]LabeledNode{{"n", labels{"z": "1", "y": "2"}}}, own)
	require.ErrorIs(t, err, ErrInvalid)
	_, err = FromLabels([]LabeledNode{{"n", nil}, {"n", nil}}, own)
	require.ErrorIs(t, err, ErrDuplicate)
	f, err = FromLabels(nil, own)
	require.NoError(t, err)
	require.Equal(t, &Fabric{Nodes: []Node{}}, f)
}

// Nodes with NVLinks that end at the node register with a cluster of zeros: they are no island.
func TestAClusterOfZerosIsNoIsland(t *testing.T) {
	const zero = "00000000-0000-0000-0000-000000000000"
	for _, labels := range []map[string]string{
		{"nvidia.com/gpu.clique": zero + ".0"},
		{"nvidia.com/gpu.clique": zero + ".32766"},
		{"accelerator.topograph.run/domain": zero, "accelerator.topograph.run/sub-domain": "0"},
		{"network.topology.nvidia.com/accelerator": zero + ".0"},
	} {
		f, err := FromLabels([]LabeledNode{{"a", labels}, {"b", labels}}, TopographKeys())
		require.NoError(t, err)
		require.Equal(t, []Node{{Name: "a", Path: []string{}}, {Name: "b", Path: []string{}}}, f.Nodes)
	}
	f := parse(t, ReadTopograph, "switches: {s: {nodes: [n1, n2]}}\ncapacity_blocks: {cb: {nodes: [n1, n2], attributes: {nvlink: "+zero+"}}}")
	require.Empty(t, f.Nodes[0].Accelerator)
	for _, clique := range []string{"10000000-0000-0000-0000-000000000000.0", "0.0"} {
		one, err := FromLabels([]LabeledNode{{"a", map[string]string{"nvidia.com/gpu.clique": clique}}}, TopographKeys())
		require.NoError(t, err)
		require.NotEmpty(t, one.Nodes[0].Accelerator)
	}
}

func TestNodeList(t *testing.T) {
	const list = `{
  "apiVersion": "v1",
  "items": [
    {"kind": "Node", "metadata": {"name": "b", "annotations": {"x": "y"},
      "labels": {"cloud.provider.com/topology-block": "b1", "cloud.provider.com/topology-rack": "r1", "kubernetes.io/hostname": "b"}},
      "status": {"capacity": {"cpu": "64", "nvidia.com/gpu": "4"}}},
    {"metadata": {"name": "a", "labels": {"cloud.provider.com/topology-block": "b2", "cloud.provider.com/topology-rack": "r1", "nvidia.com/gpu.count": "8"}},
      "status": {"capacity": {"nvidia.com/gpu": "4"}}}
  ],
  "kind": "List"
}`
	f, err := ReadNodeList("nodes.json", strings.NewReader(list), KueueKeys())
	require.NoError(t, err)
	require.Equal(t, &Fabric{Levels: []string{"block", "rack"}, Nodes: []Node{
		{Name: "a", Path: []string{"b2", "r1"}, GPUs: 8},
		{Name: "b", Path: []string{"b1", "r1"}, GPUs: 4},
	}}, f)
	require.ErrorIs(t, WriteSlurmTree(io.Discard, f), ErrConflict)
	require.ErrorIs(t, WriteSlurmBlock(io.Discard, f, Blocks{}), ErrConflict)
	q, err := f.Qualify(".")
	require.NoError(t, err)
	require.Equal(t, []string{"a: b2/b2.r1", "b: b1/b1.r1"}, paths(q))
}

func TestLingjunRules(t *testing.T) {
	f := parse(t, ReadLingjun, "ASW,ip,PSW,DSW\nS1,h2,P1,G\nS1,h1,P2,G\n,h3,P2,G\n")
	require.Equal(t, []string{"h1: G/P2/S1", "h2: G/P1/S1", "h3: G/P2/P2-direct"}, paths(f))
}

func TestWithIslands(t *testing.T) {
	f := parse(t, ReadTopograph, `
switches: {core: {switches: [l1, l2, l3]}}
blocks:
- {switch: l1, nodes: [a1], labels: {accelerator.topograph.run/domain: x}}
- {switch: l1, nodes: [a2], labels: {accelerator.topograph.run/domain: y}}
- {switch: l2, nodes: [b]}`)
	with, err := f.WithIslands("island")
	require.NoError(t, err)
	require.Equal(t, []string{"spine", "leaf", "island"}, with.Levels)
	require.Equal(t, []string{"a1: core/l1/x", "a2: core/l1/y", "b: core/l2/b"}, paths(with))
	require.Equal(t, []string{"a1: core/l1", "a2: core/l1", "b: core/l2"}, paths(f), "the fabric itself is as it was")

	// An island of two leaves stands above them; the rest has one a leaf.
	f.Nodes[1].Accelerator, f.Nodes[2].Accelerator = "x", "x"
	f.Nodes = append(f.Nodes, Node{Name: "c", Path: []string{"core", "l3"}})
	with, err = f.WithIslands("island")
	require.NoError(t, err)
	require.Equal(t, []string{"spine", "island", "leaf"}, with.Levels)
	require.Equal(t, []string{"a1: core/x/l1", "a2: core/x/l1", "b: core/x/l2", "c: core/l3/l3"}, paths(with))
	_, err = f.WithIslands("leaf")
	require.ErrorIs(t, err, ErrInvalid)

	// An island may be wider than any switch.
	wide := f.clone()
	wide.Nodes[3].Path[0], wide.Nodes[3].Accelerator = "core2", "x"
	with, err = wide.WithIslands("island")
	require.NoError(t, err)
	require.Equal(t, []string{"island", "spine", "leaf"}, with.Levels)
	require.Equal(t, []string{"a1: x/core/l1", "a2: x/core/l1", "b: x/core/l2", "c: x/core2/l3"}, paths(with))

	f.Nodes[0].Accelerator = ""
	_, err = f.WithIslands("island")
	require.ErrorIs(t, err, ErrConflict)
	require.ErrorContains(t, err, "crosses the domains of the level leaf")

	f.Nodes[0].Accelerator, f.Nodes[1].Accelerator, f.Nodes[2].Accelerator = "l3", "l3", "l3"
	_, err = f.WithIslands("island")
	require.ErrorIs(t, err, ErrConflict)
	require.ErrorContains(t, err, `the node "c" has no accelerator domain`)
}

func TestQualify(t *testing.T) {
	f := &Fabric{Levels: []string{"spine", "leaf"}, Nodes: []Node{
		{Name: "a", Path: []string{"x", "r+s"}, Rails: []string{"r", "s"}},
		{Name: "b", Path: []string{"y", "r+s"}, Rails: []string{"r", "s"}},
		{Name: "c", Path: []string{"y", "x"}},
		{Name: "d", Path: []string{"z", "z"}},
	}}
	q, err := f.Qualify("-")
	require.NoError(t, err)
	require.Equal(t, []string{"a: x/x-r+x-s", "b: y/y-r+y-s", "c: y/y-x", "d: z/z"}, paths(q))
	require.Equal(t, []string{"y-r", "y-s"}, q.Nodes[1].Rails)
	roundTrip(t, q)
	filled, err := (&Fabric{Levels: levelNames(3), Nodes: []Node{
		{Name: "a", Path: []string{"x", "l", "l"}}, {Name: "b", Path: []string{"y", "l", "l"}},
	}}).Qualify("-")
	require.NoError(t, err)
	require.Equal(t, []string{"a: x/x-l/x-l", "b: y/y-l/y-l"}, paths(filled))
	f.Nodes = append(f.Nodes, Node{Name: "e", Path: []string{"y-x", "l"}})
	_, err = f.Qualify("-")
	require.ErrorIs(t, err, ErrConflict)
	require.ErrorContains(t, err, `"y-x" still names several domains`)
}

func TestCheck(t *testing.T) {
	for reason, f := range map[string]*Fabric{
		"empty or names two levels": {Levels: []string{"a", "a"}},
		"17 levels":                 {Levels: numbered("l", 17)},
		"name of a node is empty":   {Nodes: []Node{{}}},
		"there twice":               {Nodes: []Node{{Name: "a"}, {Name: "a"}}},
		"stands after":              {Nodes: []Node{{Name: "b"}, {Name: "a"}}},
		"0 domains for 1 levels":    {Levels: []string{"a"}, Nodes: []Node{{Name: "a"}}},
		"has no name":               {Levels: []string{"a"}, Nodes: []Node{{Name: "a", Path: []string{""}}}},
		"-1 GPUs":                   {Nodes: []Node{{Name: "a", GPUs: -1}}},
		"rails":                     {Levels: []string{"a"}, Nodes: []Node{{Name: "a", Path: []string{"x"}, Rails: []string{"x", "y"}}}},
	} {
		require.ErrorContains(t, f.check(), reason)
		require.Error(t, WriteSlurmTree(io.Discard, f))
		require.Error(t, WriteSlurmBlock(io.Discard, f, Blocks{}))
		_, err := f.Tree(nil)
		require.Error(t, err)
		_, err = f.Qualify("")
		require.Error(t, err)
		_, err = f.WithIslands("x")
		require.Error(t, err)
	}
}

func TestWriterRefusals(t *testing.T) {
	one := func(name string, path ...string) *Fabric {
		return &Fabric{Levels: levelNames(len(path)), Nodes: []Node{{Name: name, Path: path}}}
	}
	require.ErrorIs(t, WriteSlurmTree(io.Discard, one("a")), ErrUnsupported)
	require.ErrorIs(t, WriteSlurmTree(io.Discard, &Fabric{Levels: []string{"leaf"}}), ErrUnsupported)
	require.ErrorIs(t, WriteSlurmTree(io.Discard, one("a b", "x")), ErrInvalid)
	require.ErrorIs(t, WriteSlurmTree(io.Discard, one("a", "x,y")), ErrInvalid)
	require.ErrorIs(t, WriteSlurmTree(io.Discard, one("a", strings.Repeat("x", 65))), ErrLimit)
	require.NoError(t, WriteSlurmBlock(io.Discard, one("a", strings.Repeat("x", 65)), Blocks{}))
	require.ErrorIs(t, WriteSlurmBlock(io.Discard, one("a"), Blocks{}), ErrUnknown)
	require.ErrorIs(t, WriteSlurmBlock(io.Discard, one("a", "x"), Blocks{Level: "rack"}), ErrUnknown)
	require.NoError(t, WriteSlurmBlock(io.Discard, one("a", "x"), Blocks{Sizes: []int{2}}))
	require.ErrorIs(t, WriteSlurmBlock(io.Discard, one("a", "x"), Blocks{Sizes: []int{1, 3}}), ErrInvalid)
	require.ErrorIs(t, WriteSlurmBlock(io.Discard, one("a", "x]"), Blocks{}), ErrInvalid)
	require.ErrorIs(t, WriteSlurmBlock(io.Discard, one("a=", "x"), Blocks{}), ErrInvalid)
	require.ErrorIs(t, WriteSlurmBlock(io.Discard, &Fabric{Levels: []string{"leaf"}}, Blocks{}), ErrUnsupported)
	both := one("a", "x", "x")
	both.Nodes = append(both.Nodes, Node{Name: "b", Path: []string{"x", "y"}})
	require.ErrorIs(t, WriteSlurmTree(io.Discard, both), ErrConflict)

	f := one("a", "x")
	for kind, topologies := range map[error][]SlurmTopology{
		ErrDuplicate: {{Name: "a", Kind: FlatKind}, {Name: "a", Kind: FlatKind}},
		ErrInvalid:   {{Name: "a", Kind: TreeKind}},
		ErrLimit:     {{Name: "a", Kind: TreeKind, Fabric: one("a", strings.Repeat("x", 65))}},
		ErrUnknown:   {{Name: "a", Kind: BlockKind, Fabric: one("a")}},
	} {
		require.ErrorIs(t, WriteSlurmYAML(io.Discard, topologies...), kind)
	}
	require.ErrorIs(t, WriteSlurmYAML(io.Discard, SlurmTopology{Kind: FlatKind}), ErrInvalid)
	require.ErrorIs(t, WriteSlurmYAML(io.Discard, SlurmTopology{Name: "a", Kind: "ring", Fabric: f}), ErrInvalid)
	require.ErrorIs(t, WriteSlurmYAML(io.Discard,
		SlurmTopology{Name: "a", Kind: FlatKind, Default: true}, SlurmTopology{Name: "b", Kind: FlatKind, Default: true}), ErrDuplicate)

	r, w := io.Pipe()
	require.NoError(t, r.Close())
	require.ErrorIs(t, WriteSlurmTree(w, f), io.ErrClosedPipe)
}

// Names that YAML would take for numbers or truths are quoted.
func TestWrittenYAML(t *testing.T) {
	f := &Fabric{Levels: []string{"block"}, BlockSizes: []int{2}, Nodes: []Node{
		{Name: "1101", Path: []string{"17"}},
		{Name: "1102", Path: []string{"17"}},
		{Name: "n1", Path: []string{"true"}},
		{Name: "n2", Path: []string{"true"}},
	}}
	var b bytes.Buffer
	require.NoError(t, WriteSlurmYAML(&b,
		SlurmTopology{Name: "tree", Default: true, Kind: TreeKind, Fabric: f},
		SlurmTopology{Name: "blocks", Kind: BlockKind, Fabric: f},
		SlurmTopology{Name: "flat", Kind: FlatKind}))
	require.Equal(t, `---
- topology: tree
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: 17,true
      - switch: "17"
        nodes: '[1101-1102]'
      - switch: "true"
        nodes: n[1-2]
- topology: blocks
  cluster_default: false
  block:
    block_sizes:
      - 2
    blocks:
      - block: "17"
        nodes: '[1101-1102]'
      - block: "true"
        nodes: n[1-2]
- topology: flat
  cluster_default: false
  flat: true
`, b.String())
	got, err := ReadSlurmYAML("written", &b, "blocks")
	require.NoError(t, err)
	require.Equal(t, f, got)
}

func TestTree(t *testing.T) {
	f := parse(t, ReadSlurmConf, "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n3\nSwitchName=c Switches=a,b")
	tree, err := f.Tree(func(n Node) (topology.NodeClass, int) {
		if n.Name == "n3" {
			return 1, 8
		}
		return 0, 4
	})
	require.NoError(t, err)
	require.NoError(t, tree.Check())
	require.Equal(t, f.Levels, tree.Levels())
	a, ok := tree.Lookup("c", "a")
	require.True(t, ok)
	require.Len(t, tree.Nodes(a), 2)
	_, err = f.Tree(func(n Node) (topology.NodeClass, int) { return 0, len(n.Path[1]) + len(n.Name) + int(n.Name[1]) })
	require.ErrorIs(t, err, topology.ErrConflict)
}
