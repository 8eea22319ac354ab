package topology

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// A twinNode is what the twin knows of a node. The twin keeps a list of nodes and
// works everything out from it.
type twinNode struct {
	index NodeIndex
	name  string
	path  []string
	class NodeClass
	free  int
}

type twin struct {
	tree  *Tree
	nodes []twinNode
}

// gpusOf fixes the number of GPUs of the classes used here.
func gpusOf(c NodeClass) int { return []int{8, 4, 0, 64, 8}[c] }

func (w *twin) below(path []string) []twinNode {
	var list []twinNode
	for _, n := range w.nodes {
		if slices.Equal(n.path[:len(path)], path) {
			list = append(list, n)
		}
	}
	return list
}

func (w *twin) freeGPUs(path []string, classes ...NodeClass) int {
	free := 0
	for _, n := range w.below(path) {
		if slices.Contains(classes, n.class) {
			free += max(n.free, 0)
		}
	}
	return free
}

// closed: a domain is whole, and more than a node of the class.
func (w *twin) closed(path []string, c NodeClass) bool {
	gpus, free := 0, 0
	for _, n := range w.below(path) {
		gpus += gpusOf(n.class)
		free += max(n.free, 0)
	}
	return gpus > gpusOf(c) && gpus == free
}

// open: some node of the class is idle, and no domain from there up to this one is closed.
func (w *twin) open(path []string, c NodeClass) bool {
	return slices.ContainsFunc(w.below(path), func(n twinNode) bool {
		open := n.class == c && n.free == gpusOf(c)
		for l := len(path); l <= len(n.path); l++ {
			open = open && !w.closed(n.path[:l], c)
		}
		return open
	})
}

// visit lists nodes in the order that Visit promises.
func (w *twin) visit(path []string, allowed []NodeClass, c NodeClass, k int) []NodeIndex {
	if len(path) == len(w.tree.Levels()) {
		list := w.below(path)
		slices.SortFunc(list, func(a, b twinNode) int { return cmp.Compare(a.name, b.name) })
		var nodes []NodeIndex
		for _, n := range list {
			if n.class == c && n.free == k {
				nodes = append(nodes, n.index)
			}
		}
		return nodes
	}
	var names []string
	for _, n := range w.below(path) {
		names = append(names, n.path[len(path)])
	}
	child := func(name string) []string { return append(slices.Clone(path), name) }
	slices.Sort(names)
	names = slices.Compact(names)
	rank := func(name string) int {
		switch {
		case k < gpusOf(c) || k == 0 || w.open(child(name), c):
			return 0
		case w.closed(child(name), c):
			return 2
		}
		return 1
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(w.freeGPUs(child(a), allowed...), w.freeGPUs(child(b), allowed...)))
	})
	var nodes []NodeIndex
	for _, name := range names {
		nodes = append(nodes, w.visit(child(name), allowed, c, k)...)
	}
	return nodes
}

func (w *twin) step(t *rapid.T) {
	op := rapid.IntRange(0, 5).Draw(t, "op")
	switch {
	case op == 0 && len(w.nodes) > 0:
		i := rapid.IntRange(0, len(w.nodes)-1).Draw(t, "leaver")
		require.NoError(t, w.tree.RemoveNode(w.nodes[i].index))
		w.nodes = slices.Delete(w.nodes, i, i+1)
	case op <= 2 || len(w.nodes) == 0:
		n := twinNode{name: rapid.StringMatching(`[a-j]`).Draw(t, "name"), class: NodeClass(rapid.IntRange(0, 3).Draw(t, "class"))}
		for range w.tree.Levels() {
			n.path = append(n.path, rapid.StringMatching(`[x-z]`).Draw(t, "domain"))
		}
		duplicate := slices.ContainsFunc(w.nodes, func(o twinNode) bool { return o.name == n.name && slices.Equal(o.path, n.path) })
		index, err := w.tree.AddNode(n.name, n.path, n.class, gpusOf(n.class))
		if duplicate {
			require.ErrorIs(t, err, ErrDuplicate)
			return
		}
		require.NoError(t, err)
		n.index = index
		w.nodes = append(w.nodes, n)
	default:
		n := &w.nodes[rapid.IntRange(0, len(w.nodes)-1).Draw(t, "node")]
		n.free = gpusOf(n.class)
		if rapid.Bool().Draw(t, "busy") {
			n.free = rapid.IntRange(-1, gpusOf(n.class)).Draw(t, "free")
		}
		w.tree.SetFree(n.index, n.free)
		if rapid.IntRange(0, 3).Draw(t, "reclass") == 0 {
			c := NodeClass(rapid.SampledFrom([]int{0, 4}).Draw(t, "other"))
			err := w.tree.SetClass(n.index, c)
			if gpusOf(c) != gpusOf(n.class) {
				// The class is known to have another number of GPUs, unless it has no nodes.
				if err != nil {
					require.ErrorIs(t, err, ErrConflict)
					return
				}
				require.NoError(t, w.tree.SetClass(n.index, n.class))
				return
			}
			require.NoError(t, err)
			n.class = c
		}
	}
}

