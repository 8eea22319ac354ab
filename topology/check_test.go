package topology

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Everything that a tree keeps is worked out anew by Check: a fault in any of it is found.
func TestCheckFindsWhatIsKeptAndWrong(t *testing.T) {
	for name, spoil := range map[string]func(t *Tree){
		"the free GPUs of a node":           func(t *Tree) { t.nodes[0].free-- },
		"the GPUs of a node":                func(t *Tree) { t.nodes[0].gpus = 2 },
		"the class of a node":               func(t *Tree) { t.nodes[0].class = 1 },
		"the domain of a node":              func(t *Tree) { t.nodes[0].domain = t.nodes[2].domain },
		"the position of a node":            func(t *Tree) { t.nodes[0].position++ },
		"the tally of a node":               func(t *Tree) { t.nodes[0].tally = t.nodes[2].tally },
		"what is left of a node":            func(t *Tree) { t.nodes[3].gpus = 4 },
		"what is left of a domain":          func(t *Tree) { t.sums[t.vacantDomains.free.next(0)].gpus = 4 },
		"a node that is not vacant":         func(t *Tree) { t.vacantNodes.free.unset(3) },
		"a domain that is not vacant":       func(t *Tree) { t.vacantDomains.free.unset(t.vacantDomains.free.next(0)) },
		"a number that is never given":      func(t *Tree) { t.vacantNodes.low = 4 },
		"the number of vacancies":           func(t *Tree) { t.vacantDomains.n++ },
		"the nodes of a class":              func(t *Tree) { t.classes[0].nodes++ },
		"the GPUs of a class":               func(t *Tree) { t.classes[0].gpus++ },
		"the tally of a class in the fleet": func(t *Tree) { t.classes[0].fleet = t.classes[1].fleet },
		"a class that is not gone":          func(t *Tree) { t.classes[2].fleet = t.classes[1].fleet },
		"the GPUs of a domain":              func(t *Tree) { t.sums[RootDomain].gpus++ },
		"the free GPUs of a domain":         func(t *Tree) { t.sums[RootDomain].free++ },
		"the nodes of a domain":             func(t *Tree) { t.sums[RootDomain].nodes++ },
		"the level of a domain":             func(t *Tree) { t.domains[t.nodes[0].domain].level++ },
		"the parent of a domain":            func(t *Tree) { t.domains[t.nodes[0].domain].parent = RootDomain },
		"the order of domains":              func(t *Tree) { t.domains[t.Parent(t.nodes[0].domain)].name = "z" },
		"the order of nodes":                func(t *Tree) { t.nodes[0].name = "z" },
		"the tallies of a domain":           func(t *Tree) { t.domains[RootDomain].tallies = t.domains[RootDomain].tallies[:1] },
		"the free GPUs of a tally":          func(t *Tree) { t.classes[0].fleet.free++ },
		"a count":                           func(t *Tree) { t.classes[0].fleet.counts[2]++ },
		"a mark":                            func(t *Tree) { t.classes[0].fleet.marks[0].set(0) },
		"a mark past the last member":       func(t *Tree) { t.nodes[0].tally.marks[1].set(5) },
		"the class of a tally":              func(t *Tree) { t.nodes[0].tally.class = 1 },
		"the place of a tally":              func(t *Tree) { t.nodes[0].tally.position++ },
		"the tally above":                   func(t *Tree) { t.nodes[0].tally.up = nil },
		"the free GPUs of a tally below":    func(t *Tree) { t.classes[0].fleet.belowFree[0]++ },
		"what is whole below":               func(t *Tree) { t.classes[0].fleet.wholeBelow.set(0) },
		"what is open below":                func(t *Tree) { t.classes[0].fleet.openBelow.unset(1) },
		"how many are open below":           func(t *Tree) { t.classes[0].fleet.opens++ },
		"whether a tally is open":           func(t *Tree) { t.nodes[2].tally.open = false },
		"an order":                          func(t *Tree) { tl := t.domains[RootDomain].tallies; tl[0], tl[1] = tl[1], tl[0] },
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := NewTree("spine", "leaf")
			require.NoError(t, err)
			for _, n := range []struct {
				name  string
				path  []string
				class NodeClass
			}{{"a", []string{"s", "l"}, 0}, {"b", []string{"s", "l"}, 1}, {"c", []string{"t", "l"}, 0}, {"gone", []string{"u", "l"}, 2}} {
				index, err := tree.AddNode(n.name, n.path, n.class, 4)
				require.NoError(t, err)
				tree.SetFree(index, 2+int(index))
			}
			require.NoError(t, tree.RemoveNode(3))
			require.NoError(t, tree.Check())
			spoil(tree)
			require.Error(t, tree.Check())
		})
	}
}
