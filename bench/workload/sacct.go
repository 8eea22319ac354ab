package workload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/errtext"
)

// SacctCommand prints what ReadSacct reads of a week.
const SacctCommand = "sacct --allusers --allocations --duplicates --parsable2 --starttime now-7days --format " +
	"JobID,User,Account,Partition,QOS,Submit,Eligible,Start,End,Elapsed,Suspended,Timelimit,State,ReqTRES,AllocTRES,NNodes"

// ReadSacct reads the accounting records of a Slurm cluster: what sacct writes with
// --parsable2, plain or compressed with gzip. File names it in errors.
//
//	sacct --allusers --allocations --duplicates --parsable2 --starttime 2024-03-01 --format \
//	  JobID,User,Account,Partition,QOS,Submit,Eligible,Start,End,Elapsed,Suspended,Timelimit,State,ReqTRES,AllocTRES,NNodes
//
// The first line names the columns, which may be in any order and case. A column that is missing
// below, and one that sacct does not have, is told by [Trace.Skipped]; others are not read.
//
//   - JobID, else JobIDRaw: the job's name; 12_3 is a task of an array. 12+0 and 12+1 are parts of
//     one job, and groups of one gang, which ends with the last of them. Steps, such as 12.batch,
//     are skipped.
//
//   - Submit, "2024-03-01T09:30:00", and Eligible: the later of both is the arrival: a job that
//     waits for another, for its --begin or for the throttle of its array does not wait for a
//     scheduler. Instants have no zone; they are read as UTC, so across a change of the clocks
//     spans are off by an hour. Time 0 is the first arrival. A job of which Submit is "Unknown" or
//     "None" is skipped.
//
//   - Elapsed, [D-][HH:]MM:SS, else ElapsedRaw, seconds, and Suspended: the run time, as a job
//     that is suspended keeps its GPUs; from Start to End where that is longer and there is no
//     column Suspended, or where there is no other. Where Start is not known the job never ran;
//     where End is not, it had not ended. A job that ends before it starts is skipped.
//
//   - Timelimit in the same form, else TimelimitRaw, minutes: the expected run time.
//     UNLIMITED, Partition_Limit, INVALID and nothing mean that it is not known.
//
//   - State: what is running or suspended had not ended, so it runs on for ever. What never
//     ran is skipped: jobs that are pending, or were cancelled, requeued, revoked or had their
//     deadline before they started. RESIZING is the run of a job before its size changed.
//
//   - AllocTRES, else ReqTRES: cpu, mem, node and gres/gpu of the whole job, divided evenly among
//     its nodes. It is what the job held; a request for nodes is the least that will do.
//
//   - NNodes, else AllocNodes, else node of AllocTRES, else of ReqTRES: the nodes.
//
//   - ReqTRES: where it names a type, as gres/gpu:a100=8 does, that is the product that will do,
//     spelled as Options.Nodes have it, without regard to case, or else as Slurm has it; the type
//     of an allocation binds nobody. A type that names a MIG profile, as a100_1g.10gb does, is
//     that many instances; a job that has other GPUs besides, or instances of two profiles, is
//     skipped. At least one of the two columns is needed, and GPUs count from whichever has them.
//
//   - Account: the queue and the tenant; without the column the Partition.
//
//   - User, with JobName or, without that column, the size: the program, of which run times are
//     learned. JobName is not in the command above, as a name with "|" would part its row.
//
//   - Partition: the pools that will do, those of the nodes of Options.Nodes that are in it,
//     without regard to case. Where none is, any node will do.
//
//   - QOS: what Trace.Ran says of it. Priority is not read, and that is told: it grows with the
//     time that a job waited and the past use of its account, as they were.
//
// The records do not tell the fleet, the limits of accounts, checkpoints, dependencies,
// or how tasks are laid out. A job that was requeued, or resized, has a row for each run, anywhere
// in the file, if sacct was run with --duplicates: the second is called 12#2, and so on, and comes
// when the first ended, at the earliest. Without, the earlier runs are missing. A run that two
// rows tell, as where two files were put together, counts once. All jobs are of class Batch. The
// columns are those of sacct(1), https://slurm.schedmd.com/sacct.html.
//
// sacct orders by number, not by time, and rows of one job may be anywhere, so all rows are kept
// until the last is read: O(rows log rows), 300 bytes each.
func ReadSacct(file string, r io.Reader, o Options) (*Trace, error) {
	in, err := text(r)
	if err != nil {
		return nil, noTable(file, err).err
	}
	t := newTable(file, newSplitRows(in, '|'))
	if t.err == nil && len(t.names) == 1 {
		t.err = &TraceError{File: file, Line: t.in.line(), Kind: ErrHeader, Reason: foreign(t.names[0])}
	}
	s := &sacctRows{
		table: t, id: t.column("JobID", "JobIDRaw"), submit: t.column("Submit"), eligible: t.optional("Eligible"),
		start: t.optional("Start"), end: t.optional("End"), nodes: t.either("NNodes", "AllocNodes"),
		elapsed: t.either("Elapsed", "ElapsedRaw"), suspended: t.optional("Suspended"),
		limit: t.optional("Timelimit"), limitRaw: t.optional("TimelimitRaw"),
		state: t.optional("State"), queue: t.column("Account", "Partition"), partition: t.optional("Partition"),
		qos: t.optional("QOS"), user: t.optional("User"), jobName: t.optional("JobName"),
		requested: t.optional("ReqTRES"), allocated: t.optional("AllocTRES"),
		fleet: o.Nodes, products: map[string]string{}, pools: map[string]string{}, seen: map[string]bool{},
	}
	t.column("ReqTRES", "AllocTRES")
	if s.start == absent || s.end == absent {
		t.column("Elapsed", "ElapsedRaw", "Start and End")
	}
	if t.err == nil {
		s.tellColumns()
	}
	for i := range o.Nodes {
		s.spell(o.Nodes[i].GPUs)
	}
	trace, err := newTrace(t, s, false, o)
	var header *TraceError
	if errors.As(err, &header) && header.Kind == ErrHeader && len(t.names) > 1 {
		header.Reason += "; jobs are read from: " + SacctCommand
	}
	if err != nil {
		return nil, err
	}
	trace.jobs.absolute = true
	return trace, nil
}

