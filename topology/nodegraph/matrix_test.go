package nodegraph

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// What a table says is what is read.
func TestMatrixRoundTrip(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		spec := drawSpec(rt, 1, 12, []string{"SYS", "NODE", "PHB", "PXB", "PIX", "NV1", "NV18"})
		read, err := ParseMatrix("table", table(spec))
		require.NoError(rt, err)
		require.Equal(rt, spec, read)
	})
}

// What real outputs vary in changes nothing.
func TestMatrixVariations(t *testing.T) {
	want, err := ParseMatrix("table", cube)
	require.NoError(t, err)
	lines := strings.Split(cube, "\n")
	heading := lines[0]
	for name, text := range map[string]string{
		"carriage returns":      strings.ReplaceAll(cube, "\n", "\r\n"),
		"escapes":               strings.Replace(cube, heading, "\x1b[4m"+heading+"\x1b[0m", 1),
		"a prompt":              "$ nvidia-smi topo -m\nGPU0 is fine\n\n" + cube,
		"no newline at the end": strings.TrimRight(cube, "\n"),
		"text afterwards":       cube + "\n$ exit\n",
		"superfluous cells":     strings.ReplaceAll(cube, "0-19	0", "0-19	0	 	N/A"),
		"a later column":        strings.Replace(cube, "NUMA Affinity", "NUMA Affinity	GPU NUMA ID	New Column", 1),
		"old words":             strings.ReplaceAll(cube, "SYS", "SOC"),
		"no rows of NICs":       strings.Join(append(append([]string{}, lines[:9]...), lines[13:]...), "\n"),
		"padding":               strings.ReplaceAll(cube, "PIX", "  PIX  "),
		"blanks for tabs":       strings.ReplaceAll(cube, "\t", "     "),
	} {
		got, err := ParseMatrix("table", text)
		require.NoError(t, err, name)
		require.Equal(t, name == "a later column", told(got, "the column New Column is not read"), name)
		got.Skipped = nil
		require.Equal(t, want, got, name)
	}
}

// NUMA nodes: told, told in part, or guessed from the CPUs.
func TestMatrixNUMA(t *testing.T) {
	numas := func(text string) (list []int) {
		spec, err := ParseMatrix("table", text)
		require.NoError(t, err)
		for _, gpu := range spec.GPUs {
			list = append(list, number(gpu.NUMA))
		}
		return list
	}
	require.Equal(t, []int{3, 1}, numas("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tSYS\t0-3\t3\nGPU1\tSYS\tX\t4-7\t1\n"))
	require.Equal(t, []int{0, -1}, numas("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tSYS\t0-3\t0-1\nGPU1\tSYS\tX\t4-7\tN/A\n"))
	require.Equal(t, []int{0, 1}, numas("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\tX\tNV18\t0-71\t0,2-17\tN/A\nGPU1\tNV18\tX\t72-143\t1,18-33\tN/A\n"), "Grace")
	require.Equal(t, []int{0, 1}, numas("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tSYS\t0-3\tN/A\nGPU1\tSYS\tX\t4-7\tN/A\n"), "hidden")
	require.Equal(t, []int{0, 1}, numas("\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tSYS\t0-3,8\nGPU1\tSYS\tX\t4-7\n"))
	require.Equal(t, []int{0, 0}, numas("\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tSYS\t0-7\nGPU1\tSYS\tX\t0-7\n"))
	require.Equal(t, []int{-1, -1}, numas("\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tSYS\tX\n"))
	require.Equal(t, []int{-1, 0}, numas("\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tSYS\tN/A\nGPU1\tSYS\tX\t0-7\n"))
}

