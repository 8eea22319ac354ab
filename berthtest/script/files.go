package script

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Files runs every script that a pattern names, as tests under its file's name,
// and compares what it prints with what stands in it. With rewrite the files are
// written anew instead.
func Files(t *testing.T, pattern string, rewrite bool) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no script is called %s (%v)", pattern, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) { file(t, name, rewrite) })
	}
}

func file(t *testing.T, name string, rewrite bool) {
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Run(want)
	if err != nil {
		t.Fatalf("%s: %v\nup to there:\n%s", name, err, got)
	}
	if string(got) == string(want) {
		return
	}
	if !rewrite {
		t.Fatalf("%s: %s\nRun again with -rewrite if this is as it should be.", name, firstDifference(string(want), string(got)))
	}
	if err := os.WriteFile(name, got, 0o644); err != nil {
		t.Fatal(err)
	}
}

// firstDifference shows the first line that differs.
func firstDifference(want, got string) string {
	a, b := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	line := func(lines []string) string {
		if i >= len(lines) || lines[i] == "" {
			return "(the end)"
		}
		return strings.TrimSuffix(lines[i], "\n")
	}
	return "line " + strconv.Itoa(i+1) + " is\n" + line(b) + "\ninstead of\n" + line(a)
}
