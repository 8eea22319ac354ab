// Package score says what decides among places: what is asked for, or the embedder's own scorer. It
// tells both what is held.
package score

import (
	"bytes"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/demand"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/topology"
)

// A Scoring has the scorer of a core.
//
// Its invariants:
//
//  1. A scorer is shown every place as it is, in the words of the contract, and each by itself. It
//     is asked about domains only if it chooses among them.
//  2. Without a scorer the demand decides, and is told of what members hold; with one nothing is
//     known of demand.
//  3. A scorer with books is the core's own, made by Restore, and has been told of what members
//     hold, and of nothing that a plan imagines.
//  4. Books and demand are restored as they were saved. Books that the scorer refuses, or of which
//     it makes none of its name, leave the former one in place.
//  5. A choice names the place to which a member goes, and the best of those where more is lost. It
//     is explained where demand decides, and changes nothing.
type Scoring struct {
	state   *state.State
	demand  *demand.Demand // nil: there is a scorer
	scorer  berth.Scorer
	domains berth.DomainScorer      // the scorer, if it is one
	books   berth.BookkeepingScorer // the scorer, if it is one

	// Scratch: what is shown. The node of the last of the places is last.
	places []berth.Place
	last   topology.NodeIndex
	nodes  []berth.Node
	gpus   []berth.GPU
	left   []int32
	shown  []berth.Domain
	groups []berth.Group
}

// New returns the scoring of an empty fleet.
func New(state *state.State) *Scoring { return &Scoring{state: state} }

// Use takes a scorer with empty books. What its Restore refuses is refused.
func (sc *Scoring) Use(s berth.Scorer) *berth.Error {
	if s == nil {
		sc.demand = demand.New(sc.state.Fleet, func(c topology.NodeClass) hardware.Key { return sc.state.Classes.List[c].Key })
		return nil
	}
	sc.adopt(s)
	if sc.books == nil {
		return nil
	}
	return sc.RestoreBooks(nil)
}

func (sc *Scoring) adopt(s berth.Scorer) {
	sc.scorer = s
	sc.domains, _ = s.(berth.DomainScorer)
	sc.books, _ = s.(berth.BookkeepingScorer)
}

// Functions are those by which the fleet is to ask; nil: its own rule.
func (sc *Scoring) Functions() (members func(*gang.Group, []gang.Place), domains func(*gang.Request, []gang.Place)) {
	if sc.scorer != nil {
		members = sc.scoreMember
	}
	if sc.domains != nil {
		domains = sc.scoreDomains
	}
	return members, domains
}

// Losses are what the fleet is to compare places by; nil: a scorer decides.
func (sc *Scoring) Losses() gang.Losses {
	if sc.demand == nil {
		return nil
	}
	return sc.demand
}

// scoreMember asks about the places of one member.
func (sc *Scoring) scoreMember(g *gang.Group, places []gang.Place) {
	group, ok := g.Tag.(*berth.Group)
	if !ok {
		return
	}
	sc.places, sc.left, sc.nodes, sc.gpus = sc.places[:0], sc.left[:0], sc.nodes[:0], sc.gpus[:0]
	for i := range places {
		sc.show(&places[i])
	}
	shown := sc.places
	sc.scorer.Score(group, shown)
	for i := range places {
		places[i].Score = shown[i].Score
	}
	clear(sc.places)
}

// show adds a place to those that are shown. The GPUs of a node are the same for all of its places.
func (sc *Scoring) show(p *gang.Place) {
	if last := len(sc.places) - 1; last >= 0 && sc.last == p.Node {
		sc.places = append(sc.places, sc.places[last])
		sc.places[last+1].GPU = p.GPU
		return
	}
	sc.last = p.Node
	node := sc.describe(p.Node)
	from := len(sc.left)
	sc.left = sc.state.Fleet.AppendLeft(sc.left, p.Node)
	sc.places = append(sc.places, berth.Place{
		Node: node, GPU: p.GPU, Left: sc.left[from:len(sc.left):len(sc.left)], HostLeft: sc.state.Fleet.HostFree(p.Node),
	})
}

// describe is a node in the words of the contract, in scratch.
func (sc *Scoring) describe(n topology.NodeIndex) *berth.Node {
	var node berth.Node
	node, sc.gpus = sc.state.Nodes[n].Spec.FullIn(sc.gpus)
	sc.nodes = append(sc.nodes, node)
	return &sc.nodes[len(sc.nodes)-1]
}

