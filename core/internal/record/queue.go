package record

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/google/btree"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/contract"
	"github.com/berth-sched/berth/core/internal/meter"
	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/internal/decimal"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/internal/unordered"
	"github.com/berth-sched/berth/quota"
)

// Waiting counts the replicas, or parts of them, that wait in a bucket.
func (b *Bucket) Waiting() int { return b.Entries.Len() + b.Behind }

// Many counts the replicas for which an entry stands: its own, and those of the batch behind it.
func (e *Entry) Many() int {
	if e.Batch == nil {
		return 1
	}
	return 1 + e.Batch.Len()
}

// Bids reports whether an entry is a whole gang without a plan yet.
func (e *Entry) Bids() bool {
	return !e.Grows && e.Rep.PlannedReservation() == nil
}

// Leave takes a bucket out of the list of its queue.
func (q *Queue) Leave(b *Bucket) {
	q.List = unordered.Remove(q.List, b.At, func(b *Bucket, at int) { b.At = at })
}

// describeFraction says what a fraction has to have.
func describeFraction(f *berth.MinInstance) string {
	switch {
	case f.MinMemoryMiB == 0:
		return fmt.Sprintf("one instance with %d SMs", f.MinSMs)
	case f.MinSMs == 0:
		return "one instance with " + contract.Amount(quota.MemoryMiB, f.MinMemoryMiB)
	}
	return fmt.Sprintf("one instance with %d SMs and %s", f.MinSMs, contract.Amount(quota.MemoryMiB, f.MinMemoryMiB))
}

// Describe names a group and its claim, as in "group workers (8 GPUs each)" or "the gang (8 GPUs)".
func (e *Entry) Describe(group int) string {
	each := e.Each(group, e.Bucket.Shape.Spec.Groups[group].Members)
	if e.Grows {
		group = e.Group
	}
	if groups := e.Rep.Job.Spec.Groups; len(groups) > 1 {
		return "group " + groups[group].Name + " (" + each + ")"
	}
	return "the gang (" + each + ")"
}

// Each is what a number of members of a group claim, as in "8 GPUs each".
func (e *Entry) Each(group, members int) string {
	cl := &e.Bucket.Shape.Spec.Groups[group].Claim
	var parts []string
	if cl.GPUs > 0 {
		parts = append(parts, contract.Amount(quota.GPUMilli, int64(cl.GPUs)*1000))
	}
	if cl.MIG != "" {
		parts = append(parts, "one "+cl.MIG+" instance")
	}
	if f := cl.MinInstance; f != nil {
		parts = append(parts, describeFraction(f))
	}
	if cl.Share != nil {
		parts = append(parts, decimal.Milli(int64(cl.Share.GPUMilli))+" of a GPU")
	}
	for r, v := range cl.Host() {
		if v > 0 {
			parts = append(parts, contract.Amount(quota.HostOf(host.Resource(r)), v))
		}
	}
	if members == 1 {
		return strings.Join(parts, ", ")
	}
	return strings.Join(parts, ", ") + " each"
}

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

// An Entry is a replica that waits for a place: for its whole gang, or for
// further members (grows).
type Entry struct {
	Rep    *Replica
	Bucket *Bucket
	Slot   int // position in the bucket
	Grows  bool
	Group  int // which group grows; 0 for a whole gang
	// FreshAt is the position in Backlog.Fresh, or -1.
	FreshAt int
	// Batch is what waits behind the entry; nil: nothing.
	Batch *Batch
}

// A Bucket holds the entries of one shape in one queue.
type Bucket struct {
	Queue   *Queue
	Shape   *Shape
	Entries pq.Heap[*Entry]
	Behind  int // how many wait in the batches behind them
	Others  int // entries of replicas that wait in another bucket before this one
	At      int // position in Queue.List
	Slot    int // position in Queue.Ready, or -1
	// QuotaSlot is the position in Backlog.QuotaBlocked, or -1.
	QuotaSlot int
	// Shortest is the shortest run time stated in the bucket, by so many entries.
	Shortest berth.Duration
	shorts   int
}

// A Queue is what the core keeps of a leaf of the quota tree.
type Queue struct {
	Index   quota.QueueIndex
	Buckets map[*Shape]*Bucket // looked up, never ranged over
	List    []*Bucket          // all of them, in no order that matters
	Ready   pq.Heap[*Bucket]
	Waiting int // replicas with entries
	// Running has the running replicas of the queue, the first victim first.
	Running *btree.BTreeG[*Replica]
	// WaitingMilli is what its entries wait for, of GPUs; Over: it uses more than it is
	// guaranteed; Keeps: it does not lend all of that; Touched: it is in Books.Touched.
	WaitingMilli         int64
	Over, Keeps, Touched bool
	// Evictions that it suffered.
	Evictions meter.Meter
	// FloorMilli is what it kept when it last gave GPUs for a guarantee so that less than before
	// fills its own; 0: nothing, or something has ended by itself since. See package quota.
	FloorMilli int64
}

// RaiseFloor notes what a queue kept when it gave.
func (q *Queue) RaiseFloor(milli int64) { q.FloorMilli = max(q.FloorMilli, milli) }

// DropFloor notes that something of a queue ended by itself.
func (q *Queue) DropFloor() { q.FloorMilli = 0 }

// CompareEntries is the order of service, whatever the queues: higher rank first, whole gangs
// before what others grow by, then age, and names last.
func CompareEntries(a, b *Entry) int {
	return cmp.Or(
		CompareRank(b.Rep, a.Rep),
		CompareBool(a.Grows, b.Grows),
		cmp.Compare(a.Rep.Created, b.Rep.Created),
		CompareReplicas(a.Rep, b.Rep),
		cmp.Compare(a.Group, b.Group),
	)
}

// CompareRank compares two replicas of one queue by class and priority.
func CompareRank(a, b *Replica) int {
	x, y := &a.Job.Spec, &b.Job.Spec
	return cmp.Or(cmp.Compare(x.Class, y.Class), cmp.Compare(x.Priority, y.Priority))
}

// NoteRuntime counts the run time that an entry, or so many replicas of its job, state.
func (b *Bucket) NoteRuntime(e *Entry, many int) {
	switch stated := e.Rep.Job.Spec.ExpectedRuntime; {
	case stated > 0 && stated < b.Shortest:
		b.Shortest, b.shorts = stated, many
	case stated == b.Shortest:
		b.shorts += many
	}
}

// ForgetRuntime counts it no longer.
func (b *Bucket) ForgetRuntime(e *Entry, many int) {
	if e.Rep.Job.Spec.ExpectedRuntime != b.Shortest {
		return
	}
	if b.shorts -= many; b.shorts == 0 {
		b.Shortest = limits.MaxSpan
		for _, other := range b.Entries.Items() {
			b.NoteRuntime(other, other.Many())
		}
	}
}
