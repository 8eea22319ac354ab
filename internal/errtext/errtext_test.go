package errtext_test

import (
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
	require.Equal(t, "job.groups[1].minMembers", errtext.Path("job", errtext.Path(errtext.Index("groups", 1), "min")))
	require.Equal(t, "groups[1]", errtext.Path("groups", "[1]"))
	require.Equal(t, "job", errtext.Path("job", ""))
	require.Equal(t, "min", errtext.Path("", "min"))
}
