package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every fault can still be planted, each has a name of its own, and the test that is to catch it
// is there and is no comparison with golden hashes, which the next renewal would bless.
func TestFaultsApply(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	list, err := readAll(root)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(list), 60)
	names, tests := map[string]bool{}, map[string]string{}
	for _, f := range list {
		require.False(t, names[f.name], f.name)
		names[f.name] = true
		_, err := f.plant(root)
		assert.NoError(t, err, f.name)
		if tests[f.dir] == "" {
			tests[f.dir] = testsOf(t, filepath.Join(root, f.dir))
		}
		require.NotContains(t, f.test, "Golden", f.name)
		for name := range strings.SplitSeq(strings.Trim(f.test, "^$()"), "|") {
			name, _, _ = strings.Cut(name, "/")
			require.True(t, strings.Contains(tests[f.dir], "\nfunc "+strings.TrimSuffix(name, "$")+"("), "%s: %s has no %s", f.name, f.dir, name)
		}
	}
}

// testsOf is the text of all tests of a package.
func testsOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(b)
	}
	return all.String()
}

// What is no fault, or is asked badly, is refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"# a: b\nfile x.go\ntest ./x TestX\n<<<<\nold\n====\nold\n>>>>\n", "# a: b\ntest ./x TestX\n<<<<\no\n====\nn\n>>>>\n",
		"# a: b\nfile x.go\n<<<<\no\n====\nn\n>>>>\n", "# a\nfile x.go\ntest ./x TestX\n<<<<\no\n====\nn\n>>>>\n", "# a: b\nfile x.go\ntest ./x TestX\n",
	} {
		_, err := parse(text)
		require.ErrorContains(t, err, "no fault", text)
	}
	list, err := parse("# a: b c\nfile x.go\ntest ./x TestX\n<<<<\no\n====\nn\n>>>>\n")
	require.NoError(t, err)
	require.Equal(t, []fault{{name: "a", wrong: "b c", file: "x.go", dir: "./x", test: "TestX", old: "o\n", new: "n\n"}}, list)
	for _, args := range [][]string{{"-run", "("}, {"-jobs", "0"}, {"stray"}, {"-bogus"}} {
		var out bytes.Buffer
		require.Equal(t, 2, run(args, &out, &out), args)
	}
	require.Regexp(t, regexp.MustCompile(`no faults below`), func() string {
		_, err := readAll(t.TempDir())
		return err.Error()
	}())
}
