package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

func (c *Core) queueSet(e berth.QueueSet) *berth.Error {
	_, known := c.quota.Lookup(e.Queue.Name)
	if !known && c.quota.Len() >= c.config.Limits.Queues {
		return refusal.Of(berth.ErrLimit, "queue", fmt.Sprintf("there are %d queues", c.config.Limits.Queues))
	}
	for _, name := range []struct{ field, value string }{{"name", e.Queue.Name}, {"parent", e.Queue.Parent}} {
		if err := refusal.Text(name.value); err != nil {
			return refusal.In(refusal.In(err, name.field), "queue")
		}
	}
	i, err := c.quota.Set(e.Queue)
	if err != nil {
		return quotaError(err)
	}
	c.ensureQueue(i)
	c.recountQueue(i)
	c.recountQueue(c.quota.Parent(i)) // it may be a leaf no more
	c.countKeeper(c.queues[i], len(e.Queue.LendingLimit) > 0)
	if c.ledger != nil && !c.restoring {
		c.tickLedger()
		c.ledger.Follow(c.quota, i) // its guarantee may have changed
	}
	c.agenda.quotaChanged(c.now)
	return nil
}

func (c *Core) queueRemoved(e berth.QueueRemoved) *berth.Error {
	i, known := c.quota.Lookup(string(e.Queue))
	if !known {
		return refusal.Of(berth.ErrUnknown, "queue", fmt.Sprintf("there is no queue %q", e.Queue))
	}
	if at := slices.IndexFunc(c.windows, func(w *window) bool { return w.queue == i }); at >= 0 {
		return refusal.Of(berth.ErrConflict, "queue", fmt.Sprintf("reservation %q is for it", c.windows[at].advance.ID))
	}
	parent := c.quota.Parent(i)
	if err := c.quota.Remove(string(e.Queue)); err != nil {
		return quotaError(err)
	}
	c.countKeeper(c.queues[i], false)
	c.queues[i] = nil
	c.recountQueue(parent)       // it may be a leaf again
	c.agenda.quotaChanged(c.now) // others may have what it did not lend
	return nil
}

// quotaError puts a refusal of the quota tree into the terms of this package.
func quotaError(err error) *berth.Error {
	out := &berth.Error{Kind: berth.ErrInvalid, Field: "queue", Reason: err.Error()}
	var q *quota.Error
	if errors.As(err, &q) {
		out.Reason = q.Reason
		if q.Field != "" {
			out.Field = "queue." + q.Field
		}
	}
	switch {
	case errors.Is(err, quota.ErrUnknown):
		out.Kind = berth.ErrUnknown
	case errors.Is(err, quota.ErrUnsupported):
		out.Kind = berth.ErrUnsupported
	case errors.Is(err, quota.ErrInUse):
		out.Kind = berth.ErrConflict
	case errors.Is(err, quota.ErrLimit):
		out.Kind = berth.ErrLimit
	}
	return out
}

func (c *Core) jobSubmitted(e berth.JobSubmitted) *berth.Error {
	j, err := c.newJob(&e.Job)
	if err == nil {
		err = c.roomFor(replicasOf(&e.Job))
	}
	if err != nil {
		return refusal.In(err, "job")
	}
	c.admit(j)
	for range replicasOf(&j.spec) {
		c.pend(c.newReplica(j))
	}
	return nil
}

// newJob checks a job and builds what the core keeps of it, without changing
// anything.
func (c *Core) newJob(spec *berth.Job) (*job, *berth.Error) {
	if err := c.checkJob(spec); err != nil {
		return nil, err
	}
	if c.jobs[spec.ID] != nil {
		return nil, refusal.Of(berth.ErrDuplicate, "id", fmt.Sprintf("job %q is known already", spec.ID))
	}
	q, known := c.quota.Lookup(string(spec.Queue))
	if !known {
		return nil, refusal.Of(berth.ErrUnknown, "queue", fmt.Sprintf("there is no queue %q", spec.Queue))
	}
	if !c.quota.Leaf(q) {
		return nil, refusal.Of(berth.ErrInvalid, "queue", fmt.Sprintf("%q has queues below it; jobs go to those", spec.Queue))
	}
	j := &job{spec: spec.Clone(), queue: q}
	total := 0
	for i := range j.spec.Groups {
		j.offsets = append(j.offsets, total)
		total += j.spec.Groups[i].Replicas
	}
	j.offsets = append(j.offsets, total)
	return j, nil
}

