package fabric

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// decoded requires of whatever came of an input that it is a fabric or a refusal, and
// of a fabric that it holds its invariants and survives the writers.
func decoded(t *testing.T, f *Fabric, err error) {
	if err != nil {
		var refusal *Error
		require.ErrorAs(t, err, &refusal)
		require.Nil(t, f)
		require.NotEmpty(t, refusal.Reason)
		require.Error(t, refusal.Kind)
		return
	}
	require.NoError(t, f.check())
	for _, write := range []func(io.Writer) error{
		func(w io.Writer) error { return WriteSlurmTree(w, f) },
		func(w io.Writer) error { return WriteSlurmBlock(w, f, Blocks{}) },
	} {
		var b bytes.Buffer
		if write(&b) != nil {
			continue
		}
		again, err := ReadSlurmConf("written", &b)
		require.NoError(t, err)
		require.Len(t, again.Nodes, len(f.Nodes))
	}
	if q, err := f.Qualify("-"); err == nil {
		require.NoError(t, q.check())
	}
	if with, err := f.WithIslands("island"); err == nil {
		require.NoError(t, with.check())
	}
}

func FuzzSlurmConf(f *testing.F) {
	f.Add("SwitchName=a Nodes=n[1-3]\nSwitchName=b Switches=a Nodes=\"m\" LinkSpeed=1 # c\n")
	f.Add("BlockName=a Nodes=n[1-4]\nBlockName=b Nodes=m[01-04]\nBlockSizes=2,4\n")
	f.Add("BlockName=0 Nodes=00")
	f.Add("SwitchName=0")
	f.Add("SwitchName=a Nodes=x\\\n,y\nSwitchName=b Nodes=x,z\nInclude x\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadSlurmConf("fuzz", strings.NewReader(text))
		decoded(t, got, err)
		if err == nil && slices.Contains(got.Levels, "block") {
			roundTripBlocks(t, got)
		} else if err == nil && !errors.Is(WriteSlurmTree(io.Discard, got), ErrUnsupported) && short(got) {
			roundTrip(t, got)
		}
	})
}

// short reports whether Slurm takes the names, of which those for nodes that hang
// directly on a switch are longer than those in the file.
func short(f *Fabric) bool {
	for _, n := range f.Nodes {
		for _, name := range n.Path {
			if len(n.Rails) == 0 && len(name) > maxSwitchName {
				return false
			}
		}
		for _, name := range n.Rails {
			if len(name) > maxSwitchName {
				return false
			}
		}
	}
	return true
}

func FuzzSlurmYAML(f *testing.F) {
	f.Add("- topology: a\n  cluster_default: true\n  tree:\n    switches:\n    - {switch: s, nodes: 'n[1-3]'}\n    - {switch: r, children: s}\n")
	f.Add("- topology: a\n  block: {block_sizes: [1, 2], blocks: [{block: b, nodes: x}, {block: c, nodes: y}]}\n- {topology: b, flat: true}\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadSlurmYAML("fuzz", strings.NewReader(text), "")
		decoded(t, got, err)
	})
}

func FuzzTopograph(f *testing.F) {
	f.Add("switches:\n- {name: s, switches: [t], capacity_blocks: [c]}\ncapacity_blocks:\n- {name: c, type: x, nvlink: y, nodes: [a, b]}\n")
	f.Add("switches: {s: {nodes: ['n[1-2]']}}\nnodes: {n1: {attributes: {gpus: [{model: x}]}}, n2: {capacity_block_id: c}}\ncapacity_blocks: {c: {nodes: [n1]}}\n")
	f.Add("switches: {s: {labels: {a: b}, switches: [t]}}\nblocks:\n- {switch: t, nodes: ['n[1-2]'], annotations: {accelerator.topograph.run/domain: x}}\n- nodes: [m]\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadTopograph("fuzz", strings.NewReader(text))
		decoded(t, got, err)
	})
}

func FuzzNodeList(f *testing.F) {
	f.Add(`{"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "n", "labels": {"fabric.topograph.run/tier-0": "l", "nvidia.com/gpu.clique": "u.1"}}, "status": {"capacity": {"nvidia.com/gpu": "8"}}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadNodeList("fuzz", strings.NewReader(text), TopographKeys())
		decoded(t, got, err)
	})
}

func FuzzLingjun(f *testing.F) {
	f.Add([]byte("ip,DSW,PSW,ASW\na,G,P,S\nb,G,P,\nc,,,S\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ReadLingjun("fuzz", bytes.NewReader(text))
		decoded(t, got, err)
	})
}

func FuzzHostlist(f *testing.F) {
	f.Add("a,r[1-2]n[01-03,7]x")
	f.Fuzz(func(t *testing.T, expression string) {
		names, err := expandHostlist(expression)
		if err != nil {
			var refusal *Error
			require.ErrorAs(t, err, &refusal)
			return
		}
		again, err := expandHostlist(compressHostlist(names))
		require.NoError(t, err)
		slices.SortFunc(names, compareNatural)
		require.True(t, slices.Equal(slices.Compact(names), again))
	})
}
