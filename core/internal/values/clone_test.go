package values

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/fields"
)

// A copy has every field, and shares none.
func TestCopiesAreWholeAndShareNothing(t *testing.T) {
	require.Empty(t, fields.Forgotten(CloneConfig), "CloneConfig of clone.go")
	require.Empty(t, fields.Forgotten(func(n berth.Node) berth.Node { return CloneNode(&n) }), "CloneNode of clone.go")
	require.Empty(t, fields.Forgotten(func(j berth.Job) berth.Job { return CloneJob(&j) }), "CloneJob of clone.go")
	require.Empty(t, fields.Forgotten(CloneGroups), "CloneGroups of clone.go")
	require.Empty(t, fields.Forgotten(CloneTopology), "CloneTopology of clone.go")
	require.Empty(t, fields.Forgotten(CloneClaim), "CloneClaim of clone.go")
	require.Empty(t, fields.Forgotten(CloneSelector), "CloneSelector of clone.go")
	require.Empty(t, fields.Forgotten(Copied[berth.Share]), "Copied of clone.go")
}
