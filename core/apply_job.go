package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/quota"
)

func (c *Core) queueSet(e berth.QueueSet) *berth.Error {
	_, known := c.state.Quota.Lookup(e.Queue.Name)
	if !known && c.state.Quota.Len() >= c.state.Config.Limits.Queues {
		return refusal.Of(berth.ErrLimit, "queue", fmt.Sprintf("there are %d queues, see Limits.Queues", c.state.Config.Limits.Queues))
	}
	for _, name := range []struct {
		field string
		value berth.QueueID
	}{{"name", e.Queue.Name}, {"parent", e.Queue.Parent}} {
		if err := refusal.Text(string(name.value)); err != nil {
			return refusal.In(refusal.In(err, name.field), "queue")
		}
	}
	i, err := c.books.SetQueue(e.Queue)
	if err != nil {
		return quotaError(err)
	}
	c.backlog.EnsureQueue(i)
	c.books.RecountQueue(i)
	c.books.RecountQueue(c.state.Quota.Parent(i)) // it may be a leaf no more
	c.books.CountKeeper(c.books.Queues[i], len(e.Queue.LendingLimit) > 0)
	if c.books.Ledger != nil && !c.books.Restoring {
		c.books.TickLedger()
		c.books.Ledger.Follow(c.state.Quota, i) // its guarantee may have changed
	}
	c.agenda.QuotaChanged(c.state.Now)
	if !c.books.Restoring {
		c.books.NoteOverLimit(i)
	}
	return nil
}

func (c *Core) queueRemoved(e berth.QueueRemoved) *berth.Error {
	i, known := c.state.Quota.Lookup(e.Queue)
	if !known {
		return refusal.Of(berth.ErrUnknown, "queue", fmt.Sprintf("there is no queue %q", errtext.Short(e.Queue)))
	}
	if at := slices.IndexFunc(c.backlog.Reservations, func(res *record.Reservation) bool { return res.Queue == i }); at >= 0 {
		return refusal.Of(berth.ErrConflict, "queue", fmt.Sprintf("reservation %q is for this queue", errtext.Short(c.backlog.Reservations[at].Advance.ID)))
	}
	parent := c.state.Quota.Parent(i)
	if err := c.books.RemoveQueue(i, e.Queue); err != nil {
		return quotaError(err)
	}
	c.books.RecountQueue(parent)       // it may be a leaf again
	c.agenda.QuotaChanged(c.state.Now) // others may have what it did not lend
	return nil
}

// quotaError puts a refusal of the quota tree into the terms of package berth.
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
	j, err := c.admission.NewJob(&e.Job)
	if err == nil {
		err = c.roomFor(j.Spec.Gangs())
	}
	if err == nil {
		j.Gate, err = c.state.NewGate(j)
	}
	if err != nil {
		return refusal.In(err, "job")
	}
	c.books.Admit(j)
	c.scoring.Submitted(j)
	c.addReplicas(j, j.Spec.Gangs())
	return nil
}

// roomFor refuses more replicas than the limits allow.
func (c *Core) roomFor(more int) *berth.Error {
	if more > c.state.Config.Limits.Replicas-c.state.Replicas {
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("%d more replicas: the core holds %d of at most %d, see Limits.Replicas", more, c.state.Replicas, c.state.Config.Limits.Replicas))
	}
	return nil
}

// addReplicas gives a job so many replicas, which wait, with the lowest numbers that are not in
// use. The cost does not depend on how many they are.
func (c *Core) addReplicas(j *record.Job, many int) {
	if j.Gate == nil {
		c.life.NoteArrival(j)
	}
	var first [1][2]int // there is no more for a new job
	for _, numbers := range j.Vacancies(first[:0], many) {
		c.life.PendBatch(c.state.NewReplicaAt(j, numbers[0]), numbers[1]-numbers[0]-1)
	}
}

