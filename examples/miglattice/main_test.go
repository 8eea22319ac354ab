package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/mig"
)

func output(t *testing.T, args ...string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, run(args, &b))
	return b.String()
}

func TestOutput(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lattice.svg")
	require.Empty(t, output(t, "-product", "H100-80GB", "-o", name))
	file, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, output(t, "-product", "h100-80gb", "-o", "-"), string(file))
	var failure *os.PathError
	err = run([]string{"-o", filepath.Join(name, "in a file")}, io.Discard)
	require.ErrorAs(t, err, &failure)
	require.NotErrorIs(t, err, flagline.ErrMisuse)
}

func TestText(t *testing.T) {
	text := output(t, "-product", "A30", "-profiles", "4g.24gb, 2g.12gb,1g.6gb", "-format", "text")
	require.Contains(t, text, "Of 3 of its 5 profiles, 26 layouts (the empty one too), 5 maximal: they are 10 sets")
	require.Contains(t, text, "\n3 instances: 2 sets, 6 layouts\n")
	require.Contains(t, text, "|2-11|  2g + 2×1g  2 layouts, 56 SMs  full, no slice idle\n")
	require.Contains(t, text, "|11..|  2×1g     6 layouts, 28 SMs  +1g → 9  +2g → 8 (2/6)\n")
	require.Contains(t, output(t, "-format", "text"), "dead end in 1 of 5: |3---111.|;  +1g → 35 (4/5)\n")
	for line := range strings.Lines(text) {
		require.Equal(t, strings.TrimRight(line, " \n")+"\n", line)
	}
}

func TestDot(t *testing.T) {
	g := graphOf(t, "H100-80GB", "", false)
	dot := output(t, "-format", "dot")
	require.True(t, strings.HasPrefix(dot, "digraph \"H100-80GB\" {\n"))
	require.True(t, strings.HasSuffix(dot, "\n}\n"))
	steps := 0
	for _, row := range g.rows {
		for _, s := range row {
			steps += len(s.steps)
		}
	}
	require.Equal(t, steps, strings.Count(dot, " -> "))
	require.Equal(t, g.sets, strings.Count(dot, "\n\t")-strings.Count(dot, " -> ")-2)
}

func TestList(t *testing.T) {
	list := output(t, "-list")
	for _, p := range mig.Products() {
		require.Contains(t, list, p.Name)
	}
	require.Equal(t, len(mig.Products()), strings.Count(list, "\n"))
}

func TestNotAskedProperly(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"-product", "H900"}, `there is no product "H900"; there are A30, A100-40GB`},
		{[]string{"-profiles", "1g.10gb,1g.11gb"}, `H100-80GB has no profile "1g.11gb"; it has 1g.10gb, 1g.10gb+me`},
		{[]string{"-profiles", ","}, `has no profile ""`},
		{[]string{"-profiles", "1g.10gb", "-all"}, "-all and -profiles exclude each other"},
		{[]string{"-format", "png"}, `there is no format "png"`},
		{[]string{"H100-80GB"}, `"H100-80GB" is no flag`},
		{[]string{"-colour"}, "there is no flag -colour"},
	} {
		var b bytes.Buffer
		err := run(c.args, &b)
		require.ErrorIs(t, err, flagline.ErrMisuse, "%v", c.args)
		require.ErrorContains(t, err, c.says)
		require.Empty(t, b.String())
	}
}
