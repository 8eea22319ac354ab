package workload

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/pq"
)

// A reader makes jobs of the rows of a table.
type reader interface {
	// read makes a job of the current row. It returns false for a row that it skips;
	// what it returns counts only if the table has no error.
	read() (record, bool)
	// time is the column with the instant by which jobs are ordered.
	time() column
}

// A sorted gives the jobs of a table in order of time. It keeps a window of them in a
// heap, or all where the window is zero.
type sorted struct {
	table  *table
	reader reader
	window int
	seen   func(berth.JobID, func(string) string)
	kept   pq.Heap[*record]
	// last is the instant of the job that was given last.
	last berth.Time
	// absolute: instants are those of the Unix clock, and the first job's is the epoch.
	absolute, started bool
	epoch             berth.Time
}

func newSorted(t *table, r reader, window int, seen func(berth.JobID, func(string) string)) *sorted {
	return &sorted{
		table: t, reader: r, window: window, seen: seen,
		kept: pq.New((*record).before, func(*record, int) {}),
	}
}

func (s *sorted) next() (*record, bool) {
	for s.window == 0 || s.kept.Len() < s.window {
		if !s.table.next() {
			break
		}
		r, ok := s.reader.read()
		if s.table.err == nil && ok {
			s.keep(&r)
		}
	}
	if s.table.err != nil || s.kept.Len() == 0 {
		return nil, false
	}
	r := s.kept.Min()
	s.kept.Remove(0)
	s.last = r.at
	if s.absolute {
		if !s.started {
			s.epoch = r.at
		}
		r.at -= s.epoch
	}
	s.started = true
	return r, true
}

func (s *sorted) keep(r *record) {
	if s.started && r.at < s.last {
		s.table.refuse(s.reader.time(), fmt.Sprintf(
			"is before that of a job above: rows are to be in order of time, or within a window, which is %d", s.window))
		return
	}
	if s.seen != nil {
		s.seen(berth.JobID(r.id), s.table.value)
	}
	r.line = s.table.in.line()
	s.kept.Push(r)
}
