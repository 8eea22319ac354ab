package workload_test

import (
	"bytes"
	"errors"
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
   Gres=gpu:a100:4(S:0-1),gpu:v100:2(S:1,3),mps:800
   OS=Linux 5.15 #1 SMP Gres=gpu:9
   RealMemory=2000000 AllocMem=65536 FreeMem=1800000 Sockets=2 Boards=1
   State=MIXED+DRAIN ThreadsPerCore=1
   Partitions=gpu,debug
   CfgTRES=cpu=112,mem=2000000M,gres/gpu=6

NodeName=gpu02 CPUTot=64 Gres=gpu:8 RealMemory=1000 Partitions=gpu State=IDLE
NodeName=cpu01 CPUTot=64 Gres=(null) RealMemory=1000 Partitions=cpu State=IDLE
`

func TestSlurmNodes(t *testing.T) {
	nodes, err := workload.ReadSlurmNodes("f", strings.NewReader(slurmNodes))
	require.NoError(t, err)
	require.Len(t, nodes, 3)
	require.Equal(t, berth.NodeID("gpu01"), nodes[0].ID)
	require.Len(t, nodes[0].GPUs, 6)
	require.Equal(t, "a100", nodes[0].GPUs[3].Product)
	require.Equal(t, "v100", nodes[0].GPUs[4].Product)
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
		"a table":       {"NODELIST NODES\na 1\n", 1, 0, "scontrol show node"},
		"two nodes":     {"NodeName=a\n\nNodeName=a\n", 3, 1, "two nodes"},
		"no amount":     {"NodeName=a\n  Gres=gpu:a100:many\n", 2, 3, "gpu:type:count"},
		"too many GPUs": {"NodeName=a Gres=gpu:65\n", 1, 12, "gpu:type:count"},
		"no cores":      {"NodeName=a CPUTot=some\n", 1, 12, `"some"`},
	} {
		_, err := workload.ReadSlurmNodes("f", strings.NewReader(c.text))
		var e *workload.TraceError
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, []int{c.line, c.column}, []int{e.Line, e.Column}, name)
		require.Contains(t, e.Reason, c.reason, name)
	}
}

func FuzzSlurmNodes(f *testing.F) {
	f.Add([]byte(slurmNodes))
	f.Fuzz(func(t *testing.T, text []byte) {
		nodes, err := workload.ReadSlurmNodes("f", bytes.NewReader(text))
		var e *workload.TraceError
		if err != nil {
			require.True(t, errors.As(err, &e))
			return
		}
		require.NotEmpty(t, nodes)
	})
}