// roomFor refuses more replicas than the limits allow.
func (c *Core) roomFor(more int) *berth.Error {
	if more > c.config.Limits.Replicas-c.replicas {
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("%d more replicas: the core holds %d of at most %d", more, c.replicas, c.config.Limits.Replicas))
	}
	return nil
}

// admit makes a new job known.
func (c *Core) admit(j *job) {
	c.jobs[j.spec.ID] = j
	must(c.quota.Retain(j.queue))
	j.shape = c.gangShape(&j.spec)
	j.shape.users++
	c.totals.Submitted++
}

// newReplica gives a job a replica with the lowest number that is not in use.
func (c *Core) newReplica(j *job) *replica {
	for j.vacant < len(j.replicas) && j.replicas[j.vacant] != nil {
		j.vacant++
	}
	return c.newReplicaAt(j, j.vacant)
}

func (c *Core) newReplicaAt(j *job, number int) *replica {
	for number >= len(j.replicas) {
		j.replicas = append(j.replicas, nil)
	}
	rep := &replica{job: j, lifePart: lifePart{Number: number, Created: c.now, Incarnation: j.Former}}
	j.replicas[number] = rep
	j.live++
	c.replicas++
	return rep
}

func (c *Core) jobObserved(e berth.JobObserved) *berth.Error {
	j, err := c.newJob(&e.Job)
	if err == nil {
		err = c.roomFor(replicasOf(&e.Job))
	}
	if err != nil {
		return refusal.In(err, "job")
	}
	var held []gang.Hold
	seen := map[int]bool{}
	for i := range e.Running {
		r := &e.Running[i]
		if seen[r.Replica] {
			err = refusal.Of(berth.ErrDuplicate, "replica", fmt.Sprintf("replica %d is told of twice", r.Replica))
		} else if err = c.checkObserved(j, r); err == nil {
			held, err = c.holdObserved(j, r, held)
		}
		if err != nil {
			for k := range held {
				must(c.fleet.Release(held[k]))
				c.owners.releaseShare(held[k].Share)
			}
			return refusal.In(err, errtext.Index("running", i))
		}
		seen[r.Replica] = true
	}
	c.admit(j)
	for n := range replicasOf(&j.spec) {
		c.newReplicaAt(j, n)
	}
	for i := range e.Running {
		r := &e.Running[i]
		c.adopt(j, r, held[:len(r.Members)])
		held = held[len(r.Members):]
	}
	for _, rep := range j.replicas {
		if rep.State == berth.Pending {
			c.pend(rep)
		}
	}
	return nil
}

// checkObserved checks an observed replica as far as it can be without holding
// anything.
func (c *Core) checkObserved(j *job, r *berth.RunningReplica) *berth.Error {
	switch {
	case r.Replica < 0 || r.Replica >= replicasOf(&j.spec):
		return refusal.Of(berth.ErrInvalid, "replica", fmt.Sprintf("%d is outside 0..%d", r.Replica, replicasOf(&j.spec)-1))
	case r.Incarnation == 0 || r.Incarnation > limits.MaxIncarnation:
		return refusal.Of(berth.ErrInvalid, "incarnation", fmt.Sprintf("%d is outside 1..%d", r.Incarnation, limits.MaxIncarnation))
	case r.Started > c.now:
		return refusal.Of(berth.ErrInvalid, "started", "is in the future")
	}
	counts := make([]int, len(j.spec.Groups))
	seen := map[int]bool{}
	for i := range r.Members {
		p := &r.Members[i]
		flat := j.flat(p.Ref())
		if flat < 0 || seen[flat] {
			return refusal.Of(berth.ErrInvalid, errtext.Index("members", i), fmt.Sprintf("%v is no member of the gang, or is doubled", p.Ref()))
		}
		seen[flat] = true
		g := j.group(flat)
		counts[g]++
		err := c.checkPlacement(&j.spec.Groups[g].Claim, p)
		if err == nil {
			err = c.checkMode(&j.spec.Groups[g].Claim, p)
		}
		if err == nil {
			err = c.checkKnown(p)
		}
		if err != nil {
			return refusal.In(err, errtext.Index("members", i))
		}
	}
	for g, n := range counts {
		if least := least(&j.spec.Groups[g]); n < least {
			return refusal.Of(berth.ErrInvalid, "members", fmt.Sprintf("group %q has %d members of at least %d", j.spec.Groups[g].Name, n, least))
		}
	}
	return nil
}

