package tidy

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Code in a doc comment of the packages that decide type-checks, but for names that are the
// reader's own: no comment shows a field or a function that is gone.
func TestCodeInCommentsTypeChecks(t *testing.T) {
	checked := 0
	for _, u := range look(t).units {
		for _, file := range u.files {
			for _, group := range file.Comments {
				for _, code := range snippets(group.Text()) {
					faults, isGo := faultsOf(code, looked.packagesByName())
					if isGo {
						checked++
					}
					require.Empty(t, faults, "%s: the code in the comment", u.line(group))
				}
			}
		}
	}
	require.Greater(t, checked, 3)
}

func TestFaultsOfCodeInComments(t *testing.T) {
	packages := look(t).packagesByName()
	for code, want := range map[string]string{
		"r := gang.Request{Required: spine}\nfleet.Place(&r, &placement)": "",
		"r := gang.Request{Require: spine}":                               "unknown field Require",
		"var p gang.Placement\nuse(p.Member)":                             "p.Member undefined",
		"gang.Nowhere(all)":                                               "undefined: gang.Nowhere",
	} {
		faults, isGo := faultsOf(code, packages)
		require.True(t, isGo, code)
		if want == "" {
			require.Empty(t, faults, code)
		} else {
			require.Len(t, faults, 1, code)
			require.Contains(t, faults[0], want)
		}
	}
	_, isGo := faultsOf("pending -> binding -> running", packages)
	require.False(t, isGo)
}

// packagesByName are the packages that decide, by the names under which code speaks of them.
func (h *house) packagesByName() map[string]*types.Package {
	named := map[string]*types.Package{}
	for _, u := range h.units {
		named[u.pkg.Name()] = u.pkg
	}
	return named
}

// snippets are the indented blocks of a comment.
func snippets(text string) (code []string) {
	var parser comment.Parser
	for _, block := range parser.Parse(text).Content {
		if block, is := block.(*comment.Code); is {
			code = append(code, block.Text)
		}
	}
	return code
}

// faultsOf type-checks statements or declarations that stand alone. Names that nothing declares
// are the reader's, and of any type. A text that does not parse is no code.
func faultsOf(code string, packages map[string]*types.Package) (faults []string, isGo bool) {
	fset := token.NewFileSet()
	var file *ast.File
	for _, form := range []string{"package p\nfunc _() {\n%s\n}", "package p\n%s"} {
		var err error
		if file, err = parser.ParseFile(fset, "", fmt.Sprintf(form, code), parser.SkipObjectResolution); err == nil {
			isGo = true
			break
		}
	}
	if !isGo {
		return nil, false
	}
	config := types.Config{Error: func(err error) {
		text := err.(types.Error).Msg
		name, undefined := strings.CutPrefix(text, "undefined: ")
		own := undefined && !strings.Contains(name, ".")
		if unused := strings.HasPrefix(text, "declared and not used"); !own && !unused {
			faults = append(faults, text)
		}
	}}
	within := types.NewPackage("p", "p")
	for name, p := range packages {
		within.Scope().Insert(types.NewPkgName(token.NoPos, within, name, p))
	}
	_ = types.NewChecker(&config, fset, within, nil).Files([]*ast.File{file}) // told by Error
	return faults, true
}
