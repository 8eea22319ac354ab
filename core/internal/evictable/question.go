package evictable

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// A Question is what a search may take back, and of which queues.
type Question struct {
	// Sources are the queues of which something may be taken.
	Sources []Source
	// Below, unless nil, is the replica that all of it has to rank below.
	Below *record.Replica
	// NeedMilli is what is asked for in all, and MostMilli what a victim of no lower class may hold
	// at the most, in thousandths of a GPU; 0: that does not matter.
	NeedMilli, MostMilli int64
	// Queueing is how long a victim is expected to wait.
	Queueing berth.Duration
	// PartsOnly: no whole replica may go just now.
	PartsOnly bool
	// SparesUnsaved: no whole replica of another queue may go that writes no checkpoints, unless
	// its class is below that of the beneficiary.
	SparesUnsaved bool
	Class         berth.Class
}

// A Source is a queue of which something may be taken.
type Source struct {
	Queue quota.QueueIndex
	// Rank says how early it gives: a lower one earlier.
	Rank int
	// Limited: no whole replica of it may go just now.
	Limited bool
}

// A step is a tier that a question is about.
type step struct {
	*tier
	rank   int
	excess int
	level  int32 // of harm: those of one level do the same
	source int   // position in Sources
}

// compare is the order of harm, as package preempt has it.
func (s *step) compare(o *step) int {
	return cmp.Or(
		-values.CompareBool(s.elastic, o.elastic), cmp.Compare(s.class, o.class), cmp.Compare(s.excess, o.excess),
		cmp.Compare(s.rank, o.rank), cmp.Compare(s.priority, o.priority),
	)
}

// steps lists the tiers that a question is about, those first that do the least harm.
func (p *Index) steps(q *Question) []step {
	var list []step
	for i := range q.Sources {
		from := &q.Sources[i]
		if int(from.Queue) >= len(p.byQueue) {
			continue
		}
		for _, t := range p.byQueue[from.Queue] {
			if !q.admits(t) || !t.elastic && (q.PartsOnly || from.Limited) {
				continue
			}
			s := step{tier: t, rank: from.Rank, source: i}
			if milli := int64(1000) << t.size; q.NeedMilli > 0 && milli > q.NeedMilli {
				s.excess = bits.Len64(uint64((milli - 1) / q.NeedMilli))
			}
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b step) int {
		return cmp.Or(a.compare(&b), cmp.Compare(p.state.Quota.Name(a.queue), p.state.Quota.Name(b.queue)), cmp.Compare(a.size, b.size), values.CompareBool(a.unsaved, b.unsaved))
	})
	for i := 1; i < len(list); i++ {
		if list[i].level = list[i-1].level; list[i].compare(&list[i-1]) != 0 {
			list[i].level++
		}
	}
	return list
}

// admits reports whether some replica of a tier may go, as far as the tier tells.
func (q *Question) admits(t *tier) bool {
	higher := false // the beneficiary, in class
	if b := q.Below; b != nil {
		spec := &b.Job.Spec
		if t.class == berth.ClassLatencyCritical || cmp.Or(cmp.Compare(t.class, spec.Class), cmp.Compare(t.priority, spec.Priority)) >= 0 {
			return false
		}
		higher = t.class < spec.Class
	} else if q.SparesUnsaved && t.unsaved && q.Class <= t.class {
		return false
	}
	return higher || q.MostMilli == 0 || t.elastic || t.size == 0 || int64(1000)<<(t.size-1) < q.MostMilli
}

// A Want is a number of members, each of which needs so much on one node.
type Want struct {
	Members int
	// Most is how many members at the most one node need have room for.
	Most  int
	Milli int64
	Host  countable.Amounts
	// Declared is of declared resources; nil: none.
	Declared *countable.Declared
	// Loose: it may be that less does, or more is needed, than Milli says; whatever may be taken
	// on a node is of use.
	Loose bool
	// Classes are those of the nodes that will do, of which Suits, unless nil, tells which; all
	// of them at or below Within.
	Classes []topology.NodeClass
	Suits   func(topology.NodeIndex) bool
	Within  topology.DomainIndex
	// Region says where all members have to be together: those with one number. nil: anywhere.
	Region func(topology.NodeIndex) int32
	// Segment is how many members have to be together in one domain of SegmentLevel; 0, 1: that
	// does not matter.
	Segment      int
	SegmentLevel topology.Level
	// Empty: it needs whole domains of SegmentLevel to be empty.
	Empty bool
	// First is for how many nodes about is asked at first; 0: for all.
	First int
}