// checkPlacement refuses a placement that does not have what its claim asks for.
func (c *Core) checkPlacement(cl *berth.Claim, p *berth.MemberPlacement) *berth.Error {
	n, err := c.knownNode("node", p.Node)
	if err != nil {
		return err
	}
	for _, g := range p.GPUs.Indexes() {
		switch {
		case g >= len(n.spec.GPUs):
			return refusal.Of(berth.ErrInvalid, "gpus", fmt.Sprintf("index %d is out of range: node %q has %d GPUs", g, p.Node, len(n.spec.GPUs)))
		case n.spec.GPUs[g].Failed:
			return refusal.Of(berth.ErrConflict, "gpus", fmt.Sprintf("GPU %d of node %q has failed", g, p.Node))
		}
	}
	gpus, milli := cl.GPUs, 0
	switch {
	case cl.Share != nil:
		gpus, milli = 1, cl.Share.Milli
	case cl.Instance():
		gpus = 1
	}
	if told := p.Instance != (mig.Placement{}); told != cl.Instance() {
		return refusal.Of(berth.ErrInvalid, "instance", fmt.Sprintf("told: %t; claimed: %t", told, cl.Instance()))
	}
	if p.GPUs.Len() != gpus {
		return refusal.Of(berth.ErrInvalid, "gpus", fmt.Sprintf("has %d GPUs; the claim is for %d", p.GPUs.Len(), gpus))
	}
	if p.ShareMilli != milli {
		return refusal.Of(berth.ErrInvalid, "shareMilli", fmt.Sprintf("is %d; the claim is for %d", p.ShareMilli, milli))
	}
	if p.ShareMemoryMiB != 0 && cl.Share == nil {
		return refusal.Of(berth.ErrInvalid, "shareMemoryMiB", "the claim is for no share")
	}
	return refusal.In(refusal.Amount(p.ShareMemoryMiB), "shareMemoryMiB")
}

// checkMode refuses a GPU that is divided and should not be, or the other way round.
// Between the other modes the GPU is in the one in which a member runs.
func (c *Core) checkMode(cl *berth.Claim, p *berth.MemberPlacement) *berth.Error {
	n := c.nodeByID[p.Node]
	for _, g := range p.GPUs.Indexes() {
		mode := n.spec.GPUs[g].Mode
		if mode != modeOf(cl) && (n.gpus[g].order != nil || mode == berth.ModeMIG || cl.Instance()) {
			return refusal.Of(berth.ErrConflict, "gpus", fmt.Sprintf("GPU %d of node %q is in mode %s; the claim needs %s", g, p.Node, mode, modeOf(cl)))
		}
	}
	return nil
}

// checkKnown refuses GPUs of which it is not known how they are divided.
func (c *Core) checkKnown(p *berth.MemberPlacement) *berth.Error {
	n := c.nodeByID[p.Node]
	for _, g := range p.GPUs.Indexes() {
		if n.gpus[g].Unknown {
			return refusal.Of(berth.ErrConflict, "gpus", fmt.Sprintf("how GPU %d of node %q is divided is not known: tell it with gpuPartitioned", g, p.Node))
		}
	}
	return nil
}

// modeOf is the mode in which the claim needs its GPUs.
func modeOf(cl *berth.Claim) berth.GPUMode {
	switch {
	case cl.Instance():
		return berth.ModeMIG
	case cl.Share == nil:
		return berth.ModeWhole
	case cl.Share.Mode == berth.MPS:
		return berth.ModeMPS
	}
	return berth.ModeTimeSlice
}

// holdObserved holds the members of an observed replica, in the order in which
// they are told. What it held is in the list it returns, even when it fails.
func (c *Core) holdObserved(j *job, r *berth.RunningReplica, held []gang.Hold) ([]gang.Hold, *berth.Error) {
	for i := range r.Members {
		p := &r.Members[i]
		hold := c.holdOf(j, p)
		if err := c.fleet.Adopt(hold); err != nil {
			c.owners.releaseShare(hold.Share)
			return held, refusal.Of(berth.ErrConflict, errtext.Index("members", i), err.Error())
		}
		held = append(held, hold)
	}
	return held, nil
}