// compare asks the tree everything about one domain and class.
func (w *twin) compare(t *rapid.T, d DomainIndex, c NodeClass) {
	path := w.tree.DomainPath(d)
	found, ok := w.tree.Lookup(path...)
	require.True(t, ok && found == d, "lookup of %v", path)
	require.Equal(t, w.freeGPUs(path, c), w.tree.FreeOfClass(d, c))
	unit := rapid.IntRange(1, 9).Draw(t, "unit")
	capacity := 0
	for _, n := range w.below(path) {
		if n.class == c {
			capacity += max(n.free, 0) / unit
		}
	}
	require.Equal(t, capacity, w.tree.Capacity(d, c, unit))
	for k := 0; k <= gpusOf(c); k++ {
		count := 0
		for _, n := range w.below(path) {
			if n.class == c && n.free == k {
				count++
			}
		}
		require.Equal(t, count, w.tree.Count(d, c, k))
		for _, allowed := range [][]NodeClass{{c}, {c, (c + 1) % 4, (c + 3) % 4}} {
			var shown []NodeIndex
			require.False(t, w.tree.Visit(d, allowed, c, k, func(n NodeIndex) bool {
				shown = append(shown, n)
				return false
			}))
			require.Equal(t, w.visit(path, allowed, c, k), shown)
		}
		var listed []NodeIndex
		for i := w.tree.NextWithFree(d, c, k, 0); i >= 0; i = w.tree.NextWithFree(d, c, k, i+1) {
			listed = append(listed, w.tree.NodesOf(d, c)[i])
		}
		if len(path) == len(w.tree.Levels()) {
			require.Equal(t, w.visit(path, nil, c, k), listed)
		} else {
			require.Empty(t, listed)
		}
	}
}

func drawLevels(t *rapid.T) []string {
	return []string{"zone", "spine", "leaf"}[:rapid.IntRange(0, 3).Draw(t, "levels")]
}

func TestTreeAgreesWithItsTwin(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree, err := NewTree(drawLevels(t)...)
		require.NoError(t, err)
		w := &twin{tree: tree}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			w.step(t)
			require.NoError(t, tree.Check())
			d := RootDomain
			if len(w.nodes) > 0 {
				n := w.nodes[rapid.IntRange(0, len(w.nodes)-1).Draw(t, "near")]
				d = tree.DomainOf(n.index, Level(rapid.IntRange(0, int(tree.NodeLevel())).Draw(t, "level")))
				require.Equal(t, n.name, tree.NodeName(n.index))
				require.Equal(t, n.free, tree.Free(n.index))
				require.Equal(t, n.path, append([]string(nil), tree.DomainPath(tree.DomainOf(n.index, tree.NodeLevel()))...))
			}
			asked := NodeClass(rapid.IntRange(0, 4).Draw(t, "asked"))
			w.compare(t, d, asked)
			w.compare(t, RootDomain, asked)
		}
	})
}