// A bad table is refused with its line and its cell.
func TestMatrixRefusals(t *testing.T) {
	two := "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tNV4\tPIX\t0-7\t0\nGPU1\tNV4\tX\tSYS\t0-7\t0\nNIC0\tPIX\tSYS\tX\n\nNIC Legend:\n\n  NIC0: mlx5_0\n"
	_, err := ParseMatrix("table", two)
	require.NoError(t, err)
	gpus := ""
	for i := range 65 {
		gpus += "\tGPU" + strconv.Itoa(i)
	}
	for _, bad := range []struct {
		old, new     string
		line, column int
		field        string
		kind         error
	}{
		{"GPU0\tX\tNV4", "GPU0\tX\tNV4x", 2, 3, "GPU0 to GPU1", ErrSyntax},
		{"GPU0\tX\tNV4", "GPU0\tX\t", 2, 3, "GPU0 to GPU1", ErrSyntax},
		{"GPU0\tX\tNV4", "GPU0\tX\tNV0", 2, 3, "GPU0 to GPU1", ErrSyntax},
		{"GPU0\tX\tNV4", "GPU0\tX\tnone", 2, 3, "GPU0 to GPU1", ErrSyntax},
		{"GPU0\tX\tNV4", "GPU0\tX\tX", 2, 3, "GPU0 to GPU1", ErrSyntax},
		{"GPU0\tX\tNV4", "GPU0\tSYS\tNV4", 2, 2, "GPU0 to GPU0", ErrSyntax},
		{"GPU1\tNV4", "GPU1\tNV3", 3, 2, "GPU1 to GPU0", ErrInvalid},
		{"NIC0\tPIX", "NIC0\tPHB", 4, 2, "NIC0 to GPU0", ErrInvalid},
		{"NIC0\tPIX", "NIC0\tNV4", 4, 2, "NIC0 to GPU0", ErrInvalid},
		{"NIC0\tPIX\tSYS\tX", "NIC0\tPIX\tSYS", 4, 3, "NIC0", ErrSyntax},
		{"\nGPU1\t", "\nGPU2\t", 3, 1, `"GPU2"`, ErrSyntax},
		{"\tGPU1\tNIC0\t", "\tGPU2\tNIC0\t", 1, 3, "GPU2", ErrSyntax},
		{"\tGPU1\tNIC0\t", "\tNIC0\tGPU1\t", 1, 4, "GPU1", ErrSyntax},
		{"\tGPU1\tNIC0\t", "\t\tGPU1\tNIC0\t", 1, 4, "GPU1", ErrSyntax},
		{"\tNIC0\t", "\tNIC0\tNIC0\t", 1, 5, "NIC0", ErrInvalid},
		{"0-7\t0\nGPU1", "0-7\tzero\nGPU1", 2, 6, "GPU0: NUMA Affinity", ErrSyntax},
		{"0-7\t0\nGPU1", "0-7\t99999\nGPU1", 2, 6, "GPU0: NUMA Affinity", ErrSyntax},
		{"NIC0: mlx5_0", "NIC1: mlx5_0", 8, 0, "NIC1", ErrInvalid},
		{"NIC0: mlx5_0", "NIC0: mlx5_0\n  NIC0: mlx5_1", 9, 0, "NIC0", ErrInvalid},
		{"\n\nNIC Legend", "\nGPU2\tX\n\nNIC Legend", 5, 1, "GPU2", ErrSyntax},
		{two[strings.Index(two, "GPU1\tNV4"):], "", 3, 0, "GPU1", ErrSyntax},
		{two, "no table at all", 1, 0, "", ErrSyntax},
		{two, gpus, 1, 0, "", ErrTooLarge},
	} {
		text := strings.Replace(two, bad.old, bad.new, 1)
		require.NotEqual(t, two, text)
		spec, err := ParseMatrix("table", text)
		require.ErrorIs(t, err, bad.kind, text)
		require.Zero(t, spec)
		var typed *Error
		require.ErrorAs(t, err, &typed)
		require.Equal(t, []any{"table", bad.line, bad.column, bad.field}, []any{typed.File, typed.Line, typed.Column, typed.Field}, err.Error())
		require.NotEmpty(t, typed.Reason)
		require.True(t, strings.HasPrefix(err.Error(), "nodegraph: table:"+strconv.Itoa(bad.line)+":"), err.Error())
	}
}

// Any bytes: a Spec that makes a graph or a typed error.
func FuzzParseMatrix(f *testing.F) {
	f.Add(cube)
	f.Add("\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tSYS\tX\n")
	f.Add("\x1b[4mGPU0  mlx5_0  CPU Affinity\x1b\nGPU0   X   PIX  0-3\nNIC Legend:\nNIC0: ")
	f.Fuzz(func(t *testing.T, text string) {
		requireParsed(t, text, ParseMatrix)
	})
}

func requireParsed(t *testing.T, text string, parse func(file, text string) (Spec, error)) {
	spec, err := parse("file", text)
	if err != nil {
		var typed *Error
		require.ErrorAs(t, err, &typed)
		require.NotEmpty(t, typed.Reason)
		require.NotZero(t, typed.Line)
		require.Zero(t, spec)
		return
	}
	if len(spec.GPUs) > answerGPUs {
		require.NoError(t, spec.check()) // tables take their time
		return
	}
	g, err := NewGraph(spec)
	require.NoError(t, err)
	got, _ := g.Best(g.All(), g.GPUs())
	require.Equal(t, g.All(), got)
}
