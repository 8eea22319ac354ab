package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/nvmlsrc"
	"github.com/berth-sched/berth/topology/nodegraph"
)

var rewrite = flag.Bool("rewrite", false, "write the files in testdata anew with what is printed now")

// output runs the program and returns what it prints.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(args, &out))
	return out.String()
}

// The table of each box is as it was looked at last, and fits into 100 columns.
func TestTables(t *testing.T) {
	for _, box := range nvmlsrc.FakeMachines() {
		text := output(t, "-fake", box)
		for line := range strings.Lines(text) {
			require.LessOrEqual(t, utf8.RuneCountInString(line)-1, 100, "%s: %s", box, line)
		}
		golden(t, box+".txt", text)
	}
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}

// What is printed as nvidia-smi topo -m is read as such, and says what real listings of
// such machines say.
func TestTopologyAsListed(t *testing.T) {
	for box, listing := range map[string]string{"dgx-a100": "dgx-a100.txt", "hgx-h100": "hgx-h100-80gb-sxm5.txt", "pcie": "2gpu-phb-no-nvlink.txt"} {
		text := output(t, "-fake", box, "-format", "topo")
		spec, err := nodegraph.ParseMatrix(box, text)
		require.NoError(t, err)
		listed, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "topo", listing))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("the listings are not beside this checkout")
		}
		require.NoError(t, err)
		want, err := nodegraph.ParseMatrix(listing, string(listed))
		require.NoError(t, err)
		require.Equal(t, want, spec, box)
	}
}

// The placements of profiles are those that nvidia-smi mig -lgipp prints of an H100.
func TestPlacementsAsListed(t *testing.T) {
	text := output(t, "-fake", "mig-h100")
	for _, line := range []string{
		"MIG 1g.10gb     19          7   9.75 GiB", "{0,1,2,3,4,5,6}:1",
		"MIG 3g.40gb      9          2  39.50 GiB", "{0,4}:4", "MIG 7g.80gb      0", "{0}:8",
	} {
		require.Contains(t, text, line)
	}
}

// The document has what the core is to be told, in a form that the core takes.
func TestDocument(t *testing.T) {
	var d document
	decoder := json.NewDecoder(strings.NewReader(output(t, "-fake", "mig-h100", "-format", "json", "-node", "n7")))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&d))
	require.Equal(t, "n7", d.Node)
	require.Len(t, d.Core.Node.GPUs, 2)
	require.Equal(t, "3g.40gb@4:4", d.Core.Node.GPUs[0].Instances[2].String())
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	for _, table := range d.Core.Tables {
		require.NoError(t, sched.Apply(0, berth.MIGTableSet{Table: table}))
	}
	require.NoError(t, sched.Apply(0, berth.NodeJoined{Node: *d.Core.Node}))
}

// What fails and what cannot be asked is said in each format, and hides nothing else.
func TestMachineInTrouble(t *testing.T) {
	pretend, err := nvmlsrc.NewFakeMachine("hgx-h100")
	require.NoError(t, err)
	require.NoError(t, pretend.Fail(2, "fell off the bus"))
	require.NoError(t, pretend.Refuse(5, "ecc", nvmlsrc.ErrMissingSymbol))
	require.NoError(t, pretend.Refuse(6, "pci", nvmlsrc.ErrNoPermission))
	m := lookAt(t, pretend)
	golden(t, "trouble.txt", written(t, writeTable, m))
	var d document
	require.NoError(t, json.Unmarshal([]byte(written(t, writeJSON, m)), &d))
	require.Equal(t, []string{"nvmlsrc: gpus[2]: device: lost: fell off the bus"}, d.Failures)
	require.True(t, d.Findings[0].Condemns)
	require.Len(t, d.Gaps, 3)
	require.True(t, d.Core.Node.GPUs[2].Failed)

	for gpu := range 8 {
		require.NoError(t, pretend.Fail(gpu, "no power"))
	}
	m = lookAt(t, pretend)
	require.NoError(t, json.Unmarshal([]byte(written(t, writeJSON, m)), &d))
	require.Contains(t, d.Core.Refused, "none of 8 GPUs takes work")
	require.Contains(t, written(t, writeTable, m), "8 × unknown product")
}

func lookAt(t *testing.T, pretend *nvmlsrc.FakeMachine) *machine {
	t.Helper()
	source, err := pretend.Open()
	require.NoError(t, err)
	m, err := look("n1", source)
	require.NoError(t, err)
	require.NoError(t, source.Close())
	return m
}

func written(t *testing.T, write func(io.Writer, *machine) error, m *machine) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, write(&out, m))
	return out.String()
}

// A machine without GPUs has a table too.
func TestMachineWithoutGPUs(t *testing.T) {
	m := &machine{name: "n1"}
	require.Equal(t, "n1: no GPUs\n", written(t, writeTable, m))
	require.Contains(t, written(t, writeJSON, m), `"id": "n1"`)
	require.Contains(t, written(t, writeTopology, m), "Legend")
}

// A partition with a name that begins another's is listed too.
func TestFabrics(t *testing.T) {
	pretend, err := nvmlsrc.NewFakeMachine("gb200")
	require.NoError(t, err)
	m := lookAt(t, pretend)
	for i, fabric := range []string{"cluster.12", "cluster.1", "cluster.12", "cluster.2"} {
		m.GPUs[i].NVLink.Fabric = fabric
	}
	require.Contains(t, written(t, writeTable, m), "NVLink fabric: cluster.12, cluster.1, cluster.2 (")
}

// Without a driver there is a typed error that says what to do instead; nonsense is told
// from failure.
func TestRefusals(t *testing.T) {
	none := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	err := run([]string{"-library", none}, io.Discard)
	require.ErrorIs(t, err, nvmlsrc.ErrNoDriver)
	require.ErrorContains(t, err, "-fake dgx-a100, or gb200")
	require.NotErrorIs(t, err, flagline.ErrMisuse)
	for _, args := range [][]string{{"-fake", "dgx-z9"}, {"-format", "pdf"}, {"-nonsense"}, {"nonsense"}} {
		require.ErrorIs(t, run(args, io.Discard), flagline.ErrMisuse, args)
	}
	require.ErrorIs(t, run([]string{"-h"}, io.Discard), flag.ErrHelp)
}

// A file is written where it was asked for, and an error if it cannot be.
func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node.txt")
	require.Empty(t, output(t, "-fake", "gb200", "-o", file))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, output(t, "-fake", "gb200"), string(text))
	require.Error(t, run([]string{"-fake", "gb200", "-o", filepath.Join(file, "x")}, io.Discard), "a file is no folder")
}
