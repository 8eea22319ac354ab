// Package values has what the core does with values of the contract, and no embedder asks for:
// copies that share nothing, questions about them, and words for texts.
//
// It is a leaf: it holds no state.
package values

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// CloneConfig returns a copy that shares no memory that the caller could change.
func CloneConfig(c berth.Config) berth.Config {
	c.Levels = append([]string(nil), c.Levels...)
	c.Resources = slices.Clone(c.Resources)
	c.Fabric.Oversubscription = slices.Clone(c.Fabric.Oversubscription)
	c.Policy.Caps, c.Policy.Budgets, c.Policy.HotSpares = slices.Clone(c.Policy.Caps), slices.Clone(c.Policy.Budgets), slices.Clone(c.Policy.HotSpares)
	c.Policy.Preemption.Grace = slices.Clone(c.Policy.Preemption.Grace)
	c.Policy.Preemption.Queues = slices.Clone(c.Policy.Preemption.Queues)
	c.Policy.Geometry = slices.Clone(c.Policy.Geometry)
	for i := range c.Policy.Geometry {
		c.Policy.Geometry[i].Layout = slices.Clone(c.Policy.Geometry[i].Layout)
	}
	return c
}

// CloneNode returns a copy that shares no memory that the caller could change.
func CloneNode(n *berth.Node) berth.Node {
	c := *n
	c.Domains = slices.Clone(n.Domains)
	c.GPUs = slices.Clone(n.GPUs)
	for i := range c.GPUs {
		c.GPUs[i].Instances = slices.Clone(c.GPUs[i].Instances)
	}
	c.NICs = slices.Clone(n.NICs)
	c.Links = slices.Clone(n.Links)
	for i := range c.Links {
		c.Links[i] = slices.Clone(c.Links[i])
	}
	c.Labels, c.Taints, c.Resources = maps.Clone(n.Labels), slices.Clone(n.Taints), maps.Clone(n.Resources)
	return c
}

// CloneJob returns a copy that shares no memory that the caller could change.
func CloneJob(j *berth.Job) berth.Job {
	c := *j
	c.Groups, c.Topology = CloneGroups(j.Groups), CloneTopology(j.Topology)
	c.Alternatives = CloneAlternatives(j.Alternatives)
	c.SameLabels, c.MaxRequeues = slices.Clone(j.SameLabels), slices.Clone(j.MaxRequeues)
	c.After, c.Array = slices.Clone(j.After), Copied(j.Array)
	c.Service, c.Lend = Copied(j.Service), Copied(j.Lend)
	return c
}

// CloneGroups returns a copy that shares no memory that the caller could change.
func CloneGroups(list []berth.Group) []berth.Group {
	list = slices.Clone(list)
	for i := range list {
		g := &list[i]
		g.Claim = CloneClaim(g.Claim)
		g.Selector = CloneSelector(g.Selector)
		g.Topology = CloneTopology(g.Topology)
	}
	return list
}

// CloneAlternatives returns a copy that shares no memory that the caller could change.
func CloneAlternatives(list []berth.Alternative) []berth.Alternative {
	list = slices.Clone(list)
	for i := range list {
		list[i].Groups, list[i].Topology = CloneGroups(list[i].Groups), CloneTopology(list[i].Topology)
	}
	return list
}

// CloneTopology returns a copy that shares no memory that the caller could change.
func CloneTopology(t berth.Topology) berth.Topology {
	t.Segments, t.Parts = slices.Clone(t.Segments), slices.Clone(t.Parts)
	return t
}

// CloneClaim returns a copy that shares no memory that the caller could change.
func CloneClaim(c berth.Claim) berth.Claim {
	c.Share, c.MinInstance, c.Borrow = Copied(c.Share), Copied(c.MinInstance), Copied(c.Borrow)
	c.Resources = maps.Clone(c.Resources)
	return c
}

// CloneSelector returns a copy that shares no memory that the caller could change.
func CloneSelector(s berth.Selector) berth.Selector {
	s.Pools, s.Products, s.Labels = slices.Clone(s.Pools), slices.Clone(s.Products), maps.Clone(s.Labels)
	s.Tolerations = slices.Clone(s.Tolerations)
	return s
}

// Copied returns a pointer to a copy of the value behind a pointer, or nil.
func Copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
