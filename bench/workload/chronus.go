package workload

import (
	"fmt"
	"io"
	"strings"

	"github.com/berth-sched/berth"
)

// Chronus opens the jobs with deadlines that were derived from Philly for Gao et al.,
// "Chronus: A Novel Deadline-aware Scheduler for Deep Learning Training Jobs", ACM SoCC
// 2021: one CSV file, plain or compressed with gzip. Close it after use.
//
// Times are taken for minutes, which the file does not say: submissions end just
// before two weeks, and no run is longer than three days.
//
//   - job_id: the job is called chronus-N.
//   - user, "vc_103959": the virtual cluster, which is a queue and a tenant.
//   - num_gpu: a gang; see Options.GPUsPerNode. Rows with 0 are skipped, as the simulator of the
//     paper skips them.
//   - submit_time: the arrival, counted from the trace's own time 0.
//   - duration: the run time, and what is expected of it.
//   - expect_time_list: the deadline, counted from the submission. A job that can no longer
//     end in time is worth nothing, so it is given up then: GangTimeout is the deadline less
//     the run time.
//   - best_effort, "1", and job_type, "best": there is no deadline. With job_type
//     "soft" there are several of different value, parted by "-"; the last counts.
//
// Not read: expect_value_list (all of one value where there is one deadline), iterations and
// model_name (drawn by the authors), and interval, the length of a lease of their scheduler.
//
// Rows are far out of order, so all are kept until the last is read: O(rows log rows), 220
// bytes each.
func Chronus(file string, o Options) (*Trace, error) { return openTrace(file, o, ReadChronus) }

// ReadChronus is Chronus for any reader. File names it in errors.
func ReadChronus(file string, r io.Reader, o Options) (*Trace, error) {
	t := readCSV(file, r)
	return newTrace(t, &chronusRows{
		table: t, id: t.column("job_id"), user: t.column("user"), gpus: t.column("num_gpu"),
		submit: t.column("submit_time"), duration: t.column("duration"), deadline: t.column("expect_time_list"),
		bestEffort: t.optional("best_effort"), kind: t.optional("job_type"),
	}, 0, o)
}

type chronusRows struct {
	*table
	id, user, gpus, submit, duration, deadline, bestEffort, kind column
}

func (c *chronusRows) time() column { return c.submit }

func (c *chronusRows) read() (record, bool) {
	r := record{
		id: c.label("chronus", c.id), queue: c.common(c.user), gpus: c.number(c.gpus, maxJobGPUs),
		at: berth.Time(c.minutes(c.submit)), runtime: max(c.minutes(c.duration), 1),
	}
	r.tenant, r.expected = r.queue, r.runtime
	if r.gpus == 0 {
		c.skip("asks for no GPU")
		return record{}, false
	}
	r.patience = c.patience(r.runtime)
	return r, true
}

// patience is how long after its arrival a job can start and still be in time.
func (c *chronusRows) patience(runtime berth.Duration) berth.Duration {
	if c.text(c.bestEffort) == "1" || c.text(c.kind) == "best" {
		return 0
	}
	last := c.text(c.deadline)
	if c.text(c.kind) == "soft" {
		last = last[strings.LastIndexByte(last, '-')+1:]
	}
	v, ok := parseThousandths(last)
	deadline := berth.Duration(v) * 60
	if !ok || deadline < runtime {
		c.refuse(c.deadline, fmt.Sprintf("%q is no deadline that the job can meet", clip(last)))
	}
	return max(deadline-runtime, 1) // zero would mean for ever
}

func (c *chronusRows) minutes(column column) berth.Duration { return 60 * c.seconds(column) }
