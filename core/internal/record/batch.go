package record

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
)

// A Batch is replicas of a service that wait and are no more than a number as yet: of consecutive
// numbers, asked for at one instant, with nothing noted of any of them. The order of service has
// nobody between them, so that one entry can stand for all: the replica before the first of them
// is a record, waits, and has the batch behind it. When that entry leaves its bucket, or those
// after it are looked at, the first of the batch becomes a record and takes its place.
//
// A record that still is as it came and a replica of a batch differ in nothing that decides, or
// that a snapshot has.
type Batch struct {
	Job *Job
	// Head is the entry before the batch; nil: that replica waits for a budget, and all of these.
	// Next is the first number, End the one after the last.
	Head      *Entry
	Next, End int
	// Created is when they were asked for, Incarnation their last life: that of replicas that are
	// forgotten.
	Created     berth.Time
	Incarnation berth.Incarnation
	// Fresh: they are yet to be tried on nodes that are set aside. Then the head is, too.
	Fresh bool
}

// Len is the number of replicas in a batch.
func (t *Batch) Len() int { return t.End - t.Next }

// Life is the plain part of a replica of a batch.
func (t *Batch) Life(number int) LifePart {
	return LifePart{Number: number, Created: t.Created, PendingSince: t.Created, Incarnation: t.Incarnation}
}

// Like is a replica of a batch as it would be as a record, with its entry, if it has one. It stands
// in no index: it is for answers, and for refusals.
func (t *Batch) Like(number int) *Replica {
	rep := &Replica{Job: t.Job, LifePart: t.Life(number)}
	if t.Head == nil {
		return rep
	}
	e := &Entry{Rep: rep, Bucket: t.Head.Bucket, Slot: -1, FreshAt: -1}
	if t.Fresh {
		e.FreshAt = 0
	}
	rep.Entries = []*Entry{e}
	return rep
}

// BatchOf is the batch that has a number; nil: none has. O(log batches).
func (j *Job) BatchOf(number int) *Batch {
	at, found := slices.BinarySearchFunc(j.Batches(), number, func(t *Batch, number int) int {
		if t.Next <= number && number < t.End {
			return 0
		}
		return cmp.Compare(t.Next, number)
	})
	if !found {
		return nil
	}
	return j.Batches()[at]
}

// Replica is the replica with a number, or what it would be if it were a record; nil: the job has
// none.
func (j *Job) Replica(number int) *Replica {
	if rep := j.Replicas.At(number); rep != nil {
		return rep
	}
	if t := j.BatchOf(number); t != nil {
		return t.Like(number)
	}
	return nil
}

// Vacancies appends the lowest numbers that are not in use to a list, as ranges from a number to
// another that is outside. O(records + batches).
func (j *Job) Vacancies(ranges [][2]int, many int) [][2]int {
	batches := j.Batches()
	for number := 0; many > 0; {
		switch {
		case j.Replicas.At(number) != nil:
			number++
			continue
		case len(batches) > 0 && batches[0].Next == number:
			number, batches = batches[0].End, batches[1:]
			continue
		}
		from, end := number, number+many
		if len(batches) > 0 {
			end = min(end, batches[0].Next)
		}
		end = j.Replicas.First(from, end)
		ranges = append(ranges, [2]int{from, end})
		many -= end - from
		number = end
	}
	return ranges
}
