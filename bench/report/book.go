package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// A book is kept from events and orders alone: the fleet, the
// jobs that wait since when, and what each holds.
type book struct {
	nodes    map[berth.NodeID]berth.Node
	capacity int64 // milli-GPU of all nodes
	jobs     map[berth.JobID]*jobBook
	orders   map[berth.OrderID]berth.Order // that are out
	held     [categories]int64
	rows     [categories]Row
	policy   berth.Policy
	// scaled lists the jobs that were scaled down since the latest pass. last lists the orders that
	// free something at their deadline: Releases that are given for the last time, and Binds of
	// which members died.
	scaled []*jobBook
	last   []berth.OrderID
	// tables that were told, the modes of GPUs as told or last ordered, and the
	// Repartitions that are out.
	tables  map[string]mig.Product
	modes   map[gpuKey]berth.GPUMode
	changes map[berth.OrderID]*change
}

// A jobBook is kept of a job that is known.
type jobBook struct {
	id        berth.JobID
	queue     berth.QueueID
	category  Category
	service   bool
	gpus      int // of all members, whole
	wanted    int
	cancelled bool
	// asked holds, for each replica that never had a place, since when it waits.
	// They are placed in this order.
	asked []berth.Time
	// fewer is by how many replicas the job was scaled down since the latest pass.
	// That pass tells how many of them ran; the others are the latest to be asked
	// for.
	fewer int
	// replicas that had a place once, by number.
	replicas map[int]*replicaBook
}

type replicaBook struct {
	members []berth.MemberPlacement
	// binds are the orders that placed the members; none for those observed.
	binds map[berth.MemberRef]berth.OrderID
	// parts is what they hold, in thousandths of a GPU.
	parts map[berth.MemberRef]int64
	// order is the latest about it; it is over if it is not in book.orders.
	order berth.OrderID
	// since is when it lost its last place, if it has none.
	since berth.Time
	// evicted: it is being stopped for another.
	evicted bool
	// gone: it is to be forgotten when it is stopped.
	gone bool
	// failed has the members that died while the Bind that started them was out. They hold
	// what they have until that has ended, or the job.
	failed []berth.MemberRef
}

func newBook() book {
	return book{
		nodes: map[berth.NodeID]berth.Node{}, jobs: map[berth.JobID]*jobBook{},
		orders: map[berth.OrderID]berth.Order{},
		tables: map[string]mig.Product{}, modes: map[gpuKey]berth.GPUMode{}, changes: map[berth.OrderID]*change{},
	}
}

// waiting counts the replicas without a place.
func (j *jobBook) waiting() int {
	n := len(j.asked)
	for _, r := range j.replicas {
		if len(r.members) == 0 && !r.gone {
			n++
		}
	}
	return n
}

// waitsSince is since when the first of them waits.
func (j *jobBook) waitsSince() berth.Time {
	first := berth.Time(1<<63 - 1)
	for _, t := range j.asked {
		first = min(first, t)
	}
	for _, r := range j.replicas {
		if len(r.members) == 0 && !r.gone {
			first = min(first, r.since)
		}
	}
	return first
}

// longest lists the jobs that wait, at most so many, the one that waits longest first.
func (b *book) longest(now berth.Time, most int) (list []Waiting) {
	var waiting []*jobBook
	for _, id := range slices.Sorted(maps.Keys(b.jobs)) {
		if j := b.jobs[id]; j.waiting() > 0 {
			waiting = append(waiting, j)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *jobBook) int { return cmp.Compare(a.waitsSince(), b.waitsSince()) })
	for _, j := range waiting[:min(len(waiting), most)] {
		list = append(list, Waiting{Job: j.id, Queue: j.queue, Category: j.category, Replicas: j.waiting(), For: now.Sub(j.waitsSince())})
	}
	return list
}

