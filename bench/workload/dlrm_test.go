package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
)

const dlrmHeader = "instance_sn,app_name,cpu_request,gpu_request,memory_request,creation_time,scheduled_time,deletion_time\n"

var readDLRM readTrace = workload.ReadDLRM

func TestDLRMInstances(t *testing.T) {
	jobs := readDLRM.jobs(t, dlrmHeader+
		"i0,app_0,12,1,120.0,474.99999999999994,623.00000000000006,700\n"+
		"i1,app_1,64,0,320.5,,,\n"+
		"i2,app_1,64,0,320.5,,,90.0\n", workload.Options{})
	require.Len(t, jobs, 3)
	require.Equal(t, sim.Arrival{
		Event: berth.JobSubmitted{Job: berth.Job{
			ID: "i1", Queue: "app_1", Tenant: "app_1", Class: berth.ClassLatencyCritical,
			Groups: []berth.Group{{Members: 1, Claim: berth.Claim{CPUMilli: 64_000, MemoryMiB: 328_192}}},
		}},
	}, jobs[0], "it was there before, and stayed")
	require.Equal(t, []any{berth.Time(0), 90 * berth.Second}, []any{jobs[1].At, jobs[1].Runtime}, "it was there before, and went")
	require.Equal(t, []any{berth.Time(475_000), 77 * berth.Second}, []any{jobs[2].At, jobs[2].Runtime}, "counted from when it was scheduled")
	require.Equal(t, 1, jobOf(t, jobs[2]).Groups[0].Claim.GPUs)
}

// TestRowSeesOtherColumns: what no core can be told is there for readers.
func TestRowSeesOtherColumns(t *testing.T) {
	seen := map[berth.JobID][]string{}
	readDLRM.jobs(t, "max_instance_per_node,rdma_request,"+dlrmHeader+
		"2,25,i0,app_0,12,1,120.0,9,9,700\n-1,1,i1,app_1,64,0,320.5,5,5,90.0\n", workload.Options{
		Row: func(job berth.JobID, value func(column string) string) {
			seen[job] = []string{value("max_instance_per_node"), value("rdma_request"), value("absent")}
		},
	})
	require.Equal(t, map[berth.JobID][]string{"i0": {"2", "25", ""}, "i1": {"-1", "1", ""}}, seen)
}

func TestDLRMErrors(t *testing.T) {
	requireRefusals(t, workload.ReadDLRM, []refusal{
		{"another file", phillyHeader, 1, 0, "", workload.ErrHeader, `no column "instance_sn"`},
		{"an end before the start", dlrmHeader + "i0,app_0,12,1,120.0,10,20,19\n", 2, 27, "deletion_time", workload.ErrValue, "before the instance began"},
		{"nothing at all", dlrmHeader + "i0,app_0,0,0,0,10,20,19\n", 2, 12, "gpu_request", workload.ErrValue, "all other requests are zero"},
		{"too much memory", dlrmHeader + "i0,app_0,12,1,4294967296,10,20,30\n", 2, 15, "memory_request", workload.ErrValue, "more than any node"},
	})
}

// TestDLRMTrace reads the published file, where it is beside the repository.
func TestDLRMTrace(t *testing.T) {
	trace, err := workload.DLRM(realTrace(t, "alibaba-v2025-dlrm", "disaggregated_DLRM_trace.csv.gz"), workload.Options{})
	list, err := drain(t, trace, err)
	require.NoError(t, err)
	require.Empty(t, trace.Skipped())
	sum := sumUp(t, list)
	require.Equal(t, []int{23_871, 156, 16_485, 7386, 8878}, []int{sum.jobs, sum.queues, sum.bySize[0], sum.bySize[1], sum.endless})
	require.Equal(t, berth.Time(2_676_636*berth.Second), list[len(list)-1].At)
}

func FuzzDLRM(f *testing.F) {
	f.Add([]byte(dlrmHeader + "i0,app_0,12,1,120.0,475.00000000000006,623.0,700\ni1,app_1,64,0,320.5,,,\n"))
	f.Fuzz(func(t *testing.T, text []byte) { requireTellable(t, workload.ReadDLRM, text) })
}