func (c *Core) jobObserved(e berth.JobObserved) *berth.Error {
	j, err := c.admission.NewJob(&e.Job)
	if err == nil {
		err = c.roomFor(max(j.Spec.Gangs(), len(e.Running)))
	}
	if err == nil && len(e.Running) == 0 {
		j.Gate, err = c.state.NewGate(j)
	}
	if err != nil {
		return refusal.In(err, "job")
	}
	var held []gang.Hold
	seen := map[int]bool{}
	for i := range e.Running {
		r := &e.Running[i]
		if seen[r.Replica] {
			err = refusal.Of(berth.ErrDuplicate, "replica", fmt.Sprintf("replica %d is named twice", r.Replica))
		} else if err = c.checkObserved(j, r); err == nil {
			held, err = c.holdObserved(j, r, held)
		}
		if err != nil {
			for k := range held {
				c.books.Release(held[k])
				c.catalogue.Owners.ReleaseShare(held[k].Share)
			}
			return refusal.In(err, errtext.Index("running", i))
		}
		seen[r.Replica] = true
	}
	c.books.Admit(j)
	c.scoring.Submitted(j)
	if j.Gate == nil {
		c.life.SkipGate(j)
	}
	for i := range e.Running {
		r := &e.Running[i]
		c.adopt(j, r, held[:len(r.Members)])
		held = held[len(r.Members):]
	}
	c.addReplicas(j, j.Spec.Gangs()-len(e.Running))
	if len(e.Running) > j.Spec.Gangs() { // in the middle of a surge
		c.takeBack(partsOf(j), j.Spec.Gangs(), berth.Cause{Code: berth.CauseScaledDown})
	}
	c.books.NoteOverLimit(j.Queue)
	return nil
}

// checkObserved checks an observed replica as far as it can be without holding anything. The job,
// which nobody knows yet, becomes what it is observed as.
func (c *Core) checkObserved(j *record.Job, r *berth.ObservedReplica) *berth.Error {
	switch {
	case r.Replica < 0 || r.Replica >= j.Most():
		return refusal.Of(berth.ErrInvalid, "replica", fmt.Sprintf("%d is outside 0..%d", r.Replica, j.Most()-1))
	case r.Incarnation == 0 || r.Incarnation > limits.MaxIncarnation:
		return refusal.Of(berth.ErrInvalid, "incarnation", fmt.Sprintf("%d is outside 1..%d", r.Incarnation, limits.MaxIncarnation))
	case r.Started > c.state.Now:
		return refusal.Of(berth.ErrInvalid, "started", "is in the future")
	case r.Alternative < 0 || r.Alternative >= j.Pattern.Many():
		return refusal.Of(berth.ErrInvalid, "alternative", fmt.Sprintf("%d is outside 0..%d, the alternatives of the job", r.Alternative, j.Pattern.Many()-1))
	}
	j.Become(r.Alternative)
	counts := make([]int, len(j.Spec.Groups))
	seen := map[int]bool{}
	for i := range r.Members {
		p := &r.Members[i]
		flat := j.Flat(p.Ref())
		if flat < 0 || seen[flat] {
			return refusal.Of(berth.ErrInvalid, errtext.Index("members", i), fmt.Sprintf("%s is not a member of the gang, or is named twice", errtext.Short(p.Ref().String())))
		}
		seen[flat] = true
		g := j.Group(flat)
		counts[g]++
		err := c.backlog.CheckPlacement(&j.Spec.Groups[g].Claim, p)
		if err == nil {
			err = c.admission.CheckMode(&j.Spec.Groups[g].Claim, p)
		}
		if err == nil {
			err = c.checkKnown(p)
		}
		if err != nil {
			return refusal.In(err, errtext.Index("members", i))
		}
	}
	for g, n := range counts {
		if least := record.Least(&j.Spec.Groups[g]); n < least {
			return refusal.Of(berth.ErrInvalid, "members", fmt.Sprintf("group %q has %d members of at least %d", errtext.Short(j.Spec.Groups[g].Name), n, least))
		}
	}
	return nil
}

