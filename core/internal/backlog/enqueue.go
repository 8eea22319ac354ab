package backlog

import (
	"cmp"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/mig"
)

// CheckPlacement refuses a placement that does not have what its claim asks for.
func (bl *Backlog) CheckPlacement(cl *berth.Claim, p *berth.MemberPlacement) *berth.Error {
	n, err := bl.KnownNode("node", p.Node)
	if err != nil {
		return err
	}
	for _, g := range p.GPUs.Indexes() {
		switch {
		case g >= len(n.Spec.GPUs):
			return refusal.Of(berth.ErrInvalid, "gpus", fmt.Sprintf("index %d is out of range: node %q has %d GPUs", g, errtext.Short(p.Node), len(n.Spec.GPUs)))
		case n.Spec.GPUs[g].Failed:
			return refusal.Of(berth.ErrConflict, "gpus", fmt.Sprintf("GPU %d of node %q has failed", g, errtext.Short(p.Node)))
		}
	}
	gpus, milli := cl.GPUs, 0
	switch {
	case cl.Share != nil:
		gpus, milli = 1, cl.Share.GPUMilli
	case cl.WantsInstance(), cl.Borrow != nil:
		gpus = 1
	}
	if p.Borrowed != (cl.Borrow != nil) {
		return refusal.Of(berth.ErrInvalid, "borrowed", fmt.Sprintf("is %v, and the claim is for another kind of GPU", p.Borrowed))
	}
	if told := p.Instance != (mig.Placement{}); told != cl.WantsInstance() {
		if told {
			return refusal.Of(berth.ErrInvalid, "instance", "is given, and the claim is for none")
		}
		return refusal.Of(berth.ErrInvalid, "instance", "is not given, and the claim is for one")
	}
	if p.GPUs.Len() != gpus {
		return refusal.Of(berth.ErrInvalid, "gpus", fmt.Sprintf("has %d GPUs; the claim is for %d", p.GPUs.Len(), gpus))
	}
	if p.ShareMilli != milli {
		return refusal.Of(berth.ErrInvalid, "shareMilli", fmt.Sprintf("is %d; the claim is for %d", p.ShareMilli, milli))
	}
	if p.ShareMemoryMiB != 0 && cl.Share == nil && cl.Borrow == nil {
		return refusal.Of(berth.ErrInvalid, "shareMemoryMiB", "the claim is for no share, and for no borrowed GPU")
	}
	return refusal.In(refusal.Amount(p.ShareMemoryMiB), "shareMemoryMiB")
}

// HoldOf turns the placement of a member into what it holds. A share's owner is
// retained.
func (bl *Backlog) HoldOf(j *record.Job, p *berth.MemberPlacement) gang.Hold {
	n := bl.state.NodeByID[p.Node]
	cl := &j.Spec.Groups[j.Spec.Group(p.Group)].Claim
	hold := gang.Hold{Node: n.Index, GPUs: uint64(p.GPUs), Host: cl.Host(), Declared: bl.state.Declared(cl.Resources), Instance: p.Instance}
	key, some := catalogue.OwnerOf(j.TrustDomain(), cl)
	if !some {
		return hold
	}
	if owner := bl.catalogue.Owners.Retain(key); cl.Borrow != nil {
		hold.Share = gang.Over(owner, cmp.Or(p.ShareMemoryMiB, cl.Borrow.MemoryMiB))
	} else {
		hold.Share = gang.Share{GPUMilli: int32(cl.Share.GPUMilli), MemoryMiB: cmp.Or(p.ShareMemoryMiB, n.ShareMemory(cl.Share)), Owner: owner}
	}
	return hold
}

// Stood is a member as it would be where it stood before it died. False: its node is gone, or is
// another by now.
func (bl *Backlog) Stood(rep *record.Replica, p *berth.MemberPlacement) (record.Member, bool) {
	claim := &rep.Job.Spec.Groups[rep.Job.Spec.Group(p.Group)].Claim
	if bl.CheckPlacement(claim, p) != nil {
		return record.Member{}, false
	}
	hold := bl.HoldOf(rep.Job, p)
	bl.catalogue.Owners.ReleaseShare(hold.Share) // as long as the job waits, its shape retains it
	return record.ImaginedMember(hold, bl.state.NodeByID[p.Node]), true
}

// KnownNode finds a node that an event names in a field, and refuses one that is not in the
// fleet.
func (bl *Backlog) KnownNode(field string, id berth.NodeID) (*record.Node, *berth.Error) {
	if n := bl.state.NodeByID[id]; n != nil {
		return n, nil
	}
	return nil, refusal.Of(berth.ErrUnknown, field, fmt.Sprintf("node %q is not in the fleet", errtext.Short(id)))
}
