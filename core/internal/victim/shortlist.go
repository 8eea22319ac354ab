package victim

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/evictable"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// Where more runs than one search can look at, candidates belong to places: those on the nodes that
// are the cheapest to clear for a member, as package evictable tells, and on twice as many more
// each time those do not suffice.

// places are the nodes that a search has yet to look at.
type places struct {
	picks []*evictable.Pick // one for each group
	// more are picks for when these are exhausted.
	more   func() []*evictable.Pick
	rounds int // that were made of these
	cost   int // places that were looked at for them
	looked map[topology.NodeIndex]bool
	listed map[*record.Replica]bool
	// at are the positions of the sources, from 1, by queue.
	at map[quota.QueueIndex]int
}

// gather lists the candidates of the sources, or says where to look for them.
func (t *Search) gather() {
	running := 0
	for _, s := range t.sources {
		running += t.victims.books.Queues[s.queue].Running.Len()
	}
	if running > t.victims.state.Bounds.Candidates {
		t.places = t.newPlaces()
		return
	}
	t.Candidates, t.Offers = slices.Grow(t.Candidates, running), slices.Grow(t.Offers, running)
	for i, s := range t.sources {
		t.victims.books.Queues[s.queue].Running.Ascend(func(victim *record.Replica) bool {
			if !t.mayTake(victim) {
				return false // nor those after it
			}
			t.consider(victim, i)
			return true
		})
	}
}

// newPlaces asks for each group where room can be made for it.
func (t *Search) newPlaces() *places {
	c, q := t.victims, t.question()
	pl := &places{looked: map[topology.NodeIndex]bool{}, listed: map[*record.Replica]bool{}, at: map[quota.QueueIndex]int{}}
	for i, s := range t.sources {
		pl.at[s.queue] = i + 1
	}
	_, within := c.state.Quota.Fits(t.Queue, t.Asked)
	ask := func(anywhere bool) (picks []*evictable.Pick, hopeless bool) {
		for _, w := range t.wants(anywhere) {
			before := c.evictable.Looked
			pick := c.evictable.Pick(q, w)
			pl.cost += c.evictable.Looked - before
			t.ProtectedUntil = state.Earlier(t.ProtectedUntil, pick.Until)
			hopeless = hopeless || pick.Hopeless
			picks = append(picks, pick)
		}
		return picks, hopeless
	}
	if within {
		var hopeless bool
		if pl.picks, hopeless = ask(false); hopeless {
			t.places = pl
			t.closePicks()
		}
		return pl
	}
	// A limit is in the way: whatever goes below it helps, wherever that is.
	if c.books.Place(t.Request) {
		c.books.LetGo()
		pl.picks, _ = ask(true)
		return pl
	}
	pl.picks, _ = ask(false)
	pl.more = func() []*evictable.Pick {
		picks, _ := ask(true)
		return picks
	}
	return pl
}

// question says what may be taken back.
func (t *Search) question() *evictable.Question {
	c := t.victims
	q := &evictable.Question{NeedMilli: t.Asked.GPUMilli, Queueing: c.QueueingFor(t.Rep), PartsOnly: t.PartsOnly, SparesUnsaved: t.sparesUnsaved(), Class: t.Rep.Job.Spec.Class}
	limit := c.state.Config.Policy.Preemption.QueueRateLimit
	for _, s := range t.sources {
		ready := c.books.Queues[s.queue].Evictions.Ready(limit, c.state.Now, 1)
		if ready > c.state.Now {
			t.Limited = state.Earlier(t.Limited, ready)
		}
		q.Sources = append(q.Sources, evictable.Source{Queue: s.queue, Rank: s.rank, Limited: ready > c.state.Now})
		if s.queue == t.Queue {
			q.Below = t.Rep
		}
	}
	if ratio := int64(c.state.Config.Policy.Preemption.MaxRatio); ratio > 0 && !t.collects() {
		q.MostMilli = ratio * (max(t.Asked.GPUMilli, 1000) + 1)
	}
	return q
}

// wants says for each group what its members need. Anywhere says that what they need is not a
// place.
func (t *Search) wants(anywhere bool) []*evictable.Want {
	tree := t.victims.state.Fleet.Tree()
	exclusive, _ := tree.Level(t.Rep.Job.Spec.Topology.Exclusive)
	all := 0
	for i := range t.Request.Groups {
		if all += t.Request.Groups[i].Members; t.Request.Groups[i].RailLevel > 0 {
			all = topology.MaxGPUs // some of those may not be on the right rails
		}
	}
	var list []*evictable.Want
	for i := range t.Request.Groups {
		g := &t.Request.Groups[i]
		w := &evictable.Want{
			Members: g.Members, Most: all, Milli: int64(g.Claim.GPUs) * 1000, Host: g.Claim.Host, Declared: g.Claim.Declared, Classes: g.Classes, Suits: g.Match, Within: t.Request.Within,
			First: t.firstOf(i), Loose: anywhere || g.Claim.GPUs == 0 || exclusive > 0, Empty: exclusive > 0, SegmentLevel: exclusive,
		}
		if g.Claim.GPUs == 0 { // a part of a GPU, or none
			w.Milli = max(1, int64(g.Claim.Share.GPUMilli))
		}
		if w.Empty {
			w.Suits = nil // a node does once its victims are gone
		}
		if !anywhere && !w.Empty {
			t.keepTogether(w, i)
		}
		list = append(list, w)
	}
	return list
}

