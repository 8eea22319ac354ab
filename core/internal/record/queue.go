package record

import (
	"cmp"
	"slices"

	"github.com/google/btree"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/meter"
	"github.com/berth-sched/berth/core/internal/roster"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/internal/unordered"
	"github.com/berth-sched/berth/quota"
)

// Many counts the replicas for which an entry stands: its own, and those of the batch behind it.
func (e *Entry) Many() int {
	if e.Batch == nil {
		return 1
	}
	return 1 + e.Batch.Len()
}

// Part is which group grows or, of a whole gang, which of its options the job would run as.
func (e *Entry) Part() int { return int(e.Of) }

// IsAlternative reports whether an entry is a job that waits as one of its alternatives. It waits
// as its own gang too, and counts as that.
func (e *Entry) IsAlternative() bool { return !e.Grows && e.Of > 0 }

// Base is the group of the gang that the first group of the request of an entry is.
func (e *Entry) Base() int {
	if e.Grows {
		return e.Part()
	}
	return 0
}

// Assume makes the job of an entry what it waits for there, and returns what it was. The caller
// looks whether the entry fits, and puts that back unless it does. An entry that waits no longer
// changes nothing.
func (e *Entry) Assume() (was int) {
	j := e.Rep.Job
	was = j.Alternative()
	if !e.Grows && was != e.Part() && e.Slot >= 0 {
		j.Become(e.Part())
	}
	return was
}

// Entry is where a replica stands that waits: as what its job is, or with the first group that it
// lacks members of.
func (rep *Replica) Entry() *Entry {
	if at := rep.Job.Alternative(); at > 0 && !rep.Entries[0].Grows {
		return rep.Entries[at]
	}
	return rep.Entries[0]
}

// Bids reports whether an entry is a whole gang without a plan yet.
func (e *Entry) Bids() bool {
	return !e.Grows && e.Rep.PlannedReservation() == nil
}

// Leave takes a bucket out of the list of its queue.
func (q *Queue) Leave(b *Bucket) {
	q.List, q.sorted = unordered.Remove(q.List, b.At, func(b *Bucket, at int) { b.At = at }), false
	if len(q.List) == 0 {
		q.top = rank{}
	}
}

// InStep reports whether the buckets of a queue are in order, if they are sorted, and nothing that
// runs there is of a lower rank than is known.
func (q *Queue) InStep() bool {
	low := false
	q.Running.Ascend(func(rep *Replica) bool {
		low = rankOf(rep).compare(q.bottom) < 0
		return !low
	})
	return !low && (!q.sorted || slices.IsSortedFunc(q.List, compareBuckets))
}

// compareBuckets is the order of service of buckets with entries.
func compareBuckets(a, b *Bucket) int { return CompareEntries(a.Entries.Min(), b.Entries.Min()) }

// A rank is the class and the priority of a job.
type rank struct {
	class    berth.Class
	priority int32
}

func rankOf(rep *Replica) rank { return rank{rep.Job.Spec.Class, rep.Job.Spec.Priority} }

func (r rank) compare(o rank) int {
	if r.class != o.class {
		return cmp.Compare(r.class, o.class)
	}
	return cmp.Compare(r.priority, o.priority)
}

// MayBeOfHigherClass reports whether something that waits may be of a higher class than a replica.
// Where it is not, nothing is. O(1).
func (q *Queue) MayBeOfHigherClass(rep *Replica) bool { return q.top.class > rep.Job.Spec.Class }

// IsOneMember reports whether the entry waits for a gang of one member.
func (e *Entry) IsOneMember() bool {
	groups := e.Rep.Job.Spec.Groups
	return len(groups) == 1 && groups[0].Members == 1
}

// The pending index answers "what is to be tried next?" without looking at what
// cannot have become possible.
//
// Replicas that ask for the same thing have one shape. Those of one shape in one
// queue form a bucket, in the order in which they are to be served. A bucket is
// ready unless its shape is blocked (the search said no, and nothing has changed
// since that could turn it into a yes) or the bucket is blocked by quota. A pass
// looks at ready buckets alone, so 100,000 pending replicas that cannot start
// cost it nothing.

// An Entry is a replica that waits for a place: for its whole gang, once for each of its
// alternatives, or for further members (grows).
type Entry struct {
	Rep    *Replica
	Bucket *Bucket
	// Slot is the position in the bucket, handy that among the entries of its kind, and told that
	// in Bucket.toldFirst.
	Slot, handy, told int32
	// FreshAt is the position in Backlog.Fresh, or -1.
	FreshAt int32
	Grows   bool
	// Of is what Part returns, in as little as keeps an entry within 80 bytes.
	Of  int32
	Bid BidPart
	// Batch is what waits behind the entry; nil: nothing.
	Batch *Batch
}

