package answer

import (
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// What a gang lacks that is to have one product for each group, or one value of the labels that it
// names: told of each product by itself.

// products tells of each group that could have one of several products, or values of labels, what
// each product could hold.
func (an *Answers) products(e *record.Entry, r *gang.Request) []berth.ProductFinding {
	var list []berth.ProductFinding
	spec := &e.Bucket.Shape.Spec
	for i := range r.Groups {
		g, claimed := &r.Groups[i], values.WantsDevice(&spec.Groups[i].Claim)
		if !claimed || (len(g.Kinds) == 0 || g.Members == 1) && r.Variant == nil {
			continue
		}
		var told []string
		for _, class := range g.Classes {
			product := an.state.Classes.List[class].Key.Product
			if slices.Contains(told, product) {
				continue
			}
			told = append(told, product)
			alone := *r
			alone.Groups = []gang.Group{an.ofProduct(g, product)}
			finding := an.ofOne(&alone, spec)
			finding.Group, finding.Product = e.Rep.Job.Spec.Groups[e.Base()+i].Name, product
			list = append(list, finding)
		}
	}
	return list
}

// oneProduct is the product that a shortfall is about, of several that would do; "": it is about
// all.
func (an *Answers) oneProduct(e *record.Entry, r *gang.Request, short *gang.Shortfall) string {
	if g := &r.Groups[short.Group]; len(g.Kinds) > 0 && g.Members > 1 {
		return an.state.Classes.List[g.Classes[slices.Index(g.Kinds, short.Kind)]].Key.Product
	}
	group := &e.Rep.Job.Spec.Groups[e.Base()+short.Group]
	if e.Grows && an.state.Kinds(group, an.state.Classes.Matching(group, nil)) != nil {
		return e.Bucket.Shape.Spec.Groups[0].Selector.Products[0] // that of the members that are there
	}
	return ""
}

// ofProduct is a group on nodes of one product.
func (an *Answers) ofProduct(g *gang.Group, product string) gang.Group {
	one := g.Only(func(class topology.NodeClass) bool { return an.state.Classes.List[class].Key.Product == product })
	one.Kinds = nil
	return one
}

// ofOne tells what one product could hold of the only group of a request.
func (an *Answers) ofOne(alone *gang.Request, spec *record.ShapeSpec) berth.ProductFinding {
	needed := record.Least(&berth.Group{Members: alone.Groups[0].Members, MinMembers: alone.Groups[0].MinMembers})
	short, lacks := an.state.Fleet.Diagnose(alone)
	if !lacks {
		return berth.ProductFinding{MembersFit: needed, MembersNeeded: needed}
	}
	finding := berth.ProductFinding{MembersFit: min(short.MembersInDomain, needed), MembersNeeded: needed, Short: shortOfWhat(&short)}
	if alone.Variant != nil && short.EligibleNodes > 0 {
		finding.Labels = map[string]string{}
		for i, value := range strings.Split(short.Variant, "\x00") {
			finding.Labels[spec.SameLabels[i]] = value
		}
	}
	return finding
}

// shortOfWhat says what a product is short of, in a word or two.
func shortOfWhat(s *gang.Shortfall) string {
	if r, ok := s.Bottleneck.Host(); ok {
		return r.Words()
	}
	switch {
	case s.IfIdleInDomain < s.Needed:
		return "nodes"
	case s.Bottleneck == gang.BottleneckShares:
		return "shares"
	case s.Bottleneck == gang.BottleneckInstances:
		return "instances"
	case s.Bottleneck == gang.BottleneckGPUs:
		return "GPUs"
	}
	return "capacity together"
}

// wouldMix says what would help where members on several products, or nodes that are labelled
// otherwise, would do; "": nothing of that.
func (an *Answers) wouldMix(r *gang.Request) string {
	kinds := slices.ContainsFunc(r.Groups, func(g gang.Group) bool { return len(g.Kinds) > 0 && g.Members > 1 })
	without := func(products, labels bool) bool {
		other := *r
		other.Groups = slices.Clone(r.Groups)
		for i := range other.Groups {
			if products {
				other.Groups[i].Kinds = nil
			}
		}
		if labels {
			other.Variant = nil
		}
		_, lacks := an.state.Fleet.Diagnose(&other)
		return !lacks
	}
	switch {
	case kinds && without(true, false):
		return ", or GPUs of several products in a group (mixProducts)"
	case r.Variant != nil && without(false, true):
		return ", or nodes that differ in the labels named"
	case kinds && r.Variant != nil && without(true, true):
		return ", or GPUs of several products in a group (mixProducts) and nodes that differ in the labels named"
	}
	return ""
}