// checkKnown refuses GPUs of which it is not known how they are divided.
func (c *Core) checkKnown(p *berth.MemberPlacement) *berth.Error {
	n := c.state.NodeByID[p.Node]
	for _, g := range p.GPUs.Indexes() {
		if n.GPUs[g].Get().Unknown() {
			return refusal.Of(berth.ErrConflict, "gpus", fmt.Sprintf("the partitioning of GPU %d of node %q is unknown: report it with gpuPartitioned", g, errtext.Short(p.Node)))
		}
	}
	return nil
}

// holdObserved holds the members of an observed replica, in the order in which
// they are told. What it held is in the list it returns, even when it fails.
func (c *Core) holdObserved(j *record.Job, r *berth.ObservedReplica, held []gang.Hold) ([]gang.Hold, *berth.Error) {
	for i := range r.Members {
		p := &r.Members[i]
		hold := c.backlog.HoldOf(j, p)
		if err := c.adoptHold(j, &hold); err != nil {
			c.catalogue.Owners.ReleaseShare(hold.Share)
			return held, refusal.In(err, errtext.Index("members", i))
		}
		held = append(held, hold)
	}
	return held, nil
}

// adoptHold holds what a member of a job is told to have, if a lender or a borrower agrees.
func (c *Core) adoptHold(j *record.Job, h *gang.Hold) *berth.Error {
	if err := c.checkLoan(j, h); err != nil {
		return err
	}
	if err := c.books.Adopt(*h); err != nil {
		return refusal.Of(berth.ErrConflict, "", err.Error())
	}
	return nil
}

// checkLoan refuses a borrower over a GPU that is not lent to it, and a holder of a GPU under a
// borrower to which it does not lend. Either may be told first.
func (c *Core) checkLoan(j *record.Job, h *gang.Hold) *berth.Error {
	if !h.Share.Over && !record.IsWhole(h) {
		return nil
	}
	n := c.state.Nodes[h.Node]
	for _, at := range n.Members {
		m := &at.Rep.Members[at.Index]
		if m.Hold.GPUs&h.GPUs == 0 || m.Hold.Share.Over == h.Share.Over {
			continue
		}
		lender, borrower, memory := at.Rep.Job, j, h.Share.MemoryMiB
		if m.Hold.Share.Over {
			lender, borrower, memory = j, at.Rep.Job, m.Hold.Share.MemoryMiB
		}
		trusts := lender.TrustDomain() == borrower.TrustDomain()
		if lend := lender.Spec.Lend; lend == nil || !trusts || lend.MemoryMiB+memory > n.Spec.GPUMemoryMiB {
			return refusal.Of(berth.ErrConflict, "gpus", fmt.Sprintf("job %q does not lend so much of it to job %q", errtext.Short(lender.Spec.ID), errtext.Short(borrower.Spec.ID)))
		}
	}
	return nil
}

// adopt makes a new replica run on what is held for it.
func (c *Core) adopt(j *record.Job, r *berth.ObservedReplica, held []gang.Hold) {
	rep := c.state.NewReplicaAt(j, r.Replica)
	c.life.Begin(rep, r.Incarnation)
	rep.Members = make([]record.Member, j.Members())
	for i := range held {
		flat := j.Flat(r.Members[i].Ref())
		c.books.Book(rep, flat, held[i], record.MemberObserved)
		c.backlog.Intrude(c.state.Nodes[held[i].Node], &held[i])
		rep.Members[flat].Ran = true
		c.catalogue.Owners.ReleaseShare(held[i].Share) // book has counted it
		for _, g := range r.Members[i].GPUs.Indexes() {
			c.state.Nodes[held[i].Node].Spec.GPUs[g].Mode = c.gpus.ModeFor(&held[i])
		}
	}
	c.life.Observe(rep, r.Started)
	c.backlog.EncloseExclusive(rep)
	c.agenda.FreedQuota() // what is taken may move a search off a limited product
}

