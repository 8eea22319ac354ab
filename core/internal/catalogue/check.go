package catalogue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/gang"
)

// Check holds what is interned against its uses, as a room that knows the records has counted them,
// and works out anew what tables remember. It is for tests.
func (c *Catalogue) Check(owners map[gang.Owner]int, graphs map[*GraphEntry]int, nodes map[*Table]int) error {
	if err := c.Owners.check(owners); err != nil {
		return err
	}
	if err := c.Graphs.check(graphs); err != nil {
		return err
	}
	known := 0
	for _, name := range slices.Sorted(maps.Keys(c.Tables)) {
		t := c.Tables[name]
		if nodes[t] > 0 {
			known++
		}
		if t.Product.Name != name || t.Nodes != nodes[t] {
			return fmt.Errorf("table %s: %d nodes, counted %d, or it is another", name, nodes[t], t.Nodes)
		}
		if err := t.checkPlans(); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	if known != len(nodes) {
		return fmt.Errorf("nodes go by %d tables, of which %d are known", len(nodes), known)
	}
	return nil
}

// check compares the owners with their uses, and numbers with keys.
func (t *OwnerTable) check(uses map[gang.Owner]int) error {
	live := 0
	for i := 1; i < len(t.Uses); i++ {
		o := gang.Owner(i)
		if t.Uses[i] > 0 {
			live++
		}
		if known, is := t.ByKey[t.Keys[i]]; t.Uses[i] != uses[o] || t.Uses[i] > 0 && (!is || known != o) {
			return fmt.Errorf("owner %d has %d uses, counted %d, or is not known by its key", i, uses[o], t.Uses[i])
		}
	}
	if t.Uses[0] != 1 || len(t.Uses) != len(t.Keys) || live != len(t.ByKey) {
		return fmt.Errorf("%d owners have %d keys, or the number of nobody is given", live, len(t.ByKey))
	}
	return nil
}

// check compares the graphs with the nodes that have them.
func (t *GraphTable) check(uses map[*GraphEntry]int) error {
	for _, key := range slices.Sorted(maps.Keys(t.ByKey)) {
		if e := t.ByKey[key]; e.key != key || e.uses == 0 || e.uses != uses[e] {
			return fmt.Errorf("%d nodes have the graph %s, counted %d, or it is known by another key", uses[e], key, e.uses)
		}
	}
	if len(uses) != len(t.ByKey) {
		return fmt.Errorf("nodes have %d graphs, %d are known", len(uses), len(t.ByKey))
	}
	return nil
}

// checkPlans works out anew what was remembered of plans.
func (t *Table) checkPlans() error {
	keys := slices.SortedFunc(maps.Keys(t.plans), func(a, b planKey) int {
		return cmp.Or(cmp.Compare(a.exist, b.exist), cmp.Compare(a.held, b.held), cmp.Compare(a.profile, b.profile), cmp.Compare(a.count, b.count))
	})
	for _, key := range keys {
		if plan := t.workOut(key); plan != t.plans[key] {
			return fmt.Errorf("the plan of %+v is remembered as %+v, and is %+v", key, t.plans[key], plan)
		}
	}
	return nil
}
