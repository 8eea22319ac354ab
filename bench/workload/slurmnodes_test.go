package workload_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
)

// slurmNodes is what scontrol prints of three nodes, shortened.
const slurmNodes = `NodeName=gpu01 Arch=x86_64 CoresPerSocket=56
   CPUAlloc=8 CPUEfctv=112 CPUTot=112 CPULoad=7.10
   AvailableFeatures=ib,nvlink
   Gres=gpu:a100:4(S:0-1),gpu:A100:2(S:1,3),mps:800
   OS=Linux 5.15 #1 SMP Gres=gpu:9
   RealMemory=2000000 AllocMem=65536 FreeMem=1800000 Sockets=2 Boards=1
   State=MIXED+DRAIN ThreadsPerCore=1
   Partitions=gpu,debug
   CfgTRES=cpu=112,mem=2000000M,gres/gpu=6

NodeName=gpu02 CPUTot=64 Gres=gpu:8 RealMemory=1000 Partitions=gpu State=IDLE
NodeName=cpu01 CPUTot=64 Gres=(null) RealMemory=1000 Partitions=cpu State=IDLE
`

func TestSlurmNodes(t *testing.T) {
	nodes, skipped, err := workload.ReadSlurmNodes("f", strings.NewReader(slurmNodes))
	require.NoError(t, err)
	require.Len(t, nodes, 3)
	require.Equal(t, berth.NodeID("gpu01"), nodes[0].ID)
	require.Len(t, nodes[0].GPUs, 6)
	require.Equal(t, "a100", nodes[0].GPUs[3].Product)
	require.Equal(t, "a100", nodes[0].GPUs[4].Product)
	require.Equal(t, []workload.Skip{{File: "f", Line: 4, Reason: `the generic resource "mps" is not read`, Count: 1}}, skipped)
	require.EqualValues(t, 112_000, nodes[0].CPUMilli)
	require.EqualValues(t, 2_000_000, nodes[0].MemoryMiB)
	require.Equal(t, "debug,gpu", nodes[0].Pool)
	require.Len(t, nodes[1].GPUs, 8)
	require.Empty(t, nodes[2].GPUs)
	require.Equal(t, []string{"debug,gpu", "gpu"}, workload.PoolsOf(nodes, "gpu"))
	require.Empty(t, workload.PoolsOf(nodes, "gp"))
}

func TestSlurmNodesErrors(t *testing.T) {
	for name, c := range map[string]struct {
		text         string
		line, column int
		reason       string
	}{
		"nothing":       {"", 1, 0, "NodeName="},
		"a table":       {"NODELIST NODES\na 1\n", 1, 1, "scontrol show node"},
		"two nodes":     {"NodeName=a\n\nNodeName=a\n", 3, 1, "two nodes"},
		"no amount":     {"NodeName=a\n  Gres=gpu:a100:many\n", 2, 3, "gpu:type:count"},
		"too many GPUs": {"NodeName=a Gres=gpu:65\n", 1, 12, "gpu:type:count"},
		"twice":         {"NodeName=a Gres=gpu:4 CPUTot=3 Gres=gpu:4\n", 1, 32, "twice"},
		"a host list":   {"NodeName=a[1-3] Gres=gpu:4\n", 1, 1, "scontrol show node"},
		"no cores":      {"NodeName=a CPUTot=some\n", 1, 12, `"some"`},
	} {
		_, _, err := workload.ReadSlurmNodes("f", strings.NewReader(c.text))
		var e *workload.TraceError
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, []int{c.line, c.column}, []int{e.Line, e.Column}, name)
		require.Contains(t, e.Reason, c.reason, name)
	}
}