func (c *Core) jobScaled(e berth.JobScaled) *berth.Error {
	j, err := c.books.KnownJob("job", e.Job)
	if err != nil {
		return err
	}
	if j.Spec.Service == nil {
		return refusal.Of(berth.ErrInvalid, "job", "is not a service")
	}
	if j.Cancelled {
		return refusal.Of(berth.ErrConflict, "job", "is being cancelled")
	}
	if err := c.admission.CheckReplicas(e.Replicas); err != nil {
		return refusal.In(err, "replicas")
	}
	list := slices.DeleteFunc(partsOf(j), func(p part) bool { return p.rep != nil && (p.rep.Release.Get().Gone || p.rep.IsStandIn()) })
	kept := 0
	for _, p := range list {
		kept += p.many
	}
	if err := c.roomFor(max(0, e.Replicas-kept)); err != nil {
		return refusal.In(err, "replicas")
	}
	service := *j.Spec.Service // what was saved has the former one
	service.Replicas = e.Replicas
	j.Spec.Service = &service
	if e.Replicas > kept {
		c.addReplicas(j, e.Replicas-kept)
		return nil
	}
	slices.SortStableFunc(list, func(a, b part) int { return values.CompareBool(!a.runs(), !b.runs()) })
	c.takeBack(list, e.Replicas, berth.Cause{Code: berth.CauseScaledDown})
	return nil
}

// A part is a replica of a job, or the replicas of a batch.
type part struct {
	rep        *record.Replica
	batch      *record.Batch
	from, many int // the numbers
}

func (p part) runs() bool { return p.rep != nil && p.rep.State == berth.ReplicaRunning }

// partsOf lists the replicas of a job by number.
func partsOf(j *record.Job) []part {
	var list []part
	for rep := range j.Replicas.All() {
		list = append(list, part{rep: rep, from: rep.Number, many: 1})
	}
	for _, t := range j.Batches() {
		list = append(list, part{batch: t, from: t.Next, many: t.Len()})
	}
	slices.SortFunc(list, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	return list
}

// takeBack has all replicas of a list go but so many of the first.
func (c *Core) takeBack(list []part, keep int, cause berth.Cause) {
	for _, p := range list {
		switch {
		case keep >= p.many:
			keep -= p.many
		case p.rep != nil && p.rep.State == record.ReplicaGone: // a stand-in went with the other
		case p.rep != nil:
			c.life.TakeBack(p.rep, cause, true)
		default:
			c.life.ForgetBatch(p.batch, max(p.batch.Next, p.from+keep))
			if p.batch.Next > p.from { // a record since the one before it went
				c.life.TakeBack(p.batch.Job.Replicas.At(p.from), cause, true)
			}
			keep = 0
		}
	}
}

func (c *Core) jobCancelled(e berth.JobCancelled) *berth.Error {
	j, err := c.books.KnownJob("job", e.Job)
	if err != nil {
		return err
	}
	if j.Cancelled {
		return refusal.Of(berth.ErrStale, "job", "is ending already")
	}
	j.Cancelled = true
	c.state.Totals.JobsCancelled++
	if j.Live == 0 {
		c.life.ForgetJob(j)
		return nil
	}
	c.takeBack(partsOf(j), 0, berth.Cause{Code: berth.CauseCancelled})
	return nil
}

func (c *Core) restoreQueues(list []quota.Queue) *berth.Error {
	for i := range list {
		if err := c.queueSet(berth.QueueSet{Queue: list[i]}); err != nil {
			err.Field = strings.TrimPrefix(strings.TrimPrefix(err.Field, "queue"), ".") // a snapshot has the queue itself
			return refusal.In(err, errtext.Index("queues", i))
		}
	}
	return nil
}