// foreign is what is wrong with a first line that has no "|".
func foreign(line string) string {
	what := `the first line has no "|"`
	for _, other := range []struct{ begin, name string }{
		{"JobId=", "this is what scontrol show job prints"},
		{"NodeName=", "these are nodes"},
		{"JOBID ", "this is a table of squeue, or of sacct without --parsable2"},
		{"NAME ", "this is a table of kubectl, which is read with -o json"},
		{"PARTITION ", "this is what sinfo prints"},
	} {
		if len(line) >= len(other.begin) && strings.EqualFold(line[:len(other.begin)], other.begin) {
			what = other.name
		}
	}
	return what + "; jobs are read from: " + SacctCommand
}

// sacctTime is how sacct writes an instant.
const sacctTime = "2006-01-02T15:04:05"

type sacctRows struct {
	*table
	id, submit, eligible           column
	start, end, elapsed, suspended column
	limit, limitRaw, nodes         column
	state, queue, partition        column
	qos, user, jobName             column
	requested, allocated           column
	fleet                          []berth.Node
	// products has the spellings of a type of the fleet, parted by "|", by the type in lower case,
	// and pools those of a partition.
	products, pools map[string]string
	// seen are the resources of a list.
	seen map[string]bool
	// last is the latest instant of the file.
	last berth.Time
}