func (b *book) applied(now berth.Time, e berth.Event) {
	switch e := e.(type) {
	case berth.NodeJoined:
		b.nodes[e.Node.ID] = e.Node
		b.joined(&e.Node)
		b.capacity += 1000 * int64(len(e.Node.GPUs))
	case berth.NodeUpdated:
		b.capacity += 1000 * int64(len(e.Node.GPUs)-len(b.nodes[e.Node.ID].GPUs))
		b.nodes[e.Node.ID] = e.Node
		b.joined(&e.Node)
	case berth.NodeLost:
		b.capacity -= 1000 * int64(len(b.nodes[e.Node].GPUs))
		b.left(e.Node)
		delete(b.nodes, e.Node)
		b.lose(now, func(p *berth.MemberPlacement) bool { return p.Node == e.Node })
	case berth.GPUFailed:
		b.lose(now, func(p *berth.MemberPlacement) bool { return p.Node == e.Node && p.GPUs.Has(e.GPU) })
	case berth.XidReported: // what is condemned in burn-in alone is not known here
		if berth.LookupXid(e.Xid).Effect == berth.XidCondemns {
			b.applied(now, berth.GPUFailed{Node: e.Node, GPU: e.GPU})
		}
	case berth.GPUPartitioned:
		b.modes[gpuKey{e.Node, e.GPU}] = e.Mode
	case berth.MIGTableSet:
		b.tables[e.Table.Name] = e.Table
	case berth.PolicyChanged:
		b.policy = e.Policy
	case berth.OrderReported:
		b.reported(now, e)
	default:
		b.appliedJob(now, e)
	}
}

func (b *book) appliedJob(now berth.Time, e berth.Event) {
	switch e := e.(type) {
	case berth.JobSubmitted:
		b.ask(b.add(&e.Job), now, replicasOf(&e.Job))
	case berth.JobObserved:
		j := b.add(&e.Job)
		for _, r := range e.Running {
			b.ask(j, r.Started, 1)
			b.start(r.Started, j, r.Replica, r.Members, 0)
		}
		b.ask(j, now, replicasOf(&e.Job)-len(e.Running))
	case berth.JobScaled:
		j := b.jobs[e.Job]
		if e.Replicas > j.wanted {
			b.ask(j, now, e.Replicas-j.wanted)
		} else {
			j.fewer += j.wanted - e.Replicas
			b.scaled = append(b.scaled, j)
		}
		j.wanted = e.Replicas
	case berth.JobCancelled:
		j := b.jobs[e.Job]
		j.cancelled = true
		b.rows[j.category].Withdrawn += len(j.asked)
		j.asked = nil
		for number, r := range j.replicas {
			b.dropFailed(now, j, r)
			if r.gone = true; len(r.members) == 0 {
				b.forget(j, number)
			}
		}
		b.forgetJob(j)
	case berth.JobFinished:
		j := b.jobs[e.Job]
		j.cancelled = true
		for number, r := range j.replicas {
			open := b.open(r)
			b.drop(now, j, r, func(p *berth.MemberPlacement) bool { return !open[p.Ref()] })
			b.dropFailed(now, j, r)
			if r.gone = true; len(r.members) == 0 {
				b.forget(j, number)
			}
		}
		b.forgetJob(j)
	case berth.MemberFailed:
		j := b.jobs[e.Job]
		r := j.replicas[e.Replica]
		open := b.open(r)
		_, binding := b.orders[r.order].(berth.Bind)
		b.drop(now, j, r, func(p *berth.MemberPlacement) bool {
			meant := (e.Bind == 0 || e.Bind == r.binds[p.Ref()]) && slices.Contains(e.Members, p.Ref())
			if meant && open[p.Ref()] && binding {
				r.failed, b.last = append(r.failed, p.Ref()), append(b.last, r.order)
			}
			return meant && !open[p.Ref()]
		})
	}
}

// open is the set of members of the order that is out about a replica. They hold
// what they hold until it is reported.
func (b *book) open(r *replicaBook) map[berth.MemberRef]bool {
	refs := map[berth.MemberRef]bool{}
	if r == nil {
		return refs
	}
	var members []berth.MemberPlacement
	switch order := b.orders[r.order].(type) {
	case berth.Bind:
		members = order.Members
	case berth.Release:
		members = order.Members
	}
	for i := range members {
		refs[members[i].Ref()] = true
	}
	return refs
}

func replicasOf(j *berth.Job) int {
	if j.Service == nil {
		return 1
	}
	return j.Service.Replicas
}

func (b *book) add(spec *berth.Job) *jobBook {
	j := &jobBook{
		id: spec.ID, queue: spec.Queue, category: CategoryOf(spec), service: spec.Service != nil, wanted: replicasOf(spec),
		replicas: map[int]*replicaBook{},
	}
	for i := range spec.Groups {
		j.gpus += spec.Groups[i].Members * spec.Groups[i].Claim.GPUs
	}
	b.jobs[spec.ID] = j
	return j
}

