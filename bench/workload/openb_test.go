package workload_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

const (
	nodeHeader = "sn,cpu_milli,memory_mib,gpu,model\n"
	taskHeader = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)

// read reads a trace to its end.
func read(tb testing.TB, nodes, tasks string) ([]sim.Arrival, error) {
	tb.Helper()
	t, err := workload.ReadOpenB(workload.OpenBNodes, strings.NewReader(nodes), workload.OpenBTasks, strings.NewReader(tasks))
	return drain(tb, t, err)
}

func TestOpenBNodes(t *testing.T) {
	list, err := read(t, nodeHeader+"a,64000,262144,2,P100\nb,128000,786432,1,G2\nc,32000,65536,0,\n", taskHeader)
	require.NoError(t, err)
	require.Len(t, list, 4, "three nodes and the queue")
	p100 := berth.GPU{Product: "P100", MemoryMiB: 16384, ComputeCapability: berth.ComputeCapability{Major: 6}}
	require.Equal(t, berth.NodeJoined{Node: berth.Node{
		ID: "a", CPUMilli: 64000, MemoryMiB: 262144, GPUs: []berth.GPU{p100, p100},
	}}, list[0].Event)
	require.Equal(t, []berth.GPU{{Product: "G2"}}, list[1].Event.(berth.NodeJoined).Node.GPUs, "not disclosed")
	require.Empty(t, list[2].Event.(berth.NodeJoined).Node.GPUs)
	require.Equal(t, "queueSet", list[3].Event.Kind())
}

func TestOpenBTasks(t *testing.T) {
	list, err := read(t, nodeHeader, taskHeader+
		"whole,8000,1024,2,1000,,Burstable,Succeeded,10,100,40\n"+
		"share,6000,2048,1,460,V100M16|V100M32,LS,Running,11,50,\n"+
		"host,500,64,0,0,,BE,Pending,11,,\n"+
		"short,500,64,1,1000,,Guaranteed,Failed,12,12,12\n")
	require.NoError(t, err)
	require.Len(t, list, 5)
	tasks := list[1:]
	job := func(i int) berth.Job { return tasks[i].Event.(berth.JobSubmitted).Job }

	require.Equal(t, berth.Time(10_000), tasks[0].At, "seconds become milliseconds")
	require.Equal(t, berth.Minute, tasks[0].Runtime, "from scheduled to deleted")
	require.Equal(t, berth.ClassBatch, job(0).Class)
	require.Equal(t, berth.Claim{GPUs: 2, CPUMilli: 8000, MemoryMiB: 1024}, job(0).Groups[0].Claim)

	require.Equal(t, 39*berth.Second, tasks[1].Runtime, "from created to deleted: it has no scheduled_time")
	require.Equal(t, berth.ClassLatencyCritical, job(1).Class)
	require.Equal(t, []string{"V100M16", "V100M32"}, job(1).Groups[0].Selector.Products)
	require.Equal(t, &berth.Share{Mode: berth.ShareMPS, GPUMilli: 460}, job(1).Groups[0].Claim.Share)

	require.Zero(t, tasks[2].Runtime, "it runs on")
	require.Equal(t, berth.Claim{CPUMilli: 500, MemoryMiB: 64}, job(2).Groups[0].Claim)
	require.Equal(t, berth.Second, tasks[3].Runtime, "at least a second, for zero means no end")
	require.Equal(t, berth.ClassLatencyCritical, job(3).Class)
}