// apart reports whether it does not matter which members are together.
func (w *Want) apart() bool { return w.Region == nil && w.Segment <= 1 && !w.Empty }

// A count is what has been found on a node so far.
type count struct {
	epoch  uint32
	usable bool
	pieces int32 // members that have room
	lacks  int64 // thousandths of a GPU that the next one is short of; 0: it is short of something else
	// level is that of the last place that was looked at; cost and lower are those of what would
	// go for the next member on that level, and below it.
	level       int32
	cost, lower int64
}

// spots finds the room that may be made for a want; until is the first instant at which one more
// replica may be stopped; 0: none.
func (p *Index) spots(q *Question, w *Want, found *selection) (until berth.Time) {
	p.begin(w)
	if len(w.Classes) == 0 {
		return 0
	}
	if !w.Loose && !w.Empty {
		p.free(w, found)
	}
	now, steps := int64(p.state.Now), p.steps(q)
	for i := range steps {
		s := &steps[i]
		queueing := int64(q.Queueing)
		if s.elastic {
			queueing = 0
		}
		alone := (i == 0 || steps[i-1].level != s.level) && (i+1 == len(steps) || steps[i+1].level != s.level)
		p.Looked += len(s.places)
		for i := range s.places {
			pl := &s.places[i]
			if pl.until == 0 && found.full(w) && (found.worst().level < s.level || alone && p.dearer(w, pl, found.worst(), now, queueing)) {
				continue
			}
			p.Weighed++
			if c := p.countOf(w, pl.node); c.usable {
				until = state.Earlier(until, pl.until)
				if pl.fixed != none || pl.grows != none {
					w.add(found, pl, c, s.level, now, queueing)
				}
			}
		}
	}
	return until
}

// dearer reports whether the room that a place makes costs more than a spot of its level, as far as
// that can be told at a glance: it is the only place of the level on its node.
func (p *Index) dearer(w *Want, pl *place, s *spot, now, queueing int64) bool {
	lacks := w.Milli
	switch c := &p.counts[pl.node]; {
	case w.Loose:
	case c.epoch == p.epoch:
		lacks = c.lacks
	default:
		lacks -= 1000 * int64(max(0, p.state.Fleet.Tree().Free(pl.node)))
	}
	held, total := int64(pl.held), pl.costOf(now, queueing)
	switch {
	case lacks >= held:
		return total > s.cost
	case lacks <= 0 || total < held*pl.leastOf(now, queueing): // what is held is not all charged: the last bit may cost less than the first
		return false
	}
	return pl.partOf(lacks, total, now, queueing) > s.cost
}

// free finds the room that there is already.
func (p *Index) free(w *Want, found *selection) {
	tree := p.state.Fleet.Tree()
	for _, class := range w.Classes {
		if tree.FreeOfClass(w.Within, class) == 0 {
			continue
		}
		gpus, _ := tree.ClassGPUs(class)
		for k := int(w.Milli / 1000); k <= gpus; k++ {
			tree.Visit(w.Within, w.Classes, class, k, func(i topology.NodeIndex) bool {
				for n := range p.countOf(w, i).pieces {
					found.add(spot{node: i, nth: n, level: -1})
				}
				return found.count >= maxFree*w.Members
			})
		}
	}
}

// maxFree is how often the room for a want that there is already is listed at the most, for each
// size and class.
const maxFree = 16

