package berth

import (
	"slices"
	"strconv"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// A trial looks for those who could yield for one replica.
type trial struct {
	core    *Core
	rep     *replica
	queue   quota.Index
	asked   quota.Charge
	request *gang.Request

	// candidates may yield, all together: those of the own queue, or those of others, the
	// closer relations first.
	candidates []preempt.Candidate
	reps       []*replica
	// out says which of them are imagined gone now.
	out []bool
	// due has what dueOf says of queues that were asked about.
	due map[quota.Index]map[*replica]quota.Due
	// spared is when the first of those may yield that may not yet, and limited when the first
	// whose queue has had too many yield; 0: there are none.
	spared, limited Time
	// owed: what is asked is guaranteed to its queue, and taken from others.
	owed bool
	// weighing is what speaks against those who were chosen; nil: nothing does.
	weighing *Weighing
	// priced is scratch.
	priced []preempt.Candidate
}

// trial begins one for an entry, with its minimum.
func (c *Core) trial(e *entry, avoid []NodeID) *trial {
	c.compile(e.bucket.shape)
	return c.trialOf(e.rep, e.bucket.shape, &e.bucket.shape.minimum, avoid, c.now)
}

// trialOf begins one for a request of a replica that will start at an instant. Where room is
// being made for others it may go as well, beside what they are to hold, which is imagined.
func (c *Core) trialOf(rep *replica, s *shape, r *gang.Request, avoid []NodeID, start Time) *trial {
	end, exclusive := c.endIfStarted(rep, start), s.spec.Topology.Exclusive != ""
	return &trial{
		core: c, rep: rep, queue: rep.job.queue, asked: s.least,
		request: c.avoiding(avoid, c.widen(s.spec.Groups, r, func(w *window) bool {
			if w.preemption != nil && w.rep != rep {
				return !exclusive && w.rep.job.spec.Topology.Exclusive == ""
			}
			return c.admits(w, rep, end)
		})),
	}
}

// place finds a place that the limits on the queue allow, and holds nothing; nil: there is
// none.
func (t *trial) place() []gang.Member {
	if !t.find() {
		return nil
	}
	where := slices.Clone(t.core.placement.Members)
	must(t.core.fleet.ReleaseAll(&t.core.placement))
	return where
}

// choose chooses the least harmful of the candidates that suffice, by job and number: none, if
// those who are going anyway do. All of them are back then.
func (t *trial) choose(chooser *preempt.Chooser, trials *int) (victims []*replica, ok bool) {
	t.out = make([]bool, len(t.reps))
	choice, err := chooser.Choose(t.candidates, t.fits, preempt.Options{
		NeedMilli: t.asked.GPUMilli, MaxCalls: *trials, Tolerance: priceTolerance, Demand: t.demand(),
	})
	must(err)
	*trials -= choice.Calls + 1
	ok = (choice.Outcome == preempt.NotNeeded || choice.Outcome == preempt.Chosen) && t.fits(choice.Victims)
	var taken []int
	for i, gone := range t.out {
		if gone {
			victims = append(victims, t.reps[i])
			taken = append(taken, i)
		}
	}
	t.setBack()
	if ok {
		t.weighing = t.weigh(taken)
	}
	slices.SortFunc(victims, compareReplicas)
	return victims, ok
}

// gatherOwn lists those of the own queue that rank below.
func (t *trial) gatherOwn() {
	t.core.queues[t.queue].running.Ascend(func(victim *replica) bool {
		if !mayPreempt(t.rep, victim) || len(t.reps) == maxVictims {
			return false
		}
		if t.mayYield(victim) && (t.rep.job.spec.Class > victim.job.spec.Class || !t.tooLarge(victim)) {
			t.add(victim, 0)
		}
		return true
	})
}

// gatherLent lists those of other queues that have to give back, one after the other, so
// that all of them together may be taken.
func (t *trial) gatherLent() {
	c := t.core
	if t.asked.GPUMilli == 0 {
		return
	}
	t.owed = c.quota.Used(t.queue, quota.GPU)+t.asked.GPUMilli <= c.shares.Guaranteed(t.queue)
	asked := map[quota.Index]bool{}
	for parting := c.quota.Parent(t.queue); parting != quota.None; parting = c.quota.Parent(parting) {
		// What nearer relations give may be what lets it ask those who are farther off.
		for _, v := range c.shares.Victims(nil, t.queue, t.asked) {
			if !asked[v.Leaf] && c.quota.Below(v.Leaf, parting) {
				asked[v.Leaf] = true
				t.gatherFrom(v.Leaf, 1+v.Rank)
			}
		}
	}
	for _, victim := range t.reps {
		c.recharge(victim)
	}
}

// gatherFrom lists those of one queue, and discharges them.
func (t *trial) gatherFrom(q quota.Index, source int) {
	c := t.core
	c.queues[q].running.Ascend(func(victim *replica) bool {
		if t.mayYield(victim) && (t.owed || !t.tooLarge(victim)) && t.mayReclaim(victim) {
			t.add(victim, source)
			c.discharge(victim)
		}
		return len(t.reps) < maxVictims
	})
}

// tooLarge reports whether a replica holds too much to be stopped for what is asked.
func (t *trial) tooLarge(victim *replica) bool {
	ratio := int64(t.core.config.Policy.Preemption.MaxRatio)
	return ratio > 0 && chargedOf(victim)/ratio > max(t.asked.GPUMilli, 1000)
}

// mayYield reports whether a replica can be asked to yield now.
func (t *trial) mayYield(victim *replica) bool {
	if victim.order != nil || victim.yieldsTo != nil || victim.imagined || victim.has(memberStopping) {
		return false
	}
	c := t.core
	limited := c.queues[victim.job.queue].evictions.ready(c.config.Policy.Preemption.QueueRate, c.now, 1)
	spared := c.sparedUntil(victim, t.owed)
	switch at := max(spared, limited); {
	case at <= c.now:
		return true
	case spared > limited:
		t.spared = earlier(t.spared, at)
	default:
		t.limited = earlier(t.limited, at)
	}
	return false
}

// earlier is the first of two instants, of which 0 is none.
func earlier(a, b Time) Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// add adds a candidate. Those of other queues come from a source above 0: the lower, the
// further that queue is over its share.
func (t *trial) add(victim *replica, source int) {
	candidate := t.core.candidate(victim, t.core.queueingFor(t.rep))
	candidate.Borrowed, candidate.Source = source > 0, source
	t.candidates = append(t.candidates, candidate)
	t.reps = append(t.reps, victim)
}

// candidate describes a replica that could yield to one because of which it would have to wait
// for so long.
func (c *Core) candidate(victim *replica, queueing Duration) preempt.Candidate {
	spec := &victim.job.spec
	candidate := preempt.Candidate{
		ID: string(spec.ID) + "#" + strconv.Itoa(victim.number), Class: int(spec.Class), Priority: spec.Priority,
		Started: int64(victim.cameAt), GPUMilli: chargedOf(victim),
		Checkpointable: spec.Checkpoint.Supported, SinceCheckpoint: int64(victim.sinceCheckpoint(c.now)),
		CheckpointCost: int64(spec.Checkpoint.Cost), RestartCost: int64(spec.Checkpoint.RestartCost),
		Queueing: int64(queueing),
	}
	noteHolds(&candidate, victim)
	return candidate
}

// chargedOf is what a replica is charged of GPUs, in thousandths.
func chargedOf(rep *replica) int64 {
	milli := int64(0)
	rep.eachHold(func(h *gang.Hold, n *node) { milli += chargeOf(h, n).GPUMilli })
	return milli
}

// mayReclaim reports whether a replica of another queue may be taken back for what is asked.
func (t *trial) mayReclaim(victim *replica) bool {
	c, q := t.core, victim.job.queue
	if t.due[q] == nil {
		if t.due == nil {
			t.due = map[quota.Index]map[*replica]quota.Due{}
		}
		t.due[q] = t.dueOf(q)
	}
	given := quota.Charge{GPUMilli: chargedOf(victim), Product: quota.NoProduct}
	_, ok := c.shares.MayReclaimWhole(t.queue, t.asked, q, given, t.due[q][victim])
	return ok
}

// dueOf tells by what the replicas that run are due to their queue, those first that cannot
// be asked to yield and then those that yield last; see quota.Shares.MayReclaimWhole. What
// is not due is left out.
func (t *trial) dueOf(q quota.Index) map[*replica]quota.Due {
	c := t.core
	var list []*replica
	c.queues[q].running.Descend(func(rep *replica) bool {
		if !rep.imagined { // else it goes anyway
			list = append(list, rep)
		}
		return true
	})
	slices.SortStableFunc(list, func(a, b *replica) int { return compareBool(t.mayYield(a), t.mayYield(b)) })
	due := map[*replica]quota.Due{}
	guaranteed := c.shares.Guaranteed(q)
	fair := max(guaranteed, c.shares.Of(q))
	for _, rep := range list {
		switch milli := chargedOf(rep); {
		case milli > fair:
		case milli > guaranteed:
			due[rep] = quota.DueByShare
			fair -= milli
		default:
			due[rep] = quota.DueByGuarantee
			fair -= milli
			guaranteed -= milli
		}
	}
	return due
}

// fits reports whether the replica would fit if the candidates with these indexes were gone, as
// far as they may be taken. Those stay imagined gone.
func (t *trial) fits(chosen []int) bool {
	t.imagine(chosen)
	if _, ok := t.core.quota.Fits(t.queue, t.asked); !ok || !t.find() {
		return false
	}
	must(t.core.fleet.ReleaseAll(&t.core.placement))
	return true
}

// find searches a place on products that the queue may have, and holds it.
func (t *trial) find() bool {
	c := t.core
	return c.findAllowed(t.request, func() (string, bool) {
		limited, ok := c.affordsMembers(t.queue, c.placement.Members)
		if !ok {
			must(c.fleet.ReleaseAll(&c.placement))
		}
		return limited, ok
	}) == fits
}

// affordsMembers reports whether the limits on a queue let it have members where they are, or
// else the product that is in the way. Members of one product that follow each other are
// charged at once: a limit lets a queue have all of them if it lets it have the last.
func (c *Core) affordsMembers(q quota.Index, members []gang.Member) (limited string, ok bool) {
	ok = true
	var charged []quota.Charge
	for first, next := 0, 0; first < len(members); first = next {
		sum := chargeOf(&members[first].Hold, c.nodes[members[first].Hold.Node])
		for next = first + 1; next < len(members); next++ {
			charge := chargeOf(&members[next].Hold, c.nodes[members[next].Hold.Node])
			if charge.Product != sum.Product {
				break
			}
			sum = sum.Plus(charge)
		}
		if _, ok = c.quota.Fits(q, sum); !ok {
			limited = c.classes.list[c.nodes[members[first].Hold.Node].class].key.product
			break
		}
		must(c.quota.Charge(q, sum))
		charged = append(charged, sum)
	}
	for _, sum := range charged {
		must(c.quota.Discharge(q, sum))
	}
	return limited, ok
}

// imagine has those of the chosen candidates gone that may be taken, one after the other, and
// no others. Taking them as far as it is allowed, instead of refusing the lot for one that
// is not, more of them never do worse.
func (t *trial) imagine(chosen []int) {
	wanted := make([]bool, len(t.reps))
	for _, i := range chosen {
		wanted[i] = true
	}
	for i, rep := range t.reps {
		if t.out[i] {
			t.core.recharge(rep)
		}
	}
	for i, rep := range t.reps {
		goes := wanted[i] && (rep.job.queue == t.queue || t.mayReclaim(rep))
		if goes {
			t.core.discharge(rep)
		}
		switch {
		case goes && !t.out[i]:
			t.core.vanish(rep)
		case !goes && t.out[i]:
			t.core.reappear(rep)
		}
		t.out[i] = goes
	}
}

// setBack has all candidates back.
func (t *trial) setBack() { t.imagine(nil) }
