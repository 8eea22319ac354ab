package evict

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/topology"
)

const (
	// packNodes bounds the nodes onto which members are packed, and packSteps the steps of all
	// packings of one rearrangement.
	packNodes = 64
	packSteps = 1 << 16
)

// A packing finds nodes for the members of several gangs at once: for each member in turn, those that
// ask for more GPUs first, it tries each node. What was found to be impossible is not tried again,
// so that few nodes or few sizes take few steps. It is exact for gangs of which each member goes
// anywhere: O(members x nodes) for each way in which the nodes may be filled.
type packing struct {
	nodes []*record.Node
	gpus  []int
	host  []host.Amounts
	// hosts: some members ask for something of the host.
	hosts bool
	runs  []run
	// in vain has what cannot be gone on from.
	vain  map[string]bool
	key   []byte
	steps int
}

// A run is the members of one group of a gang.
type run struct {
	owner, group int // the owner is the place of a displaced gang in its list, or the beneficiary's
	members      int
	claim        *gang.Claim
	// kinds has the kind of each node that suits, all members are on nodes of one, in the order in
	// which the nodes are tried.
	order []int
	kinds []int32
	// at is where each member goes.
	at []int
}

// pack imagines the beneficiary and those that move in places that are found for all of them at
// once. It reports false where there are none, or more to it than counting.
func (r *rearrangement) pack(moving []*displaced) bool {
	p := &packing{vain: map[string]bool{}, steps: r.steps}
	if !p.open(r, moving) {
		return false
	}
	found := p.place(0, 0, 0, -1)
	if r.steps = p.steps; !found {
		return false
	}
	r.moves = r.moves[:0]
	if r.places = p.realise(r, r.VictimSearch, len(moving)); r.places == nil || !r.im.putIn(r.Queue, r.places) {
		return false
	}
	for i, d := range moving {
		if !r.settles(d, p.realise(r, d.search, i)) {
			return false
		}
	}
	return true
}

// open lists nodes and members. It reports false where counting does not tell whether they fit.
func (p *packing) open(r *rearrangement, moving []*displaced) bool {
	fleet := r.core.state.Fleet
	for _, n := range r.core.state.Nodes {
		if n != nil && fleet.Schedulable(n.Index) && fleet.FreeMask(n.Index) != 0 {
			p.nodes = append(p.nodes, n)
		}
	}
	if len(p.nodes) > packNodes {
		return false
	}
	slices.SortFunc(p.nodes, record.CompareNodes)
	for _, n := range p.nodes {
		p.gpus = append(p.gpus, berth.GPUSet(fleet.FreeMask(n.Index)).Len())
		p.host = append(p.host, fleet.HostFree(n.Index))
	}
	for i, d := range moving {
		if !p.list(i, d.rest.Rep, d.search.Request) {
			return false
		}
	}
	if !p.list(len(moving), r.rep, r.Request) {
		return false
	}
	slices.SortStableFunc(p.runs, func(a, b run) int {
		return cmp.Or(cmp.Compare(b.claim.GPUs, a.claim.GPUs), cmp.Compare(b.owner, a.owner))
	})
	return true
}

