package workload_test

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
)

// What sacct tells about a cluster, and what a core would be told.
func ExampleReadSacct() {
	records := strings.NewReader(`JobID|Submit|Elapsed|Timelimit|State|Account|ReqTRES
1201|2024-03-01T09:30:00|1-04:00:00|2-00:00:00|COMPLETED|physics|cpu=128,gres/gpu:a100=16,mem=1000G,node=2
1201.batch|2024-03-01T09:30:00|1-04:00:00||COMPLETED|physics|
1202|2024-03-01T09:20:00|00:00:00|01:00:00|CANCELLED by 1000|biology|cpu=4,gres/gpu=1,node=1
1203_7|2024-03-01T09:10:00|00:40:00|01:00:00|TIMEOUT|biology|cpu=4,gres/gpu=1,mem=32G,node=1
`)
	trace, err := workload.ReadSacct("sacct.txt", records, workload.Options{
		Change: func(j *berth.Job) { j.Checkpoint.Supported = j.Queue == "physics" },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for a, more := trace.Next(); more; a, more = trace.Next() {
		switch e := a.Event.(type) {
		case berth.QueueSet:
			fmt.Println("queue", e.Queue.Name)
		case berth.JobSubmitted:
			g := e.Job.Groups[0]
			fmt.Printf("job %s after %v: %d members with %d GPUs %v, for %v\n",
				e.Job.ID, berth.Duration(a.At), g.Members, g.Claim.GPUs, g.Selector.Products, a.Runtime)
		}
	}
	for _, s := range trace.Skipped() {
		fmt.Println(s)
	}
	fmt.Println(trace.Err())
	// Output:
	// queue biology
	// job 1203_7 after 0s: 1 members with 1 GPUs [], for 40m0s
	// queue physics
	// job 1201 after 20m0s: 2 members with 8 GPUs [a100], for 28h0m0s
	// sacct.txt:1: there is no column Eligible: waits begin at Submit, with the time in which a job was not allowed to start
	// sacct.txt:1: there is no column Start: waits are not known
	// sacct.txt:1: there is no column End: what had not ended shows in State alone
	// sacct.txt:1: there is no column Suspended: the time in which a job was suspended does not count
	// sacct.txt:1: there is no column NNodes: jobs have as few nodes as they asked for
	// sacct.txt:1: there is no column AllocTRES: jobs held what they asked for
	// sacct.txt:1: there is no column Partition: partitions are not known
	// sacct.txt:3: a step of a job
	// sacct.txt:4: never ran
	// <nil>
}
