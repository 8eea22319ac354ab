package workload

import (
	"fmt"
	"io"
	"strings"

	"github.com/berth-sched/berth"
)

// ReadSacct reads the accounting records of a Slurm cluster: what sacct writes with
// --parsable2, plain or compressed with gzip. File names it in errors.
//
//	sacct --allusers --allocations --parsable2 --starttime 2024-03-01 --format \
//	  JobID,Submit,Elapsed,Timelimit,State,Account,Partition,ReqTRES,AllocTRES
//
// The first line names the columns, which may be in any order. Others are passed over.
//
//   - JobID, else JobIDRaw: the job's name; 12_3 is a task of an array. Steps, such as
//     12.batch, are skipped.
//   - Submit, "2024-03-01T09:30:00": the arrival. It has no zone; it is read as UTC, so
//     across a change of the clocks spans are off by an hour. Time 0 is the first arrival. A job
//     of which it is "Unknown" or "None" is skipped.
//   - Elapsed, [D-][HH:]MM:SS, else ElapsedRaw, seconds, else from Start to End: the run time.
//     Where Start is not known the job never ran; where End is not, it had not ended. A job that
//     ends before it starts is skipped.
//   - Timelimit in the same form, else TimelimitRaw, minutes: the expected run time.
//     UNLIMITED, Partition_Limit, INVALID and nothing mean that it is not known. May be missing.
//   - State: what is running or suspended had not ended, so it runs on for ever. What never
//     ran is skipped: jobs that are pending, or were cancelled, requeued, revoked or had their
//     deadline before they started. May be missing.
//   - ReqTRES, else AllocTRES: cpu, mem, node and gres/gpu of the whole job, divided
//     evenly among its nodes. Where the request names a type, as gres/gpu:a100=8 does, it
//     is the product that will do, as Slurm spells it; the type of an allocation binds nobody.
//     A type that names a MIG profile, as a100_1g.10gb does, is that many instances; a job
//     that has other GPUs besides, or instances of two profiles, is skipped. At least one of
//     the two columns is needed, and GPUs count from whichever has them.
//   - Account: the queue and the tenant; without the column the Partition.
//   - Partition: the pools that will do, as far as nodes of Options.Nodes are in pools of
//     these names; others are passed over.
//
// The records do not tell the fleet, the limits of accounts, checkpoints, dependencies,
// or how tasks are laid out. A job that was requeued has a row for each run, one below the other,
// if sacct was run with --duplicates, and the submission of each is when it was requeued: the
// second is called 12#2, and so on. Without, the earlier runs are missing. All jobs are of class
// Batch. The columns are those of sacct(1), https://slurm.schedmd.com/sacct.html.
//
// sacct orders by number, not by time, so all rows are kept until the last is read,
// unless Options.Window says otherwise: O(rows log rows), 220 bytes each.
func ReadSacct(file string, r io.Reader, o Options) (*Trace, error) {
	in, err := text(r)
	if err != nil {
		return nil, noTable(file, err).err
	}
	t := newTable(file, newSplitRows(in, '|'))
	if t.err == nil && len(t.names) == 1 {
		t.err = &TraceError{File: file, Line: t.in.line(), Kind: ErrHeader, Reason: `the first line has no "|": sacct writes the columns like that with --parsable2`}
	}
	s := &sacctRows{
		table: t, id: t.column("JobID", "JobIDRaw"), submit: t.column("Submit"),
		start: t.optional("Start"), end: t.optional("End"), nodes: t.either("NNodes", "AllocNodes"),
		elapsed: t.either("Elapsed", "ElapsedRaw"), limit: t.optional("Timelimit"), limitRaw: t.optional("TimelimitRaw"),
		state: t.optional("State"), queue: t.column("Account", "Partition"), partition: t.optional("Partition"),
		requested: t.optional("ReqTRES"), allocated: t.optional("AllocTRES"), pools: map[string]bool{},
	}
	t.column("ReqTRES", "AllocTRES")
	if s.start == absent || s.end == absent {
		t.column("Elapsed", "ElapsedRaw", "Start and End")
	}
	for _, n := range o.Nodes {
		s.pools[n.Pool] = true
	}
	trace, err := newTrace(t, s, 0, o)
	if err != nil {
		return nil, err
	}
	trace.jobs.absolute = true
	return trace, nil
}

// sacctTime is how sacct writes an instant.
const sacctTime = "2006-01-02T15:04:05"

type sacctRows struct {
	*table
	id, submit, start, end, elapsed column
	limit, limitRaw, nodes          column
	state, queue, partition         column
	requested, allocated            column
	pools                           map[string]bool
	// last is the job of the row before, and runs how many of its runs there were.
	last string
	runs int
}

func (s *sacctRows) time() column { return s.submit }

func (s *sacctRows) read() (record, bool) {
	id := s.text(s.id)
	if strings.Contains(id, ".") {
		s.skip("a step of a job")
		return record{}, false
	}
	state, _, _ := strings.Cut(s.text(s.state), " ") // CANCELLED by 1000
	if s.unknown(s.submit) {
		s.skip("its submission is not known")
		return record{}, false
	}
	if s.backwards() {
		s.skip("ends before it starts")
		return record{}, false
	}
	ran, open := s.ran()
	if never(state, ran) || s.unknown(s.start) {
		s.skip("never ran")
		return record{}, false
	}
	r := record{id: s.run(), at: s.instant(s.submit, sacctTime), queue: s.common(s.queue), expected: s.timeLimit()}
	r.tenant = r.queue
	if state != "RUNNING" && state != "SUSPENDED" && !open {
		r.runtime = max(ran, 1) // zero would mean without end
	}
	r.pool = s.pool()
	return r, s.claim(&r)
}