// holdOf turns the placement of a member into what it holds. A share's owner is
// retained.
func (c *Core) holdOf(j *job, p *berth.MemberPlacement) gang.Hold {
	n := c.nodeByID[p.Node]
	cl := &j.spec.Groups[groupOf(&j.spec, p.Group)].Claim
	hold := gang.Hold{Node: n.index, GPUs: uint64(p.GPUs), Host: cl.Host(), Instance: p.Instance}
	if cl.Share != nil {
		memory := cmp.Or(p.ShareMemoryMiB, cl.Share.MemoryMiB, n.spec.GPUs[0].MemoryMiB*int64(cl.Share.Milli)/1000)
		owner := c.owners.retain(ownerKey{j.spec.Tenant, cl.Share.Mode})
		hold.Share = gang.Share{Milli: int32(cl.Share.Milli), MemoryMiB: memory, Owner: owner}
	}
	return hold
}

// adopt makes a new replica run on what is held for it.
func (c *Core) adopt(j *job, r *berth.RunningReplica, held []gang.Hold) {
	rep := j.replicas[r.Replica]
	rep.Incarnation = r.Incarnation
	rep.members = make([]member, j.members())
	for i := range held {
		flat := j.flat(r.Members[i].Ref())
		c.book(rep, flat, held[i], memberRunning)
		c.intrude(c.nodes[held[i].Node], &held[i])
		rep.members[flat].Ran = true
		c.owners.releaseShare(held[i].Share) // book has counted it
		for _, g := range r.Members[i].GPUs.Indexes() {
			c.nodes[held[i].Node].spec.GPUs[g].Mode = c.modeFor(&held[i])
		}
	}
	rep.State = berth.Binding
	c.run(rep, r.Started)
	c.encloseExclusive(rep)
	c.agenda.freedQuota() // what is taken may move a search off a limited product
}

func (c *Core) jobScaled(e berth.JobScaled) *berth.Error {
	j, err := c.knownJob("job", e.Job)
	if err != nil {
		return err
	}
	if j.spec.Service == nil {
		return refusal.Of(berth.ErrInvalid, "job", "is not a service")
	}
	if j.Cancelled {
		return refusal.Of(berth.ErrConflict, "job", "is being cancelled")
	}
	if err := c.checkReplicas(e.Replicas); err != nil {
		return refusal.In(err, "replicas")
	}
	kept := j.kept()
	if err := c.roomFor(max(0, e.Replicas-len(kept))); err != nil {
		return refusal.In(err, "replicas")
	}
	j.spec.Service.Replicas = e.Replicas
	for range e.Replicas - len(kept) {
		c.pend(c.newReplica(j))
	}
	slices.SortFunc(kept, func(a, b *replica) int {
		return cmp.Or(compareBool(a.State != berth.Running, b.State != berth.Running), cmp.Compare(a.Number, b.Number))
	})
	for _, rep := range kept[min(len(kept), e.Replicas):] {
		c.takeBack(rep, berth.Cause{Code: berth.CauseScaledDown}, true)
	}
	return nil
}

// kept lists the replicas that are not on their way out.
func (j *job) kept() []*replica {
	var kept []*replica
	for _, rep := range j.replicas {
		if rep != nil && !rep.release.Gone {
			kept = append(kept, rep)
		}
	}
	return kept
}

func (c *Core) jobCancelled(e berth.JobCancelled) *berth.Error {
	j, err := c.knownJob("job", e.Job)
	if err != nil {
		return err
	}
	if j.Cancelled {
		return refusal.Of(berth.ErrStale, "job", "is being cancelled already")
	}
	j.Cancelled = true
	c.totals.Cancelled++
	if j.live == 0 {
		c.forgetJob(j)
		return nil
	}
	for _, rep := range slices.Clone(j.replicas) {
		if rep != nil {
			c.takeBack(rep, berth.Cause{Code: berth.CauseCancelled}, true)
		}
	}
	return nil
}

func (c *Core) knownJob(field string, id berth.JobID) (*job, *berth.Error) {
	if j := c.jobs[id]; j != nil {
		return j, nil
	}
	return nil, refusal.Of(berth.ErrUnknown, field, fmt.Sprintf("job %q is not known", id))
}
