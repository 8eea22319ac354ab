package workload

import (
	"io"
	"strings"

	"github.com/berth-sched/berth"
)

// The fields of a line that are read, by their position, and those between.
const (
	swfJob column = iota
	swfSubmit
	swfWait
	swfRun
	swfAllocated
	_ // average CPU time
	_ // used memory
	swfRequested
	swfLimit
	_ // requested memory
	swfStatus
	swfUser
	_ // group
	swfExecutable
	swfQueue
	_ // partition
	_ // preceding job
	_ // think time
	swfFields
)

// maxProcessors bounds the processors that count as one GPU.
const maxProcessors = 1 << 12

// swfNames are the fields as errors name them.
var swfNames = [swfFields]string{
	"job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time",
	"used memory", "requested processors", "requested time", "requested memory", "status", "user",
	"group", "executable", "queue", "partition", "preceding job", "think time",
}

// SWF opens a log that [ReadSWF] reads. Close it after use.
func SWF(file string, o Options) (*Trace, error) { return open(file, o, ReadSWF) }

// ReadSWF reads a log in the Standard Workload Format, version 2.2, of the Parallel Workloads
// Archive (Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job
// Schedulers", JSSPP 1999): 18 numbers a line, plain or compressed with gzip. File names it in
// errors.
//
// What becomes of the fields, of which -1 means that the log does not tell:
//
//   - job number: the job is called swf-N.
//   - submit time, seconds: the arrival. Time 0 is that of the log.
//   - wait time, seconds: that of [Trace.Ran].
//   - run time, seconds: as it is. A job of which it is not known is skipped: it never ran.
//   - requested processors, or those allocated where the request is not known: the GPUs, by
//     Options.ProcessorsPerGPU and rounded up. A log of a cluster without GPUs gives gangs
//     of the same shape; what its jobs did with processors, GPUs would have done faster.
//     Without either the job is skipped.
//   - requested time, seconds: the expected run time.
//   - status: 2, 3 and 4 are parts of a job that has a line of its own, and are skipped.
//   - user: the tenant, user-N.
//   - executable, or where it is not told the size: with the user, the program, of which run times
//     are learned.
//   - queue: the queue, under the name that a comment "; Queue: N name" above gives
//     it, else queue-N; just queue where the log does not tell.
//
// The other fields are not read: CPU times and memory, group and partition, and the job before,
// since dependencies are the submitter's.
//
// The format promises lines in order of time, so one is kept at a time: O(1) for each, whatever
// the length of the log.
func ReadSWF(file string, r io.Reader, o Options) (*Trace, error) {
	in, err := text(r)
	if err != nil {
		return nil, noTable(file, err).err
	}
	lines := newSplitRows(in, ' ')
	s := &swfRows{
		table:      namedTable(file, lines, swfNames[:]...),
		processors: max(1, o.ProcessorsPerGPU), queues: map[string]string{},
	}
	trace, err := newTrace(s.table, s, true, o)
	if err != nil {
		return nil, err
	}
	lines.comment, lines.remark = ';', func(text string) {
		if key, value, _ := strings.Cut(text, ":"); key == "Queue" {
			s.nameQueue(strings.TrimSpace(value))
		}
	}
	return trace, nil
}

type swfRows struct {
	*table
	// processors that count as a GPU.
	processors int
	// queues has the names of queues by their numbers.
	queues map[string]string
}

// nameQueue notes a comment such as "2 batch (jobs of up to a day)".
func (s *swfRows) nameQueue(remark string) {
	remark, _, _ = strings.Cut(remark, "(")
	if number, name, named := strings.Cut(strings.TrimSpace(remark), " "); named && isName(name) {
		s.queues[number] = name
	}
}

func (s *swfRows) time() column { return swfSubmit }

func (s *swfRows) read() (record, bool) {
	if status := s.text(swfStatus); status == "2" || status == "3" || status == "4" {
		s.skip("a part of a job")
		return record{}, false
	}
	processors := s.processorsOf()
	switch {
	case s.unknown(swfSubmit):
		s.skip("its submission is not known")
		return record{}, false
	case s.unknown(swfRun):
		s.skip("never ran")
		return record{}, false
	case processors == 0:
		s.skip("asks for no processor")
		return record{}, false
	}
	r := record{
		id: s.label("swf", swfJob), at: berth.Time(s.seconds(swfSubmit)),
		runtime: max(s.seconds(swfRun), 1), // zero would mean without end
		gpus:    (processors + s.processors - 1) / s.processors,
		queue:   s.queue(),
		wait:    Unknown,
	}
	if !s.unknown(swfWait) {
		r.wait = s.seconds(swfWait)
	}
	executable := ""
	if !s.unknown(swfExecutable) {
		executable = s.text(swfExecutable)
	}
	if !s.unknown(swfUser) {
		r.tenant = s.intern(s.label("user", swfUser))
	}
	r.program = s.programOf(r.tenant, executable, r.gpus)
	if !s.unknown(swfLimit) {
		r.expected = s.seconds(swfLimit)
	}
	return r, true
}

// unknown reports whether a field is -1, with or without a fraction of zeros.
func (s *swfRows) unknown(c column) bool {
	whole, fraction, _ := strings.Cut(s.text(c), ".")
	return whole == "-1" && strings.Trim(fraction, "0") == ""
}

// processorsOf returns zero where the log does not tell.
func (s *swfRows) processorsOf() int {
	for _, c := range []column{swfRequested, swfAllocated} {
		if s.unknown(c) || s.text(c) == "0" {
			continue
		}
		return s.number(c, maxJobGPUs*s.processors)
	}
	return 0
}

func (s *swfRows) queue() string {
	if s.unknown(swfQueue) {
		return "queue"
	}
	if name, named := s.queues[s.text(swfQueue)]; named {
		return name
	}
	return s.intern(s.label("queue", swfQueue))
}
