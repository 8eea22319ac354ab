package errtext_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/errtext"
)

func TestJoin(t *testing.T) {
	require.Equal(t, "gang: node \"n1\": hold.gpus: 3 is held", errtext.Join("gang", errtext.Named("node", "n1"), "hold.gpus", "3 is held"))
	require.Equal(t, "gang: is full", errtext.Join("gang", errtext.Named("node", ""), "", "is full"))
}

func TestPlace(t *testing.T) {
	require.Equal(t, "file:12:7", errtext.Place("file", 12, 7))
	require.Equal(t, "file:12", errtext.Place("file", 12, 0))
	require.Equal(t, "line 12:7", errtext.Place("", 12, 7))
	require.Equal(t, "file", errtext.Place("file", 0, 7))
	require.Empty(t, errtext.Place("", 0, 0))
}

func TestPath(t *testing.T) {
	require.Equal(t, "job.groups[1].minMembers", errtext.Path("job", errtext.Path(errtext.Index("groups", 1), "minMembers")))
	require.Equal(t, "groups[1]", errtext.Path("groups", "[1]"))
	require.Equal(t, "job", errtext.Path("job", ""))
	require.Equal(t, "min", errtext.Path("", "min"))
}

func TestShort(t *testing.T) {
	require.Equal(t, "n1", errtext.Short("n1"))
	require.Equal(t, strings.Repeat("n", 40), errtext.Short(strings.Repeat("n", 40)))
	require.Equal(t, strings.Repeat("n", 40)+"...", errtext.Short(strings.Repeat("n", 41)))
	require.Equal(t, "n"+strings.Repeat("ü", 19)+"...", errtext.Short("n"+strings.Repeat("ü", 20)), "no letter is cut")
	require.Len(t, errtext.Clip(strings.Repeat("n", 1<<20)), errtext.MostQuoted)
	require.Len(t, errtext.Clip(strings.Repeat("\x80", 1<<20)), len("..."), "where there is no letter, nothing is kept")
}

func TestDidYouMean(t *testing.T) {
	known := []string{"node", "gpus", "members", "minMembers", "nodes"}
	for name, want := range map[string]string{
		"gpu": "gpus", "GPUs": "gpus", "nodes": "nodes", "noode": "node", "mebmers": "members", "minmembers": "minMembers", "member": "members",
		"x": "", "why": "", "": "", "gp": "", "memory": "", strings.Repeat("gpus", 1<<18): "",
	} {
		if want != "" {
			want = `; did you mean "` + want + `"?`
		}
		require.Equal(t, want, errtext.DidYouMean(name, known), name)
	}
}
