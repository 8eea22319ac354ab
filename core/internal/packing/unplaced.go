package packing

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// MaxNodes bounds the nodes onto which members are packed.
const MaxNodes = 64

// An Unplaced gang needs a place.
type Unplaced struct {
	Rep     *record.Replica
	Request *gang.Request
}

// Nodes finds nodes for all members of several gangs at once, by gang and group: those first on
// which a gang is, and then those with the least room. Nil: there are none, the steps were not
// enough, or counting does not tell: some member does not go anywhere, or more than MaxNodes
// nodes have room. The steps that it took are subtracted.
func Nodes(st *state.State, gangs []Unplaced, steps *int) (at [][][]*record.Node) {
	p := Packing{Steps: *steps}
	if withRoom(st) > MaxNodes {
		return nil
	}
	nodes := rooms(st, &p)
	for i := range gangs {
		if !gangs[i].list(st, &p, nodes) {
			return nil
		}
	}
	runs := p.Pack()
	if *steps = p.Steps; runs == nil {
		return nil
	}
	for i := range gangs {
		var groups [][]*record.Node
		for range gangs[i].Request.Groups {
			var list []*record.Node
			for _, n := range runs[0] {
				list = append(list, nodes[n])
			}
			groups, runs = append(groups, list), runs[1:]
		}
		at = append(at, groups)
	}
	return at
}

// withRoom counts the nodes with GPUs that are free. O(classes x GPUs of a node).
func withRoom(st *state.State) (nodes int) {
	tree := st.Fleet.Tree()
	for class := range st.Classes.List {
		gpus, _ := tree.ClassGPUs(topology.NodeClass(class))
		for k := 1; k <= gpus; k++ {
			nodes += tree.Count(topology.RootDomain, topology.NodeClass(class), k)
		}
	}
	return nodes
}

// rooms lists the nodes with GPUs that are free, and what they have.
func rooms(st *state.State, p *Packing) (nodes []*record.Node) {
	fleet := st.Fleet
	for _, n := range st.Nodes {
		if n != nil && fleet.Schedulable(n.Index) && fleet.FreeMask(n.Index) != 0 {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, record.CompareNodes)
	for _, n := range nodes {
		p.Rooms = append(p.Rooms, Room{
			GPUs: berth.GPUSet(fleet.FreeMask(n.Index)).Len(), Host: counted(st, fleet.HostFree(n.Index), fleet.DeclaredFree(n.Index)),
		})
	}
	return nodes
}

// counted are amounts of all that hosts have, those that are declared too.
func counted(st *state.State, host countable.Amounts, declared *countable.Declared) []int64 {
	list := host[:]
	for i := range st.Config.Resources {
		list = append(list, declared.Of(i))
	}
	return list
}

// list lists the members of a gang, a run for each group. It reports false for one of which not
// every member goes anywhere.
func (u *Unplaced) list(st *state.State, p *Packing, nodes []*record.Node) bool {
	if u.Request.Required != 0 || u.Request.Within != topology.RootDomain || u.Request.Variant != nil || u.Rep.Job.Spec.Topology.Exclusive != "" {
		return false
	}
	for i := range u.Request.Groups {
		g := &u.Request.Groups[i]
		if g.Claim.GPUs == 0 || g.Part != 0 || g.Required != 0 || g.Balance != 0 || g.Spread != 0 || g.RailLevel != 0 || len(g.Segments) > 0 {
			return false
		}
		one := Run{Members: g.Members, Each: Room{GPUs: g.Claim.GPUs, Host: counted(st, g.Claim.Host, g.Claim.Declared)}}
		for at, n := range nodes {
			if n.Suits(g) {
				one.Nodes = append(one.Nodes, at)
			}
		}
		elsewhere := func(at int) bool {
			return !slices.ContainsFunc(u.Rep.Members, func(m record.Member) bool { return m.State.Holds() && m.Node == nodes[at] })
		}
		slices.SortStableFunc(one.Nodes, func(a, b int) int {
			return cmp.Or(values.CompareBool(elsewhere(a), elsewhere(b)), cmp.Compare(p.Rooms[a].GPUs, p.Rooms[b].GPUs))
		})
		for _, at := range one.Nodes {
			kind := int32(0)
			if len(g.Kinds) > 0 {
				kind = g.Kinds[slices.Index(g.Classes, topology.NodeClass(nodes[at].Class))]
			}
			one.Kinds = append(one.Kinds, kind)
		}
		p.Runs = append(p.Runs, one)
	}
	return true
}

// OnNode is a request for one member of a group on one node.
func OnNode(request *gang.Request, g int, n *record.Node) *gang.Request {
	group := request.Groups[g]
	group.Members, group.MinMembers = 1, 1
	group.Classes, group.Kinds, group.Tiers = []topology.NodeClass{topology.NodeClass(n.Class)}, nil, nil
	match := group.Match
	group.Match = func(at topology.NodeIndex) bool { return at == n.Index && (match == nil || match(at)) }
	return &gang.Request{Groups: []gang.Group{group}, Locality: request.Locality}
}