// tellColumns notes what the columns do not tell, and which of them nobody knows.
func (s *sacctRows) tellColumns() {
	line := s.in.line()
	for _, c := range []struct {
		is          column
		name, means string
	}{
		{s.eligible, "Eligible", "waits begin at Submit, with the time in which a job was not allowed to start"},
		{s.start, "Start", "waits are not known"},
		{s.end, "End", "what had not ended shows in State alone"},
		{s.state, "State", "jobs that were resized, or never ran, do not show"},
		{max(s.suspended, min(s.start, s.end)), "Suspended", "the time in which a job was suspended does not count"},
		{max(s.limit, s.limitRaw), "Timelimit", "limits are not known"},
		{max(s.nodes, s.allocated), "NNodes", "jobs have as few nodes as they asked for"},
		{s.allocated, "AllocTRES", "jobs held what they asked for"},
		{s.requested, "ReqTRES", "types of GPUs that jobs asked for are not known"},
		{s.partition, "Partition", "partitions are not known"},
		{s.either("Account"), "Account", "partitions count as accounts"},
		{s.either("JobID"), "JobID", "parts of one job count as jobs"},
	} {
		if c.is == absent {
			s.skips.Add(s.file, line, fmt.Sprintf("there is no column %s: %s", c.name, c.means))
		}
	}
	if s.optional("Priority") != absent {
		s.skips.Add(s.file, line, "the column Priority is not read: the time that jobs waited and the past use of accounts are in it, as they were")
	}
	for _, name := range s.names {
		if name != "" && !strings.Contains(sacctColumns, " "+strings.ToLower(name)+" ") {
			s.skips.Add(s.file, line, fmt.Sprintf("column %q is none of sacct", errtext.Short(name)))
		}
	}
}

// sacctColumns are those of sacct, 22.05 to 25.05, in lower case.
const sacctColumns = " account admincomment alloccpus allocgres allocnodes alloctres associd avecpu avecpufreq " +
	"avediskread avediskwrite avepages averss avevmsize blockid cluster comment constraints consumedenergy " +
	"consumedenergyraw container cputime cputimeraw dbindex derivedexitcode elapsed elapsedraw eligible end " +
	"exitcode extra failednode flags gid group jobid jobidraw jobname layout licenses maxdiskread maxdiskreadnode " +
	"maxdiskreadtask maxdiskwrite maxdiskwritenode maxdiskwritetask maxpages maxpagesnode maxpagestask maxrss " +
	"maxrssnode maxrsstask maxvmsize maxvmsizenode maxvmsizetask mcslabel mincpu mincpunode mincputask ncpus nnodes " +
	"nodelist ntasks partition planned plannedcpu plannedcpuraw priority qos qosraw qosreq reason reqcpufreq " +
	"reqcpufreqgov reqcpufreqmax reqcpufreqmin reqcpus reqgres reqmem reqnodes reqtres reservation reservationid " +
	"reserved restarts segmentsize sluid start state stderr stdin stdout stepid submit submitline suspended " +
	"systemcomment systemcpu timelimit timelimitraw totalcpu tresusageinave tresusageinmax tresusageinmaxnode " +
	"tresusageinmaxtask tresusageinmin tresusageinminnode tresusageinmintask tresusageintot tresusageoutave " +
	"tresusageoutmax tresusageoutmaxnode tresusageoutmaxtask tresusageoutmin tresusageoutminnode " +
	"tresusageoutmintask tresusageouttot uid user usercpu wckey wckeyid workdir "

// sacctStates are those of Slurm, 22.05 to 25.05.
const sacctStates = " BOOT_FAIL CANCELLED COMPLETED COMPLETING CONFIGURING DEADLINE EXPEDITING FAILED LAUNCH_FAILED " +
	"NODE_FAIL OUT_OF_MEMORY PENDING POWER_UP_NODE PREEMPTED RECONFIG_FAIL REQUEUED REQUEUE_FED REQUEUE_HOLD RESIZING " +
	"RESV_DEL_HOLD REVOKED RUNNING SIGNALING SPECIAL_EXIT STAGE_OUT STOPPED SUSPENDED TIMEOUT UPDATE_DB "

// spell notes how the fleet spells the types of its GPUs.
func (s *sacctRows) spell(gpus []berth.GPU) {
	if len(gpus) == 0 {
		return
	}
	key := strings.ToLower(gpus[0].Product)
	names := slices.Insert(strings.Split(s.products[key], "|"), 0, gpus[0].Product)
	slices.Sort(names)
	s.products[key] = strings.TrimPrefix(strings.Join(slices.Compact(names), "|"), "|")
}

func (s *sacctRows) time() column { return s.submit }

