// Package evictable is an index of what could be evicted where: how much of each node the replicas
// of a queue hold, by class, priority and size, and what it costs about to stop them. A search that
// cannot look at all that runs begins with the nodes that this names first.
//
// The law. Let T(n, k) be the replicas of tier k that run on node n, are not on their way out and
// are not protected by a minimum run time, held the sum of what is free on n without them, and cost
// the sum of what it costs to stop them, at the instant of the question. For members that each need
// so much of a node, n makes room for a member with tiers up to k, in the order of harm, if
//
//	free(n) + sum of held(T(n, i)), i = 1 to k  >=  need
//
// and the nodes are named by the first such k, then by the cost of the tiers up to it, then by
// name. Least and LowerBounds are never more than the cost of any victim behind them, and do not
// fall as time goes by, so that a search stops at a node that cannot be cheaper.
//
// The case: a beneficiary of one GPU, and 80,000 jobs that may be evicted for it, on 10,000 nodes.
// A search by candidate looks at all of them, for a victim on the first node of the lowest tier.
//
// Rejected: to index what an eviction is worth to a given beneficiary. That depends on its queue,
// its rank and its claim, and would be kept as often as there are beneficiaries. The index knows no
// beneficiary: a Question says which tiers count and in which order, and the search verifies what
// it is given.
package evictable

import (
	"cmp"
	"math"
	"slices"

	"github.com/google/btree"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// An Index has what could be evicted, by place.
//
// Its invariants, which Check verifies:
//
//  1. A tier has a place for each node on which a replica of it stands that runs and is not on
//     its way out, with the sums over its members there. A node on which something has changed
//     since is in State.Changed, and looked at before the next question is answered.
//  2. A node knows its places by tier and position, and a place its node.
//  3. A node with a member that its minimum run time protects, or that writes a checkpoint once
//     in a while, is among the ends with the first instant at which that is over, or is to be
//     written.
//
// All of it follows from the records and the clock alone, so that an answer does not depend on
// what was asked before.
type Index struct {
	state *state.State

	tiers   map[tierKey]*tier // looked up, never ranged over
	byQueue [][]*tier         // by quota.QueueIndex
	nodes   []nodePlaces      // by topology.NodeIndex
	ends    *btree.BTreeG[ending]
	// protection is the policy's, as of the places; fresh: there was none yet.
	protection protection
	fresh      bool
	// Looked counts the places that were looked at, Weighed those that were weighed against others
	// on their nodes, and Rebuilt the nodes of which the places were worked out anew.
	Looked, Weighed, Rebuilt int
	// atFirst, unless 0, is how many spots a pick finds at first; less: all. It is for tests.
	atFirst int

	drafts  []draft // scratch: what stands on one node, by tier
	counts  []count // scratch of a question, by topology.NodeIndex
	epoch   uint32
	allowed []bool // scratch, by topology.NodeClass
	// spare has the buffers of picks that are closed.
	spare [][]spot

	// names are the nodes by name, but for renamed: another node is there than when they were put
	// in order.
	names, renamed []topology.NodeIndex
	bounds         []NodeCost // scratch
	bound          lowerBound // scratch: that of one node
}

// New returns the index of an empty fleet.
func New(state *state.State) *Index {
	return &Index{
		state: state, tiers: map[tierKey]*tier{}, fresh: true, // so that all nodes are looked at
		ends: btree.NewG(16, func(a, b ending) bool {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.node, b.node)) < 0
		}),
	}
}

// FindAtFirst has each pick find so many spots at first, or all of them: less than 0. It is for
// tests.
func (p *Index) FindAtFirst(most int) { p.atFirst = most }

// A tierKey is what replicas have in common that do the same harm if they are stopped.
type tierKey struct {
	queue    quota.QueueIndex
	class    berth.Class
	elastic  bool // of a gang that may have a surplus
	unsaved  bool // of a gang without one that writes no checkpoints
	size     int8 // GPUs of a replica, as the power of two that has them; 0 of an elastic one
	priority int32
}

// A tier has the places of one key, in no order that matters.
type tier struct {
	tierKey
	places []place
	// least is what it costs at the least to stop a replica of it, if that is known.
	least least
	known bool
}

// A place is what replicas of one tier have on one node.
type place struct {
	node topology.NodeIndex
	// held is what could be free there without them, and charged what they are charged, in
	// thousandths of a GPU; growing is the part of that of which the cost grows with time.
	held, charged, growing int32
	// cost is that of all of them at time 0, in thousandths of a GPU-millisecond, without the
	// wait that follows; the sum wraps around, and is right at the time at hand.
	cost int64
	// fixed and grows are the least costs of a thousandth: where time does not change it and, at
	// time 0, where it grows with time; none is the largest number.
	fixed, grows int64
	// until is the first instant at which one of those that are protected, and left out, may be
	// stopped; 0: there are none.
	until berth.Time
	// least is what it costs at the least to stop one of them, protected or not.
	least least
}

