package fabric

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/topology"
)

// shared opens reference data that lies beside the repository.
func shared(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", name))
	if err != nil {
		t.Skip("the reference data ../shared/data/" + name + " is not beside the repository")
	}
	return data
}

// domains returns the names of each level.
func domains(f *Fabric) [][]string {
	names := make([][]string, len(f.Levels))
	for l := range f.Levels {
		seen := map[string]bool{}
		for _, n := range f.Nodes {
			seen[pathKey(n.Path[:l+1])] = true
		}
		names[l] = slices.Sorted(maps.Keys(seen))
	}
	return names
}

func TestTopographSamples(t *testing.T) {
	for name, want := range map[string]struct {
		nodes   int
		domains []int
		islands int
	}{
		"small-tree.yaml":          {6, []int{1, 2}, 2},
		"medium.yaml":              {8, []int{1, 2, 4}, 4},
		"large.yaml":               {96, []int{1, 6, 12}, 12},
		"nvl72.yaml":               {72, []int{1, 2, 4}, 4},
		"dual-xclr-regular.yaml":   {96, []int{1, 6, 12}, 2},
		"dual-xclr-irregular.yaml": {255, []int{1, 2, 29}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := ReadTopograph(name, bytes.NewReader(shared(t, "topo/topograph/"+name)))
			require.NoError(t, err)
			require.NoError(t, f.check())
			require.Len(t, f.Nodes, want.nodes)
			require.Equal(t, levelNames(len(want.domains)), f.Levels)
			islands := map[string]bool{}
			for _, n := range f.Nodes {
				islands[n.Accelerator] = true
			}
			require.Len(t, islands, want.islands)
			require.False(t, islands[""])
			for l, names := range domains(f) {
				require.Len(t, names, want.domains[l])
			}
			roundTrip(t, f)
			tree, err := f.Tree(func(Node) (topology.NodeClass, int) { return 0, 4 })
			require.NoError(t, err)
			require.NoError(t, tree.Check())
		})
	}
}

// The islands of the sample stand right above the nodes where a leaf is an island,
// and above the spines where an island holds several.
func TestIslandsOfSamples(t *testing.T) {
	for name, want := range map[string][]string{
		"nvl72.yaml":               {"core", "spine", "leaf", "island"},
		"dual-xclr-regular.yaml":   {"core", "island", "spine", "leaf"},
		"dual-xclr-irregular.yaml": {"core", "spine", "island", "leaf"},
	} {
		f, err := ReadTopograph(name, bytes.NewReader(shared(t, "topo/topograph/"+name)))
		require.NoError(t, err)
		with, err := f.WithIslands("island")
		require.NoError(t, err)
		require.Equal(t, want, with.Levels)
		at, _ := with.level("island")
		for _, n := range with.Nodes {
			require.Equal(t, n.Accelerator, n.Path[at])
		}
	}
}

// The blocks that topograph is expected to write for its model large.yaml: named by
// the rack there and by the NVLink domain here, which a comment of the file relates.
func TestBlocksAsTopographWritesThem(t *testing.T) {
	expected := shared(t, "topo/slurm/topograph-nvl72-block.expected.conf")
	f, err := ReadTopograph("large.yaml", bytes.NewReader(shared(t, "topo/topograph/large.yaml")))
	require.NoError(t, err)
	f, err = f.WithIslands("island")
	require.NoError(t, err)
	var got bytes.Buffer
	require.NoError(t, WriteSlurmBlock(&got, f, Blocks{Level: "island", Sizes: []int{8, 16, 32}}))

	var want strings.Builder
	domain := map[string]string{}
	for line := range strings.Lines(string(expected)) {
		line = strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(line, "# "); ok {
			rack, name, _ := strings.Cut(comment, "=")
			domain[rack] = name
			continue
		}
		for rack, name := range domain {
			line = strings.Replace(line, "BlockName="+rack+" ", "BlockName="+name+" ", 1)
		}
		want.WriteString(line + "\n")
	}
	require.Len(t, domain, 12)
	require.Equal(t, want.String(), got.String())

	read, err := ReadSlurmConf("expected", bytes.NewReader(expected))
	require.NoError(t, err)
	require.Equal(t, []string{"block-32", "block-16", "block"}, read.Levels)
	require.Equal(t, []int{8, 16, 32}, read.BlockSizes)
	roundTripBlocks(t, read)
}