// ask notes replicas that begin to wait.
func (b *book) ask(j *jobBook, now berth.Time, n int) {
	for range n {
		j.asked = append(j.asked, now)
	}
	b.rows[j.category].Submitted += max(n, 0)
}

// start notes members that hold capacity from now on.
func (b *book) start(now berth.Time, j *jobBook, number int, members []berth.MemberPlacement, bind berth.OrderID) {
	row := &b.rows[j.category]
	r := j.replicas[number]
	switch {
	case r == nil:
		r = &replicaBook{binds: map[berth.MemberRef]berth.OrderID{}, parts: map[berth.MemberRef]int64{}}
		j.replicas[number] = r
		row.Placed++
		if len(j.asked) > 0 {
			row.Waits = append(row.Waits, now.Sub(j.asked[0]))
			j.asked = j.asked[1:]
		}
	case len(r.members) == 0:
		row.Again++
	}
	r.members = append(r.members, members...)
	delete(b.orders, r.order)
	r.order, r.evicted = bind, false
	for i := range members {
		b.held[j.category] += b.milli(&members[i])
		r.parts[members[i].Ref()] = b.milli(&members[i])
		r.binds[members[i].Ref()] = bind
	}
}

// drop notes that members hold nothing any more.
func (b *book) drop(now berth.Time, j *jobBook, r *replicaBook, which func(*berth.MemberPlacement) bool) {
	if r == nil || len(r.members) == 0 {
		return
	}
	kept := r.members[:0]
	for i := range r.members {
		if which(&r.members[i]) {
			b.held[j.category] -= r.parts[r.members[i].Ref()]
		} else {
			kept = append(kept, r.members[i])
		}
	}
	if r.members = kept; len(kept) > 0 {
		return
	}
	r.since = now
	switch row := &b.rows[j.category]; {
	case r.gone || j.cancelled:
	case r.evicted:
		row.Evicted++
	default:
		row.Failed++
	}
}

// lose drops members wherever they are.
func (b *book) lose(now berth.Time, which func(*berth.MemberPlacement) bool) {
	for _, j := range b.jobs {
		for _, r := range j.replicas {
			b.drop(now, j, r, which)
		}
	}
}

// forget ends a replica that is gone for good.
func (b *book) forget(j *jobBook, number int) {
	delete(j.replicas, number)
	b.forgetJob(j)
}

func (b *book) forgetJob(j *jobBook) {
	if j.cancelled && len(j.replicas) == 0 && len(j.asked) == 0 {
		delete(b.jobs, j.id)
	}
}

// reported notes how an order ended. A Release of which members are left stays out.
func (b *book) reported(now berth.Time, e berth.OrderReported) {
	if c := b.changes[e.Order]; c != nil {
		b.changed(now, c, e.Outcome == berth.OutcomeDone)
		return
	}
	order := b.orders[e.Order]
	if order == nil {
		return // a checkpoint, written or not: the job runs on
	}
	h := order.Header()
	var members []berth.MemberPlacement
	release := false
	switch order := order.(type) {
	case berth.Bind:
		members = order.Members
	case berth.Release:
		members, release = order.Members, true
	}
	// The part of the order that holds nothing from now on.
	ended := func(ref berth.MemberRef) bool {
		failed := e.Outcome == berth.OutcomeFailed || e.Outcome == berth.OutcomePartial && slices.Contains(e.Members, ref)
		return failed != release
	}
	members = slices.DeleteFunc(slices.Clone(members), func(p berth.MemberPlacement) bool { return !ended(p.Ref()) })
	j := b.jobs[h.Job]
	if j == nil || j.replicas[h.Replica] == nil {
		delete(b.orders, e.Order)
		return
	}
	r := j.replicas[h.Replica]
	b.dropMembers(now, j, r, members)
	b.dropFailed(now, j, r)
	if release && len(members) > 0 && r.gone && len(r.members) == 0 {
		b.forget(j, h.Replica)
	}
	if !release || e.Outcome == berth.OutcomeDone || len(r.members) == 0 {
		delete(b.orders, e.Order)
	}
}

// dropFailed drops the members that died while they were being started.
func (b *book) dropFailed(now berth.Time, j *jobBook, r *replicaBook) {
	b.drop(now, j, r, func(p *berth.MemberPlacement) bool { return slices.Contains(r.failed, p.Ref()) })
	r.failed = nil
}

