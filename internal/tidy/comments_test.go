package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExportedNamesHaveComments holds the contract, the core and its rooms to a
// comment for everything that is exported; fields that say it all by their names may go without.
func TestExportedNamesHaveComments(t *testing.T) {
	for _, u := range look(t).units {
		if u.path != "" && u.path != "core" && !strings.HasPrefix(u.path, "core/internal/") {
			continue
		}
		for _, file := range u.files {
			for _, name := range uncommented(file) {
				t.Errorf("%s: %s has no comment", display(u.path), name)
			}
		}
	}
}

// uncommented names the exported functions, methods, types, constants and variables of a file
// that have no comment, neither of their own nor of their group.
func uncommented(file *ast.File) []string {
	var found []string
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.IsExported() && decl.Doc == nil {
				found = append(found, declared(decl))
			}
		case *ast.GenDecl:
			commented := decl.Doc != nil
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() && !commented && spec.Doc == nil {
						found = append(found, spec.Name.Name)
					}
				case *ast.ValueSpec:
					// A comment is for the values below it as well, until the next one.
					commented = commented || spec.Doc != nil || spec.Comment != nil
					if spec.Names[0].IsExported() && !commented {
						found = append(found, spec.Names[0].Name)
					}
				}
			}
		}
	}
	return found
}

func TestCommentRulesFindWhatTheyForbid(t *testing.T) {
	const sample = `package sample

// F does it.
func F() {}

func G() {}

type T int

// A U is one.
type U int

func (U) String() string { return "" }

const (
	// C comments D too.
	C = 1
	D = 2
)

const E = 3
`
	file, err := parser.ParseFile(token.NewFileSet(), "sample.go", sample, parser.ParseComments)
	require.NoError(t, err)
	require.Equal(t, []string{"G", "T", "U.String", "E"}, uncommented(file))
}
