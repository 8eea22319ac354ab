package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// This file is about what is one over a gang: the product of a group's GPUs, and the values of the
// labels that a job names.

// wantsGPU reports whether members of a group get GPUs or a part of one.
func wantsGPU(g *berth.Group) bool {
	return g.Claim.GPUs > 0 || g.Claim.Share != nil || g.Claim.Borrow != nil || ofInstance(&g.Claim)
}

// product is that of a node's GPUs.
func (n *node) product() string {
	if len(n.spec.GPUs) == 0 {
		return ""
	}
	return n.spec.GPUs[0].Product
}

// values are those of the labels that a job names; false if the node lacks one.
func (n *node) values(j *berth.Job) (string, bool) {
	var values []string
	for _, key := range j.SameLabels {
		value, ok := n.spec.Labels[key]
		if !ok {
			return "", false
		}
		values = append(values, value)
	}
	return strings.Join(values, "\x00"), true
}

// uniform: the members of a group that the last Bind places have GPUs of one product, and stand on
// nodes with one value of each label that the job names; and so have those that were there. Where
// these differ, as in a life that was observed or after labels have changed, the new ones are like
// one of them.
func (c *Checker) uniform(rep *replica) error {
	j := &rep.job.spec
	var fresh, before []*member
	for _, m := range rep.in(binding, running) {
		switch {
		case !wantsGPU(m.group()):
		case m.bind == c.last:
			fresh = append(fresh, m)
		default:
			before = append(before, m)
		}
	}
	for g := range j.Groups {
		if j.Groups[g].MixProducts {
			continue
		}
		of := func(m *member) (string, bool) { return m.node.product(), rep.job.group(m.flat) == g }
		if a, b := unlike(fresh, before, of); a != nil {
			return broken(PromiseS8, "%s has a %s and %s a %s, in one group", a, a.node.product(), b, b.node.product())
		}
		if j.Groups[g].Members > 1 && len(c.productsOf(&j.Groups[g])) > 1 {
			c.saw("one product of several")
		}
	}
	if len(j.SameLabels) == 0 {
		return nil
	}
	for _, m := range fresh {
		if _, labelled := m.node.values(j); !labelled {
			return broken(PromiseS8, "%s is on node %s, which lacks one of the labels %v", m, m.node.spec.ID, j.SameLabels)
		}
	}
	if a, b := unlike(fresh, before, func(m *member) (string, bool) { return m.node.values(j) }); a != nil {
		return broken(PromiseS8, "%s is on node %s and %s on node %s, which differ in the labels %v", a, a.node.spec.ID, b, b.node.spec.ID, j.SameLabels)
	}
	if len(fresh)+len(before) > 1 {
		c.saw("labels of one value")
	}
	return nil
}

// unlike finds two new members that differ in something, or one that is like none of those that
// were there; nil: there are none. What has no value is left out.
func unlike(fresh, before []*member, of func(*member) (string, bool)) (a, b *member) {
	var first, like, other *member
	for _, m := range fresh {
		value, ok := of(m)
		if !ok {
			continue
		}
		if first == nil {
			first = m
		}
		if is, _ := of(first); is != value {
			return first, m
		}
	}
	for _, m := range before {
		value, ok := of(m)
		if !ok || first == nil {
			continue
		}
		if is, _ := of(first); is == value {
			like = m
		} else {
			other = m
		}
	}
	if like == nil && other != nil {
		return first, other
	}
	return nil, nil
}

// productsOf lists the products of the nodes that suit a group.
func (c *Checker) productsOf(g *berth.Group) []string {
	products := map[string]bool{}
	for _, n := range c.nodes {
		if len(n.gpus) > 0 && n.unfit(g) == "" {
			products[n.product()] = true
		}
	}
	return slices.Sorted(maps.Keys(products))
}

// sameAs reports whether a node could have been taken for a group beside a member of it.
func (n *node) sameAs(m *member) bool {
	g, j := m.group(), &m.rep.job.spec
	if !wantsGPU(g) {
		return true
	}
	have, ok := n.values(j)
	want, _ := m.node.values(j)
	return (g.MixProducts || g.Members == 1 || n.product() == m.node.product()) && ok && have == want
}

// A fashion is a product and values of labels that all members of a gang of one group may have;
// product "": any.
type fashion struct {
	product string
	suits   func(*node) bool
}

// fashions lists those of a gang of one group that waits: for one that runs, those of its first
// member.
func (c *Checker) fashions(rep *replica, g *berth.Group) []fashion {
	j, here := &rep.job.spec, rep.in(binding, running)
	products := c.productsFor(rep.job.queue, g)
	if wantsGPU(g) && !g.MixProducts && g.Members > 1 {
		if products = c.productsOf(g); len(here) > 0 {
			products = []string{here[0].node.product()}
		}
	}
	values := map[string]bool{"": true}
	if wantsGPU(g) && len(j.SameLabels) > 0 {
		clear(values)
		for _, n := range c.nodes {
			if value, ok := n.values(j); ok {
				values[value] = true
			}
		}
		if len(here) > 0 {
			clear(values)
			if value, ok := here[0].node.values(j); ok {
				values[value] = true
			}
		}
	}
	var list []fashion
	for _, product := range products {
		for _, value := range slices.Sorted(maps.Keys(values)) {
			list = append(list, fashion{product, func(n *node) bool {
				have, ok := n.values(j)
				return n.of(product) && (!wantsGPU(g) || ok && have == value)
			}})
		}
	}
	return list
}
