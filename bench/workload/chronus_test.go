package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
)

const chronusHeader = "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,best_effort,job_type\n"

var readChronus readTrace = workload.ReadChronus

func TestChronusJobs(t *testing.T) {
	jobs := readChronus.jobs(t, chronusHeader+
		"0,vc_a,4,30,6910,x,211,8,282,10,0,strict\n"+
		"1,vc_b,0,1,8897,x,31,6,88,10,0,strict\n"+
		"2,vc_b,1,20,8897,x,30,6,60-90,10-5,0,soft\n"+
		"3,vc_b,1,40,8897,x,30,6,10,10,1,best\n"+
		"4,vc_b,1,40,8897,x,30,6,30,10,0,strict\n", workload.Options{})
	require.Len(t, jobs, 4, "one asks for no GPU")
	require.Equal(t, sim.Arrival{
		At: berth.Time(30 * berth.Minute), Runtime: 211 * berth.Minute,
		Event: berth.JobSubmitted{Job: berth.Job{
			ID: "chronus-0", Queue: "vc_a", Tenant: "vc_a", ExpectedRuntime: 211 * berth.Minute,
			GangTimeout: 71 * berth.Minute, // to end 282 minutes after it came
			Groups:      []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 4}}},
		}},
	}, jobs[1])
	require.Equal(t, berth.Hour, jobOf(t, jobs[0]).GangTimeout, "the last of its deadlines, less its run time")
	require.Zero(t, jobOf(t, jobs[2]).GangTimeout, "best effort")
	require.Equal(t, berth.Millisecond, jobOf(t, jobs[3]).GangTimeout, "no time to lose, and zero means for ever")
}

func TestChronusErrors(t *testing.T) {
	requireRefusals(t, workload.ReadChronus, []refusal{
		{"another file", phillyHeader, 1, 0, "", workload.ErrHeader, `no column "job_id"`},
		{"a number that is none", chronusHeader + "x,vc_a,4,30,6910,x,211,8,282,10,0,strict\n", 2, 1, "job_id", workload.ErrValue, `"x"`},
		{"a deadline that cannot be met", chronusHeader + "0,vc_a,4,30,6910,x,211,8,210,10,0,strict\n", 2, 26, "expect_time_list", workload.ErrValue, "no deadline that the job can meet"},
		{"several deadlines", chronusHeader + "0,vc_a,4,30,6910,x,211,8,282-300,10,0,strict\n", 2, 26, "expect_time_list", workload.ErrValue, `"282-300"`},
	})
}

// TestChronusTrace reads the published file, where it is beside the repository.
func TestChronusTrace(t *testing.T) {
	trace, err := workload.Chronus(realTrace(t, "chronus", "trace_job_Philly_SLO.csv.gz"), workload.Options{})
	list, err := drain(t, trace, err)
	require.NoError(t, err)
	sum := sumUp(t, list)
	require.Equal(t, []workload.Skip{{Reason: "asks for no GPU", Rows: 205, Line: trace.Skipped()[0].Line}}, trace.Skipped())
	require.Equal(t, []int{30_735, 11, 894, 1}, []int{sum.jobs, sum.queues, sum.bySize[8], sum.bySize[20]})
	require.Equal(t, berth.Time(20_151*berth.Minute), list[len(list)-1].At)
	for _, a := range list {
		if e, isJob := a.Event.(berth.JobSubmitted); isJob {
			require.Positive(t, e.Job.GangTimeout, "all have a deadline")
		}
	}
}

func FuzzChronus(f *testing.F) {
	f.Add([]byte(chronusHeader + "0,vc_a,4,30,6910,x,211,8,282,10,0,strict\n1,vc_b,0,1,8897,x,31,6,88-90,10,0,soft\n"))
	f.Fuzz(func(t *testing.T, text []byte) { requireTellable(t, workload.ReadChronus, text) })
}
