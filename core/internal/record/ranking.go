package record

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
)

// A ranking has the entries of a queue in the order of service, so that it can be told how many
// stand before one. It is made when somebody asks, and kept as long as more is asked than changes:
// queues of which nobody asks pay nothing.
type ranking struct {
	blocks [][]*Entry // none is empty, or longer than blockSize
	many   int
	// changes since it was last asked.
	changes int
}

// blockSize is how many entries a block has at the most: what a change moves.
const blockSize = 512

// Before counts the entries of a queue that are served before one: each of them once, whatever is
// in the batch behind it. The first time O(entries x log entries), then O(log entries + entries /
// blockSize).
func (q *Queue) Before(e *Entry) int {
	if q.ranking == nil {
		q.ranking = q.rank()
	}
	r := q.ranking
	r.changes = 0
	block := r.find(e)
	before := 0
	for _, list := range r.blocks[:block] {
		before += len(list)
	}
	if block < len(r.blocks) {
		at, _ := slices.BinarySearchFunc(r.blocks[block], e, CompareEntries)
		before += at
	}
	return before
}

// rank makes the ranking of a queue.
func (q *Queue) rank() *ranking {
	r := &ranking{}
	var all []ranked
	for _, b := range q.List {
		for _, e := range b.Entries.Items() {
			spec := &e.Rep.Job.Spec
			all = append(all, ranked{e, spec.Class, spec.Priority, e.Rep.Created})
		}
	}
	slices.SortFunc(all, ranked.compare)
	r.many = len(all)
	for block := range slices.Chunk(all, blockSize/2) {
		list := make([]*Entry, len(block), blockSize+1)
		for i := range block {
			list[i] = block[i].Entry
		}
		r.blocks = append(r.blocks, list)
	}
	return r
}

// A ranked entry has beside it what tells it from most others.
type ranked struct {
	*Entry
	class    berth.Class
	priority int32
	created  berth.Time
}

// compare is CompareEntries.
func (a ranked) compare(b ranked) int {
	if a.class == b.class && a.priority == b.priority && a.created == b.created {
		return CompareEntries(a.Entry, b.Entry)
	}
	return cmp.Or(cmp.Compare(b.class, a.class), cmp.Compare(b.priority, a.priority), CompareBool(a.Grows, b.Grows), cmp.Compare(a.created, b.created))
}

// RankingInStep reports whether the ranking of a queue, if there is one, has what waits there, in
// order.
func (q *Queue) RankingInStep() bool {
	if q.ranking == nil {
		return true
	}
	all, waiting := slices.Concat(q.ranking.blocks...), 0
	for _, b := range q.List {
		waiting += b.Entries.Len()
	}
	return len(all) == waiting && q.ranking.many == waiting && slices.IsSortedFunc(all, CompareEntries) &&
		!slices.ContainsFunc(all, func(e *Entry) bool { return e.Slot < 0 || e.Bucket.Entries.Items()[e.Slot] != e })
}

// find is the block that has an entry, or would have it.
func (r *ranking) find(e *Entry) int {
	block, _ := slices.BinarySearchFunc(r.blocks, e, func(list []*Entry, e *Entry) int {
		return CompareEntries(list[len(list)-1], e)
	})
	return block
}

// note has the ranking of a queue follow a change, if there is one.
func (q *Queue) note(e *Entry, comes bool) {
	r := q.ranking
	if r == nil {
		return
	}
	if r.changes++; r.changes > r.many {
		q.ranking = nil
		return
	}
	block := r.find(e)
	if !comes {
		at, _ := slices.BinarySearchFunc(r.blocks[block], e, CompareEntries)
		r.many--
		if r.blocks[block] = slices.Delete(r.blocks[block], at, at+1); len(r.blocks[block]) == 0 {
			r.blocks = slices.Delete(r.blocks, block, block+1)
		}
		return
	}
	if r.many++; block == len(r.blocks) {
		if block == 0 {
			r.blocks = append(r.blocks, nil)
		} else {
			block--
		}
	}
	at, _ := slices.BinarySearchFunc(r.blocks[block], e, CompareEntries)
	list := slices.Insert(r.blocks[block], at, e)
	if r.blocks[block] = list; len(list) > blockSize {
		half := len(list) / 2
		r.blocks = slices.Insert(r.blocks, block+1, slices.Clone(list[half:]))
		clear(list[half:])
		r.blocks[block] = list[:half]
	}
}
