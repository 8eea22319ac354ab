package workload

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// WriteSWF writes the jobs of a workload in the Standard Workload Format, so that other
// simulators can run them: a GPU becomes a processor. It returns how many arrivals the
// format could not say, which are all but jobs with GPUs.
//
// What is kept of a job: the order, the arrival, the run time (-1: without end, which ReadSWF
// takes for a job that never ran), the number of GPUs, the expected run time, the queue, and
// which jobs are of one tenant. A part or an instance of a GPU counts as one. What the members
// need of their hosts, where they are to stand, classes and priorities are lost.
//
// O(1) for each arrival; it keeps the names of queues and tenants.
func WriteSWF(w io.Writer, jobs sim.Workload) (lost int, err error) {
	s := swfWriter{out: bufio.NewWriter(w), queues: map[berth.QueueID]int{}, tenants: map[berth.TenantID]int{}}
	s.out.WriteString("; Version: 2.2\n; Note: a processor is a GPU\n")
	for a, more := jobs.Next(); more; a, more = jobs.Next() {
		e, isJob := a.Event.(berth.JobSubmitted)
		if !isJob || e.Job.Service != nil || gpusOfJob(&e.Job) == 0 {
			lost++
			continue
		}
		s.job(a, &e.Job)
	}
	// A bufio.Writer keeps its first error for the end.
	return lost, s.out.Flush()
}

type swfWriter struct {
	out     *bufio.Writer
	number  int
	queues  map[berth.QueueID]int
	tenants map[berth.TenantID]int
}

func (s *swfWriter) job(a sim.Arrival, job *berth.Job) {
	queue, named := s.queues[job.Queue]
	if !named {
		queue = len(s.queues) + 1
		s.queues[job.Queue] = queue
		if name := string(job.Queue); isName(name) && !strings.Contains(name, "(") {
			fmt.Fprintf(s.out, "; Queue: %d %s\n", queue, name)
		}
	}
	tenant, known := s.tenants[job.Tenant]
	if !known {
		tenant = len(s.tenants) + 1
		s.tenants[job.Tenant] = tenant
	}
	s.number++
	fields := make([]string, swfFields)
	for i := range fields {
		fields[i] = "-1"
	}
	processors := strconv.Itoa(gpusOfJob(job))
	fields[swfJob], fields[swfSubmit] = strconv.Itoa(s.number), swfSeconds(int64(a.At))
	fields[swfAllocated], fields[swfRequested] = processors, processors
	fields[swfUser], fields[swfQueue] = strconv.Itoa(tenant), strconv.Itoa(queue)
	if a.Runtime > 0 {
		fields[swfRun] = swfSeconds(int64(a.Runtime))
	}
	if job.ExpectedRuntime > 0 {
		fields[swfLimit] = swfSeconds(int64(job.ExpectedRuntime))
	}
	s.out.WriteString(strings.Join(fields, " ") + "\n")
}

// swfSeconds writes milliseconds as seconds, with a fraction only where there is one.
func swfSeconds(milliseconds int64) string {
	whole := strconv.FormatInt(milliseconds/1000, 10)
	if part := milliseconds % 1000; part != 0 {
		return strings.TrimRight(fmt.Sprintf("%s.%03d", whole, part), "0")
	}
	return whole
}

// gpusOfJob counts the GPUs that a job holds something of.
func gpusOfJob(job *berth.Job) int {
	gpus := 0
	for i := range job.Groups {
		g := &job.Groups[i]
		each := g.Claim.GPUs
		if g.Claim.Share != nil || g.Claim.MIG != "" || g.Claim.MinInstance != nil {
			each = 1
		}
		gpus += each * g.Members
	}
	return gpus
}
