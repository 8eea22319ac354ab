package workload_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/workload"
)

func TestOpenBLists(t *testing.T) {
	nodes := "model,gpu,sn,memory_mib,cpu_milli,rack\nT4,2,b,2048,8000,1\n,0,a,1024,4000,2\n"
	list, err := workload.ReadOpenBNodeList("nodes.csv", strings.NewReader(nodes))
	require.NoError(t, err)
	require.Equal(t, []bench.NodeSpec{
		{Name: "b", CPUMilli: 8000, MemoryMiB: 2048, GPUs: 2, Model: "T4"},
		{Name: "a", CPUMilli: 4000, MemoryMiB: 1024},
	}, list)

	pods := "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n" +
		"share,1,2,1,470,T4|G2\nwhole,1,2,1,1000,\nfour,1,2,4,1000,G2\nhost,1,2,0,0,\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write([]byte(pods))
	require.NoError(t, errors.Join(err, z.Close()))
	tasks, err := workload.ReadOpenBPodList("pods.csv.gz", &packed)
	require.NoError(t, err)
	require.Equal(t, []workload.OpenBPod{
		{"share", bench.Request{CPUMilli: 1, MemoryMiB: 2, GPUs: 1, Milli: 470, Models: "T4|G2"}},
		{"whole", bench.Request{CPUMilli: 1, MemoryMiB: 2, GPUs: 1, Milli: 1000}},
		{"four", bench.Request{CPUMilli: 1, MemoryMiB: 2, GPUs: 4, Milli: 1000, Models: "G2"}},
		{"host", bench.Request{CPUMilli: 1, MemoryMiB: 2}},
	}, tasks)
}

// Whatever is wrong is named by file, line and column, and no part of the list is returned.
func TestOpenBListErrors(t *testing.T) {
	const head = "sn,cpu_milli,memory_mib,gpu,model\n"
	for text, want := range map[string]workload.TraceError{
		"":                                 {Line: 1, Kind: workload.ErrHeader},
		"sn,cpu_milli,memory_mib,gpu\n":    {Line: 1, Kind: workload.ErrHeader},
		head + "a,1,1,2,\n":                {Line: 2, Column: 9, Field: "model", Kind: workload.ErrValue},
		head + "a,1,1,65,T4\n":             {Line: 2, Column: 7, Field: "gpu", Kind: workload.ErrValue},
		head + "a,1,1,0,\nb,-1,1,0,\n":     {Line: 3, Column: 3, Field: "cpu_milli", Kind: workload.ErrValue},
		head + "a,1,1,0,\na,1,1,1,T4\n":    {Line: 3, Column: 1, Field: "sn", Kind: workload.ErrValue},
		head + "a,1,1,0,\nb,1,1\n":         {Line: 3, Kind: workload.ErrRow},
		head + "a,1,1,0,\n\"b\"c,1,1,0,\n": {Line: 3, Column: 3, Kind: workload.ErrRow},
	} {
		list, err := workload.ReadOpenBNodeList("nodes.csv", strings.NewReader(text))
		require.Nil(t, list, text)
		var at *workload.TraceError
		require.ErrorAs(t, err, &at, text)
		require.ErrorIs(t, err, want.Kind, text)
		want.File, want.Reason = "nodes.csv", at.Reason
		require.Equal(t, want, *at, text)
	}
}

// Any bytes are a list that a session takes, or an error that says where.
func FuzzOpenBLists(f *testing.F) {
	f.Add([]byte("sn,cpu_milli,memory_mib,gpu,model\na,1,1,2,T4\nb,1,1,0,\n"), []byte("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1,1,1,470,T4|G2\nb,1,1,0,0,\n"))
	f.Fuzz(func(t *testing.T, nodes, pods []byte) {
		var at *workload.TraceError
		list, err := workload.ReadOpenBNodeList("nodes", bytes.NewReader(nodes))
		if err != nil {
			require.ErrorAs(t, err, &at)
		}
		s, err := bench.NewSession(list, bench.FirstFit())
		require.NoError(t, err)
		tasks, err := workload.ReadOpenBPodList("pods", bytes.NewReader(pods))
		if err != nil {
			require.ErrorAs(t, err, &at)
		}
		for i := range tasks {
			_, err := s.Kind(tasks[i].Request)
			require.NoError(t, err)
		}
	})
}
