package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// No test draws what another run of it would not: rapid draws by internal/drawn, which
// fixes its seeds, and random numbers come from sources with seeds of their own.
func TestDrawnTestsFixTheirSeeds(t *testing.T) {
	top, files := root(t), 0
	require.NoError(t, filepath.WalkDir(top, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		files++
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, draw := range unseeded(fset, file) {
			t.Error(draw)
		}
		return nil
	}))
	require.Greater(t, files, 100, "the walk missed the module")
}

// unseeded lists where a file draws from a seed that nobody fixed, as "file:line: what".
func unseeded(fset *token.FileSet, file *ast.File) (found []string) {
	imported := map[string]string{}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if path == "math/rand/v2" {
			name = "rand"
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = path
	}
	ast.Inspect(file, func(n ast.Node) bool {
		at, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := at.X.(*ast.Ident); ok && draws(imported[x.Name], at.Sel.Name) {
			found = append(found, fmt.Sprintf("%s: %s.%s draws from a seed that nobody fixed", fset.Position(at.Pos()), x.Name, at.Sel.Name))
		}
		return true
	})
	return found
}

// draws reports whether a name of a package draws from a seed of its own.
func draws(path, name string) bool {
	switch path {
	case "pgregory.net/rapid":
		return name == "Check" || name == "MakeCheck"
	case "testing/quick":
		return true
	case "math/rand", "math/rand/v2":
		return name != "New" && name != "NewPCG" && name != "NewChaCha8" && name != "NewSource" && name != "Rand" && name != "Source" && name != "PCG"
	}
	return false
}

func TestUnseededDrawsAreCaught(t *testing.T) {
	for text, want := range map[string]int{
		`import "pgregory.net/rapid"; var _ = rapid.MakeCheck(nil)`:                            1,
		`import "pgregory.net/rapid"; func f() { rapid.Check(nil, nil) }`:                      1,
		`import "pgregory.net/rapid"; var _ = rapid.Int()`:                                     0,
		`import "math/rand/v2"; var a, b = rand.IntN(3), rand.Perm(4)`:                         2,
		`import "math/rand/v2"; var r *rand.Rand = rand.New(rand.NewPCG(1, 2)); var _ = r.Int`: 0,
		`import dice "math/rand"; var _ = dice.Intn(3)`:                                        1,
		`import "testing/quick"; func f() { quick.Check(nil, nil) }`:                           1,
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "", "package p\n"+text, parser.SkipObjectResolution)
		require.NoError(t, err, text)
		require.Len(t, unseeded(fset, file), want, text)
	}
}
