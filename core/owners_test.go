package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Some fields of Core are changed in the file of their owner alone, which has methods for the
// others.
func TestFieldsAreChangedByTheirOwners(t *testing.T) {
	owners := map[string]string{"leaving": "work.go", "todo": "work.go", "timers": "work.go", "out": "work.go"}
	seen := map[string]bool{}
	for _, name := range sources(t) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			for _, field := range changedIn(n) {
				switch owner, owned := owners[field]; {
				case owned && owner == name:
					seen[field] = true
				case owned:
					t.Errorf("%v changes %s, which belongs to %s", fset.Position(n.Pos()), field, owner)
				}
			}
			return true
		})
	}
	require.Len(t, seen, len(owners), "the test sees the changes where they belong: %v", seen)
}

// changedIn names the fields of Core that a node of the syntax changes: by an assignment, through
// their address, or by a method of a tree that does.
func changedIn(n ast.Node) []string {
	var targets []ast.Expr
	switch n := n.(type) {
	case *ast.AssignStmt:
		targets = n.Lhs
	case *ast.IncDecStmt:
		targets = []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			targets = []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		mutators := []string{"ReplaceOrInsert", "Delete", "DeleteMin", "DeleteMax", "Clear"}
		if call, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(mutators, call.Sel.Name) {
			targets = []ast.Expr{call.X}
		} else if nameOf(n.Fun) == "delete" || nameOf(n.Fun) == "clear" {
			targets = n.Args[:1]
		}
	}
	var fields []string
	for _, e := range targets {
		if s, ok := e.(*ast.SelectorExpr); ok && slices.Contains([]string{"c", "core"}, nameOf(s.X)) {
			fields = append(fields, s.Sel.Name)
		}
	}
	return fields
}

// sources lists the files of the package without its tests.
func sources(t *testing.T) []string {
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		if name := f.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
	}
	return names
}
