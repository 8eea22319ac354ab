package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutputIsAsTheCommentSays runs the program and compares what it prints with
// the comment at its head.
func TestOutputIsAsTheCommentSays(t *testing.T) {
	source := read(t, "main.go")
	_, rest, found := strings.Cut(source, "It prints\n//\n")
	require.True(t, found)
	comment, _, found := strings.Cut(rest, "package main")
	require.True(t, found)
	require.Equal(t, strings.ReplaceAll(comment, "//\t", ""), printed(t))
}

// TestReadmeShowsTheLoop keeps README.md and this program the same: its Go block is main.
func TestReadmeShowsTheLoop(t *testing.T) {
	_, rest, found := strings.Cut(read(t, "../../README.md"), "```go\n")
	require.True(t, found)
	shown, _, found := strings.Cut(rest, "```\n")
	require.True(t, found)
	_, rest, found = strings.Cut(read(t, "main.go"), "func main() {\n")
	require.True(t, found)
	loop, _, found := strings.Cut(rest, "\n}\n")
	require.True(t, found)
	require.Equal(t, "func main() {\n"+loop+"\n}\n", shown)
}

// TestProgramIsShort: it is there to be read and copied.
func TestProgramIsShort(t *testing.T) {
	lines := 0
	for line := range strings.Lines(read(t, "main.go")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			lines++
		}
	}
	require.LessOrEqual(t, lines, 60)
}

// printed runs main and returns its standard output.
func printed(t *testing.T) string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = w
	defer func() { os.Stdout = stdout }()
	main()
	require.NoError(t, w.Close())
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(b)
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}
