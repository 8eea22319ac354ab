package tidy

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The packages that decide are pure: same facts in, same orders out. Each
// violation is named by file and line; the rules are in house_test.go.
func TestD1_CoreIsPure(t *testing.T) {
	patterns := make([]string, 0, len(core))
	for path := range core {
		patterns = append(patterns, "./"+path)
	}
	packages := list(t, patterns...)
	l := newLoader(packages)
	decides := map[string]bool{}
	for _, p := range packages {
		path, ours := below(p.ImportPath)
		if !ours {
			continue
		}
		decides[path] = true
		if p.Error != nil {
			t.Errorf("package %s: %s", p.ImportPath, p.Error.Err)
			continue
		}
		assert.Empty(t, slices.Concat(p.CgoFiles, p.IgnoredGoFiles, p.OtherFiles),
			"package %s has files that not every platform compiles", display(path))
		u, err := l.check(p.ImportPath, p.sources())
		if err != nil { // an unresolved type would hide maps and floats
			t.Errorf("package %s does not type-check: %v", p.ImportPath, err)
			continue
		}
		for _, violation := range inspect(u) {
			t.Error(violation)
		}
	}
	for path := range core {
		assert.True(t, decides[path], "package %s was not looked at", display(path))
	}
}

// No arrow runs up, in any file for any platform.
func TestArrows(t *testing.T) {
	files := 0
	top := root(t)
	err := filepath.WalkDir(top, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			if name != top && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		files++
		return arrowsOf(t, top, name)
	})
	require.NoError(t, err)
	require.Greater(t, files, 10, "the walk missed the module")
}

func arrowsOf(t *testing.T, top, name string) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	short, err := filepath.Rel(top, name)
	if err != nil {
		return err
	}
	folder := filepath.ToSlash(filepath.Dir(short))
	if folder == "." {
		folder = ""
	}
	for _, spec := range file.Imports {
		if why := mayImport(folder, strings.Trim(spec.Path.Value, `"`)); why != "" {
			t.Errorf("%s:%d: %s", short, fset.Position(spec.Pos()).Line, why)
		}
	}
	return nil
}

// Whoever embeds the core gets the modules that are listed and no others, and no list
// names one that nobody needs any more.
func TestModules(t *testing.T) {
	decides := make([]string, 0, len(core))
	for path := range core {
		decides = append(decides, "./"+path)
	}
	require.Equal(t, thirdParty, modules(t, decides...), "the packages that decide")
	for path, want := range readers {
		require.Equal(t, want, modules(t, "./"+path), path)
	}
}

// modules lists the modules, beside ours, of which a program gets code with packages.
func modules(t *testing.T, patterns ...string) []string {
	t.Helper()
	var paths []string
	for _, p := range list(t, patterns...) {
		if p.Module != nil && p.Module.Path != module {
			paths = append(paths, p.Module.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// An exception that nothing needs any more is a hole in the fence.
func TestExceptionsAreUsed(t *testing.T) {
	for name, reason := range variables {
		folder, variable := "", name
		if dot := strings.LastIndex(name, "."); dot >= 0 {
			folder, variable = name[:dot], name[dot+1:]
		}
		require.NotEmpty(t, reason, name)
		files, err := filepath.Glob(filepath.Join(root(t), folder, "*.go"))
		require.NoError(t, err)
		assert.True(t, slices.ContainsFunc(files, func(file string) bool { return declares(t, file, variable) }),
			"the exception for %s is not needed", name)
	}
}

func declares(t *testing.T, name, variable string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	require.NoError(t, err)
	return file.Scope.Lookup(variable) != nil
}

// Every rule catches the smallest source that breaks it, and leaves alone the
// sources that come close.
func TestRulesCatch(t *testing.T) {
	var imports []string
	for _, source := range slices.Concat(bad, good) {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+source.text, parser.ImportsOnly)
		require.NoError(t, err, source.text)
		for _, spec := range file.Imports {
			if path := strings.Trim(spec.Path.Value, `"`); path != "unsafe" && !strings.HasPrefix(path, module) {
				imports = append(imports, path)
			}
		}
	}
	slices.Sort(imports)
	l := newLoader(list(t, slices.Compact(imports)...))
	for i, source := range bad {
		found := inspectText(t, l, i, source)
		require.Len(t, found, 1, "%s\n%s", source.text, strings.Join(found, "\n"))
		require.Contains(t, found[0], source.want, source.text)
		require.Regexp(t, `^topology/bad\.go:\d+: `, found[0])
	}
	for i, source := range good {
		require.Empty(t, inspectText(t, l, len(bad)+i, source), source.text)
	}
}

func inspectText(t *testing.T, l *loader, i int, source sample) []string {
	t.Helper()
	u, err := l.check(fmt.Sprintf("p%d", i), map[string]any{"bad.go": "package p\n" + source.text})
	require.NoError(t, err, source.text)
	u.path = "topology"
	return inspect(u)
}
