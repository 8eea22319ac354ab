package core

import (
	"slices"
	"strconv"

	"github.com/berth-sched/berth"
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
	// closer relations first. Of one replica come the units of its surplus, and then all of it.
	candidates []preempt.Candidate
	offers     []yieldable
	// bounded: no more units of a gang are taken than may go together.
	bounded bool
	// out says which of them are imagined gone now.
	out []bool
	// givers has what is known of replicas, as of queues that were asked about.
	givers map[*replica]*giver
	// lent is what was discharged while candidates were gathered.
	lent []piece
	// spared is when the first of those may yield that may not yet, and limited when the first
	// whose queue has had too many yield; 0: there are none.
	spared, limited berth.Time
	// owed: what is asked is guaranteed to its queue, and taken from others.
	owed bool
	// favoured is the node whose units go before others of their gangs; nil: none.
	favoured *node
	// partsOnly: nothing may go as a whole just now.
	partsOnly bool
	// waits: the least harm is to wait for one that is giving up other members just now.
	waits bool
	// weighing is what speaks against those who were chosen; nil: nothing does.
	weighing *berth.Weighing
	// priced is scratch.
	priced []preempt.Candidate
}

// trial begins one for an entry, with its minimum.
func (c *Core) trial(e *entry, avoid []berth.NodeID) *trial {
	c.compile(e.bucket.shape)
	return c.trialOf(e.rep, &e.bucket.shape.spec, e.bucket.shape.least, &e.bucket.shape.minimum, avoid, c.now)
}