func (s *sacctRows) read() (record, bool) {
	if strings.Contains(s.text(s.id), ".") {
		s.skip("a step of a job")
		return record{}, false
	}
	r := record{id: s.name(s.id), queue: s.common(s.queue), expected: s.timeLimit(), wait: Unknown, started: unset, ended: unset}
	r.tenant, r.partition, r.qos = r.queue, s.intern(s.text(s.partition)), s.intern(s.text(s.qos))
	state, _, _ := strings.Cut(strings.ToUpper(s.text(s.state)), " ") // CANCELLED by 1000
	if why := s.times(&r, state); why != "" {
		s.skip(why)
		return record{}, false
	}
	if r.resized = state == "RESIZING"; state != "" && !strings.Contains(sacctStates, " "+state+" ") {
		s.skip(fmt.Sprintf("the state %q is none of Slurm: the job counts by its times", errtext.Short(state)))
	}
	if !s.claim(&r) {
		return record{}, false
	}
	r.program = s.programOf(s.text(s.user), s.text(s.jobName), r.gpus)
	if r.pool = s.pool(r.partition); r.pool == "" && r.partition != "" && r.gpus > 0 && len(s.fleet) > 0 {
		s.skip("is of a partition that no node with GPUs is in: any node will do")
	}
	return r, true
}

// instantOf is an instant that a row may not tell.
func (s *sacctRows) instantOf(c column) berth.Time {
	switch s.text(c) {
	case "", "Unknown", "None", "N/A":
		return unset
	}
	at := s.instant(c, sacctTime)
	s.last = max(s.last, at)
	return at
}

// times says when a job came, could start, ran and ended, or why it is none.
func (s *sacctRows) times(r *record, state string) string {
	submitted := s.instantOf(s.submit)
	r.started, r.ended = s.instantOf(s.start), s.instantOf(s.end)
	both := r.started != unset && r.ended != unset
	switch {
	case submitted == unset:
		return "its submission is not known"
	case both && r.ended < r.started:
		return "ends before it starts"
	}
	ran := berth.Duration(1)
	switch {
	case s.elapsed == absent && both:
		ran = r.ended.Sub(r.started)
	case s.elapsed == absent:
	case s.text(s.suspended) != "":
		ran = s.span(s.elapsed) + s.span(s.suspended)
	default:
		if ran = s.span(s.elapsed); both {
			ran = max(ran, r.ended.Sub(r.started))
		}
	}
	if s.start != absent && r.started == unset || never(state, ran) {
		return "never ran"
	}
	r.at = max(submitted, s.instantOf(s.eligible))
	r.submitted = submitted
	if r.started != unset {
		r.at = min(r.at, r.started)
		r.wait = r.started.Sub(r.at)
	}
	if r.ended == unset && (s.end != absent || state == "RUNNING" || state == "SUSPENDED") {
		r.soFar = max(ran, 1)
	} else {
		r.runtime = max(ran, 1) // zero would mean without end
	}
	return ""
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

// pool returns the pools of the fleet that are in partitions, parted by "|".
func (s *sacctRows) pool(partitions string) string {
	if partitions == "" || len(s.fleet) == 0 {
		return ""
	}
	known, looked := s.pools[partitions]
	if !looked {
		var list []string
		for name := range strings.SplitSeq(partitions, ",") {
			list = append(list, PoolsOf(s.fleet, name)...)
		}
		slices.Sort(list)
		known = strings.Join(slices.Compact(list), "|")
		s.pools[partitions] = known
	}
	return known
}

// claim divides what the job held among its nodes. It returns false for a job that held nothing.
func (s *sacctRows) claim(r *record) bool {
	asked, held := s.tres(s.requested), s.tres(s.allocated)
	from := s.allocated
	if held == (tres{}) {
		held = asked
	}
	if held.gpus == 0 || s.allocated == absent || s.text(s.allocated) == "" {
		from = s.requested
		held.gpus, held.profile, held.mixed = asked.gpus, asked.profile, asked.mixed
	}
	if s.err == nil && held.gpus == 0 && held.cpuMilli == 0 && held.memoryMiB == 0 {
		s.skip("asks for nothing")
		return false
	}
	if held.profile == "" {
		held.profile = asked.profile
	}
	if s.err == nil && (asked.mixed || held.mixed) {
		s.skip("asks for MIG instances and other GPUs at once")
		return false
	}
	if s.nodes != absent && s.text(s.nodes) != "" {
		held.nodes = s.number(s.nodes, maxJobGPUs)
	}
	members := max(1, held.nodes)
	if held.profile != "" {
		members = held.gpus // an instance each
	} else if held.gpus > 0 {
		members = min(members, held.gpus)
	}
	if held.gpus > members*berth.MaxGPUs {
		s.refuse(from, fmt.Sprintf("%d GPUs are more than %d nodes can have", held.gpus, members))
	}
	r.gpus, r.profile, r.products, r.members = held.gpus, held.profile, asked.products, members
	r.cpuMilli, r.memoryMiB = divide(held.cpuMilli, members), divide(held.memoryMiB, members)
	return true
}

// maxParts is how many parts Slurm lets a heterogeneous job have.
const maxParts = 128

// settle makes jobs of the rows: the runs of a job follow each other, and the parts of a
// heterogeneous one are a gang.
func (s *sacctRows) settle(list []*record) (jobs []*record) {
	slices.SortFunc(list, func(a, b *record) int {
		return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(a.submitted, b.submitted), cmp.Compare(a.started, b.started), cmp.Compare(a.line, b.line))
	})
	gangs := map[string]*record{}
	for len(list) > 0 {
		end := 1
		for end < len(list) && list[end].id == list[0].id {
			end++
		}
		runs := s.runs(list[:end])
		list = list[end:]
		for i, r := range runs {
			var isPart bool
			if r.id, _, isPart = strings.Cut(r.id, "+"); i > 0 {
				r.id = fmt.Sprintf("%s#%d", r.id, i+1)
			}
			if head := gangs[r.id]; isPart && head != nil {
				if head.join(r); len(head.more) == maxParts && s.err == nil {
					s.err = &TraceError{File: s.file, Line: r.line, Kind: ErrLimit, Reason: fmt.Sprintf("job %s has more than %d parts", clip(r.id), maxParts)}
				}
				continue
			}
			if isPart {
				gangs[r.id] = r
			}
			jobs = append(jobs, r)
		}
	}
	for _, r := range jobs {
		if r.runtime == 0 && r.started != unset {
			r.soFar = max(r.soFar, s.last.Sub(r.started))
		}
	}
	return jobs
}

