package tidy

import (
	"fmt"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
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
	h := look(t)
	assert.Empty(t, h.faults)
	seen := map[string]bool{}
	for _, u := range h.units {
		seen[u.path] = true
		p := h.listed[u.pkg.Path()]
		assert.Empty(t, slices.Concat(p.CgoFiles, p.IgnoredGoFiles, p.OtherFiles),
			"package %s has files that not every platform compiles", display(u.path))
		for _, violation := range inspect(u) {
			t.Error(violation)
		}
	}
	for _, path := range decides() {
		assert.True(t, seen[path], "package %s was not looked at", display(path))
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

// Every package under core has its floor, and needs what its floor says.
func TestEveryRoomHasItsFloor(t *testing.T) {
	h := look(t)
	without, err := withoutFloor(root(t))
	require.NoError(t, err)
	assert.Empty(t, without, "packages that are on no floor")
	for _, r := range slices.Concat(floors...) {
		for _, need := range unneeded(h.unit(t, r.path).pkg, r) {
			t.Errorf("%s does not need %s", r.path, need)
		}
	}
}

// withoutFloor lists the packages under core that no table names and that are not for tests.
func withoutFloor(top string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(filepath.Join(top, "core"), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		folder, err := filepath.Rel(top, filepath.Dir(name))
		if path := filepath.ToSlash(folder); !slices.Contains(decides(), path) && !forTests[path] && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
		return err
	})
	return paths, err
}

// unneeded lists what a room may import of the ground and does not.
func unneeded(p *types.Package, r room) []string {
	return slices.DeleteFunc(slices.Clone(r.needs), func(need string) bool {
		return slices.ContainsFunc(p.Imports(), func(q *types.Package) bool { return q.Path() == module+"/"+need })
	})
}

func TestFloorsCatch(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"core/core.go", "core/internal/annex/annex.go", "core/internal/annex/more.go", "core/none/none_test.go"} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(top, name), nil, 0o600))
	}
	without, err := withoutFloor(top)
	require.NoError(t, err)
	require.Equal(t, []string{"core/internal/annex"}, without)

	p := types.NewPackage(module+"/core/internal/annex", "annex")
	p.SetImports([]*types.Package{types.NewPackage(module+"/quota", "quota"), types.NewPackage("io", "io")})
	require.Equal(t, []string{"gang"}, unneeded(p, room{needs: []string{"gang", "quota"}}))
}

// An embedder of the core gets the modules that are listed and no others, and no list
// names one that nobody needs any more.
func TestModules(t *testing.T) {
	h := look(t)
	require.Equal(t, thirdParty, h.modules(decides()...), "the packages that decide")
	for path, want := range readers {
		require.Equal(t, want, h.modules(path), path)
	}
}

// modules lists the modules, beside ours, of which a program gets code with packages.
func (h *house) modules(paths ...string) []string {
	var modules []string
	for _, path := range paths {
		for _, dep := range h.listed[strings.TrimSuffix(module+"/"+path, "/")].Deps {
			if p := h.listed[dep]; p.Module != nil && p.Module.Path != module {
				modules = append(modules, p.Module.Path)
			}
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules)
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