// TestHistoryDoesNotShow builds the same fleet in two orders, one of them with nodes
// that come and go, and wants the same answers by name.
func TestHistoryDoesNotShow(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		levels := drawLevels(t)
		w := &twin{}
		w.tree, _ = NewTree(levels...)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			w.step(t)
		}
		again, _ := NewTree(levels...)
		names := func(tree *Tree, nodes []NodeIndex) []string {
			var list []string
			for _, n := range nodes {
				list = append(list, tree.DomainString(tree.DomainOf(n, tree.NodeLevel()))+" "+tree.NodeName(n))
			}
			return list
		}
		for _, n := range rapid.Permutation(w.nodes).Draw(t, "order") {
			index, err := again.AddNode(n.name, n.path, n.class, gpusOf(n.class))
			require.NoError(t, err)
			again.SetFree(index, n.free)
		}
		all := []NodeClass{0, 1, 2, 3, 4}
		for _, c := range all {
			for k := range gpusOf(c) + 1 {
				var a, b []NodeIndex
				w.tree.Visit(RootDomain, all, c, k, func(n NodeIndex) bool { a = append(a, n); return false })
				again.Visit(RootDomain, all, c, k, func(n NodeIndex) bool { b = append(b, n); return false })
				require.Equal(t, names(w.tree, a), names(again, b))
			}
		}
		for _, n := range w.nodes {
			for _, m := range w.nodes {
				byName := cmp.Or(strings.Compare(n.name, m.name), slices.Compare(n.path, m.path))
				require.Equal(t, byName, w.tree.Compare(n.index, m.index))
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	tree, err := NewTree("spine", "leaf")
	require.NoError(t, err)
	at := []string{"s", "l"}
	first, err := tree.AddNode("n", at, 1, 8)
	require.NoError(t, err)
	tree.SetFree(first, 5)

	for _, c := range []struct {
		what  string
		kind  error
		field string
		call  func() error
	}{
		{"level without a name", ErrInvalid, "levels[1]", func() error { _, err := NewTree("a", ""); return err }},
		{"level named as an end", ErrInvalid, "levels[0]", func() error { _, err := NewTree("node"); return err }},
		{"two levels of a name", ErrDuplicate, "levels[1]", func() error { _, err := NewTree("a", "a"); return err }},
		{"no name", ErrInvalid, "name", func() error { _, err := tree.AddNode("", at, 1, 8); return err }},
		{"short path", ErrInvalid, "path", func() error { _, err := tree.AddNode("m", at[:1], 1, 8); return err }},
		{"empty domain", ErrInvalid, "path[1]", func() error { _, err := tree.AddNode("m", []string{"s", ""}, 1, 8); return err }},
		{"negative class", ErrInvalid, "class", func() error { _, err := tree.AddNode("m", at, -1, 8); return err }},
		{"class too large", ErrInvalid, "class", func() error { _, err := tree.AddNode("m", at, MaxClasses, 8); return err }},
		{"too many GPUs", ErrInvalid, "gpus", func() error { _, err := tree.AddNode("m", at, 2, 65); return err }},
		{"fewer GPUs", ErrConflict, "gpus", func() error { _, err := tree.AddNode("m", at, 1, 4); return err }},
		{"more GPUs", ErrConflict, "gpus", func() error { _, err := tree.AddNode("m", at, 1, 16); return err }},
		{"taken", ErrDuplicate, "name", func() error { _, err := tree.AddNode("n", at, 1, 8); return err }},
		{"unknown node", ErrUnknown, "node", func() error { return tree.RemoveNode(first + 1) }},
		{"negative node", ErrUnknown, "node", func() error { return tree.RemoveNode(-1) }},
		{"class of no node", ErrUnknown, "node", func() error { return tree.SetClass(first+1, 1) }},
		{"negative class for a node", ErrInvalid, "class", func() error { return tree.SetClass(first, -1) }},
		{"class of other nodes", ErrConflict, "class", func() error {
			small, err := tree.AddNode("small", at, 7, 4)
			require.NoError(t, err)
			defer func() { require.NoError(t, tree.RemoveNode(small)) }()
			return tree.SetClass(first, 7)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			err := c.call()
			require.ErrorIs(t, err, c.kind)
			var e *Error
			require.True(t, errors.As(err, &e))
			require.Equal(t, c.field, e.Field)
			require.NotEmpty(t, e.Reason)
			require.NoError(t, tree.Check())
			require.Equal(t, 1, len(tree.nodes)-tree.vacantNodes.n)
			require.Equal(t, 5, tree.FreeOfClass(RootDomain, 1))
		})
	}
}

// TestStrangers asks about what is not there.
func TestStrangers(t *testing.T) {
	tree, err := NewTree("leaf")
	require.NoError(t, err)
	n, err := tree.AddNode("n", []string{"l"}, 0, 8)
	require.NoError(t, err)
	tree.SetFree(n, 99)
	require.Equal(t, 8, tree.Free(n), "too many are taken as all")
	tree.SetFree(n, -7)
	require.Equal(t, -1, tree.Free(n))
	for _, stranger := range []NodeIndex{-1, 1, 1 << 30} {
		tree.SetFree(stranger, 1)
		require.Equal(t, -1, tree.Free(stranger))
		require.Empty(t, tree.NodeName(stranger))
		require.EqualValues(t, -1, tree.NodeClass(stranger))
		require.Zero(t, tree.NodeGPUs(stranger))
		require.Equal(t, RootDomain, tree.DomainOf(stranger, 1))
		require.NotZero(t, tree.Compare(n, stranger))
	}
	for _, stranger := range []DomainIndex{-1, 2, 1 << 30} {
		require.False(t, tree.HasDomain(stranger))
		require.Nil(t, tree.Children(stranger))
		require.Nil(t, tree.Nodes(stranger))
		require.Equal(t, RootDomain, tree.Parent(stranger))
		require.Zero(t, tree.Count(stranger, 0, 0))
		require.Equal(t, "fleet", tree.DomainString(stranger))
	}
	for _, k := range []int{-1, 9} {
		require.Zero(t, tree.Count(RootDomain, 0, k))
		require.Equal(t, -1, tree.NextWithFree(1, 0, k, 0))
		require.False(t, tree.Visit(RootDomain, nil, 0, k, func(NodeIndex) bool { return true }))
	}
	require.Zero(t, tree.Capacity(RootDomain, 0, 0))
	require.Empty(t, tree.LevelName(5))
	require.NoError(t, tree.Check())
}

func TestLevelNames(t *testing.T) {
	tree, err := NewTree("zone", "leaf")
	require.NoError(t, err)
	for l, name := range []string{"fleet", "zone", "leaf", "node"} {
		got, ok := tree.Level(name)
		require.True(t, ok)
		require.Equal(t, Level(l), got)
		require.Equal(t, name, tree.LevelName(got))
	}
	_, ok := tree.Level("rack")
	require.False(t, ok)
}

// TestClassesComeAndGo: the number of GPUs of a class binds as long as it has nodes.
func TestClassesComeAndGo(t *testing.T) {
	tree, err := NewTree()
	require.NoError(t, err)
	n, err := tree.AddNode("a", nil, 3, 8)
	require.NoError(t, err)
	require.NoError(t, tree.RemoveNode(n))
	_, ok := tree.ClassGPUs(3)
	require.False(t, ok)
	m, err := tree.AddNode("b", nil, 3, 4)
	require.NoError(t, err)
	require.Equal(t, n, m, "the lowest free index is handed out again")
	require.NoError(t, tree.Check())
}

// fleet builds spines of 16 leaves of 32 nodes of 8 GPUs, one in ten of them free.
func fleet(tb testing.TB, nodes int) *Tree {
	tree, err := NewTree("spine", "leaf")
	require.NoError(tb, err)
	for i := range nodes {
		path := []string{fmt.Sprintf("s%03d", i/512), fmt.Sprintf("l%03d", i/32)}
		n, err := tree.AddNode(fmt.Sprintf("n%06d", i), path, 0, 8)
		require.NoError(tb, err)
		if i%10 == 3 {
			tree.SetFree(n, 8)
		}
	}
	return tree
}

func TestQuestionsDoNotAllocate(t *testing.T) {
	tree := fleet(t, 2048)
	classes := []NodeClass{0, 1}
	found := NodeIndex(-1)
	visit := func(n NodeIndex) bool { found = n; return false } // every one of them
	require.Zero(t, testing.AllocsPerRun(100, func() {
		tree.Visit(RootDomain, classes, 0, 8, visit)
		tree.SetFree(found, 3)
		tree.SetFree(found, 8)
		tree.Capacity(RootDomain, 0, 3)
		tree.NextWithFree(tree.DomainOf(found, 2), 0, 8, 0)
	}))
	require.NotEqual(t, NodeIndex(-1), found)
}

func BenchmarkSetFree(b *testing.B) {
	for _, nodes := range []int{512, 16384} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			tree := fleet(b, nodes)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				tree.SetFree(NodeIndex(i*7919%nodes), (i+i/nodes)&7)
			}
		})
	}
}