// dropMembers drops the members that a list names.
func (b *book) dropMembers(now berth.Time, j *jobBook, r *replicaBook, list []berth.MemberPlacement) {
	b.drop(now, j, r, func(p *berth.MemberPlacement) bool {
		return slices.ContainsFunc(list, func(m berth.MemberPlacement) bool { return m.Ref() == p.Ref() })
	})
}

func (b *book) scheduled(now berth.Time, actions []berth.Order) {
	b.expireChanges(now)
	b.expire(now)
	for _, a := range actions {
		if order, ok := a.(berth.Repartition); ok {
			b.ordered(order)
		}
		if release, ok := a.(berth.Release); ok {
			b.release(now, &release)
		}
	}
	for _, a := range actions {
		h := a.Header()
		j := b.jobs[h.Job]
		if j == nil {
			continue
		}
		switch a := a.(type) {
		case berth.Bind:
			b.shrink(now, j)
			if r := j.replicas[h.Replica]; r != nil { // the Bind before it is over, reported or not
				b.dropFailed(now, j, r)
			}
			b.start(now, j, h.Replica, a.Members, h.ID)
			b.orders[h.ID] = a
		case berth.Drop:
			b.rows[j.category].Withdrawn += len(j.asked)
			delete(b.jobs, h.Job)
		}
	}
	for _, j := range b.scaled {
		b.shrink(now, j)
	}
	b.scaled = b.scaled[:0]
}

// release notes a Release.
func (b *book) release(now berth.Time, a *berth.Release) {
	b.orders[a.ID] = *a
	if a.Attempt >= cmp.Or(b.policy.ReleaseAttempts, 3) {
		b.last = append(b.last, a.ID)
	}
	j := b.jobs[a.Job]
	if j == nil || j.replicas[a.Replica] == nil {
		return
	}
	r := j.replicas[a.Replica]
	b.dropFailed(now, j, r)
	delete(b.orders, r.order) // if it was out, this one took its place
	r.order = a.ID
	switch a.Cause.Code {
	case berth.CauseReclaimed, berth.CausePreempted, berth.CauseDrained, berth.CauseMoved, berth.CauseOverLimit, berth.CauseBudget:
		r.evicted = true
	case berth.CauseScaledDown, berth.CauseCancelled, berth.CauseMaxRuntime, berth.CauseIdle:
		if !r.gone && j.fewer > 0 {
			j.fewer--
		}
		r.gone = true
	case berth.CauseSurge:
		r.gone = true
	}
}

// expire notes the orders that were not reported in time, so that their members are taken for dead.
func (b *book) expire(now berth.Time) {
	b.last = slices.DeleteFunc(b.last, func(id berth.OrderID) bool {
		order, out := b.orders[id]
		if !out || order.Header().Deadline > now {
			return !out
		}
		delete(b.orders, id)
		h := order.Header()
		if j := b.jobs[h.Job]; j != nil && j.replicas[h.Replica] != nil {
			r := j.replicas[h.Replica]
			b.dropFailed(now, j, r)
			if release, ok := order.(berth.Release); ok {
				b.dropMembers(now, j, r, release.Members)
			}
			if r.gone && len(r.members) == 0 {
				b.forget(j, h.Replica)
			}
		}
		return true
	})
}

// shrink settles which replicas a service was scaled down by: those of them that
// ran are being released, the others waited, or died while they were being started, or were being
// released before for another reason, and do not come back.
func (b *book) shrink(now berth.Time, j *jobBook) {
	for ; j.fewer > 0 && len(j.asked) > 0; j.fewer-- {
		j.asked = j.asked[:len(j.asked)-1]
		b.rows[j.category].Withdrawn++
	}
	if j.fewer == 0 {
		return
	}
	for _, number := range slices.Backward(slices.Sorted(maps.Keys(j.replicas))) {
		r := j.replicas[number]
		if j.fewer == 0 || r.gone {
			continue
		}
		if !slices.ContainsFunc(r.members, func(p berth.MemberPlacement) bool { return !slices.Contains(r.failed, p.Ref()) }) {
			b.dropFailed(now, j, r) // none of it is left that would be released
		}
		if _, releasing := b.orders[r.order].(berth.Release); len(r.members) == 0 {
			b.forget(j, number)
			j.fewer--
		} else if releasing {
			r.gone = true
			j.fewer--
		}
	}
	j.fewer = 0
}
