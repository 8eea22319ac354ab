package core_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/strict"
)

// What Snapshot writes is read in one pass; the way that says what is wrong takes many times as
// long.
func TestSnapshotsAreReadInOnePass(t *testing.T) {
	snapshot, err := os.ReadFile("testdata/snapshot-v2.json")
	require.NoError(t, err)
	form := strict.FormOf[record.Snapshot](strict.Readings{})
	_, plain := form.Plain(snapshot)
	require.True(t, plain)
}
