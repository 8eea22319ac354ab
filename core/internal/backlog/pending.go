package backlog

import (
	"slices"

	"github.com/google/btree"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/internal/unordered"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// EnsureQueue makes the record of a queue of the quota tree, unless there is one.
func (bl *Backlog) EnsureQueue(i quota.QueueIndex) {
	if int(i) < len(bl.books.Queues) && bl.books.Queues[i] != nil {
		return
	}
	bl.books.AddQueue(&record.Queue{
		Index:          i,
		Buckets:        map[*record.Shape]*record.Bucket{},
		Running:        btree.NewWithFreeListG(16, func(a, b *record.Replica) bool { return books.CompareVictims(a, b) < 0 }, bl.freed),
		Elastic:        btree.NewWithFreeListG(16, record.LessReplica, bl.freed),
		NonPreemptible: btree.NewWithFreeListG(16, record.LessReplica, bl.freed),
		HeldBack:       btree.NewWithFreeListG(16, record.LessReplica, bl.freed),
		Ready:          pq.New((*record.Bucket).Before, func(b *record.Bucket, slot int) { b.Slot = slot }),
	})
}

// Await enters a replica into the pending index if it is pending, or if it runs short and has
// nothing else going on; unless it is backing off, waits at a gate or for a budget, or stands there
// already.
func (bl *Backlog) Await(rep *record.Replica) {
	switch {
	case rep.Entries != nil || rep.Retry.Get().ReadyAt != 0 || rep.Job.Gate != nil:
		return
	case bl.WaitsForBudget(rep):
		bl.books.Queues[rep.Job.Queue].HeldBack.ReplaceOrInsert(rep)
		return
	case rep.State == berth.ReplicaPending:
		for option := range rep.Job.Pattern.Many() {
			s := bl.state.WaitingShape(rep, option)
			if s.Spec.RestsUntil != 0 { // else the job counts
				s.Users++
			}
			bl.enqueue(&record.Entry{Rep: rep, Of: int32(option), FreshAt: -1}, s)
		}
		bl.arrive(rep)
	case rep.MayGrow():
		for g := range rep.Job.Spec.Groups {
			if rep.Count(g, record.MemberAbsent) > 0 {
				s := bl.state.GrowthShape(rep, g)
				s.Users++
				bl.enqueue(&record.Entry{Rep: rep, Grows: true, Of: int32(g), FreshAt: -1}, s)
			}
		}
	}
	if rep.Entries != nil {
		bl.books.Queues[rep.Job.Queue].Waiting++
		if rep.Retry.Get().LostHardware && rep.State == berth.ReplicaPending {
			bl.LostHardware.ReplaceOrInsert(rep)
		}
	}
}

// enqueue puts an entry into the bucket of its shape.
func (bl *Backlog) enqueue(e *record.Entry, s *record.Shape) {
	e.Rep.Entries = append(e.Rep.Entries, e)
	q := bl.books.Queues[e.Rep.Job.Queue]
	b := q.Buckets[s]
	if b == nil {
		b = record.NewBucket(q, s)
		q.Buckets[s] = b
		b.At = len(q.List)
		q.List = append(q.List, b)
		s.Buckets = append(s.Buckets, b)
		if s.IsDomainBound() && !e.Grows {
			b.BoundAt = len(bl.DomainBound)
			bl.DomainBound = append(bl.DomainBound, b)
		}
	}
	e.Bucket = b
	b.Add(e)
	if e != e.Rep.Entries[0] {
		b.Others++
	}
	bl.count(e, 1)
	bl.noteEntry(e)
	if b.Slot >= 0 {
		if b.Entries.Min() == e {
			q.Ready.Fix(b.Slot)
		}
		bl.tellNext(q)
	} else if s.BlockedAt < 0 && b.QuotaSlot < 0 {
		bl.makeReady(b)
	} else {
		bl.noteDue(e)
		bl.Freshen(e)
		bl.agenda.Waits(bl.state.Now)
		if b.QuotaSlot >= 0 && b.Entries.Min() == e && len(bl.Reservations) > 0 {
			bl.agenda.FreedQuota() // what is earmarked held back those behind it, and may not hold it back
		}
	}
}

// noteEntry notes an entry that has come, or is about to go.
func (bl *Backlog) noteEntry(e *record.Entry) {
	if e.Bucket.Entries.Min() == e {
		bl.Due.NoteHead(e.Bucket)
	}
	bl.Due.NoteBids(e.Bucket)
}

// count counts what an entry waits for as often as it waits, or waits no longer.
func (bl *Backlog) count(e *record.Entry, change int) {
	bl.books.CountEntry(e, int64(change))
	bl.demandWhole(e, change)
}

// demandWhole tells the search of one gang more, or one less, that waits for capacity in one
// domain of some levels: it breaks fewer whole domains there.
func (bl *Backlog) demandWhole(e *record.Entry, change int) {
	if e.Grows {
		return
	}
	for _, level := range e.Bucket.Shape.Levels {
		bl.Demand[level] += change
		bl.books.SetDemand(level, bl.Demand[level])
	}
}

// Unawait takes a replica out of the pending index.
func (bl *Backlog) Unawait(rep *record.Replica) {
	if rep.Entries == nil {
		bl.leaveHeldBack(rep)
		return
	}
	for _, e := range rep.Entries {
		bl.dequeue(e)
	}
	rep.Entries = nil
	bl.LostHardware.Delete(rep)
	if rep.Reserved != nil {
		bl.EndReservation(rep.Reserved)
	}
	if rep.GPUHold != nil {
		bl.EndGPUHold(rep.GPUHold)
	}
	rep.LookAnew()
	bl.books.Queues[rep.Job.Queue].Waiting--
}

// dequeue takes an entry out of its bucket, and the bucket away if it was the
// last.
func (bl *Backlog) dequeue(e *record.Entry) {
	b := e.Bucket
	if e.Batch != nil {
		bl.Reveal(e.Batch)
	}
	if b.Entries.Len() > 1 {
		bl.noteEntry(e)
	}
	b.Remove(e)
	if e != e.Rep.Entries[0] {
		b.Others--
	}
	bl.count(e, -1)
	bl.Unfresh(e)
	if b.Entries.Len() == 0 {
		bl.unready(b)
		bl.quotaUnblock(b)
		bl.Due.Forget(b)
		delete(b.Queue.Buckets, b.Shape)
		b.Queue.Leave(b)
		if b.BoundAt >= 0 {
			bl.DomainBound = unordered.Remove(bl.DomainBound, b.BoundAt, func(b *record.Bucket, at int) { b.BoundAt = at })
		}
		i := slices.Index(b.Shape.Buckets, b)
		b.Shape.Buckets = slices.Delete(b.Shape.Buckets, i, i+1)
		if len(b.Shape.Buckets) == 0 && b.Shape.BlockedAt >= 0 {
			bl.Unblock(b.Shape) // nobody is left to remember it for
		}
	} else {
		bl.noteFirst(b)
	}
	if e.Grows || b.Shape.Spec.RestsUntil != 0 {
		bl.DropShape(b.Shape)
	}
}

// Reveal makes the first replica of a batch a record, which waits as it did.
func (bl *Backlog) Reveal(t *record.Batch) *record.Entry {
	head := t.Head
	rep := bl.state.Reveal(t)
	e := &record.Entry{Rep: rep, Bucket: head.Bucket, FreshAt: -1}
	rep.Entries = []*record.Entry{e}
	if head.Batch == t {
		head.Batch = nil
	}
	head.Bucket.Behind--
	head.Bucket.Add(e)
	bl.noteEntry(e)
	if t.Fresh {
		bl.Freshen(e)
	}
	t.Head = e
	if t.Len() > 0 {
		e.Batch = t
	}
	return e
}

// noteFirst notes that another entry of a bucket may be the first.
func (bl *Backlog) noteFirst(b *record.Bucket) {
	if b.Slot >= 0 {
		b.Queue.Ready.Fix(b.Slot)
		bl.tellNext(b.Queue)
	} else {
		bl.noteDue(b.Entries.Min())
	}
}

func (bl *Backlog) makeReady(b *record.Bucket) {
	if b.Slot < 0 {
		if b.Queue.Ready.Len() > 0 {
			b.Queue.Sort()
		}
		if b.Queue.Ready.Push(b); b.Slot == 0 { // else what it is served next is as before
			bl.tellNext(b.Queue)
		}
	}
}

// tellNext tells the quota tree what a queue would be served next, which decides whether
// that is its own, and so when.
func (bl *Backlog) tellNext(q *record.Queue) {
	s := q.Ready.Min().Shape
	bl.state.Compile(s)
	bl.books.SetNext(q.Index, s.Least)
}

// TellAllNext does so for all queues with something ready, when nodes have come or gone that may
// divide otherwise: what an instance is charged depends on them. The last of them may have gone.
func (bl *Backlog) TellAllNext() {
	if bl.ToldNext == bl.state.Classes.Version {
		return
	}
	bl.ToldNext = bl.state.Classes.Version
	for _, q := range bl.books.Queues {
		if q != nil && q.Ready.Len() > 0 {
			bl.tellNext(q)
		}
	}
}

func (bl *Backlog) unready(b *record.Bucket) {
	if at := b.Slot; at >= 0 {
		if b.Queue.Ready.Remove(at); b.Queue.Ready.Len() == 0 {
			bl.books.Deactivate(b.Queue.Index)
		} else if at == 0 {
			bl.tellNext(b.Queue)
		}
	}
}

// Block remembers that a shape does not fit.
func (bl *Backlog) Block(s *record.Shape) {
	if s.BlockedAt < 0 {
		bl.Blocked.Add(s)
		for _, b := range slices.Backward(s.Buckets) { // the reverse of Unblock: see pq.Heap.Remove
			bl.unready(b)
			bl.noteDue(b.Entries.Min())
		}
		bl.agenda.Block(s.LooksAround, bl.state.Now)
	}
}

// Unblock makes the buckets of a shape ready again.
func (bl *Backlog) Unblock(s *record.Shape) {
	bl.Blocked.Remove(s)
	bl.agenda.Unblock(s.LooksAround)
	for _, b := range s.Buckets {
		if b.QuotaSlot < 0 {
			bl.makeReady(b)
		}
	}
}

// QuotaBlock remembers that a bucket does not fit its quota.
func (bl *Backlog) QuotaBlock(b *record.Bucket) {
	bl.unready(b)
	b.QuotaSlot = len(bl.QuotaBlocked)
	bl.QuotaBlocked = append(bl.QuotaBlocked, b)
	bl.Due.NoteHead(b)
	bl.agenda.Limit(bl.state.Now)
}

// quotaUnblock forgets it, without making the bucket ready.
func (bl *Backlog) quotaUnblock(b *record.Bucket) {
	if b.QuotaSlot < 0 {
		return
	}
	bl.QuotaBlocked = unordered.Remove(bl.QuotaBlocked, b.QuotaSlot, func(b *record.Bucket, at int) { b.QuotaSlot = at })
	bl.agenda.Unlimit()
	b.QuotaSlot = -1
	bl.Due.NoteHead(b)
}

// WakeLimited makes the buckets ready that quota holds back and that fit it now:
// those for which usage fell, and those of which only one product is limited.
//
// The first entry of a bucket answers for those behind it: they ask for as much, of the same
// queue. They differ in the nodes set aside that they may use. That counts where a product is
// limited: Search.Backfill looks there. They differ in the earmarks that are lifted for them, too.
// By rank (passes), an earmark that is lifted for one behind is lifted for the first, so that only
// its own remains: and a beneficiary is served as such (ServeReserved), whether or not its bucket
// is held back.
func (bl *Backlog) WakeLimited() {
	for i := len(bl.QuotaBlocked) - 1; i >= 0; i-- {
		b := bl.QuotaBlocked[i]
		bl.state.Compile(b.Shape)
		ok := false
		bl.Try(b.Entries.Min(), func() { ok = bl.Affords(b.Queue.Index, b.Shape.Least) })
		if ok {
			bl.quotaUnblock(b)
			if b.Shape.BlockedAt < 0 {
				bl.makeReady(b)
			} else {
				bl.noteDue(b.Entries.Min())
				bl.agenda.BackfillAnew()
			}
		}
	}
}

// Helps reports whether some member of a shape fits on a node now.
func (bl *Backlog) Helps(n *record.Node, s *record.Shape) bool {
	return slices.ContainsFunc(s.Minimum.Groups, func(g gang.Group) bool { return bl.Fits(n, &g) })
}

// Fits reports whether a member of a group fits on a node now.
func (bl *Backlog) Fits(n *record.Node, g *gang.Group) bool {
	return n.Suits(g) && bl.state.Fleet.Fits(n.Index, &g.Claim) > 0
}

// FreeFor sums the free GPUs of the classes that a shape may use: of the product of which the most
// are free, if it is one group of one product.
func (bl *Backlog) FreeFor(s *record.Shape) (free int) {
	groups := s.Minimum.Groups
	if g := &groups[0]; len(groups) == 1 && len(g.Kinds) > 0 && g.Members > 1 {
		return bl.freeOfOne(g)
	}
	for i := range groups {
		for _, class := range groups[i].Classes {
			if !slices.ContainsFunc(groups[:i], func(g gang.Group) bool { return slices.Contains(g.Classes, class) }) {
				free += bl.state.Fleet.Tree().FreeOfClass(topology.RootDomain, class)
			}
		}
	}
	return free
}

// freeOfOne is the most GPUs that are free of one of the kinds of a group.
func (bl *Backlog) freeOfOne(g *gang.Group) int {
	free := make([]int, 1+int(slices.Max(g.Kinds)))
	for i, class := range g.Classes {
		free[g.Kinds[i]] += bl.state.Fleet.Tree().FreeOfClass(topology.RootDomain, class)
	}
	return slices.Max(free)
}

// Freshen notes that an entry has come to a bucket that is blocked, while nodes are set
// aside that it may yet use.
func (bl *Backlog) Freshen(e *record.Entry) {
	if len(bl.Reservations) > 0 && e.FreshAt < 0 {
		e.FreshAt = int32(len(bl.Fresh))
		bl.Fresh = append(bl.Fresh, e)
		bl.agenda.CountFresh(1)
	}
}

// arrive makes the place that was kept for a gang its reservation, as it waits now.
func (bl *Backlog) arrive(rep *record.Replica) {
	if res := rep.Moving; res != nil {
		rep.Reserved, rep.Moving = res, nil
		res.Arrive()
		bl.agenda.SetAside()
	}
}

// KeepThrough has the place that is kept for a gang last as long as its backoff, and for as long
// beyond as a reservation waits for its gang. What is left of a place is not kept for so long.
func (bl *Backlog) KeepThrough(rep *record.Replica) {
	res := rep.Moving
	if res.IsPartial() {
		bl.EndMove(rep)
		return
	}
	res.KeepThrough(bl.UntilRetried(rep))
	bl.agenda.SetAside() // from now on it may be taken
}

// UntilRetried is for how long a place is kept for a gang that backs off.
func (bl *Backlog) UntilRetried(rep *record.Replica) berth.Time {
	return rep.Retry.Get().ReadyAt.Add(bl.state.Config.Policy.ReservationTimeout)
}

// noteDue has a pass look for gangs to reserve for in time for an entry of a bucket that
// is blocked.
func (bl *Backlog) noteDue(e *record.Entry) {
	if at, ok := bl.Due.At(e); ok {
		bl.agenda.ReserveBy(at)
	}
}

// DropShape gives up one use of a shape.
func (bl *Backlog) DropShape(s *record.Shape) {
	s.Users--
	if s.Users > 0 {
		return
	}
	if s.BlockedAt >= 0 {
		bl.Unblock(s)
	}
	for i := range s.Spec.Groups {
		if owner, some := catalogue.OwnerOf(s.Spec.TrustDomain, &s.Spec.Groups[i].Claim); some {
			bl.catalogue.Owners.Release(bl.catalogue.Owners.ByKey[owner])
		}
	}
	bl.state.RemoveShape(s)
}
