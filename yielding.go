package berth

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// A Preemption says who has to yield to whom, and how.
//
// What waits may take the place of what runs by two rules that know nothing of each
// other. Within a queue, a job of a higher class or, in the same class, of a higher
// priority takes the place of one that is not latency-critical (preemption). Between
// queues, what was lent is given back, whatever it is that runs there: by the rules of
// package quota, from queues that use more than they are guaranteed or than their fair
// share, to those that would stay within theirs (reclaim). Priorities of jobs say nothing
// between queues, and guarantees nothing within one.
type Preemption struct {
	// Mode is which of the two rules hold.
	Mode PreemptionMode `json:"mode,omitzero"`
	// MinRuntime is how long a job runs at least before it has to yield; Job.MinRuntime
	// counts if it is longer. Default 0.
	MinRuntime Duration `json:"minRuntime,omitempty"`
	// CheckpointTimeout is how long a job has to write a checkpoint before it is stopped;
	// default 5 minutes.
	CheckpointTimeout Duration `json:"checkpointTimeout,omitempty"`
}

// A PreemptionMode says by what rules something that runs has to yield.
type PreemptionMode uint8

const (
	// PreemptAndReclaim: within queues and between them.
	PreemptAndReclaim PreemptionMode = iota
	// PreemptReclaim: between queues alone.
	PreemptReclaim
	// PreemptNever: nothing that runs is stopped for something else.
	PreemptNever
)

var preemptionModeNames = [...]string{"on", "reclaim", "never"}

// ParsePreemptionMode is the inverse of PreemptionMode.String.
func ParsePreemptionMode(s string) (PreemptionMode, error) {
	v, err := parseEnum("mode", preemptionModeNames[:], s)
	return PreemptionMode(v), err
}

func (m PreemptionMode) String() string {
	return enumName("PreemptionMode", preemptionModeNames[:], uint8(m))
}

func (m PreemptionMode) MarshalText() ([]byte, error) {
	return marshalEnum("mode", preemptionModeNames[:], uint8(m))
}

func (m *PreemptionMode) UnmarshalText(b []byte) error {
	v, err := ParsePreemptionMode(string(b))
	if err == nil {
		*m = v
	}
	return err
}

// A preemption is room that is being made for a replica that waits, its beneficiary: who
// has to go for it, and what it will hold then. Until then the nodes are set aside for it,
// as a reservation is, so that nobody slips in between. It ends when the beneficiary
// starts, there or elsewhere, or waits no more; when one of the nodes goes or changes, or
// somebody that ranks above it takes its place; and when it has taken too long. Who was
// asked for a checkpoint and not stopped yet then goes on.
//
//	          RequestCheckpoint            Release
//	runs ──────────────────────▶ asked ──────────────▶ stopping ──▶ pending, or gone
//	  ▲ ╲                          │  Done, Failed, or    ▲
//	  │  ╲                Withdraw │  its deadline        │
//	  └───╲────────────────────────┘                      │
//	       ╲──────────────────────────────────────────────┘
//	         Release at once, if it writes no checkpoints
type preemption struct {
	// where has the members of the beneficiary as planned.
	where []gang.Member
	// charges are what its queue will be charged, in all, by product.
	charges []quota.Charge
	// victims that still hold something, by job and number.
	victims []*replica
}

// newPreemption plans room for a gang.
func (c *Core) newPreemption(where []gang.Member, victims []*replica) *preemption {
	p := &preemption{where: where, victims: victims}
	for i := range where {
		charge := chargeOf(&where[i].Hold, c.nodes[where[i].Hold.Node])
		at := slices.IndexFunc(p.charges, func(sum quota.Charge) bool { return sum.Product == charge.Product })
		if at < 0 {
			at = len(p.charges)
			p.charges = append(p.charges, quota.Charge{Product: charge.Product})
		}
		sum := &p.charges[at]
		sum.GPUMilli += charge.GPUMilli
		sum.CPUMilli += charge.CPUMilli
		sum.MemoryMiB += charge.MemoryMiB
	}
	return p
}

// ask has a replica yield to another.
func (c *Core) ask(victim, rep *replica) {
	victim.yieldsTo = rep
	c.leaving.ReplaceOrInsert(victim)
	cause := Cause{Code: CausePreempted, For: rep.ref()}
	if victim.job.queue != rep.job.queue {
		cause.Code = CauseReclaimed
		cause.Detail = "queue " + string(rep.job.spec.Queue)
	}
	if !victim.job.spec.Checkpoint.Supported {
		c.evict(victim, cause)
		return
	}
	c.unawait(victim)
	victim.order = RequestCheckpoint{Order: c.order(victim, c.config.Policy.Preemption.CheckpointTimeout, cause)}
	c.openOrder(victim)
	c.totals.CheckpointsAsked++
}

// evict stops a replica that has to yield.
func (c *Core) evict(victim *replica, cause Cause) {
	c.totals.Evicted++
	c.takeBack(victim, cause, false)
}

