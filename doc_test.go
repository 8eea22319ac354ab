package berth_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheTaskIndexNamesExamplesThatRun holds every link of doc.go to an example against the
// tests of the package that it names.
func TestTheTaskIndexNamesExamplesThatRun(t *testing.T) {
	manual := read(t, "doc.go")
	defined := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^// \[(.+)\]: https://pkg.go.dev/github.com/berth-sched/berth/(.+)#example-(.+)$`).FindAllStringSubmatch(manual, -1) {
		text, folder, anchor := m[1], m[2], m[3]
		defined[text] = true
		var name string
		switch subject, suffix, _ := strings.Cut(anchor, "-"); {
		case subject != "package":
			name = "Example" + strings.ReplaceAll(subject, ".", "_")
		case suffix == "":
			name = "Example"
		default:
			name = "Example_" + strings.ToLower(suffix[:1]) + suffix[1:]
		}
		require.Equal(t, filepath.Base(folder)+"."+name, text)
		tests, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		require.NoError(t, err)
		var all strings.Builder
		for _, file := range tests {
			all.WriteString(read(t, file))
		}
		_, body, found := strings.Cut(all.String(), "func "+name+"() {")
		require.True(t, found, "%s: %s has no %s", text, folder, name)
		body, _, _ = strings.Cut(body, "\n}\n")
		require.Contains(t, body, "// Output:", "%s of %s is compiled and not run", name, folder)
	}
	for _, m := range regexp.MustCompile(`\[([a-z]+\.Example\w*)\]`).FindAllStringSubmatch(manual, -1) {
		require.True(t, defined[m[1]], "[%s] leads nowhere", m[1])
	}
	require.NotEmpty(t, defined)
}

// TestLinksOfDocumentsLeadSomewhere: files that they name are there.
func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	for _, document := range append(documents, "README.md", "CONTRIBUTING.md") {
		for _, m := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(read(t, document), -1) {
			if !strings.Contains(m[1], "://") {
				_, err := os.Stat(filepath.Join(filepath.Dir(document), m[1]))
				require.NoError(t, err, "%s links to it", document)
			}
		}
	}
}

// TestReadmeIsShort: a newcomer reads it to its end.
func TestReadmeIsShort(t *testing.T) {
	require.LessOrEqual(t, strings.Count(read(t, "README.md"), "\n"), 150)
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}
