package fabric

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/hostile"
)

// What a reader allocates is bounded by the length of its input and what errors.go lets a short one
// stand for, whatever that holds: it is read, or refused with an *Error before it costs more.
func TestHostileInputsCostLittle(t *testing.T) {
	lines := func(line string, many int) string {
		var b strings.Builder
		for i := range many {
			fmt.Fprintf(&b, line, i)
		}
		return b.String()
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte("ip,DSW,PSW,ASW\n" + strings.Repeat("\n", 8<<20)))
	require.NoError(t, errors.Join(err, w.Close()))
	type read = func(string, io.Reader) (*Fabric, error)
	yaml := func(file string, r io.Reader) (*Fabric, error) { return ReadSlurmYAML(file, r, "") }
	list := func(file string, r io.Reader) (*Fabric, error) { return ReadNodeList(file, r, TopographKeys()) }
	for _, c := range []struct {
		name, input string
		read        read
	}{
		{"a wide list", "SwitchName=a Nodes=n[1-99999]", ReadSlurmConf},
		{"a wide list of blocks", "BlockName=a Nodes=n[1-250000]", ReadSlurmConf},
		{"a wide product", "SwitchName=a Nodes=" + strings.Repeat("n[1-9]", 6), ReadSlurmConf},
		{"a long name", "SwitchName=a Nodes=" + strings.Repeat("[1]", 60_000), ReadSlurmConf},
		{"many switches of few nodes", lines("SwitchName=s%d Nodes=n[1-20000]\n", 64), ReadSlurmConf},
		{"deep switches", "SwitchName=s-1 Nodes=n[1-60000]\n" + lines("SwitchName=s%[1]d Switches=s[%[1]d]\n", 14), ReadSlurmConf},
		{"a wide list in YAML", "- {topology: t, tree: {switches: [{switch: a, nodes: 'n[1-99999]'}]}}", yaml},
		{"deep YAML", strings.Repeat("- ", 9000), yaml},
		{"short values", hostile.List("[", "a", 200_000, "]"), yaml},
		{"short keys", hostile.List("{", "a", 200_000, "}"), yaml},
		{"comments", strings.Repeat("- a #\n", 50_000), yaml},
		{"nodes of a model", "nodes:\n" + lines(" n%d: {}\n", 40_000), ReadTopograph},
		{"short objects", hostile.List(`{"items":[`, `{"metadata":{"name":"a"}}`, 100_000, "]}"), list},
		{"ends of lines", `{"items":[` + strings.Repeat("\n", 500_000), list},
		{"short rows", "ip,DSW,PSW,ASW\n" + lines("%d,b,c,d\n", 200_000), ReadLingjun},
		{"much in little", packed.String(), ReadLingjun},
	} {
		hostile.Bounded(t, c.name, c.input, costFree, func(input string) {
			_, err := c.read("file", strings.NewReader(input))
			if err != nil {
				require.ErrorAs(t, err, new(*Error), c.name)
			}
		})
	}
}

// A fleet as large as a core takes by default is read from few bytes, and no larger one.
func TestAShortListStandsForAFleet(t *testing.T) {
	f, err := ReadSlurmConf("file", strings.NewReader("SwitchName=a Nodes=n[1-65536]"))
	require.NoError(t, err)
	require.Len(t, f.Nodes, 65_536)
}