const none = math.MaxInt64

// A protection is what of the policy protects what runs.
type protection struct {
	least, most berth.Duration
	queues      []berth.QueuePreemption
}

func (p *Index) protectionInForce() protection {
	policy := &p.state.Config.Policy.Preemption
	return protection{policy.MinRuntime, policy.MaxMinRuntime, policy.Queues}
}

func (p protection) equal(other protection) bool {
	return p.least == other.least && p.most == other.most && slices.Equal(p.queues, other.queues)
}

// A nodePlaces is where the places of a node are.
type nodePlaces struct {
	refs  []ref
	until berth.Time // the first instant at which its places change by themselves; 0: never
	bound lowerBound
	node  *record.Node // at this position when it was looked at
	rank  int32        // its position in Index.names; less than 0: it is among the renamed
}

type ref struct {
	tier *tier
	at   int32
}

// An ending is an instant at which the places of a node change by themselves.
type ending struct {
	at   berth.Time
	node topology.NodeIndex
}

// A draft is a place in the making.
type draft struct {
	key tierKey
	place
}

// Refresh brings the places of all nodes up to date on which something has changed.
func (p *Index) Refresh() {
	if now := p.protectionInForce(); p.fresh || !now.equal(p.protection) {
		p.protection, p.fresh = now, false
		for i := range p.state.Nodes {
			p.state.NoteChanged(topology.NodeIndex(i))
		}
	}
	for {
		e, some := p.ends.Min()
		if !some || e.at > p.state.Now {
			break
		}
		p.ends.DeleteMin()
		p.nodes[e.node].until = 0
		p.state.NoteChanged(e.node)
	}
	if more := len(p.state.Nodes) - len(p.nodes); more > 0 {
		p.nodes = append(p.nodes, slices.Repeat([]nodePlaces{{bound: lowerBound{none, none}}}, more)...)
	}
	p.state.TakeChanged(p.rebuild)
}

// rebuild works out the places of a node anew.
func (p *Index) rebuild(i topology.NodeIndex) {
	p.Rebuilt++
	f := &p.nodes[i]
	for len(f.refs) > 0 {
		p.remove(i, f.refs[len(f.refs)-1])
		f.refs = f.refs[:len(f.refs)-1]
	}
	p.noteNode(i)
	until := p.draftPlaces(i)
	f.bound = p.bound
	for k := range p.drafts {
		p.insert(i, &p.drafts[k])
	}
	if until != f.until {
		if f.until != 0 {
			p.ends.Delete(ending{f.until, i})
		}
		if f.until = until; until != 0 {
			p.ends.ReplaceOrInsert(ending{until, i})
		}
	}
}

// noteNode notes that another node has come to a position, or none is there any more.
func (p *Index) noteNode(i topology.NodeIndex) {
	f := &p.nodes[i]
	if f.node == p.state.Nodes[i] {
		return
	}
	f.node = p.state.Nodes[i]
	if f.rank >= 0 {
		f.rank = -1
		p.renamed = append(p.renamed, i)
	}
}

func (p *Index) insert(i topology.NodeIndex, s *draft) {
	t := p.tiers[s.key]
	if t == nil {
		t = &tier{tierKey: s.key, least: least{fixed: none}, known: true}
		p.tiers[s.key] = t
		for int(s.key.queue) >= len(p.byQueue) {
			p.byQueue = append(p.byQueue, nil)
		}
		p.byQueue[s.key.queue] = append(p.byQueue[s.key.queue], t)
	}
	p.nodes[i].refs = append(p.nodes[i].refs, ref{t, int32(len(t.places))})
	t.places = append(t.places, s.place)
	t.least = t.least.or(s.least)
}

func (p *Index) remove(i topology.NodeIndex, r ref) {
	t, last := r.tier, int32(len(r.tier.places)-1)
	t.known = false
	if r.at != last {
		t.places[r.at] = t.places[last]
		moved := p.nodes[t.places[r.at].node].refs
		moved[slices.Index(moved, ref{t, last})].at = r.at
	}
	if t.places = t.places[:last]; last == 0 {
		delete(p.tiers, t.tierKey)
		list := p.byQueue[t.queue]
		p.byQueue[t.queue] = slices.DeleteFunc(list, func(o *tier) bool { return o == t })
	}
}