func BenchmarkVisitFirst(b *testing.B) {
	for _, nodes := range []int{512, 16384} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			tree := fleet(b, nodes)
			classes, first := []NodeClass{0}, func(NodeIndex) bool { return true }
			b.ReportAllocs()
			for b.Loop() {
				tree.Visit(RootDomain, classes, 0, 8, first)
			}
		})
	}
}

func BenchmarkJoinFlat(b *testing.B) {
	const nodes = 16384
	for _, order := range []struct {
		name string
		step int // coprime to the number of nodes
	}{{"inOrder", 1}, {"scattered", 7919}} {
		b.Run(order.name, func(b *testing.B) {
			for b.Loop() {
				tree, _ := NewTree()
				for i := range nodes {
					if _, err := tree.AddNode(fmt.Sprintf("n%06d", i*order.step%nodes), nil, 0, 8); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/nodes, "ns/join")
		})
	}
}

// TestWholeDomainsComeLast: an idle node is looked for where it breaks nothing, then where
// what is around it is broken already, then elsewhere.
func TestWholeDomainsComeLast(t *testing.T) {
	tree, err := NewTree("spine", "leaf")
	require.NoError(t, err)
	for _, n := range []struct {
		name, spine, leaf string
		free              int
	}{
		{"a0", "a", "1", 8}, {"a1", "a", "1", 8}, // a whole spine
		{"b0", "b", "1", 8}, {"b1", "b", "1", 8}, {"b2", "b", "2", 7}, // a whole leaf in a broken spine
		{"c0", "c", "1", 8}, {"c1", "c", "1", 8}, {"c2", "c", "1", 8}, {"c3", "c", "1", 1}, // a broken leaf
		{"d0", "d", "1", 8}, // used up by one node
	} {
		index, err := tree.AddNode(n.name, []string{n.spine, n.leaf}, 0, 8)
		require.NoError(t, err)
		tree.SetFree(index, n.free)
	}
	var shown []string
	tree.Visit(RootDomain, []NodeClass{0}, 0, 8, func(n NodeIndex) bool {
		shown = append(shown, tree.NodeName(n))
		return false
	})
	require.Equal(t, []string{"d0", "c0", "c1", "c2", "b0", "b1", "a0", "a1"}, shown)
	require.NoError(t, tree.Check())
	a, _ := tree.Lookup("a")
	b, _ := tree.Lookup("b")
	require.True(t, tree.Whole(a))
	require.False(t, tree.Whole(b))
	require.Equal(t, []int{24, 23, 3}, []int{tree.GPUs(b), tree.FreeTotal(b), tree.NodeCount(b)})
}

// A domain with nodes of many classes counts each of them by itself.
func TestManyClassesInOneDomain(t *testing.T) {
	tree, err := NewTree("leaf")
	require.NoError(t, err)
	for _, class := range []NodeClass{7, 3, 11, 0, 5, 9, 2, 12, 4, 1, 10, 6} {
		n, err := tree.AddNode(fmt.Sprint(class), []string{"l"}, class, 16)
		require.NoError(t, err)
		tree.SetFree(n, int(class))
	}
	leaf, found := tree.Lookup("l")
	require.True(t, found)
	for class := range NodeClass(13) {
		free := int(class)
		if class == 8 { // there is none
			free = 0
		}
		require.Equal(t, free, tree.FreeOfClass(leaf, class), class)
	}
	require.Zero(t, tree.FreeOfClass(leaf, 13))
}

// A path that goes on where there is nothing leads nowhere, not to where it was known last.
func TestLookupOfAPathThatGoesOn(t *testing.T) {
	tree, err := NewTree("spine", "leaf")
	require.NoError(t, err)
	_, err = tree.AddNode("n", []string{"s", "l"}, 1, 8)
	require.NoError(t, err)
	for path, known := range map[string]bool{"s": true, "s/l": true, "s/x": false, "s/l/n": false, "x/l": false} {
		d, found := tree.Lookup(strings.Split(path, "/")...)
		require.Equal(t, known, found, path)
		require.Equal(t, known, d != RootDomain, path)
	}
}