// scoreDomains asks about the domains of a gang.
func (sc *Scoring) scoreDomains(r *gang.Request, places []gang.Place) {
	sc.groups, sc.shown = sc.groups[:0], sc.shown[:0]
	for i := range r.Groups {
		group, ok := r.Groups[i].Tag.(*berth.Group)
		if !ok {
			return
		}
		sc.groups = append(sc.groups, *group)
	}
	for i := range places {
		sc.shown = append(sc.shown, sc.domain(&places[i]))
	}
	shown := sc.shown
	if sc.domains != nil { // restored, it may be none any more
		sc.domains.ScoreDomains(sc.groups, shown)
	}
	for i := range places {
		places[i].Score = shown[i].Score
	}
	clear(sc.shown)
	clear(sc.groups)
}

// domain is what is shown of a domain, or of a node.
func (sc *Scoring) domain(p *gang.Place) berth.Domain {
	tree := sc.state.Fleet.Tree()
	path := tree.DomainPath(p.Domain)
	if p.Node >= 0 {
		return berth.Domain{
			Level: tree.LevelName(tree.NodeLevel()), Path: append(path, tree.NodeName(p.Node)),
			Nodes: 1, GPUs: tree.NodeGPUs(p.Node), FreeGPUs: tree.Free(p.Node),
		}
	}
	return berth.Domain{
		Level: tree.LevelName(tree.DomainLevel(p.Domain)), Path: path,
		Nodes: tree.NodeCount(p.Domain), GPUs: tree.GPUs(p.Domain), FreeGPUs: tree.FreeTotal(p.Domain),
	}
}

// Submitted tells of a job that is new to the core.
func (sc *Scoring) Submitted(j *record.Job) {
	if sc.books != nil {
		full := j.Full()
		sc.books.Submitted(&full)
	}
	if sc.demand != nil {
		runtime := j.Length()
		if j.Spec.Service != nil {
			runtime = 0
		}
		sc.demand.Submitted(j.Spec.Groups, j.Spec.Gangs(), runtime)
	}
}

// Held tells that a member holds something, Released that it does so no longer.
func (sc *Scoring) Held(rep *record.Replica, flat int, h *gang.Hold) {
	if sc.books != nil {
		sc.books.Held(sc.holding(rep, flat, h))
	}
	if sc.demand != nil {
		sc.demand.Changed(h)
	}
}

// Released is Held's opposite.
func (sc *Scoring) Released(rep *record.Replica, flat int, h *gang.Hold) {
	if sc.books != nil {
		sc.books.Released(sc.holding(rep, flat, h))
	}
	if sc.demand != nil {
		sc.demand.Changed(h)
	}
}

func (sc *Scoring) holding(rep *record.Replica, flat int, h *gang.Hold) berth.Holding {
	sc.nodes, sc.gpus = sc.nodes[:0], sc.gpus[:0]
	of := berth.Holding{Node: sc.describe(h.Node), Group: &rep.Job.Spec.Groups[rep.Job.Group(flat)]}
	if !h.Share.Over {
		of.GPUs = berth.GPUSet(h.GPUs)
	}
	return of
}

// SaveDemand returns what is known of what is asked for.
func (sc *Scoring) SaveDemand() *demand.Saved {
	if sc.demand == nil {
		return nil
	}
	return sc.demand.Save()
}

// RestoreDemand takes that back. A core with a scorer has none.
func (sc *Scoring) RestoreDemand(s *demand.Saved) *berth.Error {
	switch {
	case sc.demand != nil:
		return sc.demand.Restore(s)
	case s != nil:
		return refusal.Of(berth.ErrInvalid, "demand", "a scorer decides, and not what is asked for")
	}
	return nil
}

// Check works out anew what is kept of what is asked for. It is for tests.
func (sc *Scoring) Check() error {
	if sc.demand == nil {
		return nil
	}
	return sc.demand.Check()
}

// Save returns the name of the scorer, and its books.
func (sc *Scoring) Save() (name string, books []byte) {
	if sc.scorer == nil {
		return "", nil
	}
	if sc.books != nil {
		books = sc.books.Save()
	}
	return sc.scorer.Name(), books
}

// RestoreBooks takes books back. It refuses what the scorer does, and books without a bookkeeper.
func (sc *Scoring) RestoreBooks(books []byte) *berth.Error {
	if sc.books == nil {
		if len(books) > 0 {
			return refusal.Of(berth.ErrInvalid, "scorerBooks", "the scorer keeps no books")
		}
		return nil
	}
	own, err := sc.books.Restore(bytes.Clone(books))
	switch {
	case err != nil:
		return refusal.Of(berth.ErrInvalid, "scorerBooks", errtext.Short(err.Error()))
	case own == nil || own.Name() != sc.scorer.Name():
		return refusal.Of(berth.ErrInvalid, "scorerBooks", fmt.Sprintf("%q makes no scorer of its name of them", errtext.Short(sc.scorer.Name())))
	}
	sc.adopt(own)
	return nil
}