func (rep *replica) ref() ReplicaRef { return ReplicaRef{rep.job.spec.ID, rep.number} }

// asked reports whether a checkpoint was requested of a replica.
func (rep *replica) asked() bool {
	_, asked := rep.order.(RequestCheckpoint)
	return asked
}

// stray reports whether a checkpoint was requested of a replica that need not yield any
// more.
func (rep *replica) stray() bool { return rep.yieldsTo == nil && rep.asked() }

// checkpointReported handles the answer of a replica that was asked for a checkpoint.
func (c *Core) checkpointReported(rep *replica, e *ActionReported) *Error {
	if e.Outcome != Done && e.Outcome != Failed || len(e.Members) > 0 {
		return refuse(ErrInvalid, "outcome", fmt.Sprintf("a checkpoint is done or has failed, as a whole; not %s with %d members", e.Outcome, len(e.Members)))
	}
	if e.Outcome == Done {
		rep.checkpointed = c.now
	}
	cause := rep.order.Header().Cause
	if e.Outcome == Failed {
		cause.Detail += separator(cause.Detail) + detail("it wrote no checkpoint", e.Reason)
	}
	c.closeOrder(rep)
	c.answered(rep, cause)
	return nil
}

// answered has a replica go that was asked for a checkpoint and need not be waited for any
// longer; or go on, if nobody needs its place by now.
func (c *Core) answered(rep *replica, cause Cause) {
	if rep.yieldsTo != nil {
		c.evict(rep, cause)
		return
	}
	c.todo.Delete(rep)
	c.await(rep)
}

// withdrawRequest tells a replica that it need not yield.
func (c *Core) withdrawRequest(rep *replica) {
	request := rep.order.Header().ID
	c.closeOrder(rep)
	c.out = append(c.out, Withdraw{Order: c.order(rep, 0, Cause{Code: CauseNotNeeded}), Request: request})
	c.totals.Withdrawn++
	c.await(rep)
}

// vacated notes that a replica holds nothing any more, or need not yield.
func (c *Core) vacated(rep *replica) {
	if beneficiary := rep.yieldsTo; beneficiary != nil {
		rep.yieldsTo = nil
		p := beneficiary.reserved.preemption
		i := slices.Index(p.victims, rep)
		p.victims = slices.Delete(p.victims, i, i+1)
	}
	c.leaving.Delete(rep)
}

// earmark charges those for whom room is being made with what they are to have, and back:
// from the moment on at which a pass has started those who could, until it is over, so
// that nobody is started on the quota that is freed for them. What is held may exceed a
// limit for as long as victims hold something too; then others wait.
func (c *Core) earmark(on bool) {
	for _, w := range c.windows {
		if w.preemption != nil {
			c.earmarkFor(w, on)
		}
	}
	c.earmarked = on
	if !on {
		for _, q := range c.uncounted {
			c.countLender(q)
			if c.ledger != nil {
				c.ledger.Follow(c.quota, q)
			}
		}
		c.uncounted = c.uncounted[:0]
	}
}

// affords reports whether a queue may be charged, with what is earmarked for others and
// without: an earmark may be borne by what the queue keeps for itself, which it goes on
// to keep until it uses it.
func (c *Core) affords(q quota.Index, charge quota.Charge) bool {
	_, ok := c.quota.Fits(q, charge)
	if !ok || !c.earmarked || c.keeping == 0 || !slices.ContainsFunc(c.windows, func(w *window) bool { return w.preemption != nil && !w.unmarked }) {
		return ok
	}
	for _, w := range c.windows {
		if w.preemption != nil && !w.unmarked {
			c.earmarkFor(w, false)
		}
	}
	_, ok = c.quota.Fits(q, charge)
	for _, w := range c.windows {
		if w.preemption != nil && !w.unmarked {
			c.earmarkFor(w, true)
		}
	}
	return ok
}

func (c *Core) earmarkFor(w *window, on bool) {
	for _, charge := range w.preemption.charges {
		if on {
			must(c.quota.Charge(w.rep.job.queue, charge))
		} else {
			must(c.quota.Discharge(w.rep.job.queue, charge))
		}
	}
}

// withoutEarmark calls a function that may start a replica, as if nothing were kept for that
// one.
func (c *Core) withoutEarmark(rep *replica, start func()) {
	w := rep.reserved
	if !c.earmarked || w == nil || w.preemption == nil {
		start()
		return
	}
	c.earmarkFor(w, false)
	w.unmarked = true
	start()
	if w.unmarked = false; rep.reserved == w {
		c.earmarkFor(w, true)
	}
}