func TestOpenBErrors(t *testing.T) {
	const good = "p,1000,64,1,1000,,LS,Running,5,9,5\n"
	for _, c := range []struct {
		name, nodes, tasks string
		file               string
		line, column       int
		field              string
		kind               error
		reason             string
	}{
		{"no nodes file", "", taskHeader, workload.OpenBNodes, 1, 0, "", workload.ErrHeader, "is empty"},
		{"another header", "sn,cpu\n", taskHeader, workload.OpenBNodes, 1, 0, "", workload.ErrHeader, `no column "cpu_milli"`},
		{"another tasks header", nodeHeader, nodeHeader, workload.OpenBTasks, 1, 0, "", workload.ErrHeader, `no column "name"`},
		{"a column twice", "sn,cpu_milli,memory_mib,gpu,gpu,model\n", taskHeader, workload.OpenBNodes, 1, 0, "", workload.ErrHeader, `two columns are called "gpu"`},
		{"a column too few", nodeHeader + "a,1,1,2,T4\nb,1,1,2\n", taskHeader, workload.OpenBNodes, 3, 0, "", workload.ErrRow, "4 columns instead of 5"},
		{"a stray quote", nodeHeader + "a,1,\"1,2,T4\n", taskHeader, workload.OpenBNodes, 0, 0, "", workload.ErrRow, ""},
		{"no name", nodeHeader + ",1,1,2,T4\n", taskHeader, workload.OpenBNodes, 2, 1, "sn", workload.ErrValue, "is no name"},
		{"no model", nodeHeader + "a,1,1,2,\n", taskHeader, workload.OpenBNodes, 2, 9, "model", workload.ErrValue, "is no name"},
		{"too many GPUs", nodeHeader + "a,1,1,65,T4\n", taskHeader, workload.OpenBNodes, 2, 7, "gpu", workload.ErrValue, "65 is more than 64"},
		{"a negative amount", nodeHeader, taskHeader + "p,-1,64,1,1000,,LS,Running,5,9,5\n", workload.OpenBTasks, 2, 3, "cpu_milli", workload.ErrValue, `"-1" is no whole number`},
		{"a fraction", nodeHeader, taskHeader + good + "q,1000,64.5,1,1000,,LS,Running,5,9,5\n", workload.OpenBTasks, 3, 8, "memory_mib", workload.ErrValue, `"64.5"`},
		{"a number too large", nodeHeader, taskHeader + "p,9999999999999999999999,64,1,1000,,LS,Running,5,9,5\n", workload.OpenBTasks, 2, 3, "cpu_milli", workload.ErrValue, "no whole number"},
		{"a part of several GPUs", nodeHeader, taskHeader + "p,1000,64,2,500,,LS,Running,5,9,5\n", workload.OpenBTasks, 2, 0, "gpu_milli", workload.ErrValue, "of several GPUs"},
		{"a part of no GPU", nodeHeader, taskHeader + "p,1000,64,0,500,,LS,Running,5,9,5\n", workload.OpenBTasks, 2, 0, "gpu_milli", workload.ErrValue, "of no GPU"},
		{"nothing of a GPU", nodeHeader, taskHeader + "p,1000,64,1,0,,LS,Running,5,9,5\n", workload.OpenBTasks, 2, 0, "gpu_milli", workload.ErrValue, "is zero"},
		{"more than a GPU", nodeHeader, taskHeader + "p,1000,64,1,1001,,LS,Running,5,9,5\n", workload.OpenBTasks, 2, 0, "gpu_milli", workload.ErrValue, "1001 is more than 1000"},
		{"nothing at all", nodeHeader, taskHeader + "p,0,0,0,0,,LS,Running,5,9,5\n", workload.OpenBTasks, 2, 0, "cpu_milli", workload.ErrValue, "zero"},
		{"an unknown quality", nodeHeader, taskHeader + "p,1000,64,1,1000,,Best,Running,5,9,5\n", workload.OpenBTasks, 2, 0, "qos", workload.ErrValue, "none of"},
		{"an empty model", nodeHeader, taskHeader + "p,1000,64,1,1000,T4||A10,LS,Running,5,9,5\n", workload.OpenBTasks, 2, 0, "gpu_spec", workload.ErrValue, "is no name"},
		{"an end before the start", nodeHeader, taskHeader + "p,1000,64,1,1000,,LS,Running,5,9,10\n", workload.OpenBTasks, 2, 0, "deletion_time", workload.ErrValue, "before the task began"},
		{"out of order", nodeHeader, taskHeader + good + "q,1000,64,1,1000,,LS,Running,4,9,5\n", workload.OpenBTasks, 3, 0, "creation_time", workload.ErrValue, "in order of time"},
		{"no arrival", nodeHeader, taskHeader + "p,1000,64,1,1000,,LS,Running,,9,5\n", workload.OpenBTasks, 2, 0, "creation_time", workload.ErrValue, "no whole number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(t, c.nodes, c.tasks)
			var e *workload.TraceError
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, c.kind)
			require.Equal(t, c.file, e.File)
			require.Equal(t, c.field, e.Field)
			require.Contains(t, e.Error(), c.reason)
			require.Contains(t, e.Error(), c.file)
			if c.line > 0 {
				require.Equal(t, c.line, e.Line)
			}
			if c.column > 0 {
				require.Equal(t, c.column, e.Column)
			}
		})
	}
}

