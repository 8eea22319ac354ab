package core_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/core/internal/record"
)

// The document of the format says of each field of a snapshot what it has, and of no other.
func TestTheDocumentHasEveryFieldOfASnapshot(t *testing.T) {
	document, err := os.ReadFile("../docs/format.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(document), "## The snapshot, version 3\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	documented := map[string]bool{}
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for name := range strings.SplitSeq(strings.Split(line, "|")[1], ",") {
			documented[strings.Trim(name, " `")] = true
		}
	}
	there := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[record.Snapshot]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && name != "-" {
			there[name] = true
		}
	}
	require.Equal(t, there, documented)
}
