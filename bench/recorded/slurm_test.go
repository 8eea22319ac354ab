package recorded

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// A real Slurm runs forty jobs of every kind, and what it prints of them is what was submitted: how
// many members of how many GPUs, of which type, for how long, how often. It takes three minutes and
// Debian's packages, so it has to be asked for.
func TestARealSlurm(t *testing.T) {
	if os.Getenv("BERTH_SLURM") == "" {
		t.Skip("BERTH_SLURM=1 runs Debian's Slurm 22.05 for three minutes, as root")
	}
	out := t.TempDir()
	said, err := exec.CommandContext(t.Context(), "testdata/slurm.bash", out).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 {
		t.Skipf("the packages of Slurm cannot be had: %s", said)
	}
	require.NoError(t, err, string(said))
	text := func(name string) string {
		b, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		return string(b)
	}
	w, err := read(text("jobs.txt"), text("nodes.txt"), text("shares.txt"))
	require.NoError(t, err)
	other, err := read(text("jobs.txt"), text("oneliner.txt"), text("shares.txt"))
	require.NoError(t, err)
	require.Equal(t, w.Nodes, other.Nodes, "paragraphs and lines")
	require.Len(t, w.Nodes, 9, "one of them with two types")
	require.Equal(t, []string{
		`nodes:%: a node that has GPUs of several types counts as a node of each`,
		"jobs:%: holds no GPU (2 times)",
	}, withoutLines(w))
	for _, s := range w.Shares { // science has half, of phys and bio, and cs the other
		want := map[berth.QueueID]float64{"bio": 16, "phys": 16, "cs": 32}[s.Account]
		require.InDelta(t, want, s.GPUs, 1e-9, s.Account)
	}
	for line := range strings.Lines(text("submitted.txt")) {
		f := strings.Split(strings.TrimSpace(line), "|")
		t.Run(f[1]+" "+f[0], func(t *testing.T) { requireRan(t, w, f[0], f[2]) })
	}
	if t.Failed() {
		t.Log(text("jobs.txt"))
	}
}

// withoutLines are what is told, in order.
func withoutLines(w *Week) []string {
	list := told(w)
	for i := range list {
		list[i] = regexp.MustCompile(`:\d+:`).ReplaceAllString(list[i], ":%:")
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// requireRan asks that the runs of a job are as one says that submitted it, such as "2x8 h100 + 1x1
// for 3, 1x8 for 8, waits less than 5": the time is in seconds, and what starting and ending takes
// comes to it.
func requireRan(t *testing.T, w *Week, id, want string) {
	var got []Job
	for _, j := range w.Jobs {
		name, _, _ := strings.Cut(string(j.Spec.ID), "#")
		if name, _, _ = strings.Cut(name, "_"); name == id {
			got = append(got, j)
		}
	}
	if rest, six := strings.CutPrefix(want, "six of "); six {
		want = strings.TrimSuffix(strings.Repeat(rest+", ", 6), ", ")
	}
	want, waits, waited := strings.Cut(want, ", waits less than ")
	if want == "" || want == "no GPU" {
		require.Empty(t, got)
		return
	}
	runs := strings.Split(want, ", ")
	require.Len(t, got, len(runs), want)
	for i, run := range runs {
		groups, seconds, _ := strings.Cut(run, " for ")
		var parts []string
		for _, g := range got[i].Spec.Groups {
			parts = append(parts, strings.TrimSuffix(fmt.Sprintf("%dx%d %s", g.Members, g.Claim.GPUs, strings.Join(g.Selector.Products, "|")), " "))
		}
		require.Equal(t, groups, strings.Join(parts, " + "))
		require.InDelta(t, number(t, seconds), float64(got[i].Runtime)/float64(berth.Second), 3, "run time")
		if waited {
			require.Less(t, float64(got[i].Wait)/float64(berth.Second), number(t, waits))
		}
	}
}

func number(t *testing.T, text string) (v float64) {
	_, err := fmt.Sscan(text, &v)
	require.NoError(t, err)
	return v
}