// list adds the members of a gang. It reports false for one that does not go anywhere.
func (p *packing) list(owner int, rep *record.Replica, request *gang.Request) bool {
	spec := &rep.Job.Spec
	if request.Required != 0 || request.Within != topology.RootDomain || request.Variant != nil || spec.Topology.Exclusive != "" {
		return false
	}
	for g := range request.Groups {
		group := &request.Groups[g]
		if group.Claim.GPUs == 0 || group.Required != 0 || group.Balance != 0 || group.Spread != 0 || group.RailLevel != 0 || len(group.Segments) > 0 {
			return false
		}
		one := run{owner: owner, group: g, members: group.Members, claim: &group.Claim, at: make([]int, group.Members)}
		for at, n := range p.nodes {
			one.kinds = append(one.kinds, -1)
			if !n.Suits(group) {
				continue
			}
			one.kinds[at] = 0
			if len(group.Kinds) > 0 {
				one.kinds[at] = group.Kinds[slices.Index(group.Classes, topology.NodeClass(n.Class))]
			}
			one.order = append(one.order, at)
		}
		home := func(at int) bool {
			return slices.ContainsFunc(rep.Members, func(m record.Member) bool { return m.State.Holds() && m.Node == p.nodes[at] })
		}
		slices.SortStableFunc(one.order, func(a, b int) int {
			return cmp.Or(record.CompareBool(!home(a), !home(b)), cmp.Compare(p.gpus[a], p.gpus[b]))
		})
		p.hosts = p.hosts || group.Claim.Host != host.Amounts{}
		p.runs = append(p.runs, one)
	}
	return true
}

// place finds nodes for the members of a run from one on, on nodes from a place in its order on and
// of a kind, and for all runs after it; -1: of any kind.
func (p *packing) place(at, member, from int, kind int32) bool {
	if at == len(p.runs) {
		return true
	}
	one := &p.runs[at]
	if member == one.members {
		return p.place(at+1, 0, 0, -1)
	}
	if p.steps--; p.steps <= 0 {
		return false
	}
	key := p.state(at, member, from, kind)
	if p.vain[key] {
		return false
	}
	for i := from; i < len(one.order); i++ {
		n := one.order[i]
		if kind >= 0 && one.kinds[n] != kind || p.gpus[n] < one.claim.GPUs || !one.claim.Host.Within(p.host[n]) {
			continue
		}
		one.at[member] = n
		p.gpus[n] -= one.claim.GPUs
		p.host[n] = p.host[n].Minus(one.claim.Host)
		found := p.place(at, member+1, i, one.kinds[n])
		p.gpus[n] += one.claim.GPUs
		p.host[n] = p.host[n].Plus(one.claim.Host)
		if found {
			return true
		}
	}
	p.vain[key] = true
	return false
}

// state names all that the rest of a packing depends on.
func (p *packing) state(at, member, from int, kind int32) string {
	p.key = p.key[:0]
	for _, n := range [...]int{at, member, from, int(kind)} {
		p.key = binary.AppendVarint(p.key, int64(n))
	}
	for n := range p.nodes {
		p.key = append(p.key, byte(p.gpus[n]))
		if p.hosts {
			for _, amount := range p.host[n] {
				p.key = binary.AppendVarint(p.key, amount)
			}
		}
	}
	return string(p.key)
}

// realise finds the members of a gang their GPUs on the nodes that they are packed onto; nil: there
// is more to it than counting.
func (p *packing) realise(r *rearrangement, t *VictimSearch, owner int) (where []gang.Member) {
	extent := r.im.extent()
	defer r.im.backTo(extent)
	for g := range t.Request.Groups {
		i := slices.IndexFunc(p.runs, func(one run) bool { return one.owner == owner && one.group == g })
		for at, n := range slices.Sorted(slices.Values(p.runs[i].at)) {
			one := *t
			one.Request = onNode(t.Request, g, p.nodes[n])
			member := one.Place()
			if member == nil {
				return nil
			}
			member[0].Group, member[0].Index = g, at
			if !r.im.putIn(t.Queue, member) {
				return nil
			}
			where = append(where, member...)
		}
	}
	return where
}

// onNode is a request for one member of a group on one node.
func onNode(request *gang.Request, g int, n *record.Node) *gang.Request {
	group := request.Groups[g]
	group.Members, group.MinMembers = 1, 1
	group.Classes, group.Kinds = []topology.NodeClass{topology.NodeClass(n.Class)}, nil
	match := group.Match
	group.Match = func(at topology.NodeIndex) bool { return at == n.Index && (match == nil || match(at)) }
	return &gang.Request{Groups: []gang.Group{group}, Locality: request.Locality}
}
