package tidy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A listing is what the go command says about one package.
type listing struct {
	ImportPath     string
	Dir            string
	Export         string // compiled types of a package that is not ours
	GoFiles        []string
	CgoFiles       []string
	IgnoredGoFiles []string
	OtherFiles     []string               `json:"SFiles"`
	Deps           []string               // all that it imports, through others too
	Module         *struct{ Path string } // nil in the standard library
	Error          *struct{ Err string }
}

// The house is what the go command and the type checker say about the packages that decide.
// All tests share it, as to list and to load is what takes time.
type house struct {
	listed map[string]listing
	units  []unit   // each after what it imports
	faults []string // packages that could not be listed or do not type-check
}

var looked struct {
	once sync.Once
	house
}

// look returns the house, loaded by whichever test comes first.
func look(t *testing.T) *house {
	t.Helper()
	looked.once.Do(func() {
		looked.listed = map[string]listing{}
		var patterns []string
		for _, path := range decides() {
			patterns = append(patterns, "./"+path)
		}
		for path := range readers {
			patterns = append(patterns, "./"+path)
		}
		packages := list(t, patterns...)
		l := newLoader(packages)
		for _, p := range packages {
			looked.listed[p.ImportPath] = p
			looked.load(l, p)
		}
	})
	require.NotEmpty(t, looked.units, "the packages that decide were not loaded")
	return &looked.house
}

// load type-checks a listed package if it is ours and decides.
func (h *house) load(l *loader, p listing) {
	path, ours := below(p.ImportPath)
	if _, reads := readers[path]; !ours || reads {
		return
	}
	if p.Error != nil {
		h.faults = append(h.faults, fmt.Sprintf("package %s: %s", display(path), p.Error.Err))
		return
	}
	u, err := l.check(p.ImportPath, p.sources())
	if err != nil { // an unresolved type would hide maps and floats
		h.faults = append(h.faults, fmt.Sprintf("package %s does not type-check: %v", display(path), err))
		return
	}
	h.units = append(h.units, u)
}

// unit returns a package that decides, by its path below the module.
func (h *house) unit(t *testing.T, path string) unit {
	t.Helper()
	for _, u := range h.units {
		if u.path == path {
			return u
		}
	}
	require.Fail(t, "no package "+display(path))
	return unit{}
}

// list asks the go command about packages and all that they import, each after
// what it imports.
func list(t *testing.T, patterns ...string) []listing {
	t.Helper()
	arguments := []string{
		"list", "-e", "-deps", "-export",
		"-json=ImportPath,Dir,Export,GoFiles,CgoFiles,IgnoredGoFiles,SFiles,Deps,Module,Error",
	}
	command := exec.Command("go", append(arguments, patterns...)...)
	command.Dir = root(t)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	require.NoError(t, err, "go list: %s", &stderr)
	var packages []listing
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p listing
		err := decoder.Decode(&p)
		if err == io.EOF {
			return packages
		}
		require.NoError(t, err)
		packages = append(packages, p)
	}
}

// root returns the module's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	return dir
}

// A loader type-checks packages of the module from source, and takes the types
// of all others from what the go command compiled.
type loader struct {
	fset     *token.FileSet
	exports  map[string]string
	checked  map[string]*types.Package
	compiled types.Importer
}

func newLoader(packages []listing) *loader {
	l := &loader{fset: token.NewFileSet(), exports: map[string]string{}, checked: map[string]*types.Package{}}
	for _, p := range packages {
		l.exports[p.ImportPath] = p.Export
	}
	l.compiled = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) {
		if l.exports[path] == "" {
			return nil, fmt.Errorf("no compiled types of %s", path)
		}
		return os.Open(l.exports[path])
	})
	return l
}

// Import implements types.Importer.
func (l *loader) Import(path string) (*types.Package, error) {
	if p := l.checked[path]; p != nil {
		return p, nil
	}
	return l.compiled.Import(path)
}

// check parses and type-checks one package; its imports of ours come first.
func (l *loader) check(path string, sources map[string]any) (unit, error) {
	short, _ := below(path)
	u := unit{path: short, fset: l.fset, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	names := make([]string, 0, len(sources))
	for name := range sources {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		file, err := parser.ParseFile(l.fset, name, sources[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return u, err
		}
		u.files = append(u.files, file)
	}
	config := types.Config{Importer: l}
	p, err := config.Check(path, l.fset, u.files, u.info)
	if err != nil {
		return u, err
	}
	u.pkg = p
	l.checked[path] = p
	return u, nil
}

// sources maps the files of a listed package to nil, which the parser takes as
// "read it".
func (p listing) sources() map[string]any {
	files := make(map[string]any, len(p.GoFiles))
	for _, name := range p.GoFiles {
		files[filepath.Join(p.Dir, name)] = nil
	}
	return files
}
