package tidy

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// relative finds clauses that begin with a word for a person: the subject is a noun instead. A
// "whose" is needed now and then ("a GPU whose instances"), but not in the name of a file or test.
var (
	relative = regexp.MustCompile(`\b([Ww]ho(m|ever)?)\b`)
	inName   = regexp.MustCompile(`([Ww]ho(m|se|ever)?)([A-Z]|$|-|\()`)
)

// maxComment is how many columns a line of comment may have, tabs counted as four. Preformatted
// lines, outputs of examples and addresses may have more.
const maxComment = 100

// TestWords reads all that people read: sources, tests with their scripts, and the documents.
func TestWords(t *testing.T) {
	read := 0
	require.NoError(t, filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		name, ext := d.Name(), filepath.Ext(path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(name, "."):
			return filepath.SkipDir
		case d.IsDir() || ext != ".go" && ext != ".md" && ext != ".txt" || name == "words_test.go":
			return nil
		}
		text, err := os.ReadFile(path)
		read++
		for _, line := range stumbles(name, string(text)) {
			t.Errorf("%s: a pronoun for a noun, or a comment of more than %d columns: %s", path, maxComment, line)
		}
		return err
	}))
	require.Greater(t, read, 500, "files of the module")
}

// stumbles lists the lines of a file at which the eye would stumble.
func stumbles(name, text string) (lines []string) {
	if inName.MatchString(strings.TrimSuffix(name, filepath.Ext(name))) {
		lines = append(lines, name)
	}
	isGo, output := strings.HasSuffix(name, ".go"), false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		comment, isComment := strings.CutPrefix(strings.TrimLeft(line, "\t"), "//")
		output = isComment && (output || strings.HasPrefix(comment, " Output:"))
		long := isComment && len([]rune(strings.ReplaceAll(line, "\t", "    "))) > maxComment &&
			!output && !strings.HasPrefix(comment, "\t") && !strings.Contains(comment, "://")
		if relative.MatchString(line) || isGo && (long || strings.HasPrefix(line, "func ") && inName.MatchString(line)) {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestWordRulesFindWhatTheyForbid(t *testing.T) {
	long := strings.Repeat("long ", 25)
	var sample bytes.Buffer
	good := []string{"// F counts nodes whose GPUs divide.", "// https://" + long, "//\t" + long, "func TestWholeGPUs() {", "\tx() // " + long}
	bad := []string{"// F counts nodes for whom that matters.", "\tx(\"one who waits\")", "func TestWhoWaits() {", "\t// " + long}
	for _, line := range append(good, bad...) {
		sample.WriteString(line + "\n")
	}
	sample.WriteString("// Output:\n// " + long + "\n")
	require.Equal(t, bad, stumbles("sample.go", sample.String()))
	require.Equal(t, []string{"12-who-waits.txt", "Whoever waits"}, stumbles("12-who-waits.txt", "Whoever waits\nthe whole of it\n"))
}