// TestOpenBStopsAtTheError: what stands above it was given, nothing below it is.
func TestOpenBStopsAtTheError(t *testing.T) {
	trace, err := workload.ReadOpenB(workload.OpenBNodes, strings.NewReader(nodeHeader), workload.OpenBTasks, strings.NewReader(taskHeader+
		"p,1000,64,1,1000,,LS,Running,5,9,5\nbad\nq,1000,64,1,1000,,LS,Running,6,9,6\n"))
	require.NoError(t, err)
	for range 2 { // the queue and the first task
		_, more := trace.Next()
		require.True(t, more)
		require.NoError(t, trace.Err())
	}
	for range 2 {
		_, more := trace.Next()
		require.False(t, more)
		require.ErrorIs(t, trace.Err(), workload.ErrRow)
	}

	broken := errors.New("the disk is gone")
	_, err = workload.ReadOpenB(workload.OpenBNodes, iotest.ErrReader(broken), workload.OpenBTasks, strings.NewReader(taskHeader))
	require.ErrorIs(t, err, broken)
	_, err = workload.OpenB(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestOpenBCompressed: either file, or both.
func TestOpenBCompressed(t *testing.T) {
	list, err := read(t, string(zipped(t, nodeHeader+"a,1,1,2,T4\n")), string(zipped(t, taskHeader+"p,1,64,1,1000,,LS,Running,500,900,600\n")))
	require.NoError(t, err)
	require.Len(t, list, 3)
}

// TestRealTrace runs the published trace, where it is beside the repository.
func TestRealTrace(t *testing.T) {
	trace, err := workload.OpenB(realTrace(t, "openb"))
	require.NoError(t, err)
	defer trace.Close()
	gpus, products := 0, map[string]bool{}
	for _, n := range trace.Nodes() {
		gpus += len(n.GPUs)
		products[n.GPUs[0].Product] = true
	}
	require.Len(t, trace.Nodes(), 1213)
	require.Equal(t, 6212, gpus)
	require.Len(t, products, 7, "V100 with 16 and with 32 GB are two")

	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	s := sim.New(sched, trace, sim.Options{Applied: func(_ berth.Time, e berth.Event, err error) {
		require.NoError(t, err, e)
	}})
	require.NoError(t, s.Run(1<<62))
	require.NoError(t, trace.Err())
	totals := sched.Report().Totals
	require.EqualValues(t, 8152, totals.JobsAdmitted)
	require.EqualValues(t, 8152, totals.JobsFinished)
}

// FuzzOpenB: any bytes give a workload that a core can be told, or a typed error.
func FuzzOpenB(f *testing.F) {
	f.Add(nodeHeader+"a,64000,262144,2,P100\n", taskHeader+"p,1000,64,1,460,P100,LS,Running,5,9,5\n")
	f.Add(nodeHeader+"a,1,1,0,\n", taskHeader+"p,1,1,0,0,,BE,Pending,5,,\n")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, nodes, tasks string) {
		list, err := read(t, nodes, tasks)
		var e *workload.TraceError
		if err != nil {
			require.ErrorAs(t, err, &e)
			require.Positive(t, e.Line)
			require.NotEmpty(t, e.Reason)
		}
		sched, err := core.New(berth.Config{})
		require.NoError(t, err)
		for i := range list {
			err := sched.Apply(list[i].At, list[i].Event)
			if errors.Is(err, berth.ErrDuplicate) {
				continue // a name that stands there twice
			}
			require.NoError(t, err)
		}
	})
}