// endPreemption has those go on that were asked for a checkpoint in vain: the next pass
// tells them. Who is stopped already is not to be held up.
func (c *Core) endPreemption(w *window) {
	p := w.preemption
	if c.earmarked && !w.unmarked {
		c.earmarkFor(w, false)
	}
	c.quotaFreed = true
	for _, victim := range slices.Clone(p.victims) {
		releasing := victim.state == Releasing
		victim.yieldsTo = nil
		if !releasing {
			c.leaving.Delete(victim)
			c.todo.ReplaceOrInsert(victim)
			c.spoilPlans(victim)
		}
	}
	p.victims = nil
}

// spoilPlans ends the preemptions that count on the end of a replica that stays.
func (c *Core) spoilPlans(stays *replica) {
	for flat := range stays.members {
		if m := &stays.members[flat]; m.state.holds() {
			for _, w := range slices.Clone(m.node.windows) {
				if w.preemption != nil && w.isReservation() {
					c.endWindow(w)
				}
			}
		}
	}
}

// takePlace starts the beneficiary of a preemption where it was planned, if all of that is
// free by now. Where a group is spread depends on nodes that it is not on, so that it is
// searched for anew.
func (c *Core) takePlace(e *entry, p *preemption) bool {
	spec := &e.bucket.shape.spec
	if slices.ContainsFunc(spec.Groups, func(g Group) bool { return g.Topology.Spread != "" }) {
		return false
	}
	if idle := c.idle(spec); idle != nil && slices.ContainsFunc(p.where, func(m gang.Member) bool { return !idle(c.nodes[m.Hold.Node]) }) {
		return false
	}
	if c.inTheWay(e.rep, p) || !c.hold(p.where) {
		return false
	}
	c.placement.Members = append(c.placement.Members[:0], p.where...)
	e.rep.members = make([]member, e.rep.job.members())
	if _, ok := c.bookPlacement(e.rep, 0); !ok {
		e.rep.members = nil
		return false
	}
	c.placed(e, Cause{Code: CauseRoomMade})
	return true
}

// inTheWay reports whether a node on which a beneficiary is planned has come to be set aside
// for somebody who does not have it there.
func (c *Core) inTheWay(rep *replica, p *preemption) bool {
	end := c.endIfPlaced(rep)
	return slices.ContainsFunc(p.where, func(m gang.Member) bool {
		return slices.ContainsFunc(c.nodes[m.Hold.Node].windows, func(w *window) bool {
			return w.preemption == nil && !c.admits(w, rep, end)
		})
	})
}

// serveBeneficiary starts a replica for which room is being made, there or elsewhere, as
// soon as it fits. What cannot come true any more is given up.
func (c *Core) serveBeneficiary(e *entry) {
	w := e.rep.reserved
	p := w.preemption
	if c.takePlace(e, p) {
		return
	}
	c.tryReserved(e)
	if e.rep.reserved == w && len(p.victims) == 0 && !c.leavingFrom(w) {
		c.failBid(e.rep)
		c.endWindow(w)
	}
}

// failBid notes that room was made for a replica in vain: it waits before that is tried
// again, longer each time, so that nobody is stopped for it over and over.
func (c *Core) failBid(rep *replica) {
	rep.bidAt, rep.bidTurn = c.now.Add(preemptEvery<<min(rep.failedBids, 8)), 0
	rep.failedBids = min(rep.failedBids+1, maxAttempts)
}

// callOff ends the preemptions that the policy does not allow any more. Who is stopped already
// is not to be held up.
func (c *Core) callOff() {
	mode := c.config.Policy.Preemption.Mode
	for _, w := range slices.Clone(c.windows) {
		if w.isReservation() && w.preemption != nil && (mode == PreemptNever || mode == PreemptReclaim && w.preemption.within(w.rep)) {
			c.endWindow(w)
		}
	}
}

// within reports whether those who go are of the beneficiary's own queue.
func (p *preemption) within(rep *replica) bool {
	return slices.ContainsFunc(p.victims, func(victim *replica) bool { return victim.job.queue == rep.job.queue })
}

// intrude ends the preemptions that planned with what somebody has come to hold, as the world
// told.
func (c *Core) intrude(n *node, h *gang.Hold) {
	for _, w := range slices.Clone(n.windows) {
		if w.isReservation() && w.preemption != nil && slices.ContainsFunc(w.preemption.where, func(m gang.Member) bool {
			return m.Hold.Node == h.Node && m.Hold.GPUs&h.GPUs != 0
		}) {
			c.endWindow(w)
		}
	}
}

// renumber notes that a node has got another index.
func (w *window) renumber(before, now topology.Node) {
	if w.preemption == nil {
		return
	}
	for i := range w.preemption.where {
		if h := &w.preemption.where[i].Hold; h.Node == before {
			h.Node = now
		}
	}
}

// leavingFrom reports whether something that is to go holds something on the nodes of a
// window.
func (c *Core) leavingFrom(w *window) bool {
	return slices.ContainsFunc(w.nodes, func(n *node) bool {
		return slices.ContainsFunc(n.members, func(m memberAt) bool { return c.leaving.Has(m.rep) })
	})
}