// draftPlaces lists what runs on a node, by tier, as drafts, and returns the first instant at which
// that changes by itself.
func (p *Index) draftPlaces(i topology.NodeIndex) (until berth.Time) {
	p.drafts, p.bound = p.drafts[:0], lowerBound{none, none}
	n := p.state.Nodes[i]
	if n == nil {
		return 0
	}
	for _, at := range n.Members {
		m := &at.Rep.Members[at.Index]
		if !m.State.Holds() || at.Imagined() || !p.isEvictable(at.Rep) {
			continue
		}
		s := p.draftOf(at.Rep, i)
		held := int32(1000 * berth.GPUSet(m.Hold.GPUs).Len())
		if spared := p.protectedUntil(at.Rep); spared > p.state.Now && !s.key.elastic {
			s.until = state.Earlier(s.until, spared)
			until = state.Earlier(until, spared)
			s.least = s.least.or(leastOf(at.Rep, spared))
			continue
		}
		s.least = s.least.or(leastOf(at.Rep, 0))
		each, grows, next := costOf(at.Rep, p.state.Now)
		until = state.Earlier(until, next)
		p.bound = p.bound.with(at.Rep, each, grows)
		s.add(held, int32(record.ChargeOf(&m.Hold, n).GPUMilli), each, grows)
	}
	return until
}

// draftOf is the place of a replica on a node, which is new where it is the first of its tier.
func (p *Index) draftOf(rep *record.Replica, i topology.NodeIndex) *draft {
	key := keyOf(rep)
	for k := range p.drafts {
		if p.drafts[k].key == key {
			return &p.drafts[k]
		}
	}
	p.drafts = append(p.drafts, draft{key, place{node: i, fixed: none, grows: none, least: least{fixed: none}}})
	return &p.drafts[len(p.drafts)-1]
}

func keyOf(rep *record.Replica) tierKey {
	spec := &rep.Job.Spec
	key := tierKey{queue: rep.Job.Queue, class: spec.Class, priority: spec.Priority, elastic: rep.Job.IsElastic()}
	if !key.elastic {
		key.unsaved, key.size = rep.IsUnsaved(), sizeOf(rep.RunsMilli)
	}
	return key
}

// sizeOf is the power of two that has so many thousandths of a GPU.
func sizeOf(milli int64) int8 {
	size := int8(0)
	for milli > 1000<<size {
		size++
	}
	return size
}

// isEvictable reports whether a replica runs, and is not on its way out. One that gives up some of
// its members may give others. A borrower holds no GPU that another could have without it, and
// what is never preempted gives nothing.
func (p *Index) isEvictable(rep *record.Replica) bool {
	if rep.State != berth.ReplicaRunning || rep.Job.Borrows() || rep.Job.Spec.NonPreemptible {
		return false
	}
	return p.state.Leaving.Len() == 0 || !p.state.Leaving.Has(rep) || rep.Job.IsElastic() && rep.Beneficiary == nil && !rep.Asked()
}

// protectedUntil is until when a replica is protected from all.
func (p *Index) protectedUntil(rep *record.Replica) berth.Time {
	return rep.Started.Add(p.state.MinRuntimeOf(rep))
}

// add adds a member to a place. A gang on several nodes counts on each with what it holds there.
func (s *draft) add(held, charged int32, each int64, grows bool) {
	s.held, s.charged = s.held+held, s.charged+charged
	s.cost += int64(charged) * each
	if grows {
		s.growing += charged
		s.grows = min(s.grows, each)
	} else {
		s.fixed = min(s.fixed, each)
	}
}

// shortInterval is that of checkpoints of which the cost that they save is not followed from one to
// the next: half of it is taken.
const shortInterval = 15 * berth.Minute

// costOf is what a thousandth of a GPU of a replica costs if it is stopped, in milliseconds: now,
// or at time 0 where that grows with time; until the next instant, unless that is 0.
func costOf(rep *record.Replica, now berth.Time) (each int64, grows bool, next berth.Time) {
	spec := &rep.Job.Spec
	c := &spec.Checkpoint
	each = int64(c.RestartCost)
	since := max(rep.Started, rep.Eviction.Get().Checkpointed)
	switch {
	case rep.Job.IsElastic() || spec.Service != nil:
		return each, false, 0
	case c.Supported:
		return each + int64(c.Cost), false, 0
	case c.Interval <= 0 || rep.Eviction.Get().Tells:
		return each - int64(since), true, 0
	case c.Interval < shortInterval:
		return each + int64(c.Interval/2), false, 0
	}
	since = now.Add(-(now.Sub(since) % c.Interval))
	return each - int64(since), true, since.Add(c.Interval)
}