// A Queue is what the core keeps of a leaf of the quota tree.
type Queue struct {
	Index   quota.QueueIndex
	Buckets map[*Shape]*Bucket // looked up, never ranged over
	List    []*Bucket          // all of them, in no order that matters but while they are sorted
	Ready   pq.Heap[*Bucket]
	Waiting int // replicas with entries
	// Running has the running replicas of the queue, the first victim first; Elastic those of
	// them that may have a surplus, and NonPreemptible those that are never preempted. Sizes counts
	// all but the elastic ones by what they are charged of GPUs, but for those that are imagined
	// ended.
	Running, Elastic, NonPreemptible *btree.BTreeG[*Replica]
	Sizes                            []quota.SizeCount
	// WaitingMilli is what its entries wait for, of GPUs; Over: it uses more than it is
	// guaranteed; Keeps: it does not lend all of that; Touched: it is in Books.Touched.
	WaitingMilli         int64
	Over, Keeps, Touched bool
	// Evictions that it suffered.
	Evictions meter.Meter
	// OverLimitSince is since when it uses more than it may; 0: it does not, or the policy does not
	// ask.
	OverLimitSince berth.Time
	// FloorMilli is what it kept when it last gave GPUs for a guarantee so that less than before
	// fills its own; 0: nothing, or something has ended by itself since. See package quota.
	FloorMilli int64
	// Budgets are those of the queue itself. OutOfBudget: one of these is used up, or one of a
	// queue above it; HeldBack are the replicas that wait for that alone.
	Budgets     []*Budget
	OutOfBudget bool
	HeldBack    *btree.BTreeG[*Replica]
	ranking     *roster.Ranking[*Entry] // nil: nobody asks for it
	// top is not below the rank of anything that waits: the highest that came since nothing did.
	// bottom is likewise not above that of anything that runs.
	top, bottom rank
	// sorted: List is in the order of service, so that two buckets are compared without a look at
	// their entries.
	sorted bool
}

// mostSorted is how many buckets of a queue are sorted: each that comes or goes costs all of them.
const mostSorted = 64

// Sort puts the buckets of a queue in the order of service, if they are few and none is empty. O(1)
// unless the first entry of one has changed, then O(buckets) at the least.
func (q *Queue) Sort() {
	if q.sorted || len(q.List) > mostSorted {
		return
	}
	slices.SortFunc(q.List, compareBuckets)
	for at, b := range q.List {
		b.At = at
	}
	q.sorted = true
}

// Enter enters a replica among those that run.
func (q *Queue) Enter(rep *Replica) {
	if r := rankOf(rep); q.Running.Len() == 0 || r.compare(q.bottom) < 0 {
		q.bottom = r
	}
	q.Running.ReplaceOrInsert(rep)
}

// FirstOutranked is the first victim of those that run, if something that waits may rank above it;
// nil: nothing does. O(1) where all are of one rank.
func (q *Queue) FirstOutranked() *Replica {
	if q.top.compare(q.bottom) <= 0 {
		return nil
	}
	if least, some := q.Running.Min(); some && q.top.compare(rankOf(least)) > 0 {
		return least
	}
	return nil
}

// RaiseFloor notes what a queue kept when it gave.
func (q *Queue) RaiseFloor(milli int64) { q.FloorMilli = max(q.FloorMilli, milli) }

// DropFloor notes that something of a queue ended by itself.
func (q *Queue) DropFloor() { q.FloorMilli = 0 }

// CompareEntries is the order of service, whatever the queues: higher rank first, whole gangs
// before what others grow by, then turns, names, and what a job may run as, in its order.
func CompareEntries(a, b *Entry) int {
	// One by one: most is decided before it comes to names.
	if d := CompareRank(b.Rep, a.Rep); d != 0 {
		return d
	}
	if d := values.CompareBool(a.Grows, b.Grows); d != 0 {
		return d
	}
	if d := cmp.Compare(a.Rep.Turn(), b.Rep.Turn()); d != 0 {
		return d
	}
	return cmp.Or(CompareReplicas(a.Rep, b.Rep), cmp.Compare(a.Of, b.Of))
}

// Turn is when a replica counts as submitted.
func (rep *Replica) Turn() berth.Time { return rep.Created.Add(rep.Job.Later) }

// CompareRank compares two replicas of one queue by class and priority.
func CompareRank(a, b *Replica) int { return rankOf(a).compare(rankOf(b)) }
