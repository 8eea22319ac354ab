package fabric

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// confChanges are what is done to a line of a topology.conf, and whether the file says the same
// then, or cannot be read. What is neither says less, and of no other node.
var confChanges = []struct {
	name    string
	same    bool
	refused bool
	change  func(t *rapid.T, lines []string, at int) []string
}{
	{"another order of lines", true, false, func(t *rapid.T, lines []string, _ int) []string {
		return rapid.Permutation(lines).Draw(t, "order")
	}},
	{"another order of keys", true, false, func(_ *rapid.T, lines []string, at int) []string {
		if pairs := strings.Fields(lines[at]); len(pairs) > 2 { // the first says what it is
			slices.Reverse(pairs[1:])
			lines[at] = strings.Join(pairs, " ")
		}
		return lines
	}},
	{"keys in another case", true, false, func(_ *rapid.T, lines []string, at int) []string {
		key, rest, _ := strings.Cut(lines[at], "=")
		lines[at] = strings.ToUpper(key) + "=" + strings.Replace(rest, "Nodes=", "NODES=", 1)
		return lines
	}},
	{"a line in two, with a comment", true, false, func(_ *rapid.T, lines []string, at int) []string {
		lines[at] = strings.Replace(lines[at], " ", " \\\n ", 1) + " # and so on\n"
		return lines
	}},
	{"a line twice", false, true, func(_ *rapid.T, lines []string, at int) []string {
		return slices.Insert(lines, at, lines[at])
	}},
	{"a key twice", false, true, func(t *rapid.T, lines []string, at int) []string {
		pairs := strings.Fields(lines[at])
		lines[at] += " " + rapid.SampledFrom(pairs).Draw(t, "pair")
		return lines
	}},
	{"a key of another name", false, true, func(t *rapid.T, lines []string, at int) []string {
		pairs := strings.Fields(lines[at])
		i := rapid.IntRange(0, len(pairs)-1).Draw(t, "pair")
		pairs[i] = "x" + pairs[i]
		lines[at] = strings.Join(pairs, " ")
		return lines
	}},
	{"a line is missing", false, false, func(_ *rapid.T, lines []string, at int) []string {
		return slices.Delete(lines, at, at+1)
	}},
	{"a key is missing", false, false, func(_ *rapid.T, lines []string, at int) []string {
		lines[at] = lines[at][:max(strings.LastIndex(lines[at], " "), strings.Index(lines[at], "=")+2)]
		return lines
	}},
}

// A good file in which parts are changed gives the same, or is refused, or says less.
func TestChangedFilesGiveTheSameOrAreRefused(t *testing.T) {
	seen := map[string]int{}
	drawn.Check(t, func(t *rapid.T) {
		text := drawNetwork(t, rapid.Bool().Draw(t, "rails")).conf()
		blocks := rapid.Bool().Draw(t, "blocks")
		if blocks {
			text = "BlockSizes=2,4\n"
			for i := range rapid.IntRange(1, 6).Draw(t, "count") {
				text += fmt.Sprintf("BlockName=b%d Nodes=n%d-[1-3]\n", i, i)
			}
		}
		good, err := ReadSlurmConf("good", strings.NewReader(text))
		require.NoError(t, err)
		c := rapid.SampledFrom(confChanges).Draw(t, "change")
		lines := strings.Split(strings.TrimSpace(text), "\n")
		at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		changed := strings.Join(c.change(t, slices.Clone(lines), at), "\n")
		got, err := ReadSlurmConf("changed", strings.NewReader(changed))
		var typed *Error
		switch {
		case err != nil:
			require.False(t, c.same, "%s: %v\n%s", c.name, err, changed)
			require.True(t, errors.As(err, &typed))
			seen["refused"]++
			return
		case c.refused:
			t.Fatalf("%s: nothing is told\n%s\n%s", c.name, text, changed)
		case c.same && !blocks:
			require.Equal(t, good, got, "%s\n%s", c.name, changed)
			seen["same"]++
			return
		}
		for _, n := range got.Nodes { // Slurm joins blocks by their order
			_, known := good.node(n.Name)
			require.True(t, known, "%s: %s\n%s", c.name, n.Name, changed)
		}
		seen["less"]++
	})
	for _, outcome := range []string{"same", "refused", "less"} {
		if drawn.Many() {
			require.NotZero(t, seen[outcome], outcome)
		}
	}
	t.Log(seen)
}
