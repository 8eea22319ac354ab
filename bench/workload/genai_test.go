package workload

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/hostile"
)

// genAIFiles are a day of two pods.
func genAIFiles() map[string]string {
	return map[string]string{
		GenAIDuty:     "value,timestamp_anon,container_ip\n0.0,1000.0,b\n99.96,1057.0,b\n0.01,1171.0,b\n12.34,1057.0,a\n",
		GenAIMemory:   "timestamp_anon,value,container_ip\n1000.0,33879490560.0,b\n1057.0,1048577,b\n1000.0,5,other\n1000.0,1.0,a\n",
		GenAIQueries:  "timestamp_anon,value,container_ip,request_type\n1057.0,0.18,b,Generative Requests\n1000.0,0.09000000000000001,b,Generative Requests\n1000.0,0.05,,API Requests\n",
		GenAIQueue:    "value,container_ip,timestamp_anon\n196.0,b,1057.0\n7.0,b,1114.0\n",
		GenAIRequests: "gmt_create,predict_status,exec_time_seconds\n2024-11-15 16:57:50,SUCCEED,32.0\n2024-11-15 16:57:51,FAILED,99.0\n2024-11-15 16:57:52,SUCCEED,3.5\n",
	}
}

// writeGenAI writes archives as the publisher does.
func writeGenAI(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		packed := gzip.NewWriter(f)
		archive := tar.NewWriter(packed)
		for _, member := range []struct{ name, text string }{{"._x.csv", "of a Mac"}, {"x.csv", text}} {
			require.NoError(t, archive.WriteHeader(&tar.Header{Name: member.name, Mode: 0o600, Size: int64(len(member.text)), Typeflag: tar.TypeReg}))
			_, err = archive.Write([]byte(member.text))
			require.NoError(t, err)
		}
		require.NoError(t, errors.Join(archive.Close(), packed.Close(), f.Close()))
	}
	return dir
}

func TestGenAI(t *testing.T) {
	day, err := GenAI(writeGenAI(t, genAIFiles()))
	require.NoError(t, err)
	skipped := day.Skipped
	day.Skipped = nil
	require.Equal(t, &ServiceDay{
		Step: 57 * berth.Second, Samples: 4,
		Pods: []ServicePod{
			{ID: "a", Active: []int16{-1, 123, -1, -1}, MemoryMiB: 1},
			{ID: "b", Active: []int16{0, 1000, -1, 1}, MemoryMiB: 32310, Requests: []ServiceRequest{{0, 1, 0}, {1, 2, 196}}},
		},
		Execution: []berth.Duration{3500, 32 * berth.Second},
	}, day)
	var reasons []string
	for _, s := range skipped {
		reasons = append(reasons, s.Reason)
	}
	require.Equal(t, []string{
		"a row of no container that has a duty cycle", "a row of other requests than generative ones",
		"a queueing time without a request", "a request that did not succeed",
	}, reasons)
}

// What makes no sense is refused by file and line.
func TestGenAIRefuses(t *testing.T) {
	const duty = "value,timestamp_anon,container_ip\n"
	for _, c := range []struct{ file, text, says string }{
		{GenAIDuty, "value,container_ip\n", `pod_gpu_duty_cycle_anon.tar.gz/x.csv:1: there is no column "timestamp_anon"`},
		{GenAIDuty, duty, "x.csv:1: there is no sample"},
		{GenAIDuty, duty + "0.0,57.0,a\n101.0,57.0,b\n", "x.csv:3:1: value: is more than 100 percent"},
		{GenAIDuty, duty + "0.0,57.0,a\n0.0,58.0,a\n", "x.csv:3:5: timestamp_anon: 58.0 is not one of the 16384 instants"},
		{GenAIDuty, duty + "0.0,57.0,a\n0.0,0.0,a\n", "x.csv:3:5: timestamp_anon: 0.0 is not one"},
		{GenAIDuty, duty + "0.0,57.0,a\n0.0,4000000000,a\n", "x.csv:3:5: timestamp_anon: 4000000000 is not one"},
		{GenAIDuty, duty + "0.0,57.0,a\n0.0,57.0,a\n", "x.csv:3:5: timestamp_anon: is a second sample of one instant"},
		{GenAIDuty, duty + "x,57.0,a\n", `x.csv:2:1: value: "x" is no number`},
		{GenAIDuty, duty + "0.0,57.0,\n", `container_ip: "" is no name`},
		{GenAIMemory, "value,container_ip\n-5,a\n", `pod_gpu_memory_used_bytes_anon.tar.gz/x.csv:2:1: value: "-5" is no number`},
		{GenAIQueries, "timestamp_anon,value,container_ip,request_type\n1000.0,0.0,a,Generative Requests\n", "x.csv:2:8: value: is zero"},
		{GenAIQueue, "value,container_ip,timestamp_anon\n1,a,1001\n", "x.csv:2:5: timestamp_anon: 1001 is not one"},
		{GenAIRequests, "predict_status,exec_time_seconds\nSUCCEED,\n", `x.csv:2:9: exec_time_seconds: "" is no number`},
	} {
		files := genAIFiles()
		files[c.file] = c.text
		_, err := GenAI(writeGenAI(t, files))
		var refusal *TraceError
		require.ErrorAs(t, err, &refusal, c.says)
		require.ErrorContains(t, err, c.says)
	}
	files := genAIFiles()
	delete(files, GenAIQueue)
	_, err := GenAI(writeGenAI(t, files))
	require.ErrorIs(t, err, os.ErrNotExist)
	dir := writeGenAI(t, genAIFiles())
	require.NoError(t, os.WriteFile(filepath.Join(dir, GenAIDuty), []byte("no archive"), 0o600))
	_, err = GenAI(dir)
	require.ErrorContains(t, err, GenAIDuty)
}

// Few rows that stand for many samples of many pods are refused before they fill the memory.
func TestGenAICostsLittle(t *testing.T) {
	var text strings.Builder
	text.WriteString("value,timestamp_anon,container_ip\n0,0,first\n")
	for pod := range 1000 {
		fmt.Fprintf(&text, "0,%d,p%d\n", 57*(maxSamples-1), pod)
	}
	hostile.Bounded(t, "duty", text.String(), 16<<20, func(input string) {
		g := &genAI{day: &ServiceDay{Step: GenAIStep}, pods: map[string]int{}}
		in := readCSV("duty", strings.NewReader(input))
		g.duty(in)
		require.ErrorIs(t, in.err, ErrLimit)
		require.ErrorContains(t, in.err, "duty:258: 257 containers in 16384 samples are more than 4194304 together")
	})
}

// The published day has the figures that its description tells.
func TestGenAIPublished(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "data", "traces", "alibaba-v2026-genai")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the trace is not beside this checkout: ", err)
	}
	day, err := GenAI(dir)
	require.NoError(t, err)
	samples, idle, sum, requests := 0, 0, 0, 0
	for _, pod := range day.Pods {
		for _, active := range pod.Active {
			if active == Unsampled {
				continue
			}
			samples, sum = samples+1, sum+int(active)
			if active == 0 {
				idle++
			}
		}
		for _, r := range pod.Requests {
			requests += r.Count
		}
	}
	require.Len(t, day.Pods, 143)
	require.Equal(t, 157_417, samples)
	require.Equal(t, 105_229, idle)
	require.InDelta(t, 70.25, float64(sum)/float64(samples), 0.01)
	require.Equal(t, 1441, day.Samples)
	require.Len(t, day.Execution, 26_392)
	require.Equal(t, 23_748, requests)
}
