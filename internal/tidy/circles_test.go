package tidy

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Inside a package of the core, calls between files run one way: a recursive group stands in
// one file.
func TestCallsBetweenFilesRunOneWay(t *testing.T) {
	for _, u := range look(t).units {
		if u.path == "" || within(u.path, "core") {
			for _, circle := range circles(u) {
				t.Error(circle)
			}
		}
	}
}

// arrows maps each file to the files of which it calls functions, with the first call of each.
type arrows map[string]map[string]string

// calls finds the arrows between the files of a package. A function that is named without
// being called counts, as its receiver calls it.
func calls(u unit) arrows {
	found := arrows{}
	for _, file := range u.files {
		from := filepath.Base(u.fset.Position(file.Pos()).Filename)
		for _, decl := range file.Decls {
			ast.Inspect(decl, func(n ast.Node) bool {
				name, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				of, ok := u.info.Uses[name].(*types.Func)
				if !ok || of.Pkg() != u.pkg || abstract(of) {
					return true
				}
				to := filepath.Base(u.fset.Position(of.Origin().Pos()).Filename)
				if from != to && found[from][to] == "" {
					if found[from] == nil {
						found[from] = map[string]string{}
					}
					found[from][to] = fmt.Sprintf("%s:%d: %s calls %s of %s",
						from, u.fset.Position(name.Pos()).Line, declared(decl), name.Name, to)
				}
				return true
			})
		}
	}
	return found
}

// abstract reports whether a method belongs to an interface: its body may be anywhere.
func abstract(f *types.Func) bool {
	receiver := f.Signature().Recv()
	return receiver != nil && types.IsInterface(receiver.Type())
}

// declared names what a declaration declares, a method with its type.
func declared(decl ast.Decl) string {
	function, ok := decl.(*ast.FuncDecl)
	if !ok {
		return "a declaration"
	}
	if function.Recv == nil {
		return function.Name.Name
	}
	receiver := function.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if index, ok := receiver.(*ast.IndexExpr); ok {
		receiver = index.X
	}
	return types.ExprString(receiver) + "." + function.Name.Name
}

// circles names every group of files of a package that reach each other by calls, once, with
// the calls of a shortest way round.
func circles(u unit) []string {
	found := calls(u)
	var texts []string
	grouped := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(found)) {
		if grouped[file] || found.way(file, file) == nil {
			continue
		}
		var group, shortest []string
		for _, other := range slices.Sorted(maps.Keys(found)) {
			if other != file && (found.way(file, other) == nil || found.way(other, file) == nil) {
				continue
			}
			group, grouped[other] = append(group, other), true
			if way := found.way(other, other); shortest == nil || len(way) < len(shortest) {
				shortest = way
			}
		}
		texts = append(texts, fmt.Sprintf("package %s: %d files call in a circle (%s): %s",
			display(u.path), len(group), strings.Join(group, ", "), strings.Join(shortest, "; ")))
	}
	return texts
}

// way returns the calls of a shortest way from one file to another, which may be the same; nil
// where none leads there.
func (a arrows) way(from, to string) []string {
	ways := map[string][]string{}
	reached := []string{from}
	for len(reached) > 0 {
		file := reached[0]
		reached = reached[1:]
		for _, next := range slices.Sorted(maps.Keys(a[file])) {
			if ways[next] == nil {
				ways[next] = append(slices.Clip(ways[file]), a[file][next])
				reached = append(reached, next)
			}
		}
	}
	return ways[to]
}

func TestCirclesCatch(t *testing.T) {
	const f, g = "package p; func F() { G() }", "package p; type T int; func G() { new(T).g() }; func (T) g() {}"
	for _, s := range []struct {
		name  string
		files map[string]any
		want  []string
	}{
		{"one way", map[string]any{"f.go": f, "g.go": g}, nil},
		{"recursion in one file", map[string]any{"f.go": "package p; func F() { G() }; func G() { F() }"}, nil},
		{"types both ways", map[string]any{"f.go": f + "; var _ = T(0); type S int", "g.go": g + "; var _ S"}, nil},
		{
			"a method of an interface", map[string]any{"f.go": f + "; type I interface { I() }", "g.go": g + "; func h(i I) { i.I() }"}, nil,
		},
		{"back by a method", map[string]any{"f.go": f + "; func (T) Back() { }", "g.go": g + "; func (t *T) h() { t.Back() }"}, []string{
			"2 files call in a circle (f.go, g.go): f.go:1: F calls G of g.go; g.go:1: T.h calls Back of f.go",
		}},
		{"back by a name", map[string]any{"f.go": f, "g.go": g + "; var _ = F"}, []string{
			"2 files call in a circle (f.go, g.go): f.go:1: F calls G of g.go; g.go:1: a declaration calls F of f.go",
		}},
		{"back by a generic function", map[string]any{"f.go": f + "; func H[V any]() {}", "g.go": g + "; func h() { H[int]() }"}, []string{
			"g.go:1: h calls H of f.go",
		}},
		{"two circles of two and three", map[string]any{
			"a.go": "package p; func A() { B() }", "b.go": "package p; func B() { C(); F() }", "c.go": "package p; func C() { A() }",
			"f.go": f, "g.go": g + "; func h() { F() }",
		}, []string{"3 files call in a circle (a.go, b.go, c.go): a.go:1: A calls B of b.go; b.go:1: B calls C of c.go; c.go:1: C calls A of a.go", "2 files"}},
	} {
		u, err := newLoader(nil).check("p", s.files)
		require.NoError(t, err, s.name)
		found := circles(u)
		require.Len(t, found, len(s.want), "%s: %s", s.name, strings.Join(found, "\n"))
		for i := range s.want {
			require.Contains(t, found[i], s.want[i], s.name)
		}
	}
}