func TestSlurmConfSamples(t *testing.T) {
	text := string(shared(t, "topo/slurm/topology.conf.examples"))
	_, rest, _ := strings.Cut(text, "# --- tree")
	tree, rest, _ := strings.Cut(rest, "# --- block")
	blocks, ring, _ := strings.Cut(rest, "# --- ring")

	f, err := ReadSlurmConf("tree", strings.NewReader(tree))
	require.NoError(t, err)
	require.Equal(t, []string{"spine", "leaf"}, f.Levels)
	require.Len(t, f.Nodes, 18)
	n, _ := f.node("dev13")
	require.Equal(t, []string{"s3", "s2"}, n.Path)
	roundTrip(t, f)

	f, err = ReadSlurmConf("block", strings.NewReader(blocks))
	require.NoError(t, err)
	require.Equal(t, []string{"block-120", "block"}, f.Levels)
	require.Equal(t, []int{30, 120}, f.BlockSizes)
	require.Len(t, f.Nodes, 128)
	n, _ = f.node("node97")
	require.Equal(t, []string{"block[1-4]", "block4"}, n.Path)
	roundTripBlocks(t, f)

	_, err = ReadSlurmConf("ring", strings.NewReader(ring))
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorContains(t, err, "ring:2: ringname: rings and tori are not trees of domains")
	_, err = ReadSlurmConf("all", strings.NewReader(text))
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorContains(t, err, "the file has both blocks and switches")
}

func TestSlurmYAMLSample(t *testing.T) {
	read := func(name string) (*Fabric, error) {
		return ReadSlurmYAML("topology.yaml", bytes.NewReader(shared(t, "topo/slurm/topology.yaml.example")), name)
	}
	f, err := read("")
	require.NoError(t, err)
	require.Equal(t, []string{"spine", "leaf"}, f.Levels)
	require.Equal(t, []Node{
		{Name: "node01", Path: []string{"sw_root", "s1"}},
		{Name: "node02", Path: []string{"sw_root", "s1"}},
		{Name: "node03", Path: []string{"sw_root", "s2"}},
		{Name: "node04", Path: []string{"sw_root", "s2"}},
	}, f.Nodes)
	f, err = read("topo2")
	require.NoError(t, err)
	require.Equal(t, []int{4, 16}, f.BlockSizes)
	require.Equal(t, []string{"block-16", "block"}, f.Levels)
	require.Len(t, f.Nodes, 16)
	roundTripBlocks(t, f)
	f, err = read("topo3")
	require.NoError(t, err)
	require.Equal(t, &Fabric{}, f)
	_, err = read("topo5")
	require.ErrorIs(t, err, ErrUnsupported)
	_, err = read("topo4")
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorContains(t, err, "there are topo1, topo2, topo3, topo5")
}

func TestLingjun(t *testing.T) {
	data := shared(t, "traces/lingjun/topo.csv.gz")
	f, err := ReadLingjun("topo.csv.gz", bytes.NewReader(data))
	require.NoError(t, err)
	require.NoError(t, f.check())
	require.Equal(t, []string{"core", "spine", "leaf"}, f.Levels)
	require.Len(t, f.Nodes, 847)
	names := domains(f)
	require.Len(t, names[0], 1)
	require.Len(t, names[1], 3)
	require.Len(t, names[2], 119)

	// Plain, too.
	s := newSource("")
	plain, err := s.unzip(bytes.NewReader(data))
	require.NoError(t, err)
	again, err := ReadLingjun("topo.csv", strings.NewReader(plain))
	require.NoError(t, err)
	require.Equal(t, f, again)

	// Numbers of ASWs come back in every PSW, which Slurm could not tell apart.
	require.ErrorIs(t, WriteSlurmTree(&bytes.Buffer{}, f), ErrConflict)
	q, err := f.Qualify("-")
	require.NoError(t, err)
	roundTrip(t, q)
	for l := range names {
		require.Len(t, domains(q)[l], len(names[l]))
	}
	n, _ := q.node("0c9d9de1b19e7f39b08f49ddfa26744ae26d3adf8bd59af1b16e203b6fa5fe4b")
	require.Equal(t, []string{"G6", "P10", "P10-S14"}, n.Path)
}