// begin begins to count.
func (p *Index) begin(w *Want) {
	if p.epoch++; p.epoch == 0 {
		clear(p.counts)
		p.epoch = 1
	}
	if grown := len(p.state.Nodes) - len(p.counts); grown > 0 {
		p.counts = append(p.counts, make([]count, grown)...)
	}
	clear(p.allowed)
	for _, class := range w.Classes {
		for int(class) >= len(p.allowed) {
			p.allowed = append(p.allowed, false)
		}
		p.allowed[class] = true
	}
}

// countOf is the count of a node, which begins with what is free.
func (p *Index) countOf(w *Want, i topology.NodeIndex) *count {
	c := &p.counts[i]
	if c.epoch == p.epoch {
		return c
	}
	tree := p.state.Fleet.Tree()
	class, free := int(tree.NodeClass(i)), tree.Free(i)
	*c = count{epoch: p.epoch, lacks: w.Milli}
	c.usable = free >= 0 && class < len(p.allowed) && p.allowed[class] &&
		(w.Within == topology.RootDomain || tree.DomainOf(i, tree.DomainLevel(w.Within)) == w.Within)
	if c.usable && w.Milli > 0 && !w.Loose && !w.Empty {
		milli := 1000 * int64(free)
		pieces := milli / w.Milli
		c.lacks = w.Milli - milli%w.Milli
		if most := w.onHost(pieces, p.state.Fleet.HostFree(i), p.declaredFree(w, i)); most < pieces {
			pieces, c.lacks = most, 0
		}
		c.pieces = int32(min(pieces, int64(w.Most)))
	}
	return c
}

// declaredFree is what a node has left of declared resources, where some are wanted.
func (p *Index) declaredFree(w *Want, n topology.NodeIndex) *countable.Declared {
	if w.Declared == nil {
		return nil
	}
	return p.state.Fleet.DeclaredFree(n)
}

// onHost is how many of some members a host has enough for.
func (w *Want) onHost(members int64, free countable.Amounts, declared *countable.Declared) int64 {
	for r, each := range w.Host {
		if each > 0 && members > 0 {
			members = max(0, min(members, free[r]/each))
		}
	}
	if w.Declared != nil {
		for i, each := range w.Declared {
			if each > 0 && members > 0 {
				members = max(0, min(members, declared.Of(i)/each))
			}
		}
	}
	return members
}

// add adds the room that a place makes, beside what is free and goes on its node already.
func (w *Want) add(found *selection, pl *place, c *count, level int32, now, queueing int64) {
	held, total := int64(pl.held), pl.costOf(now, queueing)
	switch {
	case w.Empty:
		found.add(spot{node: pl.node, level: level, cost: total})
		return
	case w.Loose:
		if c.pieces == 0 {
			c.pieces = 1
			found.add(spot{node: pl.node, level: level, cost: pl.partOf(w.Milli, total, now, queueing)})
		}
		return
	}
	if c.level != level {
		c.level, c.cost, c.lower = level, 0, c.lower+c.cost
	}
	used, before := int64(0), int64(0)
	for int(c.pieces) < w.Most && held-used >= c.lacks {
		used += c.lacks
		cost := pl.partOf(used, total, now, queueing)
		found.add(spot{pl.node, c.pieces, level, c.cost + cost - before, c.lower})
		before, c.cost, c.lower, c.lacks = cost, 0, 0, w.Milli
		c.pieces++
	}
	c.lacks -= held - used
	c.cost += total - before
}

// costOf is what all of a place costs at an instant.
func (pl *place) costOf(now, queueing int64) int64 {
	return pl.cost + int64(pl.growing)*now + int64(pl.charged)*queueing
}

// partOf is about what it costs at an instant to have so much of a place: all of it costs so much,
// and the first bit what the cheapest does.
func (pl *place) partOf(milli, total, now, queueing int64) int64 {
	held := int64(pl.held)
	if milli >= held {
		return total
	}
	least := pl.leastOf(now, queueing)
	more := max(0, total/held-least)
	return milli*least + more*milli/held*milli
}

// leastOf is the least cost of a thousandth of a place at an instant.
func (pl *place) leastOf(now, queueing int64) int64 {
	least := pl.fixed
	if pl.grows != none {
		least = min(least, pl.grows+now)
	}
	return least + queueing
}
