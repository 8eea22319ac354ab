package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the files and what they print into the page")

const page = "../../docs/ten-minutes.md"

// block is a comment that names a file or a step, and the fenced block below it.
var block = regexp.MustCompile("(?s)<!-- (file|run) ([a-z.]+) -->\n```(go|text)\n.*?```\n")

// TestThePageShowsTheProgram keeps the page and the program the same: every file of the program
// but main.go stands there whole, and below each step what it prints.
func TestThePageShowsTheProgram(t *testing.T) {
	have := read(t, page)
	shown := map[string]bool{}
	want := block.ReplaceAllStringFunc(have, func(old string) string {
		m := block.FindStringSubmatch(old)
		shown[m[2]] = true
		var text string
		if m[1] == "file" {
			text = read(t, m[2])
		} else {
			text = "$ go run ./examples/tenminutes " + m[2] + "\n" + printed(t, m[2])
		}
		text = fmt.Sprintf("<!-- %s %s -->\n```%s\n%s```\n", m[1], m[2], m[3], text)
		if !*rewrite {
			require.Equal(t, text, old, "go test ./examples/tenminutes -rewrite")
		}
		return text
	})
	for _, name := range []string{"loop.go", "gangs.go", "preempt.go", "nodeloss.go", "recover.go"} {
		require.True(t, shown[name], "the page shows %s", name)
		require.True(t, shown[strings.TrimSuffix(name, ".go")] || name == "loop.go", "the page runs %s", name)
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
	}
}

// printed runs a step and returns what it prints.
func printed(t *testing.T, step string) string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout, args := os.Stdout, os.Args
	os.Stdout, os.Args = w, []string{"tenminutes", step}
	main()
	os.Stdout, os.Args = stdout, args
	require.NoError(t, w.Close())
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text)
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}