// runs are the rows of one job in order, each run once: one that follows another could not start
// before that had ended, and one of another size counts from then.
func (s *sacctRows) runs(rows []*record) (runs []*record) {
	for _, r := range rows {
		if len(runs) == 0 {
			runs = append(runs, r)
			continue
		}
		last := runs[len(runs)-1]
		switch {
		case r.started == last.started && r.submitted == last.submitted:
			s.skips.Add(s.file, max(r.line, last.line), "tells a run that another row tells, too")
			if last.runtime == 0 || r.runtime > last.runtime { // it went on
				runs[len(runs)-1] = r
			}
			continue
		case last.ended == unset || r.started == unset:
		case last.resized && r.started < last.ended && (r.ended == unset || r.ended >= last.ended):
			gone := last.ended.Sub(r.started)
			r.at, r.started, r.wait = last.ended, last.ended, 0
			r.soFar = max(r.soFar-gone, 0)
			if r.runtime > 0 {
				r.runtime = max(r.runtime-gone, 1)
			}
		case r.started >= last.ended:
			r.at = max(r.at, last.ended)
			r.wait = r.started.Sub(r.at)
		default:
			s.skips.Add(s.file, r.line, "overlaps another row of its number: played as a job of its own")
		}
		runs = append(runs, r)
	}
	return runs
}

// divide rounds up.
func divide(amount int64, parts int) int64 { return (amount + int64(parts) - 1) / int64(parts) }

// span returns a column with a span of time.
func (s *sacctRows) span(c column) berth.Duration {
	if strings.EqualFold(s.names[c], "ElapsedRaw") {
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