// The texts of a system and of people go on to the next field of scontrol, on a line of their own
// and with --oneliner, whatever stands in them.
func TestTextsOfNodes(t *testing.T) {
	fields := []string{
		"NodeName=gn01 CPUTot=112", "Gres=gpu:H100:8(S:0-1)", "OS=Linux 4.18.0-553.el8.x86_64 #1 SMP Mon Jul 13 NodeName=x CPUTot=7",
		"RealMemory=1900000 Sockets=2", "Partitions=train", "CfgTRES=cpu=104,mem=1900000M,gres/gpu=8",
		"Reason=Gres=gpu:4 is wrong, Partitions=infer too [root@2026-08-12T13:06:41]", "Comment=RealMemory=5 \t=", "Extra=a b=c",
	}
	for _, between := range []string{"\n   ", " ", " \r\n"} {
		for from := range fields[1:] { // any order will do
			text := strings.Join(append(append([]string{fields[0]}, fields[1+from:]...), fields[1:1+from]...), between) + "\n"
			if between == " " && from > 1 {
				break // a text that holds a field which is still to come cannot be told from it
			}
			nodes, skipped, err := workload.ReadSlurmNodes("f", strings.NewReader(text+"\n"+strings.Replace(text, "gn01", "gn02", 1)))
			require.NoError(t, err)
			require.Empty(t, skipped)
			require.Len(t, nodes, 2)
			for _, n := range nodes {
				require.Len(t, n.GPUs, 8)
				require.EqualValues(t, 1900000, n.MemoryMiB)
				require.EqualValues(t, 112_000, n.CPUMilli)
				require.Equal(t, "train", n.Pool)
			}
		}
	}
}

// A node with GPUs of several types is a node of each.
func TestNodesOfSeveralTypes(t *testing.T) {
	nodes, skipped, err := workload.ReadSlurmNodes("f", strings.NewReader(
		"NodeName=a Gres=gpu:8 CPUTot=8 Partitions=q\nNodeName=b CPUTot=16 Gres=gpu:h100:2,gpu:a100:4,gpu:H100:2 RealMemory=800 Partitions=p\n"))
	require.NoError(t, err)
	var got []string
	for _, n := range nodes {
		got = append(got, fmt.Sprintf("%s %d %s %d %d %s", n.ID, len(n.GPUs), n.GPUs[len(n.GPUs)-1].Product, n.CPUMilli, n.MemoryMiB, n.Pool))
	}
	require.Equal(t, []string{"a 8 gpu 8000 0 q", "b:a100 4 a100 8000 400 p", "b:h100 4 h100 8000 400 p"}, got)
	require.Equal(t, []workload.Skip{{File: "f", Line: 2, Reason: "a node that has GPUs of several types counts as a node of each", Count: 1}}, skipped)
}

// The forms of a generic resource.
func TestGenericResources(t *testing.T) {
	for gres, want := range map[string]string{
		"gpu:tesla:no_consume:4": "4 tesla", "gpu:no_consume:4": "4 gpu", "GPU:A100:8": "8 A100", "gpu:4090:2(IDX:0-1)": "2 4090", "gpu": "1 gpu",
		"gpu:h100": "1 h100", "gpu:h100:0": "0", "(null)": "0", "N/A": "0", "": "0", "gpu:h100:4(S:0),gpu:H100:4(S:1)": "8 h100",
		"gpu:h100:8,nic:4": `8 h100 f:1: the generic resource "nic" is not read`, "gpu:a100_1g.10gb:7": "0 f:1: MIG instances are no whole GPUs",
	} {
		nodes, skipped, err := workload.ReadSlurmNodes("f", strings.NewReader("NodeName=a Partitions=p Gres="+gres+"\n"))
		require.NoError(t, err, gres)
		got := fmt.Sprint(len(nodes[0].GPUs))
		if len(nodes[0].GPUs) > 0 {
			got += " " + nodes[0].GPUs[0].Product
		}
		for _, s := range skipped {
			got += " " + s.String()
		}
		require.Equal(t, want, got, gres)
	}
	_, skipped, err := workload.ReadSlurmNodes("f", strings.NewReader("NodeName=a gres=gpu:4 State=IDLE DRAIN\n"))
	require.NoError(t, err)
	require.Equal(t, "f:1: \"gres\" is no field of scontrol", skipped[0].String())
	require.Equal(t, "f:1: \"DRAIN\" is no field", skipped[1].String())
	require.Equal(t, "f:1: a node above has no field Gres", skipped[2].String())
}

func FuzzSlurmNodes(f *testing.F) {
	f.Add([]byte(slurmNodes))
	f.Fuzz(func(t *testing.T, text []byte) {
		nodes, _, err := workload.ReadSlurmNodes("f", bytes.NewReader(text))
		var e *workload.TraceError
		if err != nil {
			require.True(t, errors.As(err, &e))
			return
		}
		require.NotEmpty(t, nodes)
	})
}