// unknown reports whether sacct does not tell an instant.
func (s *sacctRows) unknown(c column) bool {
	text := s.text(c)
	return text == "Unknown" || text == "None" || text == "N/A"
}

// ran is the run time; open says that it had not ended.
func (s *sacctRows) ran() (ran berth.Duration, open bool) {
	switch {
	case s.elapsed != absent:
		return s.span(s.elapsed), false
	case s.unknown(s.start), s.unknown(s.end):
		return 1, true
	}
	return s.instant(s.end, sacctTime).Sub(s.instant(s.start, sacctTime)), false
}

// backwards reports whether a job ends before it starts, where both are told.
func (s *sacctRows) backwards() bool {
	if s.start == absent || s.end == absent || s.unknown(s.start) || s.unknown(s.end) {
		return false
	}
	return s.instant(s.end, sacctTime) < s.instant(s.start, sacctTime)
}

// run names a run of a job: those after the first have its number.
func (s *sacctRows) run() string {
	id := s.name(s.id)
	if id != s.last {
		s.last, s.runs = id, 1
		return id
	}
	s.runs++
	return fmt.Sprintf("%s#%d", id, s.runs)
}

// never reports whether a job in that state cannot have run.
func never(state string, ran berth.Duration) bool {
	switch state {
	case "PENDING", "REVOKED":
		return true
	case "CANCELLED", "DEADLINE", "BOOT_FAIL", "REQUEUED", "NODE_FAIL", "PREEMPTED":
		return ran == 0
	}
	return false
}

// pool returns the partitions that are pools of the fleet, parted by "|".
func (s *sacctRows) pool() string {
	var known []string
	for name := range strings.SplitSeq(s.text(s.partition), ",") {
		if name != "" && s.pools[name] {
			known = append(known, name)
		}
	}
	return s.intern(strings.Join(known, "|"))
}

// claim divides what the job has among its nodes. It returns false for a job that asks
// for nothing.
func (s *sacctRows) claim(r *record) bool {
	asked, given := s.tres(s.requested), s.tres(s.allocated)
	if asked == (tres{}) {
		asked = given
	}
	if asked.gpus == 0 {
		asked.gpus, asked.profile, asked.mixed = given.gpus, given.profile, given.mixed
	}
	if s.err == nil && asked.gpus == 0 && asked.cpuMilli == 0 && asked.memoryMiB == 0 {
		s.skip("asks for nothing")
		return false
	}
	if s.err == nil && asked.mixed {
		s.skip("asks for MIG instances and other GPUs at once")
		return false
	}
	if asked.nodes == 0 && s.nodes != absent && s.text(s.nodes) != "" {
		asked.nodes = s.number(s.nodes, maxJobGPUs)
	}
	members := max(1, asked.nodes)
	if asked.profile != "" {
		members = asked.gpus // an instance each
	} else if asked.gpus > 0 {
		members = min(members, asked.gpus)
	}
	if asked.gpus > members*berth.MaxGPUs {
		s.refuse(s.column("ReqTRES", "AllocTRES"),
			fmt.Sprintf("%d GPUs are more than %d nodes can have", asked.gpus, members))
	}
	r.gpus, r.profile, r.products, r.members = asked.gpus, asked.profile, asked.products, members
	r.cpuMilli, r.memoryMiB = divide(asked.cpuMilli, members), divide(asked.memoryMiB, members)
	return true
}

// divide rounds up.
func divide(amount int64, parts int) int64 { return (amount + int64(parts) - 1) / int64(parts) }

// span returns a column with a span of time.
func (s *sacctRows) span(c column) berth.Duration {
	if s.names[c] == "ElapsedRaw" {
		return s.seconds(c)
	}
	d, ok := parseSlurmSpan(s.text(c))
	if !ok {
		s.refuse(c, fmt.Sprintf("%q is not of the form [D-][HH:]MM:SS", clip(s.text(c))))
	}
	return d
}

// timeLimit returns zero where there is none.
func (s *sacctRows) timeLimit() berth.Duration {
	c := s.limit
	if c == absent {
		c = s.limitRaw
	}
	switch s.text(c) {
	case "", "UNLIMITED", "Partition_Limit", "INVALID":
		return 0
	}
	if c == s.limitRaw {
		return berth.Duration(s.amount(c)) * berth.Minute
	}
	return s.span(c)
}

// parseSlurmSpan reads [D-][HH:]MM:SS.
func parseSlurmSpan(s string) (berth.Duration, bool) {
	days, clock, hasDays := strings.Cut(s, "-")
	if !hasDays {
		days, clock = "0", s
	}
	parts := strings.Split(clock, ":")
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	if len(parts) != 3 {
		return 0, false
	}
	var total int64 // thousandths of a second
	for i, unit := range []int64{24 * 3600, 3600, 60, 1} {
		digits := days
		if i > 0 {
			digits = parts[i-1]
		}
		v, ok := parseThousandths(digits)
		if !ok || v > maxValue || unit > 1 && v%1000 != 0 {
			return 0, false
		}
		total += v * unit
	}
	return berth.Duration(total), true
}