// keepTogether says which members of a group have to be together.
func (t *Search) keepTogether(w *evictable.Want, group int) {
	tree, g := t.victims.state.Fleet.Tree(), &t.Request.Groups[group]
	for _, s := range slices.Backward(g.Segments) {
		each := s.Size / max(1, g.Members/w.Members) // of what is on one node
		switch {
		case each <= 1:
		case s.Level == tree.NodeLevel():
			w.Milli, w.Host, w.Declared, w.Members = w.Milli*int64(each), w.Host.Times(int64(each)), w.Declared.Times(int64(each)), w.Members/each
		case s.Level > topology.LevelFleet:
			w.Segment, w.SegmentLevel = each, s.Level
		}
	}
	if level, copied := t.Request.CopyOf(group); w.Segment == 0 && level > topology.LevelFleet && level < tree.NodeLevel() {
		w.Segment, w.SegmentLevel = copied*w.Members/g.Members, level
	}
	required := max(t.Request.Around(group), g.RailLevel)
	if required == tree.NodeLevel() && g.RailLevel < required {
		all := int64(w.Members)
		w.Milli, w.Host, w.Declared, w.Members = w.Milli*all, w.Host.Times(all), w.Declared.Times(all), 1
		w.Segment = 0
	}
	if w.Members > 1 && (required > topology.LevelFleet && required < tree.NodeLevel() || len(g.Kinds) > 0) {
		w.Region = func(n topology.NodeIndex) int32 { return t.regionOf(g, required, n, true) }
	}
}

// gatherMore adds the candidates on the next nodes, and reports whether there may be more on
// others.
func (t *Search) gatherMore(trials *int) (more bool) {
	pl := t.places
	if pl == nil {
		return false
	}
	before := len(t.Offers)
	var list []*record.Replica
	for {
		for i, pick := range pl.picks {
			found, some := t.nextOf(pick, t.stepOf(i))
			list, more = append(list, found...), more || some
		}
		pl.rounds++
		if more || pl.more == nil {
			break
		}
		t.closePicks()
		pl.picks, pl.more, pl.rounds = pl.more(), nil, 0
	}
	if pl.rounds == 1 && t.Rep.Reserved != nil { // what was let in there makes way first
		for _, n := range t.Rep.Reserved.Nodes[:min(len(t.Rep.Reserved.Nodes), t.victims.state.Bounds.Candidates)] {
			list = append(list, t.on(n)...)
		}
	}
	slices.SortFunc(list, func(a, b *record.Replica) int {
		return cmp.Or(cmp.Compare(pl.at[a.Job.Queue], pl.at[b.Job.Queue]), books.CompareVictims(a, b))
	})
	for _, rep := range list {
		t.consider(rep, pl.at[rep.Job.Queue]-1)
	}
	t.victims.gathered += len(t.Offers) - before
	*trials -= t.places.cost/placesLikeOne + (len(t.Offers)-before)/gatheredLikeOne
	t.places.cost = 0
	return more
}

// GatherOnce adds the candidates on the nodes that are the cheapest to clear, unless all are
// candidates already, and reports whether there may be more on others.
func (t *Search) GatherOnce(trials int) (more bool) {
	defer t.closePlaces()
	return t.gatherMore(&trials)
}

// closePlaces ends the search for more.
func (t *Search) closePlaces() {
	if t.places != nil {
		t.closePicks()
		t.places.more = nil
	}
}

func (t *Search) closePicks() {
	for _, pick := range t.places.picks {
		pick.Close()
	}
	t.places.picks = nil
}

// What a search does beside its trials counts as so many of them, with room to spare: to look at
// some places, and to gather some candidates.
const (
	placesLikeOne   = 512
	gatheredLikeOne = 4
)

// stepOf is for how many nodes of a pick to look in this round.
func (t *Search) stepOf(i int) int {
	return t.firstOf(i) << min(t.places.rounds, 20)
}

func (t *Search) firstOf(i int) int {
	members := t.Request.Groups[i].Members
	return min(max(8, members+members/2), t.victims.state.Bounds.Candidates)
}

// nextOf lists what stands on the next nodes of a pick, and reports whether there are more.
func (t *Search) nextOf(pick *evictable.Pick, nodes int) (list []*record.Replica, more bool) {
	for nodes > 0 {
		i, some := pick.Next()
		if !some {
			return list, false
		}
		if t.places.looked[i] {
			continue
		}
		t.places.looked[i] = true
		list = append(list, t.on(t.victims.state.Nodes[i])...)
		nodes--
	}
	return list, true
}

// on lists the replicas on a node of which something may be taken, each once in all.
func (t *Search) on(n *record.Node) (list []*record.Replica) {
	for _, at := range n.Members {
		rep := at.Rep
		if t.places.at[rep.Job.Queue] == 0 || t.places.listed[rep] || rep.State != berth.ReplicaRunning || !t.mayTake(rep) {
			continue
		}
		t.places.listed[rep] = true
		list = append(list, rep)
	}
	return list
}