// trialOf begins one for a request of a replica that will start at an instant. Where room is
// being made for others it may go as well, beside what they are to hold, which is imagined.
func (c *Core) trialOf(rep *replica, spec *shapeSpec, least quota.Charge, r *gang.Request, avoid []berth.NodeID, start berth.Time) *trial {
	end, exclusive := c.endIfStarted(rep, start), spec.Topology.Exclusive != ""
	return &trial{
		core: c, rep: rep, queue: rep.job.queue, asked: least,
		request: c.avoiding(avoid, c.widen(spec.Groups, r, func(w *window) bool {
			if w.isPlanned() && w.rep != rep {
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
// those who are going anyway do. All of them are back then. Where one of them is busy, it is
// to be waited for.
//
// How many units of a gang may go together is left out of account at first: which of them is
// of use is for the search to find, and it takes as few as it can. Only where those are too
// many, it may have so many at the most, and those first that come first, or those on one node
// where whole gangs would have to go otherwise.
func (t *trial) choose(chooser *preempt.Chooser, trials *int) (victims []piece, ok bool) {
	t.out = make([]bool, len(t.offers))
	options := preempt.Options{NeedMilli: t.asked.GPUMilli, Tolerance: priceTolerance, Demand: t.demand()}
	look := func() (suffice, enough bool) {
		options.MaxCalls = max(*trials, 1)
		choice, err := chooser.Choose(t.candidates, t.fits, options)
		must(err)
		*trials -= choice.Calls + 1
		t.bounded = true
		suffice = (choice.Outcome == preempt.NotNeeded || choice.Outcome == preempt.Chosen) && t.fits(choice.Victims)
		return suffice, choice.Outcome != preempt.Insufficient
	}
	bounded := !t.elastic()
	t.bounded = bounded
	ok, enough := look()
	if !ok && enough && !bounded {
		if ok, _ = look(); ok && t.takesWhole() {
			ok = t.lookByNode(look)
		}
	}
	var taken []int
	for i, gone := range t.out {
		if gone {
			victims = append(victims, t.offers[i].piece)
			taken = append(taken, i)
			t.waits = t.waits || ok && t.offers[i].busy
		}
	}
	t.setBack()
	if ok = ok && !t.waits; ok {
		t.weighing = t.weigh(taken)
	}
	return mergeParts(victims), ok
}

// gatherOwn lists those of the own queue that rank below.
func (t *trial) gatherOwn() {
	t.core.queues[t.queue].running.Ascend(func(victim *replica) bool {
		if !mayPreempt(t.rep, victim) || len(t.offers) >= maxVictims {
			return false
		}
		above := t.rep.job.spec.Class > victim.job.spec.Class
		for _, s := range t.spare(victim) {
			if above || !t.tooLarge(piece{victim, s.units[0]}) {
				t.addUnits(victim, s, s.most, 0)
			}
		}
		if whole := (piece{rep: victim}); t.mayYield(victim) && (above || !t.tooLarge(whole)) {
			t.add(yieldable{piece: whole, steps: t.steps(victim)}, 0)
		}
		return true
	})
}

// gatherLent lists those of other queues that have to give back, one after the other, so
// that all of them together may be taken: what they have above their minimums before all
// else.
func (t *trial) gatherLent() { t.gatherLenders(true) }

// gatherLentWhole lists them where each goes only as a whole: what all have above their
// minimums may be all that may be taken, and of no use.
func (t *trial) gatherLentWhole() { t.gatherLenders(false) }

func (t *trial) gatherLenders(inParts bool) {
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
				t.gatherFrom(v.Leaf, 1+v.Rank, inParts)
			}
		}
	}
	for _, p := range t.lent {
		c.recharge(p)
	}
	t.lent = nil
}

// gatherFrom lists those of one queue, and discharges them.
func (t *trial) gatherFrom(q quota.Index, source int, inParts bool) {
	c := t.core
	t.findDues(q)
	if inParts {
		c.queues[q].running.Ascend(func(victim *replica) bool {
			for _, s := range t.spare(victim) {
				if t.owed || !t.tooLarge(piece{victim, s.units[0]}) {
					t.lendUnits(victim, s, source)
				}
			}
			return len(t.offers) < maxVictims
		})
	}
	c.queues[q].running.Ascend(func(victim *replica) bool {
		if t.mayYield(victim) && (t.owed || !t.tooLarge(piece{rep: victim})) {
			t.lendWhole(victim, source)
		}
		return len(t.offers) < maxVictims
	})
}

// tooLarge reports whether a part holds too much to be stopped for what is asked.
func (t *trial) tooLarge(p piece) bool {
	ratio := int64(t.core.config.Policy.Preemption.MaxRatio)
	return ratio > 0 && chargedOf(p)/ratio > max(t.asked.GPUMilli, 1000)
}

// mayYield reports whether a replica can be asked to yield now, as a whole.
func (t *trial) mayYield(victim *replica) bool {
	if victim.order != nil || victim.yieldsTo != nil || victim.imagined || victim.has(memberStopping) ||
		slices.ContainsFunc(victim.members, func(m member) bool { return m.imagined }) {
		return false
	}
	c := t.core
	if t.partsOnly {
		return false
	}
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
func earlier(a, b berth.Time) berth.Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// add adds a candidate. Those of other queues come from a source above 0: the lower, the
// further that queue is over its share.
func (t *trial) add(y yieldable, source int) {
	candidate := t.core.candidate(y.piece, t.core.queueingFor(t.rep))
	candidate.Backfilled, candidate.Borrowed, candidate.Source = t.rep.reserved.letIn(y.rep), source > 0, source
	if !y.whole() {
		candidate.Started -= int64(len(t.giver(y.rep).units)) // in the order in which they go
	}
	t.candidates = append(t.candidates, candidate)
	t.offers = append(t.offers, y)
}

// candidate describes a replica, or a unit of what it has above its minimum, that could yield
// to one because of which it would have to wait for so long. Without a unit the work of the
// rest goes on and waits for nothing, so that all that is lost is what it costs to resize.
func (c *Core) candidate(p piece, queueing berth.Duration) preempt.Candidate {
	spec := &p.rep.job.spec
	candidate := preempt.Candidate{
		ID: string(spec.ID) + "#" + strconv.Itoa(p.rep.Number), Class: int(spec.Class), Priority: spec.Priority,
		Started: int64(p.rep.CameAt), GPUMilli: chargedOf(p),
		RestartCost: int64(spec.Checkpoint.RestartCost),
	}
	if p.whole() {
		candidate.Checkpointable, candidate.CheckpointCost = spec.Checkpoint.Supported, int64(spec.Checkpoint.Cost)
		candidate.SinceCheckpoint, candidate.Queueing = int64(p.rep.sinceCheckpoint(c.now)), int64(queueing)
	} else if candidate.Elastic = true; len(p.flats) > 0 {
		candidate.ID += "/" + strconv.Itoa(p.flats[0])
	}
	noteHolds(&candidate, p)
	return candidate
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
	c, wanted, goes := t.core, make([]bool, len(t.offers)), make([]bool, len(t.offers))
	for _, i := range chosen {
		wanted[i] = true
	}
	for i := range t.offers {
		if s := t.offers[i].surplus; s != nil {
			s.taken, s.gone = 0, 0
		}
		for _, s := range t.offers[i].steps {
			if t.out[i] {
				c.recharge(s.piece)
			}
		}
	}
	for _, favoured := range []bool{true, false} {
		for i := range t.offers {
			if t.favours(i) == favoured {
				goes[i] = wanted[i] && t.take(i, goes)
			}
		}
	}
	for i := range t.offers {
		if t.out[i] && !goes[i] {
			c.reappear(t.offers[i].piece)
		}
	}
	for i := range t.offers {
		if goes[i] && !t.out[i] {
			c.vanish(t.offers[i].piece)
		}
	}
	t.out = goes
}

// setBack has all candidates back.
func (t *trial) setBack() { t.imagine(nil) }
