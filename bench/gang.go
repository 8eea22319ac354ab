package bench

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// Gang places as the scheduling core does before it knows what is asked for, by asking the very
// code: package gang, with a fleet without topology and a gang of one member for each task. Its
// package comment says where a member goes. In short: to the node with the fewest free GPUs; a
// share to the fullest GPU that has room for it, and else to a node of that kind.
//
// Everybody may share a GPU with everybody, and no limit is set on how many do.
func Gang() Policy { return &gangRule{} }

type gangRule struct {
	fleet   *gang.Fleet
	nodes   []topology.NodeIndex        // by Node
	back    map[topology.NodeIndex]Node // the inverse
	classes []coreClass                 // in the order in which the core prefers them
	request gang.Request
	found   gang.Placement
	allowed map[Kind][]topology.NodeClass
	fits    []bool // by Node, for a search among those on which a task fits
}

// A coreClass is nodes that are alike to the core.
type coreClass struct {
	model int
	gpus  int
}

// name is the model of a class; without GPUs it has none.
func (c coreClass) name(f *Fleet) string {
	if c.gpus == 0 {
		return ""
	}
	return f.Models()[c.model]
}

// sharer is the owner of all shares.
const sharer gang.Owner = 1

// join makes the fleet of package gang when it is first needed.
func (p *gangRule) join(f *Fleet) {
	if p.fleet != nil {
		return
	}
	fleet, err := gang.NewFleet()
	must(err)
	p.fleet, p.back, p.allowed = fleet, map[topology.NodeIndex]Node{}, map[Kind][]topology.NodeClass{}
	for n := range Node(f.Nodes()) {
		class := coreClass{f.Model(n), f.Spec(n).GPUs}
		if !slices.Contains(p.classes, class) {
			p.classes = append(p.classes, class)
		}
	}
	slices.SortFunc(p.classes, func(a, b coreClass) int {
		return cmp.Or(cmp.Compare(a.name(f), b.name(f)), cmp.Compare(a.gpus, b.gpus))
	})
	for n := range Node(f.Nodes()) {
		spec := f.Spec(n)
		class := slices.Index(p.classes, coreClass{f.Model(n), spec.GPUs})
		i, err := fleet.AddNode(gang.NodeSpec{
			Name: coreNode(n), Class: topology.NodeClass(class), GPUs: spec.GPUs,
			Host: countable.Amounts{countable.CPUMilli: spec.CPUMilli, countable.MemoryMiB: spec.MemoryMiB},
		})
		must(err)
		p.nodes, p.back[i] = append(p.nodes, i), n
	}
	p.fits = make([]bool, f.Nodes())
}

func (p *gangRule) Choose(f *Fleet, k Kind, feasible []Node) Choice {
	p.join(f)
	p.request = gang.Request{Groups: append(p.request.Groups[:0], gang.Group{
		Members: 1, Claim: p.claim(f, k), Classes: p.allow(f, k),
	})}
	place, ok := p.find()
	if _, fits := slices.BinarySearch(feasible, place.Node); ok && fits {
		return Choice{Place: place}
	}
	// Package gang has no bound on the tasks of a node: it is asked for another.
	for _, n := range feasible {
		p.fits[n] = true
	}
	p.request.Groups[0].Match = func(n topology.NodeIndex) bool { return p.fits[p.back[n]] }
	if place, ok = p.find(); !ok {
		place.Node = -1 // which is refused, and named
	}
	clear(p.fits)
	return Choice{Place: place}
}

// find tells where the fleet would place the request, and leaves it as it is.
func (p *gangRule) find() (Place, bool) {
	if !p.fleet.Place(&p.request, &p.found) {
		return Place{}, false
	}
	h := p.found.Members[0].Hold
	must(p.fleet.ReleaseAll(&p.found))
	return Place{Node: p.back[h.Node], GPUs: berth.GPUSet(h.GPUs)}, true
}

func (p *gangRule) claim(f *Fleet, k Kind) gang.Claim {
	r := f.Request(k)
	c := gang.Claim{Host: countable.Amounts{countable.CPUMilli: r.CPUMilli, countable.MemoryMiB: r.MemoryMiB}}
	if r.Share() {
		c.Share = gang.Share{GPUMilli: int32(r.Milli), Owner: sharer}
	} else {
		c.GPUs = r.GPUs
	}
	return c
}

// allow lists the classes whose model suits a kind.
func (p *gangRule) allow(f *Fleet, k Kind) []topology.NodeClass {
	list, known := p.allowed[k]
	if !known {
		for i, c := range p.classes {
			if c.gpus == 0 && f.accepts[k] == nil || c.gpus > 0 && f.Request(k).Accepts(c.name(f)) {
				list = append(list, topology.NodeClass(i))
			}
		}
		p.allowed[k] = list
	}
	return list
}

func (p *gangRule) Held(f *Fleet, k Kind, place Place) {
	p.join(f)
	must(p.fleet.Hold(p.hold(f, k, place)))
}

func (p *gangRule) Released(f *Fleet, k Kind, place Place) {
	must(p.fleet.Release(p.hold(f, k, place)))
}

func (p *gangRule) hold(f *Fleet, k Kind, place Place) gang.Hold {
	c := p.claim(f, k)
	return gang.Hold{
		Node: p.nodes[place.Node], GPUs: uint64(place.GPUs), Share: c.Share, Host: c.Host,
	}
}

// must stops at what cannot be: the Session has checked what it is about.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
