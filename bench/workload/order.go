package workload

import (
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

// A settler is a reader of rows that are not a job each: it makes jobs of all of them.
type settler interface {
	settle(rows []*record) (jobs []*record)
}

// A sorted gives the jobs of a table in order of time.
type sorted struct {
	table  *table
	reader reader
	// inOrder: so the format promises its rows, and one is kept at a time; else all are.
	inOrder bool
	kept    pq.Heap[*record]
	// given is the job that was given last.
	given *record
	// last is the instant of the job that was given last.
	last berth.Time
	// absolute: instants are those of the Unix clock, and the first job's is the epoch.
	absolute, started bool
	epoch             berth.Time
}

func newSorted(t *table, r reader, inOrder bool) *sorted {
	return &sorted{
		table: t, reader: r, inOrder: inOrder,
		kept: pq.New((*record).before, func(*record, int) {}),
	}
}

func (s *sorted) next() (*record, bool) {
	if settler, is := s.reader.(settler); is && !s.started {
		s.settle(settler)
	}
	for !s.inOrder || s.kept.Len() == 0 {
		r, more := s.row()
		if !more {
			break
		}
		if r != nil {
			s.keep(r)
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
	s.started, s.given = true, r
	return r, true
}

// row reads a row, which may be no job.
func (s *sorted) row() (r *record, more bool) {
	if !s.table.next() {
		return nil, false
	}
	made, is := s.reader.read()
	if s.table.err != nil || !is {
		return nil, s.table.err == nil
	}
	made.line = s.table.in.line()
	return &made, true
}

// settle reads all rows, and keeps the jobs that they are.
func (s *sorted) settle(of settler) {
	var list []*record
	for r, more := s.row(); more; r, more = s.row() {
		if r != nil {
			list = append(list, r)
		}
	}
	if s.table.err != nil {
		return
	}
	for _, r := range of.settle(list) {
		s.kept.Push(r)
	}
}

func (s *sorted) keep(r *record) {
	if s.started && r.at < s.last {
		s.table.refuse(s.reader.time(), "is before that of a job above: rows are to be in order of time")
		return
	}
	s.kept.Push(r)
}
